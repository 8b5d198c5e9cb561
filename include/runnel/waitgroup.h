/* runnel/waitgroup.h - wait until a number of things are done; do a thing once.
 *
 * All zero is a wait group at zero (RN_WAITGROUP_INIT) and a once that has not
 * run (RN_ONCE_INIT): no init, no fini. Once wait or do has returned, no other
 * task touches the object any more: it may be freed.
 */
#ifndef RUNNEL_WAITGROUP_H
#define RUNNEL_WAITGROUP_H

#include <runnel/base.h>

RN_BEGIN

/* A wait group; its fields are the library's. */
typedef struct rn_waitgroup {
    uint64_t rn__opaque[5];
} rn_waitgroup;

/* A once; its fields are the library's. */
typedef struct rn_once {
    uint64_t rn__opaque[5];
} rn_once;

/* clang-format off */
#define RN_WAITGROUP_INIT { { 0 } }
#define RN_ONCE_INIT { { 0 } }
/* clang-format on */

/* Add n, which may be negative, to the counter; at zero all waiters go on.
 *
 * Panics: if the counter would go below zero or over 2^31 - 1; outside a task.
 */
RN_API void rn_waitgroup_add(rn_waitgroup *group, int n);

/* Take one off the counter: rn_waitgroup_add(group, -1).
 *
 * Order: what the caller did before is visible to those that wait.
 * Panics: if the counter is zero; outside a task.
 */
RN_API void rn_waitgroup_done(rn_waitgroup *group);

/* Wait until the counter is zero.
 *
 * Waits: a cancellation point unless the deadline is RN_NOW.
 * Returns: 0. -EAGAIN, -ETIMEDOUT, -ECANCELED.
 * Panics: outside a task.
 */
RN_API int rn_waitgroup_wait(rn_waitgroup *group, rn_time deadline);

/* Run fn(arg) if no task has yet; otherwise wait until that run has ended.
 *
 * Waits: while another task runs fn; a cancellation point then, unless the
 * deadline is RN_NOW.
 * Returns: 0: fn has run. -EAGAIN, -ETIMEDOUT, -ECANCELED: it still runs.
 * Order: what fn did is visible.
 * Panics: outside a task, unless fn has run; if fn calls it on the same once.
 */
RN_API int rn_once_do(rn_once *once, void (*fn)(void *arg), void *arg,
                      rn_time deadline);

RN_END

#endif
