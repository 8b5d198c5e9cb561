/* sync/cond.c - condition variables: a queue of waits.
 *
 * A waiter joins the queue before it gives the mutex up, so a signal sent by
 * the next owner of the mutex finds it. There are no spurious wake-ups, but for
 * those the simulator is asked for, and a waiter cannot take a signal that was
 * sent before it came.
 */
#include "sync/mutex.h"

struct cond {
    struct rn__object object;
    struct rn__lock lock; /* the queue */
    struct rn__list queue;
};

_Static_assert(sizeof(struct cond) <= sizeof(rn_cond), "rn_cond is too small");

static struct cond *
inner(rn_cond *cond)
{
    return (struct cond *)(void *)cond->rn__opaque;
}

int
rn_cond_wait(rn_cond *cond, rn_mutex *mutex, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_cond_wait");
    const void *site = rn__site();
    rn__need(cond, "rn_cond_wait", site);
    rn__need(mutex, "rn_cond_wait", site);
    struct cond *c = inner(cond);
    struct rn__waiter waiter;
    if (!rn__mutex_holds(mutex, self))
        rn__panic_at(site, "wait on a condition without holding the mutex");
    rn__step(RN__COND_WAIT, &c->object, site);
    if (deadline == RN_NOW)
        return -EAGAIN;
    if (rn__cancel_check(self))
        return -ECANCELED;
    rn__lock(&c->lock);
    rn__wait_open(self, RN__COND_WAIT, &c->object, site, true);
    rn__wait_add(&c->queue, &waiter, self, 0, NULL);
    rn__unlock(&c->lock);
    rn__note(RN__NONE, (struct rn__object *)(void *)mutex, NULL);
    rn__mutex_release(mutex);
    /* To be woken for nothing is as good now as later: the task goes on when
     * the schedule lets it. */
    bool spurious = rn__mishap(RN__MISHAP_SPURIOUS, &c->object, site) &&
                    rn__wait_claim(self, 0, false);
    int result = spurious ? 0 : rn__wait_park(self, deadline);
    if (result < 0 || spurious) {
        rn__lock(&c->lock);
        rn__list_remove(&waiter.link);
        rn__unlock(&c->lock);
    }
    rn__mutex_relock(mutex, self, site);
    return result;
}

void
rn_cond_signal(rn_cond *cond)
{
    rn__self_in("rn_cond_signal");
    rn__need(cond, "rn_cond_signal", rn__site());
    struct cond *c = inner(cond);
    rn__step(RN__COND_SIGNAL, &c->object, rn__site());
    rn__lock(&c->lock);
    struct rn__waiter *waiter = rn__wait_claim_first(&c->queue, 0);
    rn__unlock(&c->lock);
    if (waiter)
        rn__fire(waiter->task);
}

void
rn_cond_broadcast(rn_cond *cond)
{
    rn__self_in("rn_cond_broadcast");
    rn__need(cond, "rn_cond_broadcast", rn__site());
    struct cond *c = inner(cond);
    struct rn__list woken;
    rn__list_init(&woken);
    rn__step(RN__COND_BROADCAST, &c->object, rn__site());
    rn__lock(&c->lock);
    rn__wait_claim_all(&c->queue, 0, &woken);
    rn__unlock(&c->lock);
    rn__fire_all(&woken);
}
