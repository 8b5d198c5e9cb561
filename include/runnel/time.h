/* runnel/time.h - the clock, timers and tickers.
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

RN_END

#endif
