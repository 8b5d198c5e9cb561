/* core/wait.c - the only way to block.
 *
 * A wait is opened, registered with any number of objects (a waiter on each
 * object's queue, under that object's lock), and parked. Whoever wants to end
 * it claims it first: one compare-and-swap on task->wait, which exactly one
 * claimer wins. The winner may then write to the waiter's slot and to the
 * task's result, releases its locks, and fires: the task goes on.
 *
 * States of task->wait (CANCELLABLE is or'ed in):
 *
 *     NONE --open--> OPEN --left its stack--> PARKED
 *                     |                         |
 *                   claim                     claim
 *                     v                         v
 *                  CLAIMED --left its stack--> CLAIMED_PARKED --fire--> ready
 *                     |
 *                    fire --> FIRED --left its stack--> ready
 *
 * A task is queued to run only after it has left its stack and been fired, by
 * whichever of the two comes second. INVARIANT: between claim and fire nobody
 * but the claimer touches the wait; after fire the claimer touches neither the
 * waiter nor any object the task may free. A waiter is out of every queue
 * before its wait returns, so no lock-free reference to it exists.
 *
 * Cancel: the canceller marks scopes, passes a heavy fence, then tries to claim
 * (rn__scope_cancel); the task opens, passes a light fence, then looks at its
 * scope. At least one sees the other (Dekker's argument; base/atomic.h).
 *
 * Refused: a mutex and a condition for each task (two futex calls a wake), and
 * registering under all locks until parked (locks across a switch).
 */
#include "core/core.h"

enum {
    NONE,
    OPEN,
    PARKED,
    CLAIMED,
    CLAIMED_PARKED,
    FIRED,
    STATE = 0xff,
    CANCELLABLE = 0x100
};

static void
set_info(struct rn__task *self, enum rn__kind kind, struct rn__object *object,
         const void *site)
{
    /* relaxed: dumps read them one by one and expect no consistency */
    atomic_store_explicit(&self->info.object, object, memory_order_relaxed);
    atomic_store_explicit(&self->info.site, site, memory_order_relaxed);
    atomic_store_explicit(&self->info.kind, kind, memory_order_relaxed);
}

void
rn__wait_open(struct rn__task *self, enum rn__kind kind,
              struct rn__object *object, const void *site, bool cancellable)
{
    set_info(self, kind, object, site);
    uint32_t word = cancellable && !self->shielded ? OPEN | CANCELLABLE : OPEN;
    /* release: the result of the last wait has been read */
    atomic_store_explicit(&self->wait, word, memory_order_release);
    /* Before the look at the scope in park; partners with the heavy fence
     * between the marks and the claims of a cancel. */
    rn__fence_light();
}

void
rn__wait_add(struct rn__list *queue, struct rn__waiter *waiter,
             struct rn__task *self, int arm, void *slot)
{
    waiter->task = self;
    waiter->arm = arm;
    waiter->slot = slot;
    waiter->sibling = NULL;
    rn__list_append(queue, &waiter->link);
}

bool
rn__wait_claim(struct rn__task *task, int result, bool cancel)
{
    uint32_t word = atomic_load_explicit(&task->wait, memory_order_relaxed);
    for (;;) {
        uint32_t state = word & STATE;
        if (state != OPEN && state != PARKED)
            return false;
        if (cancel && !(word & CANCELLABLE))
            return false;
        uint32_t claimed = state == OPEN ? CLAIMED : CLAIMED_PARKED;
        if (rn__cas(&task->wait, &word, claimed))
            break;
    }
    task->wait_result = result;
    task->wait_status = 0;
    return true;
}

void
rn__fire(struct rn__task *task)
{
    uint32_t expected = CLAIMED;
    rn__perturb();
    /* acquire: the saved context, if it has parked. Release: the result is
     * seen by the task; partners with rn__wait_parked. After success the task
     * must not be touched. */
    if (atomic_load_explicit(&task->wait, memory_order_acquire) == CLAIMED &&
        rn__cas(&task->wait, &expected, FIRED))
        return;
    rn__sched_ready(task);
}

void
rn__wait_parked(struct rn__task *task)
{
    /* acquire: partners with the release in rn__fire */
    uint32_t word = atomic_load_explicit(&task->wait, memory_order_acquire);
    for (;;) {
        uint32_t state = word & STATE, next;
        if (state == FIRED) {
            rn__sched_ready(task);
            return;
        }
        next = state == OPEN ? PARKED | (word & CANCELLABLE) : CLAIMED_PARKED;
        /* release: the saved context is seen by whoever resumes it */
        if (rn__cas(&task->wait, &word, next))
            return;
    }
}

bool
rn__task_waits(const struct rn__task *task)
{
    /* acquire: with PARKED comes the saved context */
    uint32_t state =
        atomic_load_explicit(&task->wait, memory_order_acquire) & STATE;
    return state == OPEN || state == PARKED;
}

