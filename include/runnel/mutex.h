/* runnel/mutex.h - mutual exclusion between tasks, and condition variables.
 *
 * All zero is an unlocked mutex (RN_MUTEX_INIT) and an unused condition
 * (RN_COND_INIT): no init, no fini. A mutex is not recursive, belongs to the
 * task that locked it, and is handed over in the order tasks came. As soon as
 * unlock, signal or broadcast has made another task go on, the object is not
 * touched any more: that task may free it.
 */
#ifndef RUNNEL_MUTEX_H
#define RUNNEL_MUTEX_H

#include <runnel/base.h>

RN_BEGIN

/* A mutex; its fields are the library's. */
typedef struct rn_mutex {
    uint64_t rn__opaque[5];
} rn_mutex;

/* A condition variable; its fields are the library's. */
typedef struct rn_cond {
    uint64_t rn__opaque[5];
} rn_cond;

/* clang-format off */
#define RN_MUTEX_INIT { { 0 } }
#define RN_COND_INIT { { 0 } }
/* clang-format on */

/* Lock.
 *
 * Waits: until it is free; a cancellation point unless the deadline is RN_NOW.
 * Locking what the caller holds waits for ever, and is reported as a deadlock
 * of one.
 * Returns: 0. -EAGAIN, -ETIMEDOUT, -ECANCELED: not locked.
 * Order: what was done under the lock before is visible.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_mutex_lock(rn_mutex *mutex, rn_time deadline);

/* Unlock. Never waits; not a cancellation point.
 *
 * Panics: if the caller does not hold it.
 */
RN_API void rn_mutex_unlock(rn_mutex *mutex);

/* Wait for a signal. Gives the mutex up, waits, and has it locked again on
 * every return, also when cancelled.
 *
 * Waits: until signalled; a cancellation point unless the deadline is RN_NOW.
 * Returns: 0. -EAGAIN, -ETIMEDOUT, -ECANCELED: no signal was taken.
 * Panics: if the caller does not hold the mutex.
 */
RN_API RN_MUST_USE int rn_cond_wait(rn_cond *cond, rn_mutex *mutex,
                                    rn_time deadline);

/* Wake the task that has waited longest, if any. Never waits.
 *
 * Panics: outside a task.
 */
RN_API void rn_cond_signal(rn_cond *cond);

/* Wake all waiting tasks. Never waits.
 *
 * Panics: outside a task.
 */
RN_API void rn_cond_broadcast(rn_cond *cond);

RN_END

#endif
