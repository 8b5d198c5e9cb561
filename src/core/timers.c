/* core/timers.c - the runtime's timers: a heap and a lock.
 *
 * Who owns: each timer is part of a task, a scope or an rn_timer; the heap
 * holds pointers. Expiry runs under the lock, so that once rn__timer_stop has
 * returned nothing of the timer is in use; what must not be done under it
 * (fire, cancel) is collected and done afterwards. Room is reserved when the
 * owner is made: starting a timer never fails.
 *
 * timers.next lets workers see without the lock that nothing is due.
 */
#include "core/core.h"

#include <string.h>

static void *
grow(void *memory, size_t old_bytes, size_t new_bytes, void *context)
{
    struct rn__rt *rt = context;
    void *larger = rn__alloc(rt, new_bytes);
    if (larger && memory) {
        memcpy(larger, memory, old_bytes);
        rn__free(rt, memory);
    }
    return larger;
}

int
rn__timer_reserve(struct rn__rt *rt)
{
    struct rn__timers *timers = &rt->timers;
    rn__lock(&timers->lock);
    int error = rn__heap_reserve(&timers->heap, timers->reserved + 1, grow, rt);
    if (!error)
        timers->reserved++;
    rn__unlock(&timers->lock);
    return error;
}

void
rn__timer_unreserve(struct rn__rt *rt)
{
    rn__lock(&rt->timers.lock);
    rt->timers.reserved--;
    rn__unlock(&rt->timers.lock);
}

/* Under the lock. */
static void
publish_next(struct rn__timers *timers)
{
    struct rn__heap_node *min = rn__heap_min(&timers->heap);
    /* seq_cst: a worker that goes to sleep reads it after it has counted
     * itself asleep */
    atomic_store(&timers->next, min ? min->key : RN_NEVER);
}

/* Under the lock. */
static bool
take_out(struct rn__timers *timers, struct rn__timer *timer)
{
    bool running = timer->node.place != 0;
    if (running)
        rn__heap_remove(&timers->heap, &timer->node);
    return running;
}

bool
rn__timer_restart(struct rn__rt *rt, struct rn__timer *timer, rn_time when,
                  rn_time period)
{
    struct rn__timers *timers = &rt->timers;
    rn__lock(&timers->lock);
    bool running = take_out(timers, timer);
    rn__assert(timers->heap.count < timers->reserved);
    timer->period = period;
    if (when != RN_NEVER)
        rn__heap_insert(&timers->heap, &timer->node, when);
    publish_next(timers);
    rn__unlock(&timers->lock);
    return running;
}

void
rn__timer_start(struct rn__rt *rt, struct rn__timer *timer, rn_time when)
{
    rn__timer_restart(rt, timer, when, 0);
}

bool
rn__timer_stop(struct rn__rt *rt, struct rn__timer *timer)
{
    struct rn__timers *timers = &rt->timers;
    rn__lock(&timers->lock);
    bool running = take_out(timers, timer);
    if (running)
        publish_next(timers);
    rn__unlock(&timers->lock);
    return running;
}

void
rn__timer_again(struct rn__rt *rt, struct rn__timer *timer, rn_time when)
{
    rn__heap_insert(&rt->timers.heap, &timer->node, when);
}

static void
finish(struct rn__rt *rt, struct rn__expired *out)
{
    while (out->tasks) {
        struct rn__task *task = out->tasks;
        out->tasks = task->next;
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

/* Under the lock: take the timer out and run its expiry. */
static void
expire_one(struct rn__timers *timers, struct rn__timer *timer,
           struct rn__expired *out)
{
    rn__heap_remove(&timers->heap, &timer->node);
    timer->expire(timer, out);
}

size_t
rn__timers_run(struct rn__rt *rt, rn_time now)
{
    struct rn__timers *timers = &rt->timers;
    /* acquire: a hint; exact again under the lock */
    if (atomic_load_explicit(&timers->next, memory_order_acquire) > now)
        return 0;
    struct rn__expired out = {.tasks_end = &out.tasks};
    size_t count = 0;
    rn__lock(&timers->lock);
    struct rn__heap_node *min;
    while ((min = rn__heap_min(&timers->heap)) && min->key <= now) {
        expire_one(timers, rn__container_of(min, struct rn__timer, node), &out);
        count++;
    }
    publish_next(timers);
    rn__unlock(&timers->lock);
    finish(rt, &out);
    return count;
}

void
rn__timer_expire(struct rn__rt *rt, struct rn__timer *timer)
{
    struct rn__expired out = {.tasks_end = &out.tasks};
    rn__lock(&rt->timers.lock);
    expire_one(&rt->timers, timer, &out);
    publish_next(&rt->timers);
    rn__unlock(&rt->timers.lock);
    finish(rt, &out);
}

void
rn__timers_fini(struct rn__rt *rt)
{
    rn__free(rt, rt->timers.heap.nodes);
}
