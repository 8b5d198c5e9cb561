/* base/lock.c - the patient part of a lock: spin a little, then let the kernel
 * run others, because the holder may have been preempted.
 */
#include "base/lock.h"

#include <sched.h>

enum { SPINS = 64 };

/* Until the lock looks free. */
static void
wait(struct rn__lock *lock, int *spins)
{
    /* relaxed: only to wait without taking the line for writing */
    while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
        if (++*spins < SPINS)
            rn__cpu_pause();
        else
            sched_yield();
    }
}

void
rn__lock_slow(struct rn__lock *lock)
{
    int spins = 0;
    do
        wait(lock, &spins);
    while (!rn__trylock(lock));
}

void
rn__lock_hard(struct rn__lock *lock)
{
    int spins = 0;
    /* acquire: partners with the release in rn__unlock */
    while (atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))
        wait(lock, &spins);
}
