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
    if (o->flags & ~(RN_SIM_LEAKS_OK | RN_SIM_VERIFY | RN_SIM_QUIET |
                     RN_SIM_KEEP_GOING | RN_SIM_SHRINK))
        return rn__format("flags 0x%x are unknown", o->flags);
    return rn__faults_complain(&o->faults);
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
    world->handles = rn__os_map(RN__SIM_NAMES * sizeof *world->handles);
    int error = rn__arena_init(&world->arena, world->options.max_bytes);
    return world->events && world->names && world->handles ? error : -ENOMEM;
}

/* What a thread needs that runs schedules. */
static int
enter(struct rn__world *world)
{
    rn__fault_install(rn__report_fault);
    return rn__ctx_adopt(&world->worker.idle.ctx);
}

static void
leave(struct rn__world *world)
{
    rn__fault_remove();
    rn__ctx_fini(&world->worker.idle.ctx);
}

static int
make(struct rn__world *world, const rn_options *real)
{
    int error = map_records(world);
    if (!error)
        error = rn__options_apply(real, &world->rt.pool);
    world->has_pool = !error;
    world->real = *real;
    return error;
}

static void
unmap(void *memory, size_t bytes)
{
    if (memory)
        rn__os_unmap(memory, bytes);
}

/* What belongs to one search. */
static void
end_search(struct rn__world *world)
{
    rn__strategy_leave(world);
    memset(world->states, 0, sizeof world->states);
    free(world->message);
    free(world->text);
    world->message = world->text = NULL;
}

/* Of a world nobody has entered. */
static void
unmake(struct rn__world *world)
{
    if (world->has_pool) {
        for (struct rn__stack *s = world->stacks; s; s = s->next)
            rn__ctx_fini(&s->ctx);
        rn__stackpool_fini(&world->rt.pool);
    }
    unmap(world->events, world->event_room * sizeof *world->events);
    unmap(world->names, RN__SIM_NAMES * sizeof *world->names);
    unmap(world->handles, RN__SIM_NAMES * sizeof *world->handles);
    rn__arena_fini(&world->arena);
    rn__depend_fini(&world->own_depend);
    free(world->choices.list);
    free(world->forked);
    free(world->words.list);
    free(world->ready);
    free(world->pending);
    free(world->addresses);
    free(world->fork_steps);
    free(world);
}

/* ---- one world after the other ------------------------------------------ */

/* What the last search of this process left, for the next: its mappings and
 * stacks cost more than most searches take. NULL: there is none. */
static _Atomic(struct rn__world *) spare;

/* A world that has used more than this gives it back at once. */
enum { SPARE_BYTES = 64 << 20 };

/* Whether a world is as these options want it. */
static bool
fits(const struct rn__world *world, const rn_sim_options *options,
     const rn_options *real)
{
    return world->options.max_steps == options->max_steps &&
           world->options.max_bytes == options->max_bytes &&
           world->real.backend == real->backend &&
           world->real.guard == real->guard &&
           world->real.stack_bytes == real->stack_bytes;
}

/* Forget all of a search but the memory it ran in. */
static void
forget(struct rn__world *world)
{
    struct rn__world old = *world;
    memset(world, 0, sizeof *world);
    world->real = old.real;
    world->has_pool = old.has_pool;
    world->rt.pool = old.rt.pool;
    world->stacks = old.stacks;
    world->arena = old.arena;
    world->names = old.names;
    world->handles = old.handles;
    world->events = old.events;
    world->event_room = old.event_room;
    world->ready = old.ready;
    world->ready_room = old.ready_room;
    world->pending = old.pending;
    world->pending_room = old.pending_room;
    world->run_number = old.run_number; /* or what pends would look new */
    world->own_depend = old.own_depend;
    world->addresses = old.addresses;
    world->address_room = old.address_room;
    world->fork_steps = old.fork_steps;
    world->fork_room = old.fork_room;
    world->forked = old.forked;
    world->forked_room = old.forked_room;
    world->words = (struct rn__words){old.words.list, 0, old.words.room};
    world->choices =
        (struct rn__choices){old.choices.list, 0, old.choices.room};
}

/* A world without a search, with the memory of a fitting spare one; NULL: out
 * of memory. */
static struct rn__world *
reuse(const rn_sim_options *options, const rn_options *real)
{
    /* acq_rel: what its last user left there; partners with rn__world_close */
    struct rn__world *old =
        atomic_exchange_explicit(&spare, NULL, memory_order_acq_rel);
    if (old && fits(old, options, real)) {
        forget(old);
        return old;
    }
    if (old)
        unmake(old);
    return calloc(1, sizeof *old);
}

int
rn__world_open(const rn_sim_options *options, struct rn__world **out,
               char **why)
{
    rn_sim_options resolved;
    rn_options real = {.workers = 1};
    int error = rn__sim_options_resolve(&resolved, options, why);
    if (error || (error = rn__options_resolve(&real)) < 0)
        return error;
    struct rn__world *world = reuse(&resolved, &real);
    if (!world)
        return -ENOMEM;
    world->options = resolved;
    rn__injector_init(&world->injector, &world->options.faults);
    if (!world->has_pool && (error = make(world, &real)) < 0) {
        unmake(world);
        return error;
    }
    if ((error = enter(world)) < 0) {
        leave(world);
        unmake(world);
        return error;
    }
    *out = world;
    return 0;
}

void
rn__world_close(struct rn__world *world)
{
    leave(world);
    end_search(world);
    uint64_t stacks =
        atomic_load_explicit(&world->rt.pool.made, memory_order_relaxed);
    /* Contexts of that backend would keep OS threads. */
    if (world->real.backend == RN_BACKEND_THREAD || world->keep_events ||
        rn__arena_peak(&world->arena) + stacks * world->real.stack_bytes >
            SPARE_BYTES) {
        unmake(world);
        return;
    }
    world = atomic_exchange_explicit(&spare, world, memory_order_acq_rel);
    if (world)
        unmake(world);
}
