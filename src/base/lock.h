/* base/lock.h - the lock that guards the inside of one object.
 *
 * Held for a few dozen instructions and never across a task switch, so it
 * spins; after a while it gives the CPU up, because its holder may have been
 * preempted by the kernel. Unlocking is one store and the last touch: an
 * object may be freed by whoever locks it next.
 */
#ifndef RN_LOCK_H
#define RN_LOCK_H

#include "base/atomic.h"

struct rn__lock {
    _Atomic uint32_t held;
};

/* The patient part of rn__lock, out of line. */
void rn__lock_slow(struct rn__lock *lock);

static inline bool
rn__trylock(struct rn__lock *lock)
{
    /* acquire: partners with the release in rn__unlock */
    return !rn__swap(&lock->held, 1);
}

static inline void
rn__lock(struct rn__lock *lock)
{
    if (__builtin_expect(!rn__trylock(lock), 0))
        rn__lock_slow(lock);
}

/* The same for a lock that threads take that are not awake (base/atomic.h):
 * whoever takes it must call this. */
void rn__lock_hard(struct rn__lock *lock);

static inline void
rn__unlock(struct rn__lock *lock)
{
    /* release: what was written under the lock is seen by the next holder */
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* Let who has the lock finish; the caller knows that nobody takes it again. */
static inline void
rn__lock_settle(struct rn__lock *lock)
{
    /* acquire: what was done under the lock; partners with rn__unlock */
    if (__builtin_expect(
            atomic_load_explicit(&lock->held, memory_order_acquire) != 0, 0))
        rn__lock_slow(lock);
}

#endif
