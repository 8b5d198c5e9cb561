/* sim/run.c - rn_run: the same call enters either world. */
#include <runnel/run.h>

#include "sim/sim.h"

int
rn_run(const rn_options *options, rn_task_fn *main_fn, void *arg)
{
    static const rn_options defaults;
    if (rn__self_or_lender())
        rn__panic_at(rn__site(), "rn_run called by a task");
    rn__need(main_fn, "rn_run", rn__site());
    struct rn__world *world = rn__server_world();
    if (!world)
        return rn__rt_run_real(options ? options : &defaults, main_fn, arg);
    int result = rn__world_run(world, main_fn, arg);
    if (world->verdict != RN_SIM_PASS)
        rn__server_report(world, false);
    return result;
}
