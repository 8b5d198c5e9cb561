/* runnel/rwmutex.h - a lock that many readers or one writer can hold.
 *
 * All zero is a free one (RN_RWMUTEX_INIT): no init, no fini. It is not
 * recursive, and belongs to the tasks that locked it.
 *
 *     rn_rwmutex_read_lock(&table->lock, RN_NEVER);
 *     ...look, beside other readers
 *     rn_rwmutex_read_unlock(&table->lock);
 *
 * Writers are preferred, and nobody starves: while a writer waits no reader is
 * let in. When the last reader leaves, the writer that has waited longest gets
 * the lock; when a writer leaves, all readers that wait at that moment are let
 * in together. So a writer waits for those that hold the lock, and for no more
 * than one crowd of readers for each writer before it; a reader waits for one
 * writer at most. Therefore a task that holds it for reading must not lock it
 * for reading again: a writer may have come in between, and they would wait for
 * each other.
 *
 * As soon as an unlock has let another task in, the object is not touched any
 * more: that task may free it.
 */
#ifndef RUNNEL_RWMUTEX_H
#define RUNNEL_RWMUTEX_H

#include <runnel/base.h>

RN_BEGIN

/* A read-write mutex; its fields are the library's. */
typedef struct rn_rwmutex {
    uint64_t rn__opaque[7];
} rn_rwmutex;

/* clang-format off */
#define RN_RWMUTEX_INIT { { 0 } }
/* clang-format on */

/* Lock for reading.
 *
 * Waits: while a writer holds it or waits for it; a cancellation point unless
 * the deadline is RN_NOW.
 * Returns: 0. -EAGAIN, -ETIMEDOUT, -ECANCELED: not locked.
 * Order: what was done under earlier write locks is visible.
 * Panics: if the caller holds it for writing; outside a task.
 */
RN_API RN_MUST_USE int rn_rwmutex_read_lock(rn_rwmutex *mutex,
                                            rn_time deadline);

/* Unlock what was locked for reading. Never waits; not a cancellation point.
 *
 * Panics: if nobody holds it for reading; outside a task.
 */
RN_API void rn_rwmutex_read_unlock(rn_rwmutex *mutex);

/* Lock for writing.
 *
 * Waits: while anybody else holds it; a cancellation point unless the deadline
 * is RN_NOW. A caller that holds it for reading would wait for itself.
 * Returns: 0. -EAGAIN, -ETIMEDOUT, -ECANCELED: not locked.
 * Order: what was done under earlier locks of both kinds is visible.
 * Panics: if the caller holds it for writing; outside a task.
 */
RN_API RN_MUST_USE int rn_rwmutex_lock(rn_rwmutex *mutex, rn_time deadline);

/* Unlock what was locked for writing. Never waits; not a cancellation point.
 *
 * Panics: if the caller does not hold it for writing.
 */
RN_API void rn_rwmutex_unlock(rn_rwmutex *mutex);

/* Turn the caller's write lock into a read lock, with no other writer in
 * between; readers that wait are let in, too. Never waits; not a cancellation
 * point.
 *
 * Panics: if the caller does not hold it for writing.
 */
RN_API void rn_rwmutex_downgrade(rn_rwmutex *mutex);

RN_END

#endif
