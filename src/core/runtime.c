/* core/runtime.c - a runtime from start to end, and what depends on its world:
 * time, memory, choices, steps.
 */
#include "core/core.h"

#include "base/prng.h"

#include <pthread.h>
#include <runnel/time.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Atomic uint32_t rn__env_count;
bool (*rn__free_outside)(void *memory);
static _Atomic uint32_t epochs;
static bool forked; /* this process is a fork of one with a runtime */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/* ---- the calling task --------------------------------------------------- */

void
rn__outside(const char *function, const void *site)
{
    rn__panic_at(site, "%s called outside a task%s", function,
                 forked ? " (this is a forked child: only its parent has the "
                          "runtime; call rn_run anew, or exec)"
                        : "");
}

/* The child has one thread and none of the workers. */
static void
forget_runtime(void)
{
    if (rn__os_self())
        forked = true;
    rn__os_set_self(NULL);
    atomic_store(&rn__parallel, 0);
    atomic_store(&rn__env_count, 0);
    rn__fault_forget();
}

static void
prepare_process(void)
{
    atomic_store(&rn__full_fences, !rn__os_fence_all_init());
    pthread_atfork(NULL, NULL, forget_runtime);
}

/* ---- the world ---------------------------------------------------------- */

void
rn__step_by_slow(enum rn__kind kind, struct rn__object *object,
                 const void *site, int64_t deadline)
{
    struct rn__rt *rt = rn__rt_self();
    if (rt && rt->env) /* of one thread; delays have many, and no use for it */
        rt->step_deadline = deadline;
    rn__step_slow(kind, object, site);
}

void
rn__step_slow(enum rn__kind kind, struct rn__object *object, const void *site)
{
    struct rn__worker *worker = rn__worker_self();
    if (worker && worker->rt->env && rn__current(worker))
        worker->rt->env->step(worker->rt, kind, object, site);
    else
        rn__perturb_slow();
}

void
rn__perturb_slow(void)
{
    enum { YIELD, SPIN_SHORT, SPIN_LONG, KINDS = 12 };
    struct rn__worker *worker = rn__worker_self();
    if (!worker || !worker->rt->delays)
        return;
    uint32_t kind = rn__prng_below(&worker->prng, KINDS), spins = 0;
    if (kind == YIELD)
        rn__os_relax();
    else if (kind == SPIN_SHORT)
        spins = rn__prng_below(&worker->prng, 32);
    else if (kind == SPIN_LONG)
        spins = rn__prng_below(&worker->prng, 1024);
    while (spins-- > 0)
        rn__cpu_pause();
}

void
rn__note_slow(enum rn__kind kind, struct rn__object *object, const void *site)
{
    struct rn__rt *rt = rn__rt_self();
    if (!rt || !rt->env)
        return;
    uint32_t number = object ? rt->env->number(rt, object) : 0;
    rt->env->note(rt, kind, number, site);
}

uint32_t
rn__choose(uint32_t n)
{
    struct rn__worker *worker = rn__worker_self();
    if (n < 2)
        return 0;
    if (worker->rt->env)
        return worker->rt->env->choose(worker->rt, n);
    return rn__prng_below(&worker->prng, n);
}

bool
rn__mishap_slow(enum rn__mishap mishap, struct rn__object *object,
                const void *site)
{
    struct rn__worker *worker = rn__worker_self();
    return worker && worker->rt->env && rn__current(worker) &&
           worker->rt->env->mishap(worker->rt, mishap, object, site);
}

bool
rn__step_try_slow(enum rn__kind kind, struct rn__object *object,
                  const void *site, rn_time deadline)
{
    rn__step_slow(kind, object, site);
    return deadline == RN_NOW && rn__mishap_slow(RN__MISHAP_TRY, object, site);
}

rn_time
rn__rt_now(struct rn__rt *rt)
{
    return rt && rt->env ? rt->env->now(rt) : rn__os_now();
}

rn_time
rn_now(void)
{
    return rn__rt_now(rn__rt_self());
}

rn_time
rn_after(rn_time span)
{
    rn_time now = rn_now(), when;
    if (span <= 0)
        return now;
    return __builtin_add_overflow(now, span, &when) ? RN_NEVER : when;
}

