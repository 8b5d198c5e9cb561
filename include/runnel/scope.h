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

struct rn_context; /* runnel/context.h */

/* Open a scope inside the caller's innermost scope and make it the innermost.
 *
 * deadline: when it passes before the scope is closed, the scope is cancelled;
 * RN_NEVER for none. Already passed: the scope is opened cancelled.
 * Owner: the caller, until rn_scope_close.
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_scope_open(rn_time deadline, rn_scope **scope);

/* With RN_SCOPE_COLLECT a failure of a task cancels nothing: all run to their
 * ends (supervision). */
enum { RN_SCOPE_COLLECT = 1 };

/* Options of rn_scope_open_with. All zero is the default for each. */
typedef struct rn_scope_options {
    rn_time deadline;     /* as of rn_scope_open; 0: none, like RN_NEVER */
    unsigned flags;       /* RN_SCOPE_COLLECT or 0 */
    const char *name;     /* for dumps; must live as long as the scope */
    rn_report *report;    /* filled in by the time close returns; begun anew, so
                          what it still had is dropped. NULL: none */
    rn_outcome *outcomes; /* how each task ended, by index in order of spawn;
                             valid once close has returned. NULL: not wanted */
    size_t outcome_room;  /* of outcomes; those beyond are not told */
    struct rn_context *context; /* the scope is cancelled when this is, even if
                                   it is opened inside a shield, and its values
                                   are found from inside; NULL: none */
} rn_scope_options;

/* Like rn_scope_open, with options (may be NULL). In the report and among the
 * outcomes, a task that was cancelled before it began counts as cancelled, and
 * not_run stays 0.
 *
 * Returns: as rn_scope_open. -EINVAL: unknown flags.
 */
RN_API RN_MUST_USE int rn_scope_open_with(const rn_scope_options *options,
                                          rn_scope **scope);

/* Wait until all tasks of the scope have ended, then free it.
 *
 * Waits: until the last task has ended, whatever is cancelled meanwhile.
 * Returns: the first error of a task if there was one (all others are told to
 * rn_options.on_error, unless the scope has a report); else -ETIMEDOUT if the
 * scope's own deadline cancelled it before the caller had come here and the
 * last task had ended; else
 * -ECANCELED if it, or a scope around it, was cancelled and a task ended
 * because of that, or a task returned -ECANCELED unasked; else 0. A task that
 * gave up because it alone was cancelled (rn_task_cancel) counts for nothing.
 * Order: all its tasks did is visible to the caller.
 * Panics: if the caller did not open it, another is open inside it, or a select
 * still waits for its cancel.
 */
RN_API int rn_scope_close(rn_scope *scope);

/* The same, with the result of the code between open and close: 0 or more if
 * it went well; a failure counts like one of a task, and -ECANCELED, if nothing
 * was cancelled, like that of a task.
 *
 *     return rn_scope_close_with(s, body(s));
 *
 * Returns: as rn_scope_close; body, if that is 0 and body is not negative.
 */
RN_API int rn_scope_close_with(rn_scope *scope, int body);

/* Cancel a scope and all scopes below it. Never waits; again is harmless.
 *
 * Any task inside the scope may call it, at any depth. From anywhere else the
 * caller must know that the scope is still open: a closed one is freed.
 * Panics: outside a task.
 */
RN_API void rn_scope_cancel(rn_scope *scope);

/* The same with a code, which rn_cancel_reason tells. A second cancel leaves
 * the code of the first.
 *
 * Panics: outside a task.
 */
RN_API void rn_scope_cancel_with(rn_scope *scope, int code);

/* Move the deadline of a scope; RN_NEVER takes it away.
 *
 * Returns: 0. -ECANCELED: the scope is cancelled already.
 * Panics: outside a task.
 */
RN_API int rn_scope_set_deadline(rn_scope *scope, rn_time deadline);

RN_END

#endif
