/* sync/future.c - a value that comes later, once.
 *
 * Promise and future are two names of one object, counted: the promise has one
 * reference. Who completes it copies the value in, and from there to those that
 * wait, says that it is done, and only then gives the lock up; after that
 * nothing of it changes, and it is read without the lock.
 *
 * So who sees that it is done may free both names while the lock is still held:
 * the last unref lets its holder finish, whose unlock is its last touch.
 *
 * Refused: an object in the caller's memory, as a mutex is. Who waits in vain
 * until a deadline must be able to go while the promise is still out.
 */
#include "sync/future.h"

#include <stdint.h>

static struct rn_future *
future_of(rn_promise *promise)
{
    return (struct rn_future *)(void *)promise;
}

/* -EBUSY if it is completed already. */
static int
complete(struct rn_future *f, const void *value, int error)
{
    struct rn__list woken;
    struct rn__waiter *waiter;
    rn__list_init(&woken);
    rn__lock(&f->lock);
    if (rn__future_done(f)) {
        rn__unlock(&f->lock);
        return -EBUSY;
    }
    f->error = error;
    if (error == 0 && f->bytes)
        memcpy(f->value, value, f->bytes);
    /* release: partners with rn__future_done */
    atomic_store_explicit(&f->done, true, memory_order_release);
    while ((waiter = rn__wait_claim_first(&f->queue, error))) {
        rn__future_get(f, waiter->slot);
        rn__list_append(&woken, &waiter->link);
    }
    rn__unlock(&f->lock);
    rn__fire_all(&woken);
    return 0;
}

/* ---- public ------------------------------------------------------------- */

int
rn_future_new(size_t bytes, rn_promise **promise, rn_future **future)
{
    rn__need(promise, "rn_future_new", rn__site());
    rn__need(future, "rn_future_new", rn__site());
    if (bytes > PTRDIFF_MAX - sizeof(struct rn_future))
        return -EINVAL;
    struct rn_future *f = rn__alloc(NULL, sizeof *f + bytes);
    if (!f)
        return -ENOMEM;
    atomic_store_explicit(&f->refs, 2, memory_order_relaxed);
    f->bytes = bytes;
    rn__list_init(&f->queue);
    *promise = (rn_promise *)(void *)f;
    *future = f;
    return 0;
}

int
rn_promise_set(rn_promise *promise, const void *value)
{
    rn__self_in("rn_promise_set");
    const void *site = rn__site();
    rn__need(promise, "rn_promise_set", site);
    struct rn_future *f = future_of(promise);
    rn__step(RN__COMPLETE, &f->object, site); /* is it still there? */
    if (f->bytes)
        rn__need(value, "rn_promise_set", site);
    return complete(f, value, 0);
}

int
rn_promise_fail(rn_promise *promise, int error)
{
    rn__self_in("rn_promise_fail");
    const void *site = rn__site();
    rn__need(promise, "rn_promise_fail", site);
    if (error >= 0)
        rn__panic_at(site, "rn_promise_fail with %d, which is no error", error);
    rn__step(RN__COMPLETE, &future_of(promise)->object, site);
    return complete(future_of(promise), NULL, error);
}

void
rn_promise_free(rn_promise *promise)
{
    rn__self_in("rn_promise_free");
    if (!promise)
        return;
    struct rn_future *f = future_of(promise);
    if (!rn__future_done(f)) {
        rn__step(RN__COMPLETE, &f->object, rn__site());
        complete(f, NULL, -EPIPE);
    }
    rn_future_unref(f);
}

int
rn_future_wait(rn_future *future, void *value, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_future_wait");
    const void *site = rn__site();
    rn__need(future, "rn_future_wait", site);
    rn__step_by(RN__FUTURE, &future->object, site, deadline);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    if (rn__future_done(future))
        return rn__future_get(future, value);
    if (deadline == RN_NOW)
        return -EAGAIN;
    rn__lock(&future->lock);
    if (rn__future_done(future)) {
        rn__unlock(&future->lock);
        return rn__future_get(future, value);
    }
    struct rn__waitspec spec = {RN__FUTURE,    &future->object, site,
                                &future->lock, &future->queue,  value};
    int result = rn__wait_one(self, &spec, deadline);
    return result < 0 ? result : self->wait_status;
}

rn_future *
rn_future_ref(rn_future *future)
{
    if (future && rn__mishap(RN__MISHAP_FREED, &future->object, rn__site()))
        rn__panic_at(rn__site(), "rn_future_ref of a future freed before");
    /* relaxed: the caller has a reference already */
    if (future)
        atomic_fetch_add_explicit(&future->refs, 1, memory_order_relaxed);
    return future;
}

void
rn_future_unref(rn_future *future)
{
    if (future && rn__mishap(RN__MISHAP_FREED, &future->object, rn__site()))
        rn__panic_at(rn__site(), "rn_future_unref of a future freed before");
    /* acq_rel: all uses by others come before the free */
    if (!future ||
        atomic_fetch_sub_explicit(&future->refs, 1, memory_order_acq_rel) > 1)
        return;
    rn__lock_settle(&future->lock);
    if (!rn__list_empty(&future->queue))
        rn__panic_at(rn__site(), "rn_future_unref frees a future a task waits "
                                 "for");
    rn__note(RN__FREE, &future->object, rn__site());
    rn__free(NULL, future);
}
