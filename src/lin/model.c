/* lin/model.c - the built-in models.
 *
 * A state is small whatever the object holds, because sequences are nodes of
 * rn__lin_seqs: a stack is a node, so equal stacks are equal numbers. A queue
 * is the node of all that was enqueued since it was last empty and a length;
 * equal queues may have other nodes, so they have a hash of their values and
 * are compared back to where their nodes meet.
 *
 * Results that tell nothing are made equal (rn__lin_normalize), so that the
 * search knows which operations can stand for each other.
 */
#include "lin/lin.h"

#include "base/prng.h"

#include <string.h>

/* ---- registers ---------------------------------------------------------- */

static void
register_init(void *state, void *arg)
{
    const struct rn__lin_context *c = arg;
    const rn_lin_options *o = &c->budget->options;
    *(int64_t *)state = RN_LIN_NIL;
    if (o->has_initial)
        *(int64_t *)state = rn__lin_normal_value(c, o->initial);
}

/* The text in a register and one more behind it. */
static int
append(struct rn__lin_context *c, int64_t *value, int64_t text)
{
    if (text == RN_LIN_NIL) /* the empty one */
        return 1;
    if (*value != RN_LIN_NIL && !rn__lin_is_text(*value))
        return 0;
    uint32_t more = rn__lin_text_number(text);
    uint32_t seq = *value == RN_LIN_NIL ? 0 : rn__lin_text_number(*value);
    uint32_t length = c->seqs.nodes[more].depth;
    for (uint32_t i = 1; i <= length && !c->budget->end; i++) {
        uint32_t node = rn__lin_seq_head(&c->seqs, more, i);
        seq = rn__lin_seq_push(&c->seqs, seq, c->seqs.nodes[node].value);
    }
    *value = rn__lin_text_value(seq);
    return 1;
}

static int
register_step(void *state, const rn_lin_op *op, void *arg)
{
    int64_t *value = state;
    switch (op->f) {
    case RN_LIN_READ:
        return !op->known || op->ret == *value;
    case RN_LIN_WRITE:
        *value = op->arg;
        return 1;
    case RN_LIN_CAS:
        if (op->known && (*value == op->arg) != (op->ret != 0))
            return 0;
        if (*value == op->arg)
            *value = op->arg2;
        return 1;
    case RN_LIN_APPEND:
        return append(arg, value, op->arg);
    case RN_LIN_DELETE:
        *value = RN_LIN_NIL;
        return 1;
    default:
        return 0;
    }
}

static void
register_print(const void *state, FILE *out, void *arg)
{
    rn__lin_print_value(arg, *(const int64_t *)state, out);
}

static int64_t
kv_partition(const rn_lin_op *op, void *arg)
{
    (void)arg;
    return op->key;
}

/* ---- queue -------------------------------------------------------------- */

struct queue {
    uint32_t last;   /* node of the youngest */
    uint32_t length; /* 0: last is 0, too */
    uint64_t hash;   /* sum of value's hash * FACTOR ^ (elements behind it) */
};

#define FACTOR 0x9e3779b97f4a7c15u

static void
queue_init(void *state, void *arg)
{
    (void)arg;
    memset(state, 0, sizeof(struct queue));
}

static uint64_t
power(uint32_t exponent)
{
    uint64_t result = 1, factor = FACTOR;
    for (; exponent; exponent /= 2, factor *= factor)
        if (exponent & 1)
            result *= factor;
    return result;
}

/* The oldest element; there is one. */
static int64_t
queue_first(const struct rn__lin_seqs *s, const struct queue *q)
{
    uint32_t depth = s->nodes[q->last].depth;
    return s->nodes[rn__lin_seq_head(s, q->last, depth - q->length + 1)].value;
}

static int
queue_step(void *state, const rn_lin_op *op, void *arg)
{
    struct rn__lin_context *c = arg;
    struct queue *q = state;
    if (op->f == RN_LIN_ENQUEUE) {
        q->last = rn__lin_seq_push(&c->seqs, q->last, op->arg);
        q->length++;
        q->hash = q->hash * FACTOR + rn__mix64((uint64_t)op->arg);
        return 1;
    }
    if (q->length == 0)
        return !op->known || op->ret == RN_LIN_NIL;
    int64_t first = queue_first(&c->seqs, q);
    if (op->known && op->ret != first)
        return 0;
    q->length--;
    q->hash -= rn__mix64((uint64_t)first) * power(q->length);
    if (q->length == 0)
        q->last = 0;
    return 1;
}

