/* runnel/hold.h - a scope held open for other OS threads.
 *
 * An OS thread that is none of the runtime's may spawn tasks into a scope
 * through a handle, which a task has taken for it. While a handle is held its
 * scope does not end, so the thread need not know who closes it or when:
 *
 *     rn_scope_handle *handle;                    // in a task
 *     int e = rn_scope_hold(NULL, &handle);
 *     ...
 *     rn_scope_handle_go(handle, on_event, event); // in the other thread
 *     ...
 *     rn_scope_handle_release(handle);             // once
 *
 * A close waits for handles as it does for tasks, and no deadlock is reported
 * while one is held. In the simulator there is no other thread: tasks, and what
 * they run by rn_blocking, may use handles there, too.
 */
#ifndef RUNNEL_HOLD_H
#define RUNNEL_HOLD_H

#include <runnel/scope.h>

RN_BEGIN

/* A scope that is held. */
typedef struct rn_scope_handle rn_scope_handle;

/* Hold a scope (NULL: the caller's innermost) open.
 *
 * Owner: the handle is the caller's, or whoever's it is passed to, until
 * rn_scope_handle_release.
 * Returns: 0. -ENOMEM. -ECANCELED: the scope is cancelled. -EPIPE: it is
 * closed.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_scope_hold(rn_scope *scope, rn_scope_handle **handle);

/* Spawn fn(arg) as a task of the held scope; by any OS thread, also by several
 * at a time. The task begins soon; if the scope is cancelled by then it does
 * not begin, as one that was spawned by a task.
 *
 * Returns: 0. -ENOMEM. -ECANCELED: the scope is cancelled. On failure fn will
 * not run and the caller keeps arg.
 * Order: what the caller did before is visible to fn.
 */
RN_API int rn_scope_handle_go(rn_scope_handle *handle, rn_task_fn *fn,
                              void *arg);

/* Let the scope go; by any OS thread, once, after all use of the handle. NULL
 * is allowed.
 *
 * Order: what the caller did before is visible to who closes the scope.
 */
RN_API void rn_scope_handle_release(rn_scope_handle *handle);

RN_END

#endif
