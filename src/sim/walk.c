/* sim/walk.c - the two plainest strategies: any choice, and no choice. */
#include "sim/strategy.h"

#include "base/prng.h"
#include "sim/sim.h"

/* ---- random walk: each choice uniform and independent ------------------- */

static enum rn__planned
plan_walk(struct rn__searcher *s, struct rn__plan *plan)
{
    (void)s;
    (void)plan; /* its seed is all */
    return RN__PLAN_MADE;
}

static uint32_t
pick_any(struct rn__world *world, const struct rn__fork *fork)
{
    return rn__prng_below(&world->prng, fork->n);
}

const struct rn__strategy rn__strategy_random = {
    .name = "random",
    .by_index = true,
    .draws = true,
    .plain = true,
    .summary = "each choice at random",
    .plan = plan_walk,
    .pick = pick_any,
};

/* ---- the default: what an unsearched program does ----------------------- */

static enum rn__planned
plan_default(struct rn__searcher *s, struct rn__plan *plan)
{
    (void)s;
    return plan->index == 0 ? RN__PLAN_MADE : RN__PLAN_EXHAUSTED;
}

static uint32_t
pick_first(struct rn__world *world, const struct rn__fork *fork)
{
    (void)world;
    (void)fork;
    return 0;
}

const struct rn__strategy rn__strategy_default = {
    .name = "default",
    .by_index = true,
    .summary = "one schedule: each task goes on as long as it can",
    .plan = plan_default,
    .pick = pick_first,
};
