/* par/reduce.c - add up items in their order.
 *
 * A carrier adds the items of its block to an accumulator of its own, and goes
 * on with it while its next block is the one behind. Else it deposits it: what
 * is deposited already and lies right before or behind it is combined with it,
 * outside the lock, until nothing does. So what is deposited never touches, and
 * at the end there is one that holds all. There are no more of them than gaps:
 * blocks that run or wait.
 */
#include "par/par.h"

#include <string.h>

/* An accumulator of the items from lo to before hi. */
struct rn__segment {
    struct rn__segment *next; /* in op->segments or op->unused; op->lock */
    size_t lo, hi;
    _Alignas(max_align_t) char acc[];
};

static struct rn__segment *
pop(struct rn__segment **list)
{
    struct rn__segment *segment = *list;
    if (segment)
        *list = segment->next;
    return segment;
}

static void
push(struct rn__segment **list, struct rn__segment *segment)
{
    segment->next = *list;
    *list = segment;
}

/* For items from lo on; NULL: no memory. */
static struct rn__segment *
make(struct rn__par *op, size_t lo)
{
    const rn_par_reducer *r = op->work.fn.reducer;
    rn__lock(&op->lock);
    struct rn__segment *segment = pop(&op->unused);
    rn__unlock(&op->lock);
    if (!segment)
        segment = rn__alloc(rn__rt_self(), sizeof *segment + r->bytes);
    if (!segment)
        return NULL;
    segment->lo = segment->hi = lo;
    if (r->init)
        r->init(segment->acc, op->work.ctx);
    else
        memset(segment->acc, 0, r->bytes);
    return segment;
}

/* Under the lock: take out the one that touches segment; NULL: none does. */
static struct rn__segment *
take_neighbour(struct rn__par *op, const struct rn__segment *segment)
{
    for (struct rn__segment **at = &op->segments; *at; at = &(*at)->next)
        if ((*at)->hi == segment->lo || (*at)->lo == segment->hi)
            return pop(at);
    return NULL;
}

/* Returns which of the two holds both now. */
static struct rn__segment *
combine(struct rn__par *op, struct rn__segment *a, struct rn__segment *b)
{
    struct rn__segment *first = a->lo < b->lo ? a : b;
    struct rn__segment *second = first == a ? b : a;
    op->work.fn.reducer->combine(first->acc, second->acc, op->work.ctx);
    first->hi = second->hi;
    rn__lock(&op->lock);
    push(&op->unused, second);
    rn__unlock(&op->lock);
    return first;
}

static void
deposit(struct rn__par *op, struct rn__segment *segment)
{
    for (;;) {
        rn__lock(&op->lock);
        struct rn__segment *other =
            rn__par_stopped(op) ? NULL : take_neighbour(op, segment);
        if (!other)
            push(&op->segments, segment);
        rn__unlock(&op->lock);
        if (!other)
            return;
        segment = combine(op, segment, other);
    }
}

static void
leave(struct rn__carry *carry)
{
    if (carry->segment)
        deposit(carry->op, carry->segment);
    carry->segment = NULL;
}

static int
begin(struct rn__carry *carry)
{
    if (carry->segment && carry->segment->hi == carry->block.lo)
        return 0;
    leave(carry);
    carry->segment = make(carry->op, carry->block.lo);
    return carry->segment ? 0 : -ENOMEM;
}

static void
run(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    const rn_par_reducer *r = op->work.fn.reducer;
    void *acc = carry->segment->acc;
    for (size_t i = carry->block.lo; i < carry->block.hi; i++) {
        if (rn__par_stopped(op))
            break;
        carry->next = i + 1;
        int result = r->item(i, acc, op->work.ctx);
        if (rn__par_odd(carry, result))
            rn__par_ended(carry, result);
    }
    carry->segment->hi = carry->next;
}

static const struct rn__par_kind reduce = {
    .begin = begin, .run = run, .leave = leave};

static void
free_all(struct rn__par *op, struct rn__segment **list, bool hold_values)
{
    struct rn__segment *segment;
    while ((segment = pop(list))) {
        if (hold_values && op->options->drop)
            op->options->drop(segment->acc, op->work.ctx);
        rn__free(rn__rt_self(), segment);
    }
}

/* All has ended; out becomes the value of all items if there is one. */
static int
settle(struct rn__par *op, void *out, int result)
{
    const rn_par_reducer *r = op->work.fn.reducer;
    /* A cancel that came too late to matter may have kept some apart. */
    while (result == 0 && op->segments && op->segments->next) {
        struct rn__segment *segment = pop(&op->segments);
        struct rn__segment *other = take_neighbour(op, segment);
        rn__assert(other != NULL);
        push(&op->segments, combine(op, segment, other));
    }
    if (result == 0) {
        struct rn__segment *all = pop(&op->segments);
        rn__assert(all && all->lo == 0 && all->hi == op->n);
        memcpy(out, all->acc, r->bytes);
        push(&op->unused, all);
    }
    free_all(op, &op->segments, true);
    free_all(op, &op->unused, false);
    return result;
}

int
rn_par_reduce(size_t n, const rn_par_reducer *reducer, void *ctx, void *out,
              const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_reduce");
    rn__need(reducer, "rn_par_reduce", rn__site());
    rn__need(out, "rn_par_reduce", rn__site());
    int opened = rn__par_open(&op, n, options, rn__site());
    op.kind = &reduce;
    op.work.fn.reducer = reducer;
    op.function = (uintptr_t)reducer->item;
    op.work.ctx = ctx;
    if (opened == 0)
        return settle(&op, out, rn__par_run(&op));
    if (opened > 0 && reducer->init)
        reducer->init(out, ctx);
    else if (opened > 0)
        memset(out, 0, reducer->bytes);
    return rn__par_finish(&op, opened);
}
