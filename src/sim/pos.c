/* sim/pos.c - partial order sampling: each pending step has a random priority,
 * the highest goes first, and what conflicts with it draws anew (Yuan, Yang
 * and Gu, "Partial order aware concurrency sampling", 2018).
 */
#include "sim/strategy.h"

#include "sim/fair.h"

/* Of the world's side. */
struct pos {
    uint64_t clock; /* priority of the timers that are due; 0: to be drawn */
    uint64_t turns; /* given away by idle tasks in this schedule */
};

static enum rn__planned
plan(struct rn__searcher *s, struct rn__plan *plan)
{
    (void)s;
    (void)plan; /* its seed is all */
    return RN__PLAN_MADE;
}

static void
begin(struct rn__world *world)
{
    struct pos *pos = rn__strategy_state(world, sizeof *pos);
    if (pos)
        *pos = (struct pos){0, 0};
}

/* Priorities of idle tasks are below all others, the first of them highest. */
static uint64_t
draw(struct rn__world *world, struct pos *pos, struct rn__pending *step)
{
    const uint64_t high = (uint64_t)1 << 63;
    if (rn__is_idle(step)) {
        step->idle = 0;
        return high - ++pos->turns;
    }
    if (step->task)
        return rn__world_random(world) | high;
    if (!pos->clock)
        pos->clock = rn__world_random(world) | high;
    return pos->clock ^ (rn__world_random(world) & 0xff);
}

static uint32_t
pick(struct rn__world *world, const struct rn__fork *fork)
{
    struct pos *pos = rn__strategy_state(world, sizeof *pos);
    if (fork->data || !pos || rn__is_long(world))
        return rn__world_below(world, fork->n);
    uint32_t best = 0;
    for (uint32_t i = 0; i < fork->n; i++) {
        struct rn__pending *step = fork->steps[i];
        if (!step->mark)
            step->mark = draw(world, pos, step);
        if (step->mark > fork->steps[best]->mark)
            best = i;
    }
    const struct rn__pending *chosen = fork->steps[best];
    if (!chosen->task)
        pos->clock = 0;
    if (chosen->address)
        for (uint32_t i = 0; i < fork->n; i++)
            if (i != best && rn__may_conflict(chosen, fork->steps[i]))
                fork->steps[i]->mark = 0;
    return best;
}

const struct rn__strategy rn__strategy_pos = {
    .name = "pos",
    .by_index = true,
    .draws = true,
    .summary = "partial order sampling: random priorities of steps",
    .looks = true,
    .plan = plan,
    .begin = begin,
    .pick = pick,
};
