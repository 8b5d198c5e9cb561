/* Linearizability: random histories of every model, judged by a referee that
 * tries all orders, and the same with planted faults.
 */
#include "base/prng.h"
#include "test.h"

#include <runnel/lin.h>
#include <stdlib.h>

enum { OPS_MAX = 10, VALUES = 3, KEYS = 2, LONG = 64 };

/* ---- a sequential object, written plainly ------------------------------- */

enum model { REGISTER, CAS, QUEUE, STACK, SET, KV, MODELS };
static const char *const model_names[] = {"register", "cas-register", "queue",
                                          "stack",    "set",          "kv"};

struct object {
    int64_t cell[KEYS]; /* registers */
    int64_t item[LONG]; /* queue, stack: oldest first */
    int count;
    bool there[VALUES];    /* set */
    char text[KEYS][LONG]; /* kv: appended to */
};

static void
object_init(struct object *o)
{
    memset(o, 0, sizeof *o);
    for (int i = 0; i < KEYS; i++)
        o->cell[i] = RN_LIN_NIL;
}

/* What an operation returns, done to the object. */
static int64_t
object_do(struct object *o, const rn_lin_op *op)
{
    int64_t *cell = &o->cell[op->key], result = RN_LIN_NIL;
    bool *there = &o->there[op->arg >= 0 && op->arg < VALUES ? op->arg : 0];
    switch (op->f) {
    case RN_LIN_READ:
        return *cell;
    case RN_LIN_WRITE:
        *cell = op->arg;
        return RN_LIN_NIL;
    case RN_LIN_DELETE:
        *cell = RN_LIN_NIL;
        return RN_LIN_NIL;
    case RN_LIN_CAS:
        result = *cell == op->arg;
        if (result)
            *cell = op->arg2;
        return result;
    case RN_LIN_ENQUEUE:
    case RN_LIN_PUSH:
        o->item[o->count++] = op->arg;
        return RN_LIN_NIL;
    case RN_LIN_DEQUEUE:
        if (o->count) {
            result = o->item[0];
            memmove(o->item, o->item + 1,
                    (size_t)--o->count * sizeof o->item[0]);
        }
        return result;
    case RN_LIN_POP:
        return o->count ? o->item[--o->count] : RN_LIN_NIL;
    case RN_LIN_CONTAINS:
        return *there;
    case RN_LIN_ADD:
        result = !*there;
        *there = true;
        return result;
    default:
        result = *there;
        *there = false;
        return result;
    }
}

/* ---- histories ---------------------------------------------------------- */

enum outcome { RETURNS, FAILS, IS_LOST, NEVER_ENDS };

struct event {
    rn_lin_op op;
    int64_t ret;
    enum outcome outcome;
    int call, end; /* places; end of NEVER_ENDS: after all */
    int point;     /* where it takes effect, between the two; -1: never */
};

struct made {
    enum model model;
    struct event list[OPS_MAX];
    int count;
};

static rn_lin_op
random_op(enum model model, uint64_t *random)
{
    static const struct {
        int count;
        int f[5];
    } choices[] = {
        [REGISTER] = {2, {RN_LIN_READ, RN_LIN_WRITE}},
        [CAS] = {3, {RN_LIN_READ, RN_LIN_WRITE, RN_LIN_CAS}},
        [QUEUE] = {2, {RN_LIN_ENQUEUE, RN_LIN_DEQUEUE}},
        [STACK] = {2, {RN_LIN_PUSH, RN_LIN_POP}},
        [SET] = {3, {RN_LIN_ADD, RN_LIN_REMOVE, RN_LIN_CONTAINS}},
        [KV] = {4, {RN_LIN_READ, RN_LIN_WRITE, RN_LIN_CAS, RN_LIN_DELETE}},
    };
    uint32_t n = (uint32_t)choices[model].count;
    rn_lin_op op = {.f = choices[model].f[rn__prng_below(random, n)]};
    op.arg = rn__prng_below(random, VALUES);
    op.arg2 = rn__prng_below(random, VALUES);
    op.key = model == KV ? rn__prng_below(random, KEYS) : 0;
    return op;
}

/* Times: every event gets two of the 2n places; some wait for another. */
static void
random_times(struct made *m, uint64_t *random)
{
    int open[OPS_MAX], opened = 0, begun = 0, time = 0;
    uint32_t width = 1 + rn__prng_below(random, 4);
    while (begun < m->count || opened) {
        bool begin = begun < m->count &&
                     (opened == 0 ||
                      ((uint32_t)opened < width && rn__prng_below(random, 2)));
        if (begin) {
            open[opened++] = begun;
            m->list[begun++].call = time++;
        } else {
            uint32_t i = rn__prng_below(random, (uint32_t)opened);
            m->list[open[i]].end = time++;
            open[i] = open[--opened];
        }
    }
}