bool
rn__wait_fired(const struct rn__task *task)
{
    /* acquire: as in rn__wait_parked */
    return (atomic_load_explicit(&task->wait, memory_order_acquire) & STATE) ==
           FIRED;
}

bool
rn__wait_any(struct rn__list *queue)
{
    while (!rn__list_empty(queue)) {
        struct rn__waiter *waiter =
            rn__container_of(queue->next, struct rn__waiter, link);
        /* acquire: a claimed wait never becomes claimable again while it is
         * in a queue */
        uint32_t state =
            atomic_load_explicit(&waiter->task->wait, memory_order_acquire) &
            STATE;
        if (state == OPEN || state == PARKED)
            return true;
        rn__list_remove(&waiter->link);
    }
    return false;
}

/* Once fired, the task will not look at this object again: take all its
 * waiters out of its queues. */
static void
remove_siblings(struct rn__waiter *waiter)
{
    struct rn__waiter *other = waiter->sibling;
    for (; other && other != waiter; other = other->sibling)
        rn__list_remove(&other->link);
}

struct rn__waiter *
rn__wait_claim_first(struct rn__list *queue, int status)
{
    struct rn__list *node;
    while ((node = rn__list_pop(queue))) {
        struct rn__waiter *waiter =
            rn__container_of(node, struct rn__waiter, link);
        if (rn__wait_claim(waiter->task, waiter->arm, false)) {
            waiter->task->wait_status = status;
            remove_siblings(waiter);
            return waiter;
        }
    }
    return NULL;
}

void
rn__wait_claim_all(struct rn__list *queue, int status, struct rn__list *list)
{
    struct rn__waiter *waiter;
    while ((waiter = rn__wait_claim_first(queue, status)))
        rn__list_append(list, &waiter->link);
}

void
rn__fire_all(struct rn__list *list)
{
    struct rn__list *node;
    while ((node = rn__list_pop(list)))
        rn__fire(rn__container_of(node, struct rn__waiter, link)->task);
}

static void
close_wait(struct rn__task *self)
{
    /* relaxed: nobody has a reference to this wait any more, except a cancel,
     * which expects any state */
    atomic_store_explicit(&self->wait, NONE, memory_order_relaxed);
    atomic_store_explicit(&self->info.kind, RN__NONE, memory_order_relaxed);
}

/* End the wait before it parks, if there is a reason to. */
static bool
give_up(struct rn__task *self, rn_time deadline)
{
    bool cancellable =
        atomic_load_explicit(&self->wait, memory_order_relaxed) & CANCELLABLE;
    /* after the fence in rn__wait_open, see the head comment */
    if (cancellable && rn__scope_cancelled(self->scope) &&
        rn__wait_claim(self, -ECANCELED, true))
        return true;
    return deadline != RN_NEVER && deadline <= rn__rt_now(self->rt) &&
           rn__wait_claim(self, -ETIMEDOUT, false);
}

static void
expire(struct rn__timer *timer, struct rn__expired *out)
{
    struct rn__task *task = rn__container_of(timer, struct rn__task, timer);
    if (rn__wait_claim(task, -ETIMEDOUT, false)) {
        task->next = NULL;
        *out->tasks_end = task;
        out->tasks_end = &task->next;
    }
}

int
rn__wait_park(struct rn__task *self, rn_time deadline)
{
    rn__perturb();
    if (!give_up(self, deadline)) {
        struct rn__rt *rt = self->rt;
        if (deadline != RN_NEVER) {
            self->timer.expire = expire;
            rn__timer_start(rt, &self->timer, deadline);
        }
        rn__sched_park(self);
        rn__perturb();
        if (deadline != RN_NEVER)
            rn__timer_stop(rt, &self->timer);
    }
    close_wait(self);
    return self->wait_result;
}

static int
wait_queued(struct rn__task *self, const struct rn__waitspec *spec,
            rn_time deadline, bool cancellable)
{
    struct rn__waiter waiter;
    rn__wait_open(self, spec->kind, spec->object, spec->site, cancellable);
    rn__wait_add(spec->queue, &waiter, self, 0, spec->slot);
    rn__unlock(spec->lock);
    int result = rn__wait_park(self, deadline);
    if (result < 0) {
        rn__lock(spec->lock);
        rn__list_remove(&waiter.link);
        rn__unlock(spec->lock);
    }
    return result;
}

int
rn__wait_one(struct rn__task *self, const struct rn__waitspec *spec,
             rn_time deadline)
{
    return wait_queued(self, spec, deadline, true);
}

void
rn__wait_through(struct rn__task *self, const struct rn__waitspec *spec)
{
    wait_queued(self, spec, RN_NEVER, false);
}

int
rn__wait_forever(struct rn__task *self, enum rn__kind kind, const void *site,
                 rn_time deadline)
{
    if (deadline == RN_NOW)
        return -EAGAIN;
    rn__wait_open(self, kind, NULL, site, true);
    return rn__wait_park(self, deadline);
}
