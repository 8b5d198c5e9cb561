/* runnel/tqueue.h - a bounded queue for use in transactions (runnel/stm.h).
 *
 * First in, first out; a push waits while it is full, a pop while it is empty.
 * A transaction may push to and pop from several queues: all of it happens at
 * once, or nothing. Pushers and poppers disturb each other only where the queue
 * is full or empty.
 *
 *     static int next(rn_tx *tx, void *job)
 *     {
 *         return rn_tqueue_pop(queue, tx, job);
 *     }
 *     e = rn_atomically(next, &job, RN_NEVER);
 */
#ifndef RUNNEL_TQUEUE_H
#define RUNNEL_TQUEUE_H

#include <runnel/stm.h>

RN_BEGIN

typedef struct rn_tqueue rn_tqueue;

/* Make a queue of up to capacity values of some bytes.
 *
 * Returns: 0. -EINVAL: bytes is 0 or more than RN_TVAR_MAX, or the capacity is
 * 0 or absurd. -ENOMEM.
 */
RN_API RN_MUST_USE int rn_tqueue_new(size_t bytes, size_t capacity,
                                     rn_tqueue **queue);

/* Free it; NULL is allowed. As for rn_tvar_free, no transaction may use it.
 *
 * Panics: if a transaction waits for it.
 */
RN_API void rn_tqueue_free(rn_tqueue *queue);

/* Add a value at the end; retry while the queue is full.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tqueue_push(rn_tqueue *queue, rn_tx *tx,
                                      const void *value);

/* Take the first value out; retry while the queue is empty.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tqueue_pop(rn_tqueue *queue, rn_tx *tx, void *value);

/* Copy the first value and leave it there; retry while the queue is empty.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tqueue_peek(rn_tqueue *queue, rn_tx *tx, void *value);

/* How many values are in the queue.
 *
 * Returns: their number. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int64_t rn_tqueue_len(rn_tqueue *queue, rn_tx *tx);

RN_END

#endif
