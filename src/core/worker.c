/* core/worker.c - what a worker does when it has nothing to run: look
 * elsewhere, sleep, and notice that everybody sleeps for ever.
 *
 * A worker's own queue is run by that worker or by thieves: it never sleeps
 * with something in it. So what others must be told of is what nobody owns (the
 * injected tasks), and what is worth a wake-up (sched.c, PACE). Neither is
 * lost: who injects is awake and looks itself; who goes to sleep counts itself
 * asleep, passes a heavy fence, then looks again. A searcher that finds work
 * passes the search on if there is more.
 *
 * About half of the workers search at once at most. A task that never yields
 * holds what it has woken, and its worker's timers, until the monitor's next
 * look (monitor.c), which wakes somebody to rob it of all. So who sleeps while
 * others are awake sleeps until it is woken.
 *
 * No timer is lost. Who starts one is awake, wherever the timer is at home, and
 * passes idle_lock before it sleeps. The last to sleep reads the first expiry
 * of all workers under idle_lock, once it has counted itself: what it reads is
 * right (a wheel of many may have it look a little early, but is never silent),
 * and it sleeps until then, or SLACK longer if many have expired since it last
 * did so. An idle process wakes nobody.
 *
 * DEADLOCK: all workers sleep, no work, no timer, nothing expected from other
 * OS threads (outside.c). Only a running worker makes work or expects any, so
 * under idle_lock this is exact. Tasks without memory for a stack do
 * not count as work: a worker has tried before it went to sleep, and one that
 * keeps free stacks is woken first.
 */
#include "core/core.h"

#include "base/prng.h"

#include <stdlib.h>

enum { ROUNDS = 8, SPINS = 64, WATCH_SPINS = 16 };
enum { MANY_TIMERS = 8 };
#define SLACK (150 * RN_US)

/* ---- looking ------------------------------------------------------------ */

/* Whether what the other has queued is worth a robbery. */
static bool
worth_it(const struct rn__worker *victim)
{
    const struct rn__runq *q = &victim->queue;
    uint64_t length = rn__moves_fresh(victim) ? rn__runq_length(q)
                                              : rn__ring_length(&q->woken);
    /* relaxed: a guess */
    uint32_t pace =
        atomic_load_explicit(&victim->pace.ns, memory_order_relaxed);
    return length * pace >= RN__ROB_WORTH && length > 0;
}

/* Whether there is anything at all. */
static bool
has_any(const struct rn__worker *victim)
{
    return rn__runq_length(&victim->queue) > 0 ||
           atomic_load_explicit(&victim->queue.slot, memory_order_relaxed);
}

/* Move half of another's tasks here, and return one to run at once. Of one that
 * is stuck all is taken, however little it is. */
static struct rn__task *
steal(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    struct rn__task *loot[RN__LOOT_MAX];
    uint32_t count = (uint32_t)rt->worker_count;
    uint32_t start = rn__prng_below(&worker->prng, count);
    for (uint32_t i = 0; i < count; i++) {
        struct rn__worker *victim = &rt->workers[(start + i) % count];
        /* relaxed: the monitor's guess */
        bool all = atomic_load_explicit(&victim->stuck, memory_order_relaxed);
        if (victim == worker || !(all ? has_any(victim) : worth_it(victim)))
            continue;
        enum rn__loot what = all                       ? RN__LOOT_ALL
                             : rn__moves_fresh(victim) ? RN__LOOT_QUEUED
                                                       : RN__LOOT_WOKEN;
        uint32_t got = rn__runq_rob(&victim->queue, loot, what);
        if (got == 0)
            continue;
        rn__count(worker, steals);
        rn__sched_adopt(worker, loot + 1, got - 1);
        return loot[0];
    }
    return NULL;
}

