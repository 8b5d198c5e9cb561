/* par/pull.c - items that come one by one.
 *
 * A carrier takes the next index before the item exists, then calls the source
 * with op->pulling set, so that no other comes along; those that would, retire.
 * With the item in hand it calls the next carrier, which pulls the next one. So
 * there are as many items in memory as carriers.
 */
#include "par/par.h"

static int
pull(struct rn__carry *carry)
{
    const rn_par_source *source = carry->op->work.fn.source;
    if (!carry->item)
        carry->item = source->bytes <= sizeof carry->room
                          ? carry->room
                          : rn__alloc(rn__rt_self(), source->bytes);
    if (!carry->item)
        return -ENOMEM;
    int got = source->next(carry->item, carry->op->work.ctx);
    return got > 0 ? 1 : got;
}

static void
run(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    size_t i = carry->block.lo;
    if (rn__par_stopped(op)) { /* since it was pulled */
        if (op->options->drop)
            op->options->drop(carry->item, op->work.ctx);
        return;
    }
    carry->next = i + 1;
    int result = op->work.fn.source->item(i, carry->item, op->work.ctx);
    if (rn__par_odd(carry, result))
        rn__par_ended(carry, result);
}

static void
leave(struct rn__carry *carry)
{
    if (carry->item != carry->room)
        rn__free(rn__rt_self(), carry->item);
}

static const struct rn__par_kind pulled = {
    .pull = pull, .run = run, .leave = leave};

int
rn_par_pull(const rn_par_source *source, void *ctx,
            const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_pull");
    rn__need(source, "rn_par_pull", rn__site());
    if (options && options->outcomes)
        rn__panic_at(rn__site(), "rn_par_pull with a place for outcomes");
    int opened = rn__par_open(&op, SIZE_MAX, options, rn__site());
    op.kind = &pulled;
    op.work.fn.source = source;
    op.function = (uintptr_t)source->item;
    op.work.ctx = ctx;
    return rn__par_finish(&op, opened);
}
