/* sim/inside.c - what a program may say to the simulator it runs in. */
#include "sim/sim.h"

int
rn_sim_active(void)
{
    return rn__world_self() != NULL;
}

void
rn_sim_assert(int condition, const char *what)
{
    if (rn__likely(condition))
        return;
    struct rn__world *world = rn__world_self();
    if (world && world->options.flags & RN_SIM_KEEP_GOING) {
        rn__world_note_failure(world, RN_SIM_ASSERT, rn__site(), what);
        return;
    }
    if (world && rn__self_or_lender())
        rn__world_fail(world, RN_SIM_ASSERT, rn__site(), "%s", what);
    rn__panic_at(rn__site(), "assertion failed: %s", what);
}

uint32_t
rn_sim_choose(uint32_t n)
{
    rn__self_in("rn_sim_choose");
    rn__step(RN__CHOOSE, NULL, rn__site());
    return n < 2 ? 0 : rn__choose(n);
}

void
rn_sim_atomic_begin(void)
{
    struct rn__task *self = rn__self_in("rn_sim_atomic_begin");
    if (self->atomic_depth == UINT16_MAX)
        rn__panic_at(rn__site(), "rn_sim_atomic_begin is nested too deep");
    self->atomic_depth++;
}

void
rn_sim_atomic_end(void)
{
    struct rn__task *self = rn__self_in("rn_sim_atomic_end");
    if (self->atomic_depth == 0)
        rn__panic_at(rn__site(), "rn_sim_atomic_end without a begin");
    self->atomic_depth--;
}

void
rn_sim_explore_begin(void)
{
    struct rn__world *world = rn__world_self();
    if (world && world->depend && world->waiting_to_explore) {
        rn__depend_tick(world->depend);
        world->depend->begun = world->depend->act_count;
    }
    if (world)
        world->waiting_to_explore = false;
}

void
rn_sim_explore_wait(void)
{
    struct rn__world *world = rn__world_self();
    if (world)
        world->waiting_to_explore = true;
}
