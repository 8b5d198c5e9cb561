/* sync/mutex.c - mutual exclusion, handed over in order of arrival.
 *
 * word: LOCKED; WAITERS: the queue is not empty; QUEUE: somebody is at the
 * queue. The free lock is 0. Unlock with waiters hands the lock to the first:
 * the word stays LOCKED, so nobody can barge in and no waiter starves. All
 * three bits are in one word so that the store that frees the mutex is the
 * last touch: whoever locks it next may free its memory.
 */
#include "sync/mutex.h"

#include "sync/bitlock.h"

enum { LOCKED = 1, WAITERS = 2, QUEUE = 4 };

struct mutex {
    struct rn__object object; /* holder: who has locked it */
    _Atomic uint32_t word;
    struct rn__list queue; /* under the QUEUE bit */
};

_Static_assert(sizeof(struct mutex) <= sizeof(rn_mutex),
               "rn_mutex is too small");

static struct mutex *
inner(rn_mutex *mutex)
{
    return (struct mutex *)(void *)mutex->rn__opaque;
}

static void
set_holder(struct mutex *m, const struct rn__task *task)
{
    atomic_store_explicit(&m->object.holder,
                          task ? rn__task_handle(task).id : 0,
                          memory_order_relaxed);
}

/* Take the queue bit; returns the other bits. */
static uint32_t
lock_queue(struct mutex *m)
{
    return rn__bitlock(&m->word, QUEUE);
}

/* Give the queue bit back. */
static void
unlock_queue(struct mutex *m, uint32_t locked)
{
    uint32_t waiters = rn__list_empty(&m->queue) ? 0 : WAITERS;
    /* release: the queue for its next user, the data for the next owner */
    atomic_store_explicit(&m->word, locked | waiters, memory_order_release);
}

static bool
try(struct mutex *m, struct rn__task *self)
{
    uint32_t free = 0;
    /* acquire: partners with the release that freed it */
    if (!rn__cas(&m->word, &free, LOCKED))
        return false;
    set_holder(m, self);
    return true;
}

static int
lock_slow(struct mutex *m, struct rn__task *self, const void *site,
          rn_time deadline, bool cancellable)
{
    struct rn__waiter waiter;
    if (!(lock_queue(m) & LOCKED)) { /* freed meanwhile: nobody waits */
        set_holder(m, self);
        unlock_queue(m, LOCKED);
        return 0;
    }
    if (deadline == RN_NOW) {
        unlock_queue(m, LOCKED);
        return -EAGAIN;
    }
    rn__wait_open(self, RN__LOCK, &m->object, site, cancellable);
    rn__wait_add(&m->queue, &waiter, self, 0, NULL);
    unlock_queue(m, LOCKED);
    int result = rn__wait_park(self, deadline);
    if (result < 0) {
        uint32_t word = lock_queue(m);
        rn__list_remove(&waiter.link);
        unlock_queue(m, word & LOCKED);
    }
    return result;
}

void
rn__mutex_relock(rn_mutex *mutex, struct rn__task *self, const void *site)
{
    struct mutex *m = inner(mutex);
    rn__step(RN__LOCK, &m->object, site);
    if (!try(m, self))
        lock_slow(m, self, site, RN_NEVER, false);
}

/* Out of line, so that who wakes nobody saves no registers for it. */
__attribute__((noinline)) static void
release_slow(struct mutex *m)
{
    lock_queue(m);
    struct rn__waiter *next = rn__wait_claim_first(&m->queue, 0);
    if (next)
        set_holder(m, next->task);
    unlock_queue(m, next ? LOCKED : 0);
    if (next)
        rn__fire(next->task);
}

static inline void
release(struct mutex *m)
{
    uint32_t locked = LOCKED;
    set_holder(m, NULL);
    /* release: partners with the acquire of the next owner */
    if (rn__unlikely(!rn__cas(&m->word, &locked, 0)))
        release_slow(m);
}

void
rn__mutex_release(rn_mutex *mutex)
{
    release(inner(mutex));
}

bool
rn__mutex_holds(rn_mutex *mutex, const struct rn__task *self)
{
    return atomic_load_explicit(&inner(mutex)->object.holder,
                                memory_order_relaxed) ==
           rn__task_handle(self).id;
}

/* All of a lock, where it may take more than to try. */
__attribute__((noinline)) static int
lock_carefully(struct mutex *m, struct rn__task *self, const void *site,
               rn_time deadline)
{
    rn__step_by(RN__LOCK, &m->object, site, deadline);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    if (deadline == RN_NOW && rn__mishap(RN__MISHAP_TRY, &m->object, site))
        return -EAGAIN;
    if (try(m, self))
        return 0;
    return lock_slow(m, self, site, deadline, true);
}

int
rn_mutex_lock(rn_mutex *mutex, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_mutex_lock");
    const void *site = rn__site();
    rn__need(mutex, "rn_mutex_lock", site);
    struct mutex *m = inner(mutex);
    if (rn__likely(rn__calm(self) && try(m, self)))
        return 0;
    return lock_carefully(m, self, site, deadline);
}

void
rn_mutex_unlock(rn_mutex *mutex)
{
    struct rn__task *self = rn__self_in("rn_mutex_unlock");
    const void *site = rn__site();
    rn__need(mutex, "rn_mutex_unlock", site);
    if (!rn__mutex_holds(mutex, self))
        rn__panic_at(site, "unlock of a mutex the task does not hold");
    rn__step(RN__UNLOCK, &inner(mutex)->object, site);
    release(inner(mutex));
}
