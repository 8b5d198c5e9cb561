/* core/wait.c - the only way to block.
 *
 * A wait is opened, registered with any number of objects (a waiter on each
 * object's queue, under that object's lock), and parked. Whoever wants to end
 * it claims it first: one compare-and-swap on task->wait, which exactly one
 * claimer wins. The winner may then write to the waiter's slot and to the
 * task's result, releases its locks, and fires: the task goes on.
 *
 * task->wait is OPEN from open to claim, with CANCELLABLE if a cancel may claim
 * it, else 0. With it goes the number of shields the task has pushed: a cancel
 * of a scope claims only waits inside as many as the scope was opened in.
 *
 * To fire is to queue the task, once. That may happen while it still runs
 * towards its park: sched.c sees to it that a stack is not entered before it
 * has been left. INVARIANT: between claim and fire nobody but the claimer
 * touches the wait; after fire the claimer touches neither the waiter nor any
 * object the task may free. A waiter is out of every queue before its wait
 * returns, so no lock-free reference to it exists.
 *
 * Cancel: the canceller marks scopes, passes a heavy fence, then tries to claim
 * (cancel.c); the task opens, passes a light fence, then looks at its scope and
 * at told. At least one sees the other (Dekker's argument; base/atomic.h).
 *
 * Refused: a mutex and a condition for each task (two futex calls a wake), and
 * registering under all locks until parked (locks across a switch).
 */
#include "core/wait.h"

bool
rn__wait_any(struct rn__list *queue)
{
    while (!rn__list_empty(queue)) {
        struct rn__waiter *waiter =
            rn__container_of(queue->next, struct rn__waiter, link);
        /* a claimed wait never becomes claimable again while it is in a
         * queue */
        if (rn__task_waits(waiter->task))
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
rn__wait_claim_some(struct rn__list *queue, int status)
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

/* End the wait before it parks, if there is a reason to. */
static bool
give_up(struct rn__task *self)
{
    return rn__cancel_check(self) && rn__wait_claim(self, -ECANCELED, true);
}

void
rn__wait_expire(struct rn__timer *timer, struct rn__expired *out)
{
    struct rn__task *task = rn__container_of(timer, struct rn__task, timer);
    if (rn__wait_claim(task, -ETIMEDOUT, false)) {
        rn__prefetch(task->stack); /* cold, if it has slept for long */
        task->next = NULL;
        *out->tasks_end = task;
        out->tasks_end = &task->next;
    }
}

/* The worker's clock may be behind by some rounds. A deadline that has passed
 * since expires at the next look at it, which costs less than a look here. */
static void
park_until(struct rn__task *self, rn_time deadline)
{
    struct rn__worker *worker = rn__worker_self();
    if (deadline <= worker->clock && rn__wait_claim(self, -ETIMEDOUT, false))
        return;
    rn__timer_init(&self->timer, rn__wait_expire);
    rn__timer_start(&worker->timers, &self->timer, deadline, 0);
    rn__sched_park(self);
    rn__perturb();
    /* The one claimer with this result is the timer, which was out of the wheel
     * and not in use any more when it fired. */
    if (self->wait_result != -ETIMEDOUT)
        rn__timer_stop(&self->timer);
}

/* There is a deadline, or the scope is cancelled. */
__attribute__((noinline)) static int
park_carefully(struct rn__task *self, rn_time deadline)
{
    if (give_up(self))
        return self->wait_result;
    if (deadline != RN_NEVER) {
        park_until(self, deadline);
        return self->wait_result;
    }
    rn__sched_park(self);
    return self->wait_result;
}

void
rn__carriers_suspend(struct rn__task *self)
{
    self->at_home &= (uint8_t)~RN__HOME_ITEM;
    /* Those around one that knows, know. */
    for (struct rn__carrier *c = self->carrier; c && !c->suspended;
         c = c->outer) {
        c->suspended = true;
        c->suspend(c);
    }
}

/* The task waits for the first time, or its item does. */
__attribute__((noinline)) static void
park_first(struct rn__task *self)
{
    if (self->in_tx) /* it counts as not listed, so that it comes here */
        rn__panic_at(
            atomic_load_explicit(&self->info.site, memory_order_relaxed),
            "a wait inside the body of a transaction");
    if (self->at_home & RN__HOME_ITEM)
        rn__carriers_suspend(self);
    if (!(self->at_home & RN__HOME_LISTED))
        rn__scope_list(self);
}

int
rn__wait_park(struct rn__task *self, rn_time deadline)
{
    rn__perturb();
    if (rn__unlikely((self->at_home & (RN__HOME_LISTED | RN__HOME_ITEM)) !=
                     RN__HOME_LISTED))
        park_first(self);
    /* after the fence in rn__wait_open, see the head comment; and after it is
     * in the list that a cancel walks when it has marked the scope */
    if (rn__unlikely(deadline != RN_NEVER || rn__cancel_near(self)))
        return park_carefully(self, deadline);
    rn__sched_park(self);
    rn__perturb();
    return self->wait_result;
}

int
rn__wait_one(struct rn__task *self, const struct rn__waitspec *spec,
             rn_time deadline)
{
    return rn__wait_here(self, spec, deadline);
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
