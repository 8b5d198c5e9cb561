/* core/monitor.c - a thread that looks after the workers of a runtime.
 *
 * Workers look after each other as long as their tasks yield. For those that
 * do not, the monitor looks at all workers every TICK (and for a while every
 * EARLY, when work begins). One that has made no progress since the last look
 * while it has a task is stuck: what is queued there, or a timer that nobody
 * looked at, is made known to one that sleeps. Stuck for options.watchdog, the
 * task is reported (watchdog.c).
 *
 * An idle process wakes nobody: after IDLE_TICKS with all workers asleep the
 * monitor sleeps too, until a worker that gets up rings.
 * bell: the monitor stores DEEP, then reads asleep; who gets up leaves asleep
 * (or has been taken out of it), then reads bell. All are seq_cst, so one sees
 * the other.
 *
 * Time is counted in ticks that happened, so a process that was stopped and
 * goes on has lost one, and nothing is reported. The monitor locks nothing that
 * a single worker uses without atomics (base/atomic.h), and wakes only where
 * there are several. Refused: sleepers that look by themselves now and then,
 * which is a wake-up each 10 ms for every one of them while one works.
 */
#include "core/monitor.h"

#include "core/core.h"

#include <stdlib.h>

#define TICK (10 * RN_MS)
#define EARLY RN_MS

enum {
    IDLE_TICKS = 10,
    EARLY_LOOKS = 20,
    FEW = 256 /* steps of progress in a tick: tasks run 40 us or more */
};

/* Values of bell: looking every tick, asleep until rung, to end. */
enum { TICKING, DEEP, STOP };

uint64_t
rn__worker_progress(const struct rn__worker *worker)
{
    const struct rn__counters *c = &worker->count;
    return atomic_load_explicit(&c->switches, memory_order_relaxed) +
           atomic_load_explicit(&c->parks, memory_order_relaxed) +
           atomic_load_explicit(&c->passes, memory_order_relaxed);
}

/* ---- a look ------------------------------------------------------------- */

static bool
has_queued(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    return atomic_load_explicit(&worker->queue.slot, memory_order_relaxed) ||
           rn__runq_length(&worker->queue) > 0 ||
           atomic_load(&rt->injected_count) > 0;
}

/* Tasks that run so long have it look around by the clock, not by rounds. */
static void
nudge(struct rn__worker *worker)
{
    /* relaxed: if it is lost the next tick does it again */
    atomic_store_explicit(&worker->pace.rounds, 1, memory_order_relaxed);
}

/* Returns whether others should run what is queued with this worker. */
static bool
look_at(struct rn__monitor *monitor, struct rn__worker *worker)
{
    struct rn__sight *sight = &monitor->sights[worker->index];
    uint64_t progress = rn__worker_progress(worker);
    struct rn__task *task = rn__current(worker);
    if (task && progress - sight->progress < FEW)
        nudge(worker);
    if (!task || progress != sight->progress || task != sight->task) {
        *sight = (struct rn__sight){
            .progress = progress, .task = task, .early = progress};
        atomic_store_explicit(&worker->stuck, false, memory_order_relaxed);
        return false;
    }
    sight->ticks++;
    atomic_store_explicit(&worker->stuck, true, memory_order_relaxed);
    return has_queued(worker);
}

static bool
look_early_at(struct rn__monitor *monitor, struct rn__worker *worker)
{
    struct rn__sight *sight = &monitor->sights[worker->index];
    uint64_t progress = rn__worker_progress(worker);
    uint64_t steps = progress - sight->early;
    bool busy = rn__current(worker) && steps < FEW * EARLY / TICK;
    bool stuck = busy && steps == 0;
    sight->early = progress;
    if (busy)
        nudge(worker);
    atomic_store_explicit(&worker->stuck, stuck, memory_order_relaxed);
    return stuck && has_queued(worker);
}

/* May take long: the other thread must answer, and on_slow return. */
static void
report(struct rn__monitor *monitor, struct rn__worker *worker)
{
    struct rn__sight *sight = &monitor->sights[worker->index];
    if (monitor->limit && !sight->reported && sight->ticks >= monitor->limit)
        sight->reported =
            rn__watchdog_report(worker, sight->progress, sight->ticks * TICK);
}

