/* runnel/workgroup.h - a scope with a limit: a group of tasks for one job.
 *
 *     rn_workgroup group;
 *     int e = rn_workgroup_open(&group, 10, NULL);
 *     if (e < 0)
 *         return e;
 *     for (size_t i = 0; i < count && e == 0; i++)
 *         e = rn_workgroup_go(&group, fetch, &urls[i], RN_NEVER);
 *     return rn_workgroup_wait(&group, e);
 *
 * At most as many tasks as the limit are alive at one moment, from the call of
 * their function until their deferred calls have ended; who wants to add one
 * waits for a place. The first task that fails cancels the others, and its
 * error is what wait returns; with RN_SCOPE_COLLECT all run to their ends. All
 * failures, not only the first, are in the report that the options name
 * (runnel/report.h).
 *
 * A group is a scope: it is opened and waited for by one task, last in first
 * out, and what runnel/scope.h says of cancels and deadlines holds. It lives in
 * the caller's memory and allocates nothing once the runtime is warm.
 */
#ifndef RUNNEL_WORKGROUP_H
#define RUNNEL_WORKGROUP_H

#include <runnel/scope.h>
#include <runnel/sema.h>

RN_BEGIN

/* A work group; its fields are the library's. */
typedef struct rn_workgroup {
    rn_scope *rn__scope;
    rn_sema rn__places;
} rn_workgroup;

/* Open a group, in place, inside the caller's innermost scope.
 *
 * limit: the most tasks at a time; 0 for any number. options: of the scope; may
 * be NULL.
 * Owner: the caller, until rn_workgroup_wait.
 * Returns: as rn_scope_open_with: 0, -EINVAL, -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_workgroup_open(rn_workgroup *group, size_t limit,
                                         const rn_scope_options *options);

/* Spawn fn(arg) as a task of the group.
 *
 * The task that opened the group may call it, and tasks of the group. If all of
 * these that have a place wait for another, that is a deadlock.
 * Waits: while the group is full, for a place, in order; a cancellation point
 * then, unless the deadline is RN_NOW.
 * Returns: 0. -EAGAIN, -ETIMEDOUT: it was full. -ECANCELED: the caller, or the
 * group, is cancelled. -ENOMEM. On failure fn will not run, and the caller
 * keeps arg.
 * Order: what the caller did before is visible to fn.
 * Panics: if the group is not open; outside a task.
 */
RN_API int rn_workgroup_go(rn_workgroup *group, rn_task_fn *fn, void *arg,
                           rn_time deadline);

/* The scope of an open group: to cancel it, to move its deadline.
 *
 * Returns: the scope; NULL if the group is not open.
 */
RN_API rn_scope *rn_workgroup_scope(const rn_workgroup *group);

/* Wait until all tasks of the group have ended; then it is closed.
 *
 * body: how the code since open went; if it failed, that cancels the tasks and
 * counts like the failure of one.
 * Waits: until the last task has ended, whatever is cancelled meanwhile.
 * Returns: as rn_scope_close_with: the first error, -ETIMEDOUT, -ECANCELED, or
 * body.
 * Order: all its tasks did is visible to the caller.
 * Panics: if the group is not open, or not the innermost scope the caller has
 * opened.
 */
RN_API int rn_workgroup_wait(rn_workgroup *group, int body);

RN_END

#endif