/* An order of effects: each op's point is a random place inside it. */
static int
by_point(const void *a, const void *b)
{
    const struct event *p = *(struct event *const *)a;
    const struct event *q = *(struct event *const *)b;
    return (p->point > q->point) - (p->point < q->point);
}

/* Let a linearizable object answer. */
static void
answer(struct made *m, uint64_t *random)
{
    struct event *order[OPS_MAX];
    struct object o;
    object_init(&o);
    for (int i = 0; i < m->count; i++) {
        struct event *e = &m->list[i];
        bool late = e->outcome == IS_LOST || e->outcome == NEVER_ENDS;
        int end = late ? 2 * OPS_MAX : e->end;
        int span = end - e->call;
        /* Places times 64, so that points differ. */
        e->point = e->call * 64 + 1 +
                   (int)rn__prng_below(random, (uint32_t)(span * 64 - 1));
        if (e->outcome == FAILS || (late && rn__prng_below(random, 2)))
            e->point = -1;
        order[i] = e;
    }
    qsort(order, (size_t)m->count, sizeof order[0], by_point);
    for (int i = 0; i < m->count; i++)
        if (order[i]->point >= 0)
            order[i]->ret = object_do(&o, &order[i]->op);
}

static struct made
make(enum model model, uint64_t *random)
{
    struct made m = {.model = model};
    m.count = 1 + (int)rn__prng_below(random, OPS_MAX);
    for (int i = 0; i < m.count; i++) {
        uint32_t dice = rn__prng_below(random, 12);
        m.list[i].op = random_op(model, random);
        m.list[i].outcome = dice == 0   ? IS_LOST
                            : dice == 1 ? NEVER_ENDS
                            : dice == 2 ? FAILS
                                        : RETURNS;
    }
    random_times(&m, random);
    answer(&m, random);
    return m;
}

/* Another result, or results exchanged, or times moved: maybe a fault. */
static void
plant(struct made *m, uint64_t *random)
{
    struct event *a = &m->list[rn__prng_below(random, (uint32_t)m->count)];
    struct event *b = &m->list[rn__prng_below(random, (uint32_t)m->count)];
    int64_t ret = a->ret;
    switch (rn__prng_below(random, 4)) {
    case 0: /* of an earlier or later moment: stale, doubled, reordered */
        a->ret = b->ret;
        break;
    case 1:
        a->ret = b->ret;
        b->ret = ret;
        break;
    case 2: /* from nowhere */
        a->ret = rn__prng_below(random, VALUES + 1);
        break;
    default: /* not done, though it returned: a lost update */
        a->point = -1;
        a->op.arg = rn__prng_below(random, VALUES);
    }
    /* Of what returns a truth, only truths. */
    for (int i = 0; i < m->count; i++) {
        struct event *e = &m->list[i];
        bool truth = e->op.f == RN_LIN_CAS || e->op.f == RN_LIN_ADD ||
                     e->op.f == RN_LIN_REMOVE || e->op.f == RN_LIN_CONTAINS;
        if (truth)
            e->ret = e->ret > 0;
    }
}

/* ---- the referee: all orders ------------------------------------------- */

static bool
tells(const rn_lin_op *op)
{
    return op->f != RN_LIN_WRITE && op->f != RN_LIN_ENQUEUE &&
           op->f != RN_LIN_PUSH && op->f != RN_LIN_DELETE;
}

static bool
explains(const struct made *m, uint32_t placed, const struct object *o)
{
    bool over = true;
    int first = 2 * OPS_MAX; /* the first end of what must be placed */
    for (int i = 0; i < m->count; i++)
        if (!(placed >> i & 1) && m->list[i].outcome == RETURNS) {
            over = false;
            first = m->list[i].end < first ? m->list[i].end : first;
        }
    for (int i = 0; i < m->count && !over; i++) {
        const struct event *e = &m->list[i];
        struct object next = *o;
        if ((placed >> i & 1) || e->outcome == FAILS || e->call > first)
            continue;
        int64_t ret = object_do(&next, &e->op);
        if (e->outcome == RETURNS && tells(&e->op) && ret != e->ret)
            continue;
        over = explains(m, placed | 1u << i, &next);
    }
    return over;
}

