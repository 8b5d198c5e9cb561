/* runnel/future.h - a value that comes later, once.
 *
 * The side that makes the value has the promise, the side that wants it has
 * the future. Any number of tasks may wait; each gets a copy.
 *
 *     rn_promise *promise;
 *     rn_future *future;
 *     int e = rn_future_new(sizeof(struct reply), &promise, &future);
 *     ...one task:
 *     rn_promise_set(promise, &reply);
 *     rn_promise_free(promise);
 *     ...others:
 *     e = rn_future_wait(future, &reply, RN_NEVER);
 *     rn_future_unref(future);
 *
 * A promise is completed once, with a value or with an error; one that is freed
 * before is broken: who waits gets -EPIPE. So a task that might end early gives
 * it up in a deferred call. Both sides live as long as one of them is
 * needed: once a wait has returned the future may be given up, and once a
 * promise is completed it may be freed, whatever the other side does.
 */
#ifndef RUNNEL_FUTURE_H
#define RUNNEL_FUTURE_H

#include <runnel/base.h>

RN_BEGIN

typedef struct rn_future rn_future;
typedef struct rn_promise rn_promise;

/* Make a promise and its future, for a value of so many bytes, maybe 0.
 *
 * Owner: the caller has the promise and one reference to the future.
 * Returns: 0. -EINVAL: the size is absurd (a negative number turned into a size
 * is). -ENOMEM.
 */
RN_API RN_MUST_USE int rn_future_new(size_t bytes, rn_promise **promise,
                                     rn_future **future);

/* Complete with the value at value. Never waits.
 *
 * Returns: 0. -EBUSY: it is completed already, and stays as it is.
 * Panics: outside a task.
 */
RN_API int rn_promise_set(rn_promise *promise, const void *value);

/* Complete with an error, a negative number. Never waits.
 *
 * Returns: 0. -EBUSY: it is completed already, and stays as it is.
 * Panics: if the error is not negative; outside a task.
 */
RN_API int rn_promise_fail(rn_promise *promise, int error);

/* Give the promise up; if it is not completed, it is now broken. NULL is
 * allowed.
 *
 * Panics: outside a task.
 */
RN_API void rn_promise_free(rn_promise *promise);

/* Wait until the promise is completed and copy its value to value, which may be
 * NULL.
 *
 * Waits: a cancellation point unless the deadline is RN_NOW.
 * Returns: 0. -EPIPE: the promise is broken. -EAGAIN, -ETIMEDOUT, -ECANCELED:
 * it is not completed. Or the error it was completed with.
 * Order: what was done before the promise was completed is visible.
 * Panics: outside a task.
 */
RN_API int rn_future_wait(rn_future *future, void *value, rn_time deadline);

/* Add a reference; NULL is allowed.
 *
 * Returns: future.
 */
RN_API rn_future *rn_future_ref(rn_future *future);

/* Drop a reference; once the last one is gone and the promise is freed, so is
 * the memory. NULL is allowed.
 *
 * Panics: if the last reference goes while a task waits.
 */
RN_API void rn_future_unref(rn_future *future);

RN_END

#endif
