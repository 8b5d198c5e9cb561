/* runnel/time.h - the clock, timers and tickers, functions called at a time.
 *
 * A timer sends the time into its channel of capacity 1 when it expires; a
 * ticker does so again and again, at start + k * period without drift. A value
 * that finds the channel full is dropped, so a slow reader delays nobody.
 *
 *     rn_timer *t;
 *     int e = rn_timer_new(rn_now() + RN_SEC, 0, &t);
 *     rn_arm arms[] = { RN_ARM_RECV(c, &v),
 *                       RN_ARM_RECV(rn_timer_chan(t), NULL) };
 *
 * For a single wait a deadline (or RN_ARM_AT) is simpler and needs no timer.
 */
#ifndef RUNNEL_TIME_H
#define RUNNEL_TIME_H

#include <runnel/chan.h>
#include <runnel/task.h>

RN_BEGIN

typedef struct rn_timer rn_timer;

/* The time now, on the monotonic clock of the caller's world. */
RN_API rn_time rn_now(void);

/* The time span nanoseconds from now; never wraps: RN_NEVER if it would, now
 * if span is negative. */
RN_API rn_time rn_after(rn_time span);

/* Make and start a timer for a point in time; period > 0 makes a ticker.
 *
 * when: RN_NOW: at once; RN_NEVER: not before it is reset.
 * Owner: the caller, until rn_timer_free.
 * Returns: 0. -EINVAL: the period is negative. -ENOMEM.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_timer_new(rn_time when, rn_time period,
                                    rn_timer **timer);

/* Stop a timer and free it; NULL is allowed.
 *
 * Panics: outside a task; if a task waits on its channel.
 */
RN_API void rn_timer_free(rn_timer *timer);

/* The channel of rn_time values the timer sends into.
 *
 * Owner: the timer. With a reference of its own (rn_chan_ref) a caller may use
 * it after the timer is freed; then nothing more is sent into it.
 */
RN_API rn_chan *rn_timer_chan(const rn_timer *timer);

/* Stop a timer. A value it has sent already stays in the channel.
 *
 * Returns: 1 if it was stopped before it fired, 0 if it was not running.
 * Panics: outside a task.
 */
RN_API int rn_timer_stop(rn_timer *timer);

/* Start a timer again for another time, whether it runs or not.
 *
 * Returns: 1 if it was running, 0 if not. -EINVAL: the period is negative.
 * Panics: outside a task.
 */
RN_API int rn_timer_reset(rn_timer *timer, rn_time when, rn_time period);

/* Run fn(arg) as a task of scope (NULL: the caller's innermost scope), but not
 * before a point in time. Until then it takes a record of some 300 bytes, and
 * no stack.
 *
 *     rn_task t;
 *     rn_after_func(NULL, rn_after(RN_SEC), give_up, call, &t);
 *     ...
 *     if (rn_after_stop(t) == 0)
 *         ...too late: give_up runs, has run, or was cancelled
 *
 * It is a task of the scope from the start: the scope waits for it when it
 * closes, and a cancel of the scope ends it, without fn being called. As each
 * has a task of its own, a slow fn delays no other. The handle (may be NULL) is
 * for stop and reset, and as any task's for a join, as long as it has not
 * ended.
 *
 * when: RN_NOW: at once; RN_NEVER: not before it is reset.
 * Returns: as rn_go: 0, -ENOMEM, -ECANCELED: fn will not run.
 * Order: what the caller did before is visible to fn.
 * Panics: outside a task.
 */
RN_API int rn_after_func(rn_scope *scope, rn_time when, rn_task_fn *fn,
                         void *arg, rn_task *task);

/* Keep the function of rn_after_func from being called. Never waits.
 *
 * Returns: 1: it was not yet time, and fn will not be called. The task ends at
 * once, with 0. 0: fn was or will be called, or the task was cancelled, or
 * stopped before: nothing has happened.
 * Panics: outside a task.
 */
RN_API int rn_after_stop(rn_task task);

/* Move the time of rn_after_func. Never waits.
 *
 * Returns: 1: moved. 0: as of rn_after_stop, too late: nothing has happened.
 * Panics: outside a task.
 */
RN_API int rn_after_reset(rn_task task, rn_time when);

RN_END

#endif
