/* sim/schedule.c - one schedule: its plan, its run from main to the end, its
 * log.
 */
#include "sim/sim.h"

#include <string.h>

/* ---- the plan, the log -------------------------------------------------- */

void
rn__world_begin(struct rn__world *world, uint64_t seed,
                const struct rn__choices *replay)
{
    struct rn__plan *plan = &world->own_plan;
    memset(plan, 0, sizeof *plan);
    plan->seed = seed;
    plan->strategy = replay ? &rn__strategy_default : &rn__strategy_random;
    if (replay)
        plan->prefix = *replay;
    rn__world_plan(world, plan);
}

void
rn__world_log(const struct rn__world *world, struct rn__log *log)
{
    *log = (struct rn__log){
        .choices = world->choices,
        .forked = world->plan->strategy->forked ? world->forked : NULL,
        .words = world->words,
        .digest = world->digest,
        .steps = world->steps,
        .verdict = world->verdict,
        .told = true,
    };
}

void
rn__world_forget(struct rn__world *world, uint64_t seed)
{
    uint32_t ended = world->rt.task_numbers;
    if (ended >= RN__SIM_NAMES)
        ended = RN__SIM_NAMES - 1;
    memset(world->handles, 0, (ended + 1) * sizeof *world->handles);
    rn__injector_begin(&world->injector, seed);
    world->invariants.count = world->harness.count = world->stuck.count = 0;
    world->fairness.count = world->fairness.turn = 0;
    world->looking = world->fairness.on = world->stuck.locks = false;
    world->freed.count = 0;
    world->freed.used = NULL;
}

/* ---- the run ------------------------------------------------------------ */

static void
reset_runtime(struct rn__world *world)
{
    struct rn__stackpool pool = world->rt.pool;
    struct rn__ctx idle = world->worker.idle.ctx;
    uint32_t objects = world->rt.objects, tasks = world->rt.task_numbers;
    rn_options options = {.workers = 1,
                          .fail_alloc = world->options.fail_alloc};
    memset(&world->rt, 0, sizeof world->rt);
    memset(&world->worker, 0, sizeof world->worker);
    world->rt.pool = pool;
    world->rt.objects = objects; /* numbers go on if it runs again */
    world->rt.task_numbers = tasks;
    world->worker.idle.ctx = idle;
    world->rt.workers = &world->worker;
    world->ready_count = 0;
    world->due.known = false;
    world->over = false;
    rn__rt_init(&world->rt, &options, &rn__sim_env, world);
    world->rt.started = 0;
    world->rt.step_deadline = RN_NEVER;
    world->rt.stacks = world->stacks;
    world->stacks = NULL;
}

static void
keep_stacks(struct rn__world *world, struct rn__stack *stack)
{
    while (stack) {
        struct rn__stack *after = stack->next;
        stack->next = world->stacks;
        world->stacks = stack;
        stack = after;
    }
}

/* A task that will not go on: its stack is made as new. */
static void
abandon(struct rn__task *task, void *arg)
{
    struct rn__world *world = arg;
    struct rn__stack *stack = task->stack;
    if (!stack)
        return;
    rn__world_keep_name(world, task);
    if (rn__stack_reset(stack) < 0)
        return; /* lost, but whole */
    stack->next = world->stacks;
    world->stacks = stack;
}

static int
result_of(const struct rn__rt *rt)
{
    return rt->root.error ? rt->root.error : rt->main_result;
}

int
rn__world_run(struct rn__world *world, rn_task_fn *fn, void *arg)
{
    struct rn__rt *rt = &world->rt;
    struct rn__worker *worker = &world->worker;
    reset_runtime(world);
    atomic_fetch_add(&rn__env_count, 1);
    rn__os_set_self(worker);
    int error = rn__rt_main(rt, fn, arg);
    struct rn__task *task;
    while (!error && !world->over && (task = rn__sim_env.next(rt)))
        rn__sched_enter(worker, task);
    if (!error && world->verdict == RN_SIM_PASS && rt->root.live == 0)
        rn__rt_check_counts(rt);
    int result = error ? error : result_of(rt);
    if (world->judge_result && result < 0 && world->verdict == RN_SIM_PASS) {
        world->verdict = RN_SIM_FAILED;
        world->message = rn__format(
            "main %s %d (%s)", error ? "could not be started:" : "returned",
            result, strerror(-result));
    }
    if (world->plan->strategy->end)
        world->plan->strategy->end(world);
    if (world->verdict != RN_SIM_PASS && world->want_text)
        rn__report_write(world);
    rn__task_each(rt, abandon, world);
    rn__os_set_self(NULL);
    atomic_fetch_sub(&rn__env_count, 1);
    keep_stacks(world, worker->stacks);
    keep_stacks(world, rt->stacks);
    return result;
}
