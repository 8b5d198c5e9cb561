/* runnel/finalizer.h - what is done when a task ends, however it ends.
 *
 *     static int
 *     hang_up(void *conn, int outcome)
 *     {
 *         return conn_close(conn, outcome == 0);  // may wait
 *     }
 *
 *     int e = rn_defer(hang_up, conn);
 *
 * Finalizers run once the task's function has returned, last deferred first,
 * each exactly once and inside a shield (runnel/shield.h): they may wait, open
 * scopes, defer more, and see no cancel. Their argument outcome is what the
 * function has returned. A task has ended when the last of them has; nothing
 * abandons one that is slow.
 *
 * One that returns a negative code has failed: the others still run, and the
 * scope is told (RN_PHASE_FINALIZER). If the task had not failed by itself its
 * result is the code of the first finalizer that has. -ECANCELED is no failure
 * of a finalizer, as it is none of a function: the task has given up, unless
 * something has failed.
 */
#ifndef RUNNEL_FINALIZER_H
#define RUNNEL_FINALIZER_H

#include <runnel/base.h>

RN_BEGIN

/* A finalizer. 0 or more: it has done what it should. */
typedef int rn_finalizer_fn(void *arg, int outcome);

/* Run fn(arg, outcome) when the calling task ends.
 *
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API int rn_defer(rn_finalizer_fn *fn, void *arg);

/* The same, but only if the task's function returns an error: a negative code
 * other than -ECANCELED.
 *
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API int rn_defer_on_error(rn_finalizer_fn *fn, void *arg);

/* The same, but only if the task's function returns -ECANCELED.
 *
 * Returns: 0 or -ENOMEM.
 * Panics: outside a task.
 */
RN_API int rn_defer_on_cancel(rn_finalizer_fn *fn, void *arg);

/* Acquire something, use it, release it: if acquire(arg) (NULL: nothing to
 * do) succeeds, release(arg, what use has returned) is called, whatever is
 * cancelled meanwhile. acquire and release run inside a shield, use does not.
 *
 * Waits: what the three do; a cancellation point before acquire.
 * Returns: -ECANCELED, nothing called; the code of acquire, if negative; that
 * of use; that of release, if it is negative and use succeeded or gave up.
 * A failure of release after one of use is told to the scope the caller has
 * opened last, when that is closed, or to the scope of the task or item, when
 * that ends: so that of use comes first, if it is returned there.
 * Panics: outside a task.
 */
RN_API int rn_bracket(int (*acquire)(void *arg), int (*use)(void *arg),
                      rn_finalizer_fn *release, void *arg);

RN_END

#endif
