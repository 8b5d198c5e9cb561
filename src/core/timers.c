/* core/timers.c - the timers of a worker: a wheel and a lock.
 *
 * A timer is started on the worker of who starts it, and any worker may stop
 * it. Its home is where it runs or ran last. Under the lock of its home nobody
 * else changes the home, so who has locked what it read as home, and reads it
 * again as the same, has the timer. A restart elsewhere takes the lock of the
 * new home inside that of the old one, but only tries; if it cannot be had at
 * once, the timer stays where it was. So a timer may be restarted and stopped
 * by several tasks at once, and locks of two workers are never waited for.
 *
 * Expiry runs under the lock and only claims waits, pins scopes or offers a
 * value; firing and cancelling are done after the unlock. So once
 * rn__timer_stop has returned, nothing of the timer is in use. A wait that was
 * claimed by its own timer need not even stop it: it is fired after the unlock.
 *
 * The smallest expiry is also kept as a hint, so that a look costs no lock
 * when nothing is due. Who needs it exact: see worker.c.
 *
 * Refused: one heap and one lock a runtime, where workers meet at each
 * deadline; and a list of timers to be stopped by their home (a timer on a
 * stack, or in memory that is freed, would have to wait for that).
 */
#include "core/timers.h"

#include "core/core.h"

_Static_assert(INT64_MAX == RN_NEVER, "an empty wheel never expires");

enum {
    BATCH = 64,           /* expiries under one lock */
    OVERDUE = 100 * RN_US /* then a busy worker helps another */
};

/* Under the lock. Written only when it changes: idle workers read it. */
static void
publish_next(struct rn__timers *timers)
{
    rn_time next = rn__wheel_next(&timers->wheel);
    /* relaxed: worker.c says why a hint is enough */
    if (atomic_load_explicit(&timers->next, memory_order_relaxed) != next)
        atomic_store_explicit(&timers->next, next, memory_order_relaxed);
}

/* Under the lock: a timer comes or goes. */
static inline void
note_due(struct rn__timers *timers, rn_time when)
{
    if (rn__unlikely(when <= timers->due_at))
        timers->due_changes++;
}

/* Under the lock. */
static void
insert(struct rn__timers *timers, struct rn__timer *timer, rn_time when)
{
    if (when == RN_NEVER)
        return;
    note_due(timers, when);
    rn__wheel_insert(&timers->wheel, &timer->node, when);
    publish_next(timers);
}

/* Under the lock. */
static bool
take_out(struct rn__timers *timers, struct rn__timer *timer)
{
    if (!rn__heap_has(&timer->node))
        return false;
    note_due(timers, timer->node.key);
    rn__wheel_remove(&timers->wheel, &timer->node);
    publish_next(timers);
    return true;
}

static struct rn__timers *
home_of(struct rn__timer *timer)
{
    /* relaxed: all homes live as long as the runtime, and only what is read
     * under the lock counts */
    return atomic_load_explicit(&timer->home, memory_order_relaxed);
}

/* Lock where the timer is at home; NULL: it never was. */
__attribute__((always_inline)) static inline struct rn__timers *
lock_home(struct rn__timer *timer)
{
    struct rn__timers *home;
    while ((home = home_of(timer))) {
        rn__perturb();
        rn__lock(&home->lock);
        if (rn__likely(home == home_of(timer)))
            break;
        rn__unlock(&home->lock);
    }
    return home;
}

void
rn__timers_init(struct rn__timers *timers, rn_time now)
{
    timers->wheel.bound = RN__WHEEL_UNKNOWN;
    rn__wheel_advance(&timers->wheel, now);
    publish_next(timers);
}

void
rn__timer_start(struct rn__timers *here, struct rn__timer *timer, rn_time when,
                rn_time period)
{
    /* relaxed: who stops it learns of it from us */
    atomic_store_explicit(&timer->home, here, memory_order_relaxed);
    timer->period = period;
    rn__lock(&here->lock);
    insert(here, timer, when);
    rn__unlock(&here->lock);
}

bool
rn__timer_restart(struct rn__timers *here, struct rn__timer *timer,
                  rn_time when, rn_time period)
{
    struct rn__timers *home = lock_home(timer);
    if (rn__unlikely(!home)) { /* one of those who start it first wins */
        struct rn__timers *none = NULL;
        atomic_compare_exchange_strong(&timer->home, &none, here);
        home = lock_home(timer);
    }
    bool running = take_out(home, timer), move = false;
    if (home != here) {
        move = rn__trylock(&here->lock);
        if (move) /* relaxed: counts only under the old home's lock */
            atomic_store_explicit(&timer->home, here, memory_order_relaxed);
    }
    timer->period = period;
    insert(move ? here : home, timer, when);
    if (move)
        rn__unlock(&here->lock);
    rn__unlock(&home->lock);
    return running;
}

bool
rn__timer_stop(struct rn__timer *timer)
{
    struct rn__timers *home = lock_home(timer);
    if (!home)
        return false;
    bool running = take_out(home, timer);
    rn__unlock(&home->lock);
    return running;
}