/* Whether there is work that nobody looks at, or that is worth it. */
static bool
queued_work(struct rn__rt *rt)
{
    /* seq_cst both: for outside, see outside.c */
    if (atomic_load(&rt->injected_count) > 0 || atomic_load(&rt->outside))
        return true;
    if (rt->worker_count > 1)
        for (int i = 0; i < rt->worker_count; i++)
            if (worth_it(&rt->workers[i]))
                return true;
    return false;
}

/* ---- searching ---------------------------------------------------------- */

static bool
start_search(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (worker->searching)
        return true;
    if (2 * atomic_load(&rt->searching) >= (uint32_t)rt->worker_count)
        return false;
    atomic_fetch_add(&rt->searching, 1);
    worker->searching = true;
    return true;
}

static bool
stop_search(struct rn__worker *worker)
{
    if (!worker->searching)
        return false;
    worker->searching = false;
    return atomic_fetch_sub(&worker->rt->searching, 1) == 1;
}

static struct rn__task *
search(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    /* If all others sleep there is nobody to rob. */
    if (atomic_load(&rt->asleep) + 1 >= (uint32_t)rt->worker_count ||
        !start_search(worker))
        return NULL;
    for (int round = 0; round < ROUNDS; round++) {
        rn__outside_take(rt);
        struct rn__task *task = steal(worker);
        if (!task)
            task = rn__sched_local(worker);
        if (task)
            return task;
        for (int i = 0; i < SPINS; i++)
            rn__cpu_pause();
    }
    return NULL;
}

/* A worker without work that expects something from another OS thread spins
 * for it: falling asleep and being woken costs more than most short calls.
 * One is enough. */
static bool
watch(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (!rt->may_spin || atomic_load(&rt->outside_due) == 0)
        return false;
    rn_time span = rn__spin_span(&rt->spin_misses);
    /* seq_cst: counted before the first look at what is posted and until
     * before the last one; partners with rn__outside_post */
    if (atomic_fetch_add(&rt->watching, 1) == 0) {
        rn_time end = rn__os_now() + span;
        while (span && !queued_work(rt) && !atomic_load(&rt->stop) &&
               rn__os_now() < end)
            for (int i = 0; i < WATCH_SPINS && !atomic_load(&rt->outside); i++)
                rn__cpu_pause();
        rn__spin_learn(&rt->spin_misses, atomic_load(&rt->outside));
    }
    atomic_fetch_sub(&rt->watching, 1);
    return rn__outside_take(rt);
}

/* ---- awake -------------------------------------------------------------- */

static bool
is_inside(const struct rn__inside *inside)
{
    /* acquire: what was done there */
    return atomic_load_explicit(&inside->window, memory_order_acquire) ||
           atomic_load_explicit(&inside->section, memory_order_acquire);
}

/* Under idle_lock: from here on nobody is alone; see base/atomic.h. */
static void
end_solitude(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    /* In this order: whoever has seen the new joined sees nobody alone. */
    atomic_fetch_add(&rn__parallel, 1);
    atomic_fetch_add(&rn__joined, 1);
    rn__os_fence_all();
    for (int i = 0; i < rt->worker_count; i++) {
        struct rn__inside *inside = rt->workers[i].inside;
        while (inside && inside != worker->inside && is_inside(inside))
            rn__os_relax();
    }
}

/* Under idle_lock. */
static void
wake_up(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (++rt->awake == 2 && rt->windows)
        end_solitude(worker);
}

/* Under idle_lock: from here on the worker uses no lock but by
 * rn__lock_hard. */
static void
lie_down(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (--rt->awake == 1 && rt->windows) /* release: what we have done */
        atomic_fetch_sub(&rn__parallel, 1);
}

void
rn__worker_begin(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    rn__os_set_self(worker);
    rn__lock_hard(&rt->idle_lock);
    worker->inside = rn__inside_self();
    wake_up(worker);
    rn__unlock(&rt->idle_lock);
}