void *
rn__alloc(struct rn__rt *rt, size_t bytes)
{
    if (!rt)
        rt = rn__rt_self();
    if (rt && rt->options.fail_alloc &&
        atomic_fetch_add(&rt->allocs, 1) + 1 == rt->options.fail_alloc)
        return NULL;
    if (rn__mishap(RN__MISHAP_ALLOC, NULL, NULL))
        return NULL;
    return rt && rt->env ? rt->env->alloc(rt, bytes) : calloc(1, bytes);
}

void
rn__free(struct rn__rt *rt, void *memory)
{
    if (!rt)
        rt = rn__rt_self();
    if (rt && rt->env)
        rt->env->free(rt, memory);
    else if (!rn__free_outside || !rn__free_outside(memory))
        free(memory);
}

/* ---- start and end ------------------------------------------------------ */

/* ns a task runs between switches, before anything has been measured. */
enum { FIRST_PACE = 200 };

void
rn__rt_init(struct rn__rt *rt, const rn_options *options,
            const struct rn__env *env, void *env_state)
{
    pthread_once(&prepared, prepare_process);
    rt->env = env;
    rt->env_state = env_state;
    rt->options = *options;
    rt->epoch = 1 + atomic_fetch_add(&epochs, 1);
    rt->injected_end = &rt->injected;
    rt->started = rn__rt_now(rt);
    atomic_store(&rt->trim_at, RN_NEVER);
    rn__scope_init(&rt->root, NULL, NULL);
    rt->worker_count = options->workers;
    rt->may_spin = !env && rn__os_cpus() > 1;
    for (int i = 0; i < rt->worker_count; i++) {
        struct rn__worker *worker = &rt->workers[i];
        worker->rt = rt;
        worker->index = i;
        worker->prng = (uint64_t)rt->started + (uint64_t)i;
        worker->clock = rt->started;
        worker->pace.measured = FIRST_PACE;
        rn__sched_set_pace(worker, FIRST_PACE);
        rn__timers_init(&worker->timers, rt->started);
        atomic_store(&worker->wake, 1);
    }
}

int
rn__rt_main(struct rn__rt *rt, rn_task_fn *fn, void *arg)
{
    struct rn__task *task =
        rn__task_make(fn, arg, (const char *)(uintptr_t)fn + 1); /* inside it */
    if (!task)
        return -ENOMEM;
    atomic_store_explicit(&task->name, "main", memory_order_relaxed);
    atomic_store_explicit(&rt->main_task, task, memory_order_relaxed);
    rn__scope_enter(&rt->root, task);
    rn__add(&rt->root.live, UINT32_MAX); /* it has no owner */
    rn__count(rn__worker_self(), tasks);
    rn__sched_ready(task);
    return 0;
}

static void
free_blocks(struct rn__rt *rt, void *block)
{
    while (block) {
        void *next = *(void **)block;
        rn__free(rt, block);
        block = next;
    }
}

void
rn__rt_fini(struct rn__rt *rt)
{
    rn__contexts_fini(rt);
    for (int i = 0; i < rt->worker_count; i++) {
        rn__scopes_fini(&rt->workers[i]);
        free_blocks(rt, rt->workers[i].blocks);
        rn__free(rt, rt->workers[i].queue.woken.tasks);
        rn__free(rt, rt->workers[i].queue.fresh.tasks);
    }
    rn__free(rt, atomic_load(&rt->blocking));
    struct rn__annex *stm = atomic_load(&rt->stm);
    if (stm)
        stm->end(stm);
    for (int k = 0; k < RN__SLABS; k++)
        rn__free(rt, atomic_load(&rt->slabs[k]));
    rn__stackpool_fini(&rt->pool);
}

static void
drop_stacks(struct rn__stack *stack)
{
    for (; stack; stack = stack->next)
        rn__ctx_fini(&stack->ctx);
}

static void
drop_stack_of(struct rn__task *task, void *arg)
{
    (void)arg;
    if (task->stack)
        rn__ctx_fini(&task->stack->ctx);
}

static int
result_of(struct rn__rt *rt)
{
    if (rt->deadlocked)
        return -EDEADLK;
    return rt->root.error ? rt->root.error : rt->main_result;
}