void
rn__timer_again(struct rn__timer *timer, rn_time when)
{
    note_due(home_of(timer), when);
    rn__wheel_insert(&home_of(timer)->wheel, &timer->node, when);
}

static void
finish(struct rn__rt *rt, struct rn__expired *out)
{
    while (out->tasks) {
        struct rn__task *task = out->tasks;
        out->tasks = task->next;
        if (rn__likely(task->stack != NULL)) /* it has begun */
            rn__prefetch(task->stack->ctx.sp);
        rn__fire(task);
    }
    rn__fire_all(&out->waiters);
    while (out->scopes) {
        struct rn_scope *scope = out->scopes;
        out->scopes = scope->expired_next;
        rn__scope_cancel(rt, scope, RN__CANCEL_DEADLINE);
        rn__scope_unpin(scope);
    }
}

static void
add(_Atomic uint64_t *counter, uint64_t n)
{
    /* relaxed: own writes, and reads for reports */
    uint64_t old = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, old + n, memory_order_relaxed);
}

static void
count_expiry(struct rn__worker *worker, rn_time due)
{
    struct rn__counters *count = &worker->count;
    uint64_t late = worker->clock > due ? (uint64_t)(worker->clock - due) : 0;
    add(&count->timers, 1);
    add(&count->timers_late_total, late);
    if (late >
        atomic_load_explicit(&count->timers_late_max, memory_order_relaxed))
        atomic_store_explicit(&count->timers_late_max, late,
                              memory_order_relaxed);
}

/* Under the lock: take the timer out and run its expiry. */
static void
expire(struct rn__worker *worker, struct rn__timers *timers,
       struct rn__timer *timer, struct rn__expired *out)
{
    rn__wheel_remove(&timers->wheel, &timer->node);
    count_expiry(worker, timer->node.key);
    timer->expire(timer, out);
}

static size_t
run_some(struct rn__worker *worker, struct rn__timers *timers, rn_time limit)
{
    struct rn__expired out = {.tasks_end = &out.tasks};
    struct rn__heap_node *min;
    size_t count = 0;
    rn__lock(&timers->lock);
    rn__wheel_advance(&timers->wheel, limit);
    while (count < BATCH && (min = rn__heap_min(&timers->wheel.near)) &&
           min->key <= limit) {
        expire(worker, timers, rn__container_of(min, struct rn__timer, node),
               &out);
        count++;
    }
    publish_next(timers);
    rn__unlock(&timers->lock);
    rn__perturb();
    finish(worker->rt, &out);
    return count;
}

static rn_time
next_of(const struct rn__timers *timers)
{
    return atomic_load_explicit(&timers->next, memory_order_relaxed);
}

/* Not longer than until limit, or a ticker could keep it here for ever. */
size_t
rn__timers_run(struct rn__worker *worker, struct rn__timers *timers,
               rn_time limit)
{
    size_t count = 0, some = BATCH;
    while (some == BATCH && next_of(timers) <= limit) {
        if (count > 0)
            worker->clock = rn__rt_now(worker->rt);
        some = run_some(worker, timers, limit);
        count += some;
    }
    return count;
}

void
rn__timers_look(struct rn__worker *worker, rn_time now)
{
    struct rn__rt *rt = worker->rt;
    worker->clock = now;
    rn__timers_run(worker, &worker->timers, now);
    if (rt->worker_count == 1)
        return;
    worker->helped = (worker->helped + 1) % rt->worker_count;
    rn__timers_run(worker, &rt->workers[worker->helped].timers, now - OVERDUE);
}

void
rn__timers_look_everywhere(struct rn__worker *worker, rn_time now)
{
    struct rn__rt *rt = worker->rt;
    worker->clock = now;
    for (int i = 0; i < rt->worker_count; i++) {
        int at = (worker->index + i) % rt->worker_count;
        rn__timers_run(worker, &rt->workers[at].timers, now);
    }
}

rn_time
rn__timers_next(struct rn__rt *rt)
{
    rn_time next = RN_NEVER;
    for (int i = 0; i < rt->worker_count; i++) {
        rn_time other = next_of(&rt->workers[i].timers);
        if (other < next)
            next = other;
    }
    return next;
}

size_t
rn__timers_due(struct rn__timers *timers, rn_time now,
               struct rn__heap_node **due, size_t max)
{
    timers->due_at = now;
    if (next_of(timers) > now)
        return 0;
    rn__wheel_advance(&timers->wheel, now);
    publish_next(timers);
    return rn__heap_due(&timers->wheel.near, now, due, max);
}

rn_time
rn__timers_first(struct rn__timers *timers)
{
    struct rn__heap_node *first = rn__wheel_first(&timers->wheel);
    publish_next(timers);
    return first ? first->key : RN_NEVER;
}

void
rn__timer_expire(struct rn__worker *worker, struct rn__timer *timer)
{
    struct rn__expired out = {.tasks_end = &out.tasks};
    struct rn__timers *timers = &worker->timers;
    rn__lock(&timers->lock);
    expire(worker, timers, timer, &out);
    publish_next(timers);
    rn__unlock(&timers->lock);
    finish(worker->rt, &out);
}
