/* runnel/blocking.h - call what blocks an OS thread, on a thread of its own.
 *
 * A call that waits in the kernel or computes for long keeps a worker from all
 * its other tasks. rn_blocking runs it on an OS thread of the runtime's pool;
 * the task waits meanwhile and its worker runs others.
 *
 *     static int look_up(void *arg)
 *     {
 *         struct query *q = arg;
 *         return getaddrinfo(q->host, NULL, NULL, &q->found);
 *     }
 *     int e = rn_blocking(look_up, &query, rn_after(5 * RN_SEC), &result);
 *
 * Threads are started when there is none to spare, up to
 * rn_options.blocking_threads; calls beyond that wait in order of arrival. A
 * thread ends after 5 seconds without work; all have ended when rn_run returns.
 *
 * The function is no task: in it the functions that panic outside a task do,
 * and channels, mutexes and such cannot be used. The call is not cut short:
 * neither by a cancel nor by the deadline once it has begun. Its stack is of
 * the system's default size (ulimit -s), not of rn_options.stack_bytes. errno
 * and thread-locals are not the caller's, and the next call may run on another
 * thread: pass what it needs, and what it found, through arg.
 *
 * In the simulator the function is called on the task's own stack, in no time,
 * between two scheduling points: other tasks may go on before and after it.
 * Neither threads nor waiting for one are simulated, so there a call always
 * begins. rn_run cannot be called in it there.
 */
#ifndef RUNNEL_BLOCKING_H
#define RUNNEL_BLOCKING_H

#include <runnel/base.h>

RN_BEGIN

/* Numbers about the blocking calls of a run. */
typedef struct rn_blocking_stats {
    uint64_t calls;            /* calls that have begun */
    uint64_t gave_up;          /* calls that ended in the queue, by a cancel or
                                  by their deadline; -EAGAIN is none */
    uint64_t queued;           /* calls that wait for a thread now */
    uint64_t queued_peak;      /* the most that did at one moment */
    uint64_t queue_ns;         /* time from call to begin, all of calls */
    uint64_t queue_ns_longest; /* the longest one of them */
    uint64_t threads;          /* OS threads now */
    uint64_t threads_peak;     /* the most at one moment */
} rn_blocking_stats;

/* Run fn(arg) on an OS thread of the pool and wait until it has returned.
 *
 * deadline: how long the call may wait for a thread. RN_NOW: fail unless one
 * can take it at once.
 * result: what fn returned; may be NULL.
 * Waits: until fn has returned, or it is sure not to run; not at all before
 * -EAGAIN, and -ECANCELED if the scope is cancelled already. A cancellation
 * point until fn begins, unless the deadline is RN_NOW; no cancel ends the wait
 * after that.
 * Returns: 0: fn has run. Else it has not and will not. -EAGAIN: with RN_NOW,
 * no thread is free; or not even a first one could be started. -ETIMEDOUT,
 * -ECANCELED: while the call waited for a thread. -ENOMEM.
 * Order: what the caller did before is visible to fn, and what fn did is
 * visible after.
 * Panics: outside a task.
 */
RN_API int rn_blocking(int (*fn)(void *arg), void *arg, rn_time deadline,
                       int *result);

/* The numbers of the calling task's runtime so far.
 *
 * Panics: outside a task.
 */
RN_API void rn_blocking_stats_get(rn_blocking_stats *stats);

RN_END

#endif
