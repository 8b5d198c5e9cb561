/* runnel/base.h - words every other header uses: linkage, time, errors.
 *
 * Functions return 0 or a useful non-negative number on success and a negative
 * errno value on failure; errno itself is never used, because a task may wake
 * on another thread. The library's own codes:
 *
 *   -EAGAIN     a try (RN_NOW) would have had to wait
 *   -ETIMEDOUT  the deadline passed first
 *   -ECANCELED  a scope around the caller is cancelled
 *   -EPIPE      the channel is closed
 *   -ESRCH      the task is gone
 *   -EDEADLK    the wait could never end (joining oneself)
 *   -ENOMEM, -EINVAL, -EBUSY as usual
 *
 * Objects (channels, mutexes, scopes ...) are for the tasks of one rn_run. One
 * that lives in the caller's memory must not be moved or copied once used.
 *
 * On failure outputs are untouched and nothing has happened. What only a bug
 * can cause (waiting outside a task, a double close) is a panic: a report on
 * standard error, then abort; in the simulator it is a verdict.
 */
#ifndef RUNNEL_BASE_H
#define RUNNEL_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define RN_BEGIN extern "C" {
#define RN_END }
#else
#define RN_BEGIN
#define RN_END
#endif

#if defined(__GNUC__)
#define RN_API __attribute__((visibility("default")))
#define RN_MUST_USE __attribute__((warn_unused_result))
#define RN_NORETURN __attribute__((noreturn))
#define RN_PRINTF(string, first) __attribute__((format(printf, string, first)))
#else
#define RN_API
#define RN_MUST_USE
#define RN_NORETURN
#define RN_PRINTF(string, first)
#endif

RN_BEGIN

/* A point in time, or a span, in nanoseconds. Points are on the monotonic
 * clock of the world the program runs in; simulated time starts at 0. */
typedef int64_t rn_time;

/* As a deadline: do not wait, fail with -EAGAIN instead (a try). */
#define RN_NOW INT64_MIN
/* As a deadline: wait for ever. */
#define RN_NEVER INT64_MAX

#define RN_US ((rn_time)1000)
#define RN_MS ((rn_time)1000000)
#define RN_SEC ((rn_time)1000000000)

/* The body of a task. 0 or more means it succeeded, a negative errno value
 * that it failed. */
typedef int rn_task_fn(void *arg);

/* Report a bug and end the program: prints the message, the task and a
 * backtrace to standard error, then aborts. In the simulator the schedule ends
 * with the verdict RN_SIM_PANIC instead.
 */
RN_API RN_NORETURN void rn_panic(const char *format, ...) RN_PRINTF(1, 2);

/* The version of the library linked to, as "major.minor.patch".
 *
 * Returns: a constant string.
 */
RN_API const char *rn_version(void);

RN_END

#endif