void
rn__rt_check_counts(const struct rn__rt *rt)
{
    uint64_t made = 0, ended = 0, deferred = 0, finalized = 0;
    for (int i = 0; i < rt->worker_count; i++) {
        const struct rn__counters *c = &rt->workers[i].count;
        /* relaxed: all workers have ended */
        made += atomic_load_explicit(&c->tasks, memory_order_relaxed);
        ended += atomic_load_explicit(&c->ended, memory_order_relaxed);
        deferred += atomic_load_explicit(&c->deferred, memory_order_relaxed);
        finalized += atomic_load_explicit(&c->finalized, memory_order_relaxed);
    }
    rn__assert(made == ended);
    rn__assert(deferred == finalized);
}

static void
add_lateness(rn_stats *stats, const struct rn__counters *c)
{
    rn_time max = (rn_time)atomic_load_explicit(&c->timers_late_max,
                                                memory_order_relaxed);
    if (max > stats->timers_late_max)
        stats->timers_late_max = max;
    stats->timers_late_total += (rn_time)atomic_load_explicit(
        &c->timers_late_total, memory_order_relaxed);
}

void
rn__rt_stats(struct rn__rt *rt, rn_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    for (int i = 0; i < rt->worker_count; i++) {
        struct rn__counters *c = &rt->workers[i].count;
        stats->tasks += atomic_load_explicit(&c->tasks, memory_order_relaxed);
        stats->switches +=
            atomic_load_explicit(&c->switches, memory_order_relaxed);
        stats->parks += atomic_load_explicit(&c->parks, memory_order_relaxed);
        stats->wakes += atomic_load_explicit(&c->wakes, memory_order_relaxed);
        stats->steals += atomic_load_explicit(&c->steals, memory_order_relaxed);
        stats->sleeps += atomic_load_explicit(&c->sleeps, memory_order_relaxed);
        stats->unheard +=
            atomic_load_explicit(&c->unheard, memory_order_relaxed);
        stats->timers += atomic_load_explicit(&c->timers, memory_order_relaxed);
        add_lateness(stats, c);
    }
    stats->tasks_peak = atomic_load_explicit(&rt->carved, memory_order_relaxed);
    stats->stacks = atomic_load_explicit(&rt->pool.made, memory_order_relaxed);
    stats->stacks_trimmed =
        atomic_load_explicit(&rt->pool.trimmed, memory_order_relaxed);
    stats->workers = rt->worker_count;
    stats->elapsed = rn__rt_now(rt) - rt->started;
}

void
rn_stats_get(rn_stats *stats)
{
    rn__self_in("rn_stats_get");
    rn__need(stats, "rn_stats_get", rn__site());
    rn__rt_stats(rn__rt_self(), stats);
}

/* `runnel run` waits for statistics: say why there are none. */
static _Atomic bool ran;

__attribute__((destructor)) static void
miss_run(void)
{
    if (!atomic_load(&ran) && rn__options_stats())
        fprintf(stderr, "runnel: no statistics: the program ended without "
                        "calling rn_run\n");
}

/* ---- for real ----------------------------------------------------------- */

static void
work(void *arg)
{
    struct rn__worker *worker = arg;
    atomic_store(&worker->os_thread, rn__os_thread());
    if (rn__ctx_adopt(&worker->idle.ctx) < 0)
        rn__panic_at(NULL, "out of memory for a worker");
    struct rn__task *task;
    while ((task = rn__worker_find(worker)))
        rn__sched_enter(worker, task);
    rn__ctx_fini(&worker->idle.ctx);
}

static void
thread_main(void *arg)
{
    rn__worker_begin(arg);
    work(arg);
    rn__worker_end(arg);
}