static void
call_help(struct rn__rt *rt)
{
    if (rt->worker_count > 1 && atomic_load(&rt->searching) == 0)
        rn__worker_wake_one(rt);
}

void
rn__monitor_look_early(struct rn__rt *rt)
{
    bool help = false;
    for (int i = 0; i < rt->worker_count; i++)
        help |= look_early_at(&rt->monitor, &rt->workers[i]);
    if (help)
        call_help(rt);
}

void
rn__monitor_look(struct rn__rt *rt)
{
    bool help = false;
    for (int i = 0; i < rt->worker_count; i++)
        help |= look_at(&rt->monitor, &rt->workers[i]);
    rn_time next = rn__timers_next(rt);
    help |= next != RN_NEVER && rn__os_now() - TICK > next;
    if (help)
        call_help(rt);
    for (int i = 0; i < rt->worker_count; i++)
        report(&rt->monitor, &rt->workers[i]);
}

/* ---- sleeping ----------------------------------------------------------- */

static bool
all_asleep(struct rn__rt *rt)
{
    return atomic_load(&rt->asleep) == (uint32_t)rt->worker_count;
}

/* Until a worker gets up, or the end. */
static void
sleep_deep(struct rn__rt *rt)
{
    _Atomic uint32_t *bell = &rt->monitor.bell;
    uint32_t was = TICKING;
    if (!atomic_compare_exchange_strong(bell, &was, DEEP))
        return;
    was = DEEP;
    if (!all_asleep(rt))
        atomic_compare_exchange_strong(bell, &was, TICKING);
    while (atomic_load(bell) == DEEP)
        rn__os_wait(bell, DEEP, RN_NEVER);
}

/* When work begins its pace is not known: look more often for a while. */
static void
look_early(struct rn__rt *rt)
{
    _Atomic uint32_t *bell = &rt->monitor.bell;
    for (int i = 1; i <= EARLY_LOOKS && !all_asleep(rt); i++) {
        rn__os_wait(bell, TICKING, rn__os_now() + EARLY);
        if (atomic_load(bell) == STOP)
            return;
        rn__monitor_look_early(rt);
        if (i % (TICK / EARLY) == 0)
            rn__monitor_look(rt);
    }
}

static void
monitor(void *arg)
{
    struct rn__rt *rt = arg;
    struct rn__monitor *m = &rt->monitor;
    rn__os_shun_signals();
    look_early(rt);
    while (atomic_load(&m->bell) != STOP) {
        rn__os_wait(&m->bell, TICKING, rn__os_now() + TICK);
        m->idle = all_asleep(rt) ? m->idle + 1 : 0;
        if (m->idle == 0) {
            rn__monitor_look(rt);
        } else if (m->idle >= IDLE_TICKS) {
            sleep_deep(rt);
            look_early(rt);
        }
    }
}

void
rn__monitor_ring(struct rn__rt *rt)
{
    uint32_t was = DEEP;
    if (rn__likely(atomic_load(&rt->monitor.bell) != DEEP) ||
        !atomic_compare_exchange_strong(&rt->monitor.bell, &was, TICKING))
        return;
    rn__os_wake(&rt->monitor.bell, 1);
}

/* ---- start and end ------------------------------------------------------ */

static uint32_t
limit_in_ticks(rn_time limit)
{
    if (limit == RN_NEVER)
        return 0;
    rn_time ticks = limit / TICK + (limit % TICK != 0);
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

int
rn__monitor_start(struct rn__rt *rt)
{
    struct rn__monitor *m = &rt->monitor;
    m->limit = limit_in_ticks(rt->options.watchdog);
    if (!m->limit && rt->worker_count == 1)
        return 0;
    m->sights = calloc((size_t)rt->worker_count, sizeof *m->sights);
    if (!m->sights)
        return -ENOMEM;
    rn__os_interrupt_install();
    int error = rn__thread_start(&m->thread, monitor, rt);
    m->running = error == 0;
    if (error) {
        rn__os_interrupt_remove();
        free(m->sights);
    }
    return error;
}

void
rn__monitor_stop(struct rn__rt *rt)
{
    struct rn__monitor *m = &rt->monitor;
    if (!m->running)
        return;
    atomic_store(&m->bell, STOP);
    rn__os_wake(&m->bell, 1);
    rn__thread_join(&m->thread);
    rn__os_interrupt_remove();
    free(m->sights);
}