static bool
referee(const struct made *m)
{
    struct object o;
    object_init(&o);
    return explains(m, 0, &o);
}

/* ---- the checker -------------------------------------------------------- */

static rn_lin_history *
record(const struct made *m)
{
    rn_lin_history *h;
    int64_t number[OPS_MAX];
    CHECK_EQ(rn_lin_history_new(&h), 0);
    for (int time = 0; time < 2 * m->count; time++)
        for (int i = 0; i < m->count; i++) {
            const struct event *e = &m->list[i];
            if (e->call == time) {
                number[i] = rn_lin_call(h, &e->op);
                CHECK_GE(number[i], 0);
            } else if (e->end == time && e->outcome == RETURNS) {
                rn_lin_return(h, number[i], e->ret);
            } else if (e->end == time && e->outcome == FAILS) {
                rn_lin_fail(h, number[i]);
            } else if (e->end == time && e->outcome == IS_LOST) {
                rn_lin_lose(h, number[i]);
            }
        }
    return h;
}

static rn_lin_verdict
judge(const struct made *m, const rn_lin_model *model)
{
    rn_lin_history *h = record(m);
    rn_lin_report r;
    CHECK_EQ(rn_lin_check(h, model, NULL, &r), 0);
    if (r.verdict == RN_LIN_BAD) {
        CHECK(r.text != NULL);
        CHECK_HAS(r.text, "not linearizable");
        CHECK_GE(r.culprit, 0);
        CHECK_LT(r.culprit, m->count);
    } else {
        CHECK(r.text == NULL);
    }
    rn_lin_verdict verdict = r.verdict;
    rn_lin_report_fini(&r);
    rn_lin_history_free(h);
    return verdict;
}

static void
dump(const struct made *m)
{
    for (int i = 0; i < m->count; i++) {
        const struct event *e = &m->list[i];
        fprintf(stderr, "f%d key %d arg %d %d -> %lld: %d - %d, outcome %d\n",
                e->op.f, (int)e->op.key, (int)e->op.arg, (int)e->op.arg2,
                (long long)e->ret, e->call, e->end, e->outcome);
    }
}

static void
compare(enum model which, bool faults)
{
    const rn_lin_model *model = rn_lin_model_find(model_names[which]);
    uint64_t random = 17 + which;
    long count = test_count(6000), bad = 0;
    for (long i = 0; i < count; i++) {
        struct made m = make(which, &random);
        if (faults)
            plant(&m, &random);
        bool right = referee(&m);
        if ((judge(&m, model) == RN_LIN_OK) != right) {
            dump(&m);
            FAIL("history %ld: the referee says %d", i, right);
        }
        if (!right && !faults)
            FAIL("the object that makes histories is wrong");
        bad += !right;
    }
    if (faults && count > 100)
        CHECK_GT(bad, count / 10); /* else nothing was tested */
}

