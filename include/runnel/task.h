/* runnel/task.h - tasks: plain functions that run concurrently.
 *
 * A task is a function with a stack of its own. It is spawned into a scope and
 * cannot outlive it. A task ends when its function returns; 0 or more is
 * success, a negative value is a failure, which cancels the scope it was
 * spawned into (see runnel/scope.h).
 *
 *     rn_go(NULL, serve, conn);             // into the current scope
 *     rn_task t;
 *     rn_task_spawn(NULL, work, job, NULL, &t);
 *     int result, e = rn_task_join(t, RN_NEVER, &result);
 */
#ifndef RUNNEL_TASK_H
#define RUNNEL_TASK_H

#include <runnel/report.h>
#include <stdio.h>

RN_BEGIN

typedef struct rn_scope rn_scope;

/* The name of a task: a value, never reused soon. {0} names no task. */
typedef struct rn_task {
    uint64_t id;
} rn_task;

/* Options of rn_task_spawn. All zero is the default for each. */
typedef struct rn_task_options {
    const char *name; /* for dumps; must live as long as the task */
} rn_task_options;

/* Spawn fn(arg) as a task of scope (NULL: the caller's innermost scope).
 *
 * The task may start before the call returns. If the scope is cancelled before
 * it has started, fn is not called and the task's result is -ECANCELED. Never
 * waits.
 * Returns: 0. -ENOMEM. -ECANCELED: the scope is cancelled. -EPIPE: the scope is
 * closed. On failure fn will not run and the caller keeps arg.
 * Order: what the caller did before is visible to fn.
 * Panics: outside a task.
 */
RN_API int rn_go(rn_scope *scope, rn_task_fn *fn, void *arg);

/* Like rn_go, with options (may be NULL) and a handle (may be NULL).
 *
 * Owner: a task spawned with a handle leaves a record of under 300 bytes
 * behind until it is joined or its scope closes, whichever is first.
 * Returns: as rn_go; on failure the handle is untouched.
 */
RN_API int rn_task_spawn(rn_scope *scope, rn_task_fn *fn, void *arg,
                         const rn_task_options *options, rn_task *task);

/* Wait until a task has ended and take its result.
 *
 * Waits: until the task has ended; a cancellation point.
 * Returns: 0, with the task's result in *result (may be NULL). -EAGAIN,
 * -ETIMEDOUT, -ECANCELED. -ESRCH: no such task: it was joined before, or it
 * ended and was spawned without a handle. -EDEADLK: the caller itself, or a
 * task that has opened a scope around it.
 * Order: all the task did is visible to the caller.
 * Panics: outside a task.
 */
RN_API int rn_task_join(rn_task task, rn_time deadline, int *result);

/* Let other tasks run.
 *
 * Waits: until it is the caller's turn again; a cancellation point.
 * Returns: 0 or -ECANCELED.
 * Panics: outside a task.
 */
RN_API int rn_yield(void);

/* Wait for a span of time; not at all if it is 0 or negative.
 *
 * Waits: a cancellation point.
 * Returns: 0 or -ECANCELED.
 * Panics: outside a task.
 */
RN_API int rn_sleep(rn_time span);

/* Wait until a point in time; not at all if it has passed.
 *
 * Waits: a cancellation point.
 * Returns: 0 or -ECANCELED.
 * Panics: outside a task.
 */
RN_API int rn_sleep_until(rn_time when);

/* Whether the caller is cancelled, as far as its shields let it see; for long
 * computations.
 *
 * Returns: 1 or 0. Never waits; costs three loads.
 * Panics: outside a task.
 */
RN_API int rn_cancel_requested(void);

/* Why the caller is cancelled, as it sees it: a task of a scope whose deadline
 * has passed sees RN_REASON_DEADLINE, one of a scope below that
 * RN_REASON_PARENT.
 *
 * code (may be NULL): of rn_scope_cancel_with, or of the sibling that failed;
 * with RN_REASON_PARENT that of the scope that was cancelled.
 * Returns: RN_REASON_NONE if it is not. Never waits.
 * Panics: outside a task.
 */
RN_API rn_reason rn_cancel_reason(int *code);

/* Cancel one task, and the scopes it has opened or will open. Never waits;
 * again is harmless, and so is a task that has ended.
 *
 * As with a cancelled scope, each cancellation point of the task returns
 * -ECANCELED, now until its end. If it has not begun it does not begin. A task
 * that then ends with -ECANCELED has done what it was asked to: its scope is
 * not cancelled, and close takes no notice.
 * Panics: outside a task.
 */
RN_API void rn_task_cancel(rn_task task);

/* The same, and wait until it has ended, its finalizers included. Any number of
 * tasks may; the result is left to rn_task_join.
 *
 * Waits: until the task has ended; a cancellation point.
 * Returns: 0: it has ended. -EAGAIN, -ETIMEDOUT, -ECANCELED: it is cancelled,
 * but has not. -EDEADLK: the caller itself, or a task that has opened a scope
 * around it; it is not cancelled.
 * Order: all the task did is visible to the caller.
 * Panics: outside a task.
 */
RN_API int rn_task_cancel_join(rn_task task, rn_time deadline);

/* Move the calling task into a scope around its own: it is then a task of that
 * scope, as if spawned there. Its old scope no longer waits for it nor cancels
 * it, and learns nothing of its end.
 *
 * A task moves itself only: another could not know in which scopes it is. A
 * dump says of it that it has moved.
 * Returns: 0. -ECANCELED: the scope is cancelled. -EINVAL: it is not around
 * that of the caller.
 * Panics: outside a task; with a scope open, or inside a shield; in an item of
 * an operator (runnel/par.h), or the body of a transaction (runnel/stm.h).
 */
RN_API int rn_task_move(rn_scope *scope);

/* The calling task.
 *
 * Returns: its handle; {0} outside a task.
 */
RN_API rn_task rn_task_self(void);

/* The name of the calling task.
 *
 * Returns: the name it was spawned with, "main" for the main task, or "task";
 * "" outside a task.
 */
RN_API const char *rn_task_name(void);

/* Name the calling task; the string must live as long as the task.
 *
 * Panics: outside a task.
 */
RN_API void rn_task_set_name(const char *name);

/* How many tasks of the calling task's runtime are alive, itself included.
 *
 * Panics: outside a task.
 */
RN_API size_t rn_task_count(void);

/* Print one line for each live task: number, name, state, what it waits for
 * and since when, where it was spawned. Tasks that run meanwhile are printed
 * as they were at some moment during the call.
 *
 * Panics: outside a task.
 */
RN_API void rn_task_dump(FILE *out);

RN_END

#endif