void
rn__worker_end(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    rn__lock_hard(&rt->idle_lock);
    lie_down(worker);
    worker->inside = NULL; /* the thread may end */
    rn__unlock(&rt->idle_lock);
    rn__os_set_self(NULL);
}

/* ---- sleeping ----------------------------------------------------------- */

static void
fall_asleep(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    atomic_store(&worker->wake, 0);
    rn__lock_hard(&rt->idle_lock);
    worker->idle_next = rt->sleepers;
    rt->sleepers = worker;
    worker->asleep = true;
    atomic_fetch_add(&rt->asleep, 1);
    lie_down(worker);
    rn__unlock(&rt->idle_lock);
}

/* Leave the sleepers, unless a waker has taken us out already. */
static void
get_up(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    /* seq_cst: before the next look at what is posted; who posts and found 0
     * here has woken this worker */
    atomic_store(&worker->wake, 1);
    rn__lock_hard(&rt->idle_lock);
    if (worker->asleep) {
        struct rn__worker **link = &rt->sleepers;
        while (*link != worker)
            link = &(*link)->idle_next;
        *link = worker->idle_next;
        worker->asleep = false;
        atomic_fetch_sub(&rt->asleep, 1);
    }
    wake_up(worker);
    rn__unlock(&rt->idle_lock);
    rn__monitor_ring(rt);
}

static void
rouse(struct rn__worker *worker)
{
    /* seq_cst: after stop; partners with the look in sleep_until_woken */
    atomic_store(&worker->wake, 1);
    rn__os_wake(&worker->wake, 1);
}

void
rn__worker_wake_one(struct rn__rt *rt)
{
    rn__lock_hard(&rt->idle_lock);
    struct rn__worker *worker = rt->sleepers;
    if (worker) {
        rt->sleepers = worker->idle_next;
        worker->asleep = false;
        worker->searching = true;
        atomic_fetch_sub(&rt->asleep, 1);
        atomic_fetch_add(&rt->searching, 1);
    }
    rn__unlock(&rt->idle_lock);
    if (!worker)
        return;
    rouse(worker);
}

/* Takes nobody off the list of sleepers, which needs the lock: they do that
 * themselves. */
void
rn__worker_wake_from_outside(struct rn__rt *rt)
{
    for (int i = 0; i < rt->worker_count; i++) {
        struct rn__worker *worker = &rt->workers[i];
        uint32_t sleeps = 0;
        /* seq_cst: after the post; partners with fall_asleep and get_up */
        if (atomic_load(&worker->wake) == 0 &&
            atomic_compare_exchange_strong(&worker->wake, &sleeps, 1)) {
            rn__os_wake(&worker->wake, 1);
            return;
        }
    }
}

void
rn__worker_stop_all(struct rn__rt *rt)
{
    atomic_store(&rt->stop, true);
    for (int i = 0; i < rt->worker_count; i++)
        rouse(&rt->workers[i]);
}

/* Under idle_lock, all asleep: a sleeper that keeps a stack while tasks starve
 * for one; NULL: none. */
static struct rn__worker *
hoarder(struct rn__rt *rt)
{
    if (atomic_load(&rt->starved_count) == 0)
        return NULL;
    for (int i = 0; i < rt->worker_count; i++)
        if (rt->workers[i].stacks)
            return &rt->workers[i];
    return NULL;
}

static bool
deadlocked(struct rn__rt *rt)
{
    rn__lock_hard(&rt->idle_lock);
    bool dead = atomic_load(&rt->asleep) == (uint32_t)rt->worker_count &&
                atomic_load(&rt->injected_count) == 0 &&
                atomic_load(&rt->outside_due) == 0 &&
                rn__timers_next(rt) == RN_NEVER && !atomic_load(&rt->stop) &&
                !rt->deadlocked;
    struct rn__worker *other = dead ? hoarder(rt) : NULL;
    if (other)
        dead = false;
    if (dead)
        rt->deadlocked = true;
    rn__unlock(&rt->idle_lock);
    if (other)
        rouse(other);
    return dead;
}

