/* sync/barrier.c - a number of tasks wait for each other, again and again.
 *
 * A party has come when it is in the queue, and is out only when it has left
 * the queue under the lock. So who comes last and finds all others in the queue
 * has seen all of them come, in one moment; it takes them out.
 *
 * Some of these may have been claimed by a deadline or a cancel already, and
 * are on their way to the lock to leave. They have come, too: when they find
 * themselves taken out, their wait has succeeded. Until the last of them has
 * been there nobody goes on, because who goes on may free the barrier: the
 * others stand in held, claimed and not yet fired.
 */
#include <runnel/barrier.h>

#include "core/core.h"

struct barrier {
    struct rn__object object;
    uint32_t parties;     /* as RN_BARRIER_INIT put it */
    struct rn__lock lock; /* all below */
    uint32_t here;        /* in the queue */
    uint32_t late;        /* taken out, and still to come to the lock */
    struct rn__list queue, held;
};

_Static_assert(sizeof(struct barrier) <= sizeof(rn_barrier),
               "rn_barrier is too small");
_Static_assert(offsetof(struct barrier, parties) ==
                   offsetof(rn_barrier, rn__parties),
               "RN_BARRIER_INIT fills another field");

static struct barrier *
inner(rn_barrier *barrier)
{
    return (struct barrier *)(void *)barrier;
}

/* Under the lock: all have come. Take them out of the queue: to held, or they
 * are late. */
static void
take_out(struct barrier *b)
{
    struct rn__list *node;
    while ((node = rn__list_pop(&b->queue))) {
        struct rn__waiter *waiter =
            rn__container_of(node, struct rn__waiter, link);
        if (rn__wait_claim(waiter->task, 0, false))
            rn__list_append(&b->held, &waiter->link);
        else
            b->late++;
    }
    b->here = 0;
}

/* Under the lock, which it gives up: go on with all that are held, or wait for
 * those that are late. */
static void
pass(struct barrier *b, struct rn__task *self, const void *site)
{
    struct rn__list woken, *node;
    struct rn__waiter waiter;
    if (b->late == 0) {
        rn__list_init(&woken);
        while ((node = rn__list_pop(&b->held)))
            rn__list_append(&woken, node);
        rn__unlock(&b->lock);
        rn__fire_all(&woken);
        return;
    }
    rn__wait_open(self, RN__BARRIER, &b->object, site, false);
    rn__wait_add(&b->held, &waiter, self, 0, NULL);
    bool claimed = rn__wait_claim(self, 0, false);
    rn__assert(claimed);
    rn__unlock(&b->lock);
    rn__wait_park(self, RN_NEVER);
}

/* Under the lock, which it gives up: come, and wait for the others. */
static int
wait(struct barrier *b, struct rn__task *self, rn_time deadline,
     const void *site)
{
    struct rn__waiter waiter;
    b->here++;
    rn__wait_open(self, RN__BARRIER, &b->object, site, true);
    rn__wait_add(&b->queue, &waiter, self, 0, NULL);
    rn__unlock(&b->lock);
    int result = rn__wait_park(self, deadline);
    if (result == 0)
        return 0;
    rn__lock(&b->lock);
    if (!rn__list_empty(&waiter.link)) { /* not taken out: leave */
        rn__list_remove(&waiter.link);
        b->here--;
        rn__unlock(&b->lock);
        return result;
    }
    b->late--;
    pass(b, self, site);
    return 0;
}

int
rn_barrier_wait(rn_barrier *barrier, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_barrier_wait");
    const void *site = rn__site();
    rn__need(barrier, "rn_barrier_wait", site);
    struct barrier *b = inner(barrier);
    if (b->parties == 0)
        rn__panic_at(site, "rn_barrier_wait at a barrier for no parties");
    rn__step(RN__BARRIER, &b->object, site);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    rn__lock(&b->lock);
    if (b->here + 1 == b->parties) {
        take_out(b);
        pass(b, self, site);
        return 1;
    }
    if (deadline != RN_NOW)
        return wait(b, self, deadline, site);
    rn__unlock(&b->lock);
    return -EAGAIN;
}
