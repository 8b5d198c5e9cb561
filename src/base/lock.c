/* base/lock.c - the patient part of a lock: spin a little, then let the kernel
 * run others, because the holder may have been preempted.
 */
#include "base/lock.h"

#include <sched.h>

enum { SPINS = 64 };

void
rn__lock_slow(struct rn__lock *lock)
{
    for (int spins = 0;; spins++) {
        /* relaxed: only to wait without taking the line for writing */
        if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
            rn__trylock(lock))
            return;
        if (spins < SPINS)
            rn__cpu_pause();
        else
            sched_yield();
    }
}