static void
print_stats(struct rn__rt *rt)
{
    const char *how = rn__options_stats();
    if (!how)
        return;
    rn_stats s;
    rn__rt_stats(rt, &s);
    bool json = strcmp(how, "json") == 0;
    const struct rn__annex *blocking = atomic_load(&rt->blocking);
    const char *format =
        json ? "{\"workers\": %d, \"elapsed_ns\": %lld, \"tasks\": %llu, "
               "\"tasks_peak\": %llu, \"stacks\": %llu, "
               "\"stacks_trimmed\": %llu, \"switches\": %llu, "
               "\"parks\": %llu, \"wakes\": %llu, \"steals\": %llu, "
               "\"sleeps\": %llu, \"timers\": %llu, "
               "\"timers_late_max_ns\": %lld, "
               "\"timers_late_total_ns\": %lld, "
               "\"failures_unheard\": %llu"
             : "runnel: %d workers, %lld ns; tasks: %llu (most at once %llu), "
               "stacks %llu (trimmed %llu)\nrunnel: switches %llu, waits "
               "%llu, wake-ups %llu, steals %llu, worker sleeps %llu\nrunnel: "
               "timers "
               "%llu, late by %lld ns at most, %lld ns in all; failures "
               "nobody heard of: %llu\n";
    fprintf(stderr, format, s.workers, (long long)s.elapsed,
            (unsigned long long)s.tasks, (unsigned long long)s.tasks_peak,
            (unsigned long long)s.stacks, (unsigned long long)s.stacks_trimmed,
            (unsigned long long)s.switches, (unsigned long long)s.parks,
            (unsigned long long)s.wakes, (unsigned long long)s.steals,
            (unsigned long long)s.sleeps, (unsigned long long)s.timers,
            (long long)s.timers_late_max, (long long)s.timers_late_total,
            (unsigned long long)s.unheard);
    if (blocking)
        blocking->print(blocking, json, stderr);
    if (json)
        fputs("}\n", stderr);
}

/* Start the other workers and be the first one. */
static int
run_workers(struct rn__rt *rt, rn_task_fn *fn, void *arg)
{
    struct rn__worker *first = &rt->workers[0];
    int started = 1, wanted = rt->worker_count, error = 0;
    while (started < wanted &&
           (error = rn__thread_start(&rt->workers[started].thread, thread_main,
                                     &rt->workers[started])) == 0)
        started++;
    if (!error)
        error = rn__monitor_start(rt);
    if (!error) { /* the others sleep until main wakes them */
        rn__worker_begin(first);
        error = rn__rt_main(rt, fn, arg);
        if (!error)
            work(first);
        rn__worker_end(first);
    }
    if (error)
        rn__worker_stop_all(rt);
    rn__monitor_stop(rt);
    for (int i = 1; i < started; i++)
        rn__thread_join(&rt->workers[i].thread);
    return error;
}

static void
end_blocking(struct rn__rt *rt)
{
    struct rn__annex *blocking = atomic_load(&rt->blocking);
    if (blocking)
        blocking->end(blocking);
}

int
rn__rt_run_real(const rn_options *options, rn_task_fn *fn, void *arg)
{
    rn_options o = *options;
    atomic_store(&ran, true);
    int error = rn__options_resolve(&o);
    if (error)
        return error;
    struct rn__rt *rt = calloc(1, sizeof *rt);
    size_t bytes = (size_t)o.workers * sizeof(struct rn__worker);
    struct rn__worker *workers = aligned_alloc(RN__LINE, bytes);
    if (!rt || !workers) {
        free(rt);
        free(workers);
        return -ENOMEM;
    }
    memset(workers, 0, bytes);
    rt->workers = workers;
    error = rn__options_apply(&o, &rt->pool);
    if (!error) {
        rn__fault_install(rn__report_fault);
        rn__rt_init(rt, &o, NULL, NULL);
        rt->delays = getenv("RUNNEL_DELAYS") != NULL;
        atomic_fetch_add(&rn__env_count, rt->delays);
        rt->windows = RN__WINDOWS && !atomic_load(&rn__full_fences) &&
                      rn__ctx_kind() != RN_BACKEND_THREAD;
        bool parallel = o.workers > 1 && !rt->windows;
        atomic_fetch_add(&rn__parallel, parallel);
        error = run_workers(rt, fn, arg);
        rn__hold_end(rt);
        end_blocking(rt);
        atomic_fetch_sub(&rn__env_count, rt->delays);
        atomic_fetch_sub(&rn__parallel, parallel);
        rn__fault_remove();
        print_stats(rt);
        for (int i = 0; i < o.workers; i++)
            drop_stacks(rt->workers[i].stacks);
        drop_stacks(rt->stacks);
        rn__task_each(rt, drop_stack_of, NULL); /* of a deadlock */
        if (!error && !rt->deadlocked)
            rn__rt_check_counts(rt);
        if (!error)
            error = result_of(rt);
        rn__rt_fini(rt);
    }
    free(workers);
    free(rt);
    return error;
}
