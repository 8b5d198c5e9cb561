/* sim/setup.c - a world from its options, and its end. */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

static void
fill_defaults(rn_sim_options *o)
{
    if (!o->schedules)
        o->schedules = o->seconds > 0 ? UINT64_MAX : 1000;
    if (!o->max_steps)
        o->max_steps = 100000;
    if (!o->max_instant_steps)
        o->max_instant_steps = 50000;
    if (!o->max_time)
        o->max_time = 24 * 3600 * RN_SEC;
    if (!o->max_bytes)
        o->max_bytes = (size_t)1 << 30;
    if (!o->max_run_time)
        o->max_run_time = 10 * RN_SEC;
    if (!o->jobs)
        o->jobs = 1;
}

static char *
complain(const rn_sim_options *o)
{
    enum { JOBS_MAX = 256, STEPS_MAX = 100000000, MIB = 1 << 20 };
    if (o->jobs < 0 || o->jobs > JOBS_MAX)
        return rn__format("jobs is %d; 0 to %d are allowed", o->jobs, JOBS_MAX);
    if (o->max_steps > STEPS_MAX)
        return rn__format("max_steps is %llu; at most %d are allowed",
                          (unsigned long long)o->max_steps, STEPS_MAX);
    if (o->max_bytes < MIB)
        return rn__format("max_bytes is %zu; at least %d are needed",
                          o->max_bytes, MIB);
    if (o->max_time < 0 || o->max_run_time < 0 || !(o->seconds >= 0))
        return rn__format("a time limit is negative");
    if (o->flags & ~(RN_SIM_LEAKS_OK | RN_SIM_VERIFY | RN_SIM_QUIET))
        return rn__format("flags 0x%x are unknown", o->flags);
    return NULL;
}

int
rn__sim_options_resolve(rn_sim_options *resolved, const rn_sim_options *options,
                        char **why)
{
    static const rn_sim_options none;
    *resolved = options ? *options : none;
    fill_defaults(resolved);
    *why = complain(resolved);
    return *why ? -EINVAL : 0;
}

static int
map_records(struct rn__world *world)
{
    world->event_room = (size_t)world->options.max_steps * RN__SIM_NOTES;
    world->events = rn__os_map(world->event_room * sizeof *world->events);
    world->names = rn__os_map(RN__SIM_NAMES * sizeof *world->names);
    int error = rn__arena_init(&world->arena, world->options.max_bytes);
    return world->events && world->names ? error : -ENOMEM;
}

int
rn__world_init(struct rn__world *world, const rn_sim_options *options,
               char **why)
{
    rn_options real = {.workers = 1};
    memset(world, 0, sizeof *world);
    int error = rn__sim_options_resolve(&world->options, options, why);
    if (error)
        return error;
    if ((error = map_records(world)) < 0 ||
        (error = rn__options_resolve(&real)) < 0 ||
        (error = rn__options_apply(&real, &world->rt.pool)) < 0) {
        rn__world_fini(world);
        return error;
    }
    world->set_up = true;
    error = rn__ctx_adopt(&world->worker.idle.ctx);
    rn__fault_install(rn__report_fault);
    return error;
}

static void
unmap(void *memory, size_t bytes)
{
    if (memory)
        rn__os_unmap(memory, bytes);
}

void
rn__world_fini(struct rn__world *world)
{
    if (world->set_up) {
        rn__fault_remove();
        for (struct rn__stack *s = world->stacks; s; s = s->next)
            rn__ctx_fini(&s->ctx);
        rn__ctx_fini(&world->worker.idle.ctx);
        rn__stackpool_fini(&world->rt.pool);
    }
    unmap(world->events, world->event_room * sizeof *world->events);
    unmap(world->names, RN__SIM_NAMES * sizeof *world->names);
    rn__arena_fini(&world->arena);
    free(world->choices.list);
    free(world->ready);
    free(world->message);
    free(world->text);
}
