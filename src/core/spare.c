/* core/spare.c - free stacks beyond those that workers keep, and when their
 * memory goes back to the kernel.
 *
 * Giving pages back costs as much as a thousand switches, and touching them
 * again ten times that. So only those stacks lose their pages that nobody has
 * needed for a whole PERIOD: the fewest there were at any moment of it. A load
 * that swings from many tasks to few and back within a period keeps all it
 * needs. Who trims is a worker that has found nothing to run, or, while all
 * are busy, one that looks at the clock, which then spends one part in SHARE
 * of its time with it. When all sleep, the last one gets up when a period
 * ends, twice at most after the last task; then nothing is spare.
 *
 * All is guarded by rt->lock; trim_at is also read without, as a hint.
 * Refused: giving back when a worker falls asleep or when more are free than
 * in use. Under a load that comes in bursts both pay for every burst anew.
 */
#include "core/core.h"

#define PERIOD (100 * RN_MS)

enum {
    SHARE = 16,
    IDLE_GROUPS = 4 /* in a row, before the next look for work */
};

struct rn__stack *
rn__spare_take(struct rn__rt *rt)
{
    rn__lock(&rt->lock);
    struct rn__stack *stack = rt->stacks;
    if (stack) {
        rt->stacks = stack->next;
        rn__prefetch(stack->next);
    }
    if (stack && rt->spare > 0) /* a simulator's are not counted */
        rt->spare--;
    if (rt->spare < rt->spare_least)
        rt->spare_least = rt->spare;
    rn__unlock(&rt->lock);
    return stack;
}

/* Under rt->lock: from now on count what is not needed. */
static void
begin_period(struct rn__rt *rt, rn_time now)
{
    rt->spare_least = rt->spare;
    atomic_store_explicit(&rt->trim_at, rt->spare > 0 ? now + PERIOD : RN_NEVER,
                          memory_order_relaxed);
}

void
rn__spare_give(struct rn__worker *worker, struct rn__stack *stack)
{
    struct rn__rt *rt = worker->rt;
    rn__lock(&rt->lock);
    stack->next = rt->stacks;
    rt->stacks = stack;
    if (rt->spare++ == 0) {
        begin_period(rt, worker->clock);
        rt->spare_least = 0; /* there were none a moment ago */
    }
    rn__unlock(&rt->lock);
}

/* The stacks of the list are all alike to the one who takes the next, so take
 * the nearest. */
static size_t
pop_cold(struct rn__rt *rt, void **stacks)
{
    size_t count = 0;
    rn__lock(&rt->lock);
    while (count < RN__COLD_GROUP && rt->spare_least > 0) {
        struct rn__stack *stack = rt->stacks;
        rt->stacks = stack->next;
        rt->spare--;
        rt->spare_least--;
        stacks[count++] = stack;
    }
    rn__unlock(&rt->lock);
    return count;
}

static void
trim_group(struct rn__rt *rt)
{
    void *stacks[RN__COLD_GROUP];
    size_t count = pop_cold(rt, stacks);
    for (size_t i = 0; i < count; i++) {
        struct rn__stack *stack = stacks[i];
        rn__ctx_fini(&stack->ctx);
        stacks[i] = stack->low;
    }
    if (count > 0)
        rn__stack_put_cold(&rt->pool, stacks, count);
}

/* Whether some are left that nobody needed. If so, go on at that time. */
static bool
more(struct rn__rt *rt, rn_time now, rn_time again)
{
    rn__lock(&rt->lock);
    bool left = rt->spare_least > 0;
    if (!left)
        begin_period(rt, now);
    else
        atomic_store_explicit(&rt->trim_at, again, memory_order_relaxed);
    rn__unlock(&rt->lock);
    return left;
}

/* Whether it is time to see which free stacks nobody needed. */
static bool
due(struct rn__worker *worker)
{
    return rn__unlikely(
        worker->clock >=
        atomic_load_explicit(&worker->rt->trim_at, memory_order_relaxed));
}

void
rn__spare_trim(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (!due(worker))
        return;
    rn_time start = rn__os_now();
    trim_group(rt);
    rn_time now = rn__os_now();
    worker->clock = now; /* its tasks did not take that long */
    more(rt, now, now + (SHARE - 1) * (now - start));
}

bool
rn__spare_trim_idle(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (!due(worker))
        return false;
    for (int i = 0; i < IDLE_GROUPS; i++)
        trim_group(rt);
    return more(rt, worker->clock, worker->clock);
}