static int
queue_equal(const void *a, const void *b, void *arg)
{
    const struct queue *p = a, *q = b;
    const struct rn__lin_node *n =
        ((const struct rn__lin_context *)arg)->seqs.nodes;
    if (p->length != q->length || p->hash != q->hash)
        return 0;
    uint32_t x = p->last, y = q->last;
    for (uint32_t i = 0; i < p->length && x != y; i++) {
        if (n[x].value != n[y].value)
            return 0;
        x = n[x].parent;
        y = n[y].parent;
    }
    return 1;
}

static uint64_t
queue_hash(const void *state, void *arg)
{
    const struct queue *q = state;
    (void)arg;
    return rn__mix64(q->hash ^ q->length);
}

static void
queue_print(const void *state, FILE *out, void *arg)
{
    enum { SHOWN = 8 };
    const struct rn__lin_context *c = arg;
    const struct queue *q = state;
    uint32_t depth = c->seqs.nodes[q->last].depth;
    putc('[', out);
    for (uint32_t i = 0; i < q->length && i < SHOWN; i++) {
        uint32_t node =
            rn__lin_seq_head(&c->seqs, q->last, depth - q->length + 1 + i);
        fputs(i ? " " : "", out);
        rn__lin_print_value(c, c->seqs.nodes[node].value, out);
    }
    fputs(q->length > SHOWN ? " ...]" : "]", out);
}

/* ---- stack -------------------------------------------------------------- */

static void
stack_init(void *state, void *arg)
{
    (void)arg;
    *(uint32_t *)state = 0;
}

static int
stack_step(void *state, const rn_lin_op *op, void *arg)
{
    struct rn__lin_context *c = arg;
    uint32_t *top = state;
    if (op->f == RN_LIN_PUSH) {
        *top = rn__lin_seq_push(&c->seqs, *top, op->arg);
        return 1;
    }
    int64_t value = *top ? c->seqs.nodes[*top].value : RN_LIN_NIL;
    if (op->known && op->ret != value)
        return 0;
    *top = c->seqs.nodes[*top].parent;
    return 1;
}

static void
stack_print(const void *state, FILE *out, void *arg)
{
    enum { SHOWN = 8 };
    const struct rn__lin_context *c = arg;
    uint32_t node = *(const uint32_t *)state;
    putc('[', out);
    for (int i = 0; node && i < SHOWN; i++) {
        fputs(i ? " " : "", out);
        rn__lin_print_value(c, c->seqs.nodes[node].value, out);
        node = c->seqs.nodes[node].parent;
    }
    fputs(node ? " ...] from the top" : "] from the top", out);
}

/* ---- set: one element --------------------------------------------------- */

static void
set_init(void *state, void *arg)
{
    (void)arg;
    *(uint8_t *)state = 0;
}

static int
set_step(void *state, const rn_lin_op *op, void *arg)
{
    uint8_t *there = state;
    bool told = op->known && op->ret != RN_LIN_NIL;
    (void)arg;
    int64_t result = op->f == RN_LIN_ADD ? !*there : *there;
    if (told && (op->ret != 0) != result)
        return 0;
    if (op->f != RN_LIN_CONTAINS)
        *there = op->f == RN_LIN_ADD;
    return 1;
}

static int64_t
set_partition(const rn_lin_op *op, void *arg)
{
    (void)arg;
    return op->arg;
}

static void
set_print(const void *state, FILE *out, void *arg)
{
    (void)arg;
    fputs(*(const uint8_t *)state ? "there" : "not there", out);
}

/* ---- all of them -------------------------------------------------------- */

static int
pure(const rn_lin_op *op, void *arg)
{
    (void)arg;
    switch (op->f) {
    case RN_LIN_READ:
    case RN_LIN_CONTAINS:
        return 1;
    case RN_LIN_CAS:
    case RN_LIN_ADD:
    case RN_LIN_REMOVE:
        return op->known && op->ret == 0;
    case RN_LIN_DEQUEUE:
    case RN_LIN_POP:
        return op->known && op->ret == RN_LIN_NIL;
    default:
        return 0;
    }
}

#define BIT(f) (1u << (f))
#define REGISTER_COMMON                                             \
    .state_bytes = sizeof(int64_t), .init = register_init,          \
    .step = register_step, .pure = pure, .print = rn__lin_print_op, \
    .print_state = register_print