#define COMPARES(name, which)            \
    TEST(lin_##name##_of_a_right_object) \
    {                                    \
        compare(which, false);           \
    }                                    \
    TEST(lin_##name##_with_faults)       \
    {                                    \
        compare(which, true);            \
    }

COMPARES(register, REGISTER)
COMPARES(cas_register, CAS)
COMPARES(queue, QUEUE)
COMPARES(stack, STACK)
COMPARES(set, SET)
COMPARES(kv, KV)

/* ---- a user's model, and parts against the whole ------------------------ */

/* The kv as a user would write it, in one part, with states on the heap. */
struct store {
    struct object *o;
};

static void
store_init(void *state, void *arg)
{
    struct store *s = state;
    CHECK_EQ(*(int *)arg, 77);
    s->o = malloc(sizeof *s->o);
    object_init(s->o);
}

static int
store_step(void *state, const rn_lin_op *op, void *arg)
{
    struct store *s = state;
    (void)arg;
    int64_t ret = object_do(s->o, op);
    return !op->known || !tells(op) || ret == op->ret;
}

static int
store_equal(const void *a, const void *b, void *arg)
{
    const struct store *p = a, *q = b;
    (void)arg;
    return memcmp(p->o, q->o, sizeof *p->o) == 0;
}

static uint64_t
store_hash(const void *state, void *arg)
{
    const struct store *s = state;
    (void)arg;
    return (uint64_t)s->o->cell[0]; /* collides */
}

static void
store_copy(void *to, const void *from, void *arg)
{
    const struct store *s = from;
    struct store *t = to;
    (void)arg;
    t->o = malloc(sizeof *t->o);
    *t->o = *s->o;
}

static void
store_fini(void *state, void *arg)
{
    struct store *s = state;
    (void)arg;
    free(s->o);
}

TEST(lin_user_model_agrees_with_the_parts)
{
    int seventy_seven = 77;
    const rn_lin_model whole = {
        .name = "store",
        .state_bytes = sizeof(struct store),
        .arg = &seventy_seven,
        .init = store_init,
        .step = store_step,
        .equal = store_equal,
        .hash = store_hash,
        .copy = store_copy,
        .fini = store_fini,
    };
    const rn_lin_model *parts = rn_lin_model_find("kv");
    uint64_t random = 5;
    for (long i = 0; i < test_count(3000); i++) {
        struct made m = make(KV, &random);
        if (i % 2)
            plant(&m, &random);
        CHECK_EQ(judge(&m, &whole), judge(&m, parts));
    }
}

/* ---- long histories ----------------------------------------------------- */

/* So many operations by so many at once, on an object that answers at once. A
 * queue or stack stays short: an order of its elements that is wrong shows only
 * when they are taken out, and until then is one of many. */
static rn_lin_history *
long_history(enum model model, int ops, int width, uint64_t seed)
{
    rn_lin_history *h;
    struct object *o = calloc(1, sizeof *o);
    struct {
        int64_t number, ret;
        bool done;
        rn_lin_op op;
    } open[64];
    int opened = 0;
    object_init(o);
    CHECK_EQ(rn_lin_history_new(&h), 0);
    while (ops || opened) {
        uint32_t i = opened ? rn__prng_below(&seed, (uint32_t)opened) : 0;
        if (ops &&
            (opened == 0 || (opened < width && rn__prng_below(&seed, 2)))) {
            open[opened].op = random_op(model, &seed);
            if (o->count > 6)
                open[opened].op.f =
                    model == QUEUE ? RN_LIN_DEQUEUE : RN_LIN_POP;
            open[opened].number = rn_lin_call(h, &open[opened].op);
            open[opened++].done = false;
            ops--;
        } else if (!open[i].done) {
            open[i].ret = object_do(o, &open[i].op);
            open[i].done = true;
        } else {
            rn_lin_return(h, open[i].number, open[i].ret);
            open[i] = open[--opened];
        }
    }
    free(o);
    return h;
}

TEST(lin_long_histories_of_right_objects)
{
    for (enum model which = REGISTER; which < MODELS; which++) {
        int ops = (int)test_count(10000);
        rn_lin_history *h = long_history(which, ops, 4, 3);
        rn_lin_report r;
        CHECK_EQ(
            rn_lin_check(h, rn_lin_model_find(model_names[which]), NULL, &r),
            0);
        fprintf(stderr, "%s: %s, %llu steps\n", model_names[which],
                r.text ? r.text : "", (unsigned long long)r.steps);
        CHECK_EQ(r.verdict, RN_LIN_OK);
        CHECK_EQ(r.ops, ops);
        CHECK_EQ(r.placed, ops);
        CHECK_LT(r.steps, 100 * ops);
        CHECK_LT(r.bytes, 100 << 20);
        rn_lin_report_fini(&r);
        rn_lin_history_free(h);
    }
}

/* A value from nowhere at the end of each. */
TEST(lin_long_histories_with_a_fault)
{
    static const int f[] = {RN_LIN_READ, RN_LIN_READ,     RN_LIN_DEQUEUE,
                            RN_LIN_POP,  RN_LIN_CONTAINS, RN_LIN_READ};
    for (enum model which = REGISTER; which < MODELS; which++) {
        int ops = (int)test_count(5000);
        rn_lin_history *h = long_history(which, ops, 4, 4);
        rn_lin_report r;
        rn_lin_op phantom = {.f = f[which], .arg = 999};
        rn_lin_return(h, rn_lin_call(h, &phantom), 888);
        CHECK_EQ(
            rn_lin_check(h, rn_lin_model_find(model_names[which]), NULL, &r),
            0);
        CHECK_EQ(r.verdict, RN_LIN_BAD);
        CHECK_EQ(r.culprit, ops);
        if (which != SET)
            CHECK_HAS(r.text, "888");
        /* Of queues and stacks there may be too many states to begin in. */
        if (which != QUEUE && which != STACK)
            CHECK_HAS(r.text, "smallest window");
        rn_lin_report_fini(&r);
        rn_lin_history_free(h);
    }
}
