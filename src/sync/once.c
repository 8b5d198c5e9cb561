/* sync/once.c - run a function once; everybody returns after it has run.
 *
 * The store that says done comes after the waiters have been taken, and is the
 * last touch: a caller that sees it without the lock may free the object. So
 * the lock, too, is given up by that store: word is BUSY while somebody is at
 * the queue.
 *
 * Done is two words: QUIET, if nobody wants to be told of steps, so that a call
 * need not look whether somebody does; else DONE. What was QUIET before a
 * simulated run begins changes no more, so a call of it is no step of that.
 */
#include <runnel/waitgroup.h>

#include "core/core.h"

enum { NEW, BUSY, RUNNING, DONE, QUIET };

struct once {
    struct rn__object object; /* holder: who runs the function */
    _Atomic uint32_t word;
    struct rn__list queue; /* while BUSY is held */
};

_Static_assert(sizeof(struct once) <= sizeof(rn_once), "rn_once is too small");

/* Take BUSY and return what it was, or return DONE without. */
static uint32_t
enter(struct once *o)
{
    for (int spins = 0;; spins++) {
        /* acquire: what fn did; partners with leave */
        uint32_t word = atomic_load_explicit(&o->word, memory_order_acquire);
        if (word >= DONE)
            return DONE;
        if (word != BUSY && atomic_compare_exchange_weak_explicit(
                                &o->word, &word, BUSY, memory_order_acquire,
                                memory_order_relaxed))
            return word;
        if (spins > 64)
            rn__os_relax();
        else
            rn__cpu_pause();
    }
}

static void
leave(struct once *o, uint32_t word)
{
    /* release: partners with enter */
    atomic_store_explicit(&o->word, word, memory_order_release);
}

static void
run(struct once *o, struct rn__task *self, void (*fn)(void *), void *arg)
{
    struct rn__list woken;
    rn__list_init(&woken);
    atomic_store_explicit(&o->object.holder, rn__task_handle(self).id,
                          memory_order_relaxed);
    leave(o, RUNNING);
    fn(arg);
    rn__note(RN__NONE, &o->object, NULL);
    enter(o);
    atomic_store_explicit(&o->object.holder, 0, memory_order_relaxed);
    rn__wait_claim_all(&o->queue, 0, &woken);
    /* relaxed: see rn__step */
    uint32_t env = atomic_load_explicit(&rn__env_count, memory_order_relaxed);
    leave(o, env ? DONE : QUIET);
    rn__fire_all(&woken);
}

static int
wait(struct once *o, struct rn__task *self, const void *site, rn_time deadline)
{
    struct rn__waiter waiter;
    rn__wait_open(self, RN__ONCE, &o->object, site, true);
    rn__wait_add(&o->queue, &waiter, self, 0, NULL);
    leave(o, RUNNING);
    int result = rn__wait_park(self, deadline);
    if (result < 0 && enter(o) != DONE) {
        rn__list_remove(&waiter.link);
        leave(o, RUNNING);
    }
    return result;
}

__attribute__((noinline)) static int
do_slowly(struct once *o, void (*fn)(void *arg), void *arg, rn_time deadline,
          const void *site)
{
    struct rn__task *self = rn__self();
    if (!self)
        rn__outside("rn_once_do", site);
    rn__need(o, "rn_once_do", site);
    rn__need(fn, "rn_once_do", site);
    rn__step(RN__ONCE, &o->object, site);
    uint32_t was = enter(o);
    if (was == DONE)
        return 0;
    if (was == NEW) {
        run(o, self, fn, arg);
        return 0;
    }
    int error = deadline == RN_NOW ? -EAGAIN : rn__cancel_check(self);
    bool again =
        atomic_load_explicit(&o->object.holder, memory_order_relaxed) ==
        rn__task_handle(self).id;
    if (error || again)
        leave(o, RUNNING);
    if (again)
        rn__panic_at(site, "rn_once_do inside its own function");
    return error ? error : wait(o, self, site, deadline);
}

int
rn_once_do(rn_once *once, void (*fn)(void *arg), void *arg, rn_time deadline)
{
    struct once *o = (struct once *)(void *)once;
    /* acquire: what fn did; partners with leave */
    if (rn__likely(once && atomic_load_explicit(&o->word,
                                                memory_order_acquire) == QUIET))
        return 0;
    return do_slowly(o, fn, arg, deadline, rn__site());
}
