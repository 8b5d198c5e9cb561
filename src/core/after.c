/* core/after.c - tasks that begin at a time.
 *
 * Such a task is in its scope from the start, and waits before it has begun: it
 * has a record and a timer, but no stack. Its wait is like any other, so a
 * cancel finds it; the bit BEGIN in task->wait tells it from the waits of the
 * task itself, and goes when it is claimed. So stop and reset claim only what
 * has not begun, and there is one winner among them, the timer and a cancel.
 *
 * task->lock is held from before the wait is open until the timer runs, so that
 * a task that was cancelled in between, and has begun to end, stops the timer
 * after it was started. It also keeps the record from being another's.
 *
 * Refused: a task that sleeps, which would have a stack for all that time; and
 * spawning when the time has come, which could fail with nobody to tell.
 */
#include "core/after.h"

#include <runnel/time.h>

/* Under task->lock: wait to begin. */
static void
wait_to_begin(struct rn__task *task, rn_time when, const void *site)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__waitinfo *info = &task->info;
    /* relaxed: for dumps */
    atomic_store_explicit(&info->object, NULL, memory_order_relaxed);
    atomic_store_explicit(&info->site, site, memory_order_relaxed);
    atomic_store_explicit(&info->kind, RN__SLEEP, memory_order_relaxed);
    atomic_store_explicit(&info->since, worker->clock, memory_order_relaxed);
    rn__timer_init(&task->timer, rn__wait_expire);
    /* release: all of the record, for who claims it */
    atomic_store_explicit(&task->wait,
                          RN__WAIT_OPEN | RN__WAIT_CANCELLABLE | RN__WAIT_BEGIN,
                          memory_order_release);
    /* As in rn__wait_open: before the look for a cancel. */
    rn__fence_light();
    int reason = rn__cancel_check(task)           ? -ECANCELED
                 : when <= rn__rt_now(worker->rt) ? -ETIMEDOUT
                                                  : 0;
    if (reason && rn__wait_claim(task, reason, false))
        rn__fire(task);
    else
        rn__timer_start(&worker->timers, &task->timer, when, 0);
}

/* Under task->lock: keep it from beginning. False: it has begun, or will. */
static bool
claim_unbegun(struct rn__task *task)
{
    uint32_t word = atomic_load_explicit(&task->wait, memory_order_relaxed);
    do
        if (!(word & RN__WAIT_BEGIN))
            return false;
    while (!rn__cas(&task->wait, &word, 0));
    rn__timer_stop(&task->timer);
    return true;
}

int
rn__after_unbegun(struct rn__task *task)
{
    if (task->at_home & RN__HOME_LATE) {
        rn__lock(&task->lock);
        rn__timer_stop(&task->timer);
        rn__unlock(&task->lock);
    }
    return -ECANCELED;
}

/* What a stopped one runs instead. */
static int
nothing(void *arg)
{
    (void)arg;
    return 0;
}

static struct rn__object *
object_of(struct rn__rt *rt, rn_task id)
{
    struct rn__task *task = rn__task_record(rt, id.id);
    return task ? &task->object : NULL;
}

/* ---- public ------------------------------------------------------------- */

int
rn_after_func(rn_scope *scope, rn_time when, rn_task_fn *fn, void *arg,
              rn_task *handle)
{
    struct rn__task *self = rn__self_in("rn_after_func");
    struct rn__worker *worker = rn__worker_self();
    const void *site = rn__site();
    rn__need(fn, "rn_after_func", site);
    struct rn__task *task = rn__task_make(fn, arg, site);
    if (!task)
        return -ENOMEM;
    /* relaxed: for dumps */
    atomic_store_explicit(&task->name, NULL, memory_order_relaxed);
    task->known = true;
    rn__step(RN__SPAWN, &task->object, site);
    int error = rn__scope_enter(scope ? scope : self->scope, task);
    if (error) {
        rn__task_free(task);
        return error;
    }
    task->at_home |= RN__HOME_LATE;
    rn__count(worker, tasks);
    if (handle)
        *handle = rn__task_handle(task);
    rn__lock(&task->lock);
    rn__scope_list(task); /* where a cancel looks for it */
    wait_to_begin(task, when, site);
    rn__unlock(&task->lock);
    return 0;
}

int
rn_after_stop(rn_task id)
{
    struct rn__task *self = rn__self_in("rn_after_stop");
    rn__step(RN__AFTER_STOP, object_of(self->rt, id), rn__site());
    struct rn__task *task = rn__task_find(self->rt, id.id);
    if (!task)
        return 0;
    bool claimed = claim_unbegun(task);
    if (claimed) { /* it ends in the usual way, as its scope expects */
        task->fn = nothing;
        rn__fire(task);
    }
    rn__unlock(&task->lock);
    return claimed;
}

int
rn_after_reset(rn_task id, rn_time when)
{
    struct rn__task *self = rn__self_in("rn_after_reset");
    const void *site = rn__site();
    rn__step(RN__AFTER_RESET, object_of(self->rt, id), site);
    struct rn__task *task = rn__task_find(self->rt, id.id);
    if (!task)
        return 0;
    bool claimed = claim_unbegun(task);
    if (claimed)
        wait_to_begin(task, when, site);
    rn__unlock(&task->lock);
    return claimed;
}
