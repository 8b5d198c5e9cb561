/* sync/sema.c - a weighted semaphore, first come first served.
 *
 * INVARIANT, under the lock: the first waiter whose wait could be claimed wants
 * more than is free. So every release, and every waiter that gives up, looks
 * from the front who can go on now. A waiter's slot tells what it wants.
 *
 * Both sides always take the lock, and its unlock is the last touch.
 *
 * Refused: a word of free units that is taken by compare-and-swap; it saves a
 * store, and needs a lock for the queue all the same.
 */
#include "sync/sema.h"

struct sema {
    struct rn__object object;
    uint64_t size;        /* as RN_SEMA_INIT put it */
    struct rn__lock lock; /* all below */
    uint64_t taken;
    struct rn__list queue;
};

_Static_assert(sizeof(struct sema) <= sizeof(rn_sema), "rn_sema is too small");
_Static_assert(offsetof(struct sema, object) == offsetof(rn_sema, rn__object) &&
                   offsetof(struct sema, size) == offsetof(rn_sema, rn__size),
               "RN_SEMA_INIT fills other fields");

static struct sema *
inner(rn_sema *sema)
{
    return (struct sema *)(void *)sema;
}

/* Under the lock: let those go on whose turn it is. */
static void
serve(struct sema *s, struct rn__list *woken)
{
    while (!rn__list_empty(&s->queue)) {
        struct rn__waiter *first =
            rn__container_of(s->queue.next, struct rn__waiter, link);
        uint64_t n = *(const uint64_t *)first->slot;
        /* one that has given up does not hold up the others */
        if (n > s->size - s->taken && rn__task_waits(first->task))
            return;
        rn__list_remove(&first->link);
        if (n > s->size - s->taken || !rn__wait_claim(first->task, 0, false))
            continue;
        s->taken += n;
        rn__list_append(woken, &first->link);
    }
}

/* Under the lock: take n units now, if it is not another's turn. */
static inline bool
take(struct sema *s, uint64_t n)
{
    if (n > s->size - s->taken || rn__wait_any(&s->queue))
        return false;
    s->taken += n;
    return true;
}

/* Under the lock, which it gives up. */
__attribute__((noinline)) static int
wait(struct sema *s, struct rn__task *self, enum rn__kind kind, uint64_t n,
     rn_time deadline, const void *site)
{
    struct rn__waiter waiter;
    struct rn__list woken;
    rn__wait_open(self, kind, &s->object, site, true);
    rn__wait_add(&s->queue, &waiter, self, 0, &n);
    rn__unlock(&s->lock);
    int result = rn__wait_park(self, deadline);
    if (result == 0)
        return 0;
    rn__list_init(&woken);
    rn__lock(&s->lock);
    rn__list_remove(&waiter.link);
    serve(s, &woken);
    rn__unlock(&s->lock);
    rn__fire_all(&woken);
    return result;
}

__attribute__((always_inline)) static inline int
acquire(struct sema *s, struct rn__task *self, enum rn__kind kind, uint64_t n,
        rn_time deadline, const void *site)
{
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    rn__lock(&s->lock);
    bool taken = n == 0 || take(s, n);
    if (rn__unlikely(!taken && deadline != RN_NOW))
        return wait(s, self, kind, n, deadline, site);
    rn__unlock(&s->lock);
    return taken ? 0 : -EAGAIN;
}

/* Under the lock, which it gives up. */
__attribute__((noinline)) static void
serve_and_unlock(struct sema *s)
{
    struct rn__list woken;
    rn__list_init(&woken);
    serve(s, &woken);
    rn__unlock(&s->lock);
    rn__fire_all(&woken);
}

__attribute__((always_inline)) static inline void
release(struct sema *s, uint64_t n, const void *site)
{
    rn__lock(&s->lock);
    if (rn__unlikely(n > s->taken)) {
        rn__unlock(&s->lock);
        rn__panic_at(site, "release of more units than a semaphore has given");
    }
    s->taken -= n;
    if (rn__likely(rn__list_empty(&s->queue)))
        rn__unlock(&s->lock);
    else
        serve_and_unlock(s);
}

int
rn__sema_acquire(rn_sema *sema, struct rn__task *self, enum rn__kind kind,
                 size_t n, rn_time deadline, const void *site)
{
    return acquire(inner(sema), self, kind, n, deadline, site);
}

void
rn__sema_release(rn_sema *sema, size_t n, const void *site)
{
    release(inner(sema), n, site);
}

/* ---- public ------------------------------------------------------------- */

int
rn_sema_acquire(rn_sema *sema, size_t n, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_sema_acquire");
    const void *site = rn__site();
    rn__need(sema, "rn_sema_acquire", site);
    struct sema *s = inner(sema);
    if (rn__step_try(RN__ACQUIRE, &s->object, site, deadline))
        return -EAGAIN;
    if (n > s->size)
        return -EINVAL;
    return acquire(s, self, RN__ACQUIRE, n, deadline, site);
}

void
rn_sema_release(rn_sema *sema, size_t n)
{
    rn__self_in("rn_sema_release");
    const void *site = rn__site();
    rn__need(sema, "rn_sema_release", site);
    rn__step(RN__GIVE_BACK, &inner(sema)->object, site);
    release(inner(sema), n, site);
}