static const struct built_in {
    rn_lin_model model;
    uint32_t knows; /* a BIT each operation */
} built_in[] = {
    {{.name = "register", REGISTER_COMMON},
     BIT(RN_LIN_READ) | BIT(RN_LIN_WRITE)},
    {{.name = "cas-register", REGISTER_COMMON},
     BIT(RN_LIN_READ) | BIT(RN_LIN_WRITE) | BIT(RN_LIN_CAS)},
    {{.name = "kv", REGISTER_COMMON, .partition = kv_partition},
     BIT(RN_LIN_READ) | BIT(RN_LIN_WRITE) | BIT(RN_LIN_CAS) |
         BIT(RN_LIN_APPEND) | BIT(RN_LIN_DELETE)},
    {{.name = "queue",
      .state_bytes = sizeof(struct queue),
      .init = queue_init,
      .step = queue_step,
      .equal = queue_equal,
      .hash = queue_hash,
      .pure = pure,
      .print = rn__lin_print_op,
      .print_state = queue_print},
     BIT(RN_LIN_ENQUEUE) | BIT(RN_LIN_DEQUEUE)},
    {{.name = "stack",
      .state_bytes = sizeof(uint32_t),
      .init = stack_init,
      .step = stack_step,
      .pure = pure,
      .print = rn__lin_print_op,
      .print_state = stack_print},
     BIT(RN_LIN_PUSH) | BIT(RN_LIN_POP)},
    {{.name = "set",
      .state_bytes = sizeof(uint8_t),
      .init = set_init,
      .step = set_step,
      .partition = set_partition,
      .pure = pure,
      .print = rn__lin_print_op,
      .print_state = set_print},
     BIT(RN_LIN_ADD) | BIT(RN_LIN_REMOVE) | BIT(RN_LIN_CONTAINS)},
};

enum { BUILT_IN = sizeof built_in / sizeof built_in[0] };

const rn_lin_model *
rn_lin_model_find(const char *name)
{
    rn__need(name, "rn_lin_model_find", rn__site());
    for (int i = 0; i < BUILT_IN; i++)
        if (!strcmp(built_in[i].model.name, name))
            return &built_in[i].model;
    return NULL;
}

bool
rn__lin_built_in(const rn_lin_model *model)
{
    for (int i = 0; i < BUILT_IN; i++)
        if (model == &built_in[i].model)
            return true;
    return false;
}

bool
rn__lin_knows(const rn_lin_model *model, int f)
{
    const struct built_in *b = (const struct built_in *)model;
    return f > 0 && f < RN_LIN_USER && (b->knows & BIT(f));
}

/* ---- a check's context -------------------------------------------------- */

bool
rn__lin_context_init(struct rn__lin_context *c, const rn_lin_model *model)
{
    c->kv = !strcmp(model->name, "kv");
    c->text_count =
        atomic_load_explicit(&c->history->texts.count, memory_order_relaxed);
    if (!rn__lin_seqs_init(&c->seqs, c->budget))
        return false;
    c->texts =
        rn__lin_grow(c->budget, NULL, 0, c->text_count * sizeof *c->texts);
    if (!c->texts)
        return false;
    for (uint64_t i = 0; i < c->text_count; i++) {
        struct rn__lin_text **t = rn__lin_log_at(&c->history->texts, i);
        uint32_t seq = 0;
        for (size_t k = 0; k < (*t)->bytes && !c->budget->end; k++)
            seq = rn__lin_seq_push(&c->seqs, seq, (unsigned char)(*t)->text[k]);
        c->texts[i] = seq;
    }
    return c->budget->end == RN__LIN_GOES_ON;
}

void
rn__lin_context_fini(struct rn__lin_context *c)
{
    rn__lin_release(c->budget, c->texts, c->text_count * sizeof *c->texts);
    rn__lin_seqs_fini(&c->seqs);
}

int64_t
rn__lin_normal_value(const struct rn__lin_context *c, int64_t value)
{
    if (!rn__lin_is_text(value))
        return value;
    uint32_t number = rn__lin_text_number(value);
    uint32_t seq = number < c->text_count ? c->texts[number] : 0;
    return seq == 0 && c->kv ? RN_LIN_NIL : rn__lin_text_value(seq);
}

void
rn__lin_normalize(const struct rn__lin_context *c, rn_lin_op *op)
{
    op->key = c->kv ? rn__lin_normal_value(c, op->key) : 0;
    op->arg = rn__lin_normal_value(c, op->arg);
    op->arg2 = op->f == RN_LIN_CAS ? rn__lin_normal_value(c, op->arg2) : 0;
    op->ret = rn__lin_normal_value(c, op->ret);
    switch (op->f) {
    case RN_LIN_READ:
    case RN_LIN_DEQUEUE:
    case RN_LIN_POP:
        op->arg = 0;
        break;
    case RN_LIN_WRITE:
    case RN_LIN_APPEND:
    case RN_LIN_DELETE:
    case RN_LIN_ENQUEUE:
    case RN_LIN_PUSH:
        op->known = 1;
        op->ret = RN_LIN_NIL;
        break;
    default:
        if (op->f == RN_LIN_CAS && op->ret == RN_LIN_NIL)
            op->known = 0;
        if (op->known && op->ret != RN_LIN_NIL)
            op->ret = op->ret != 0;
    }
    if (!op->known)
        op->ret = RN_LIN_NIL;
}
