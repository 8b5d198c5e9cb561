/* runnel/scope.h - scopes: where tasks begin, and where they must end.
 *
 * A scope is opened and closed by one task, in last-in first-out order. Tasks
 * spawned into it end before it closes: nothing outlives its scope.
 *
 *     rn_scope *s;
 *     int e = rn_scope_open(rn_now() + 2 * RN_SEC, &s);
 *     if (e < 0)
 *         return e;
 *     rn_go(s, left, job);
 *     rn_go(s, right, job);
 *     return rn_scope_close(s);       // waits for both; first error or 0
 *
 * Cancelling is level-triggered: from then on every cancellation point (a
 * call documented as such) inside the scope and inside all scopes below it
 * returns -ECANCELED, until the cancelled scope is closed. A cancelled call
 * did not happen. A task that fails cancels the scope it was spawned into; so
 * does the scope's deadline.
 */
#ifndef RUNNEL_SCOPE_H
#define RUNNEL_SCOPE_H

#include <runnel/task.h>

RN_BEGIN

/* Open a scope inside the caller's innermost scope and make it the innermost.
 *
 * deadline: when it passes before the scope is closed, the scope is cancelled;
 * RN_NEVER for none. Already passed: the scope is opened cancelled.
 * Owner: the caller, until rn_scope_close.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_scope_open(rn_time deadline, rn_scope **scope);

/* Wait until all tasks of the scope have ended, then free it.
 *
 * Waits: until the last task has ended, whatever is cancelled meanwhile.
 * Returns: the first error of a task if there was one; else -ETIMEDOUT if the
 * scope's own deadline cancelled it before the caller had come here and the
 * last task had ended; else
 * -ECANCELED if it, or a scope around it, was cancelled and a task ended
 * because of that; else 0.
 * Order: all its tasks did is visible to the caller.
 * Panics: if the caller did not open it, another is open inside it, or a select
 * still waits for its cancel.
 */
RN_API int rn_scope_close(rn_scope *scope);

/* Cancel a scope and all scopes below it. Never waits; again is harmless.
 *
 * Any task inside the scope may call it, at any depth. From anywhere else the
 * caller must know that the scope is still open: a closed one is freed.
 * Panics: outside a task.
 */
RN_API void rn_scope_cancel(rn_scope *scope);

/* Move the deadline of a scope; RN_NEVER takes it away.
 *
 * Returns: 0. -ECANCELED: the scope is cancelled already.
 * Panics: outside a task.
 */
RN_API int rn_scope_set_deadline(rn_scope *scope, rn_time deadline);

RN_END

#endif
