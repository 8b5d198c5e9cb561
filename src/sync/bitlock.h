/* sync/bitlock.h - a bit of an object's word as the lock of its queues.
 *
 * So the store that gives the object up also gives up the lock, and is the last
 * touch: whoever gets the object next may free it. As with base/lock.h, it is
 * held for a few instructions and never across a switch.
 */
#ifndef RN_SYNC_BITLOCK_H
#define RN_SYNC_BITLOCK_H

#include "core/core.h"

/* Set the bit, which is clear in what it returns. Given back by a store. */
static inline uint32_t
rn__bitlock(_Atomic uint32_t *at, uint32_t bit)
{
    for (int spins = 0;; spins++) {
        uint32_t word = atomic_load_explicit(at, memory_order_relaxed);
        /* acquire: the queues as their last user left them */
        if (!(word & bit) && rn__cas(at, &word, word | bit))
            return word;
        if (spins > 64)
            rn__os_relax();
        else
            rn__cpu_pause();
    }
}

#endif