/* All asleep: nothing else runs, so everything may be read. */
static void
report_deadlock(struct rn__rt *rt)
{
    bool leak = atomic_load(&rt->main_ended);
    if (rt->options.deadlock == RN_DEADLOCK_CALL) {
        if (rt->options.on_deadlock)
            rt->options.on_deadlock(rt->options.on_deadlock_arg);
        rn__worker_stop_all(rt);
        return;
    }
    size_t starved = atomic_load(&rt->starved_count);
    fprintf(stderr, "runnel: deadlock: %s\n",
            leak ? "main has ended, but tasks it left wait for ever"
                 : "all tasks wait, and nothing can wake one");
    if (starved)
        fprintf(stderr,
                "runnel: %zu tasks are ready, but there is no memory for "
                "their stacks\n",
                starved);
    rn__dump(rt, true, stderr);
    fflush(NULL);
    if (rt->options.deadlock == RN_DEADLOCK_ABORT)
        abort();
    _Exit(RN_EXIT_DEADLOCK);
}

/* With so many timers a wake-up each would cost more than they do. */
rn_time
rn__worker_slack(struct rn__worker *worker, rn_time next)
{
    uint64_t fired =
        atomic_load_explicit(&worker->count.timers, memory_order_relaxed);
    bool many = fired - worker->timers_seen >= MANY_TIMERS;
    worker->timers_seen = fired;
    return many && next < RN_NEVER - SLACK ? next + SLACK : next;
}

static rn_time
sleep_deadline(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    /* In one moment: who gets up passes the lock before it changes a timer. */
    rn__lock_hard(&rt->idle_lock);
    rn_time next = rn__timers_next(rt);
    rn_time trim = atomic_load_explicit(&rt->trim_at, memory_order_relaxed);
    bool all = atomic_load(&rt->asleep) == (uint32_t)rt->worker_count;
    rn__unlock(&rt->idle_lock);
    if (!all)
        return RN_NEVER;
    next = rn__worker_slack(worker, next);
    return trim < next ? trim : next;
}

static void
sleep_until_woken(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    fall_asleep(worker);
    rn__os_fence_all(); /* partners with the light fence in sched.c */
    rn__perturb();
    if (queued_work(rt) || atomic_load(&rt->stop)) {
        get_up(worker);
        return;
    }
    if (deadlocked(rt)) {
        report_deadlock(rt);
    } else {
        rn_time deadline = sleep_deadline(worker);
        rn__count(worker, sleeps);
        if (!atomic_load(&worker->wake))
            rn__os_wait(&worker->wake, 0, deadline);
    }
    get_up(worker);
}

/* A task we wanted to run while another worker was leaving it. */
static struct rn__task *
take_handed(struct rn__worker *worker)
{
    struct rn__task *task = worker->handed;
    worker->handed = NULL;
    return task;
}

struct rn__task *
rn__worker_find(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (worker->handed)
        return take_handed(worker);
    rn__sched_measure(worker, rn__os_now()); /* it may never get to a look */
    while (!atomic_load(&rt->stop)) {
        rn__outside_take(rt);
        rn__timers_look_everywhere(worker, rn__os_now());
        atomic_store_explicit(&worker->pace.rounds, worker->pace.given,
                              memory_order_relaxed);
        struct rn__task *task = rn__sched_local(worker);
        if (!task)
            task = search(worker);
        if (!task && watch(worker))
            task = rn__sched_local(worker);
        if (!task)
            task = rn__sched_feed(worker);
        if (task) {
            if (stop_search(worker) && queued_work(rt))
                rn__worker_wake_one(rt);
            return task;
        }
        stop_search(worker); /* this may take a while */
        if (!rn__spare_trim_idle(worker))
            sleep_until_woken(worker);
    }
    return NULL;
}
