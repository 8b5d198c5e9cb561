/* runnel/shield.h - keep cancellation away for a while.
 *
 * Between push and restore the calling task sees no cancel from outside: what
 * it was told stays pending, and every cancellation point after the restore
 * returns it. Inside, rn_unshield lets it through for the length of one call:
 *
 *     rn_shield shield = rn_shield_push();
 *     int e = take(&ticket);                           // not cut short
 *     if (e == 0)
 *         e = rn_unshield(shield, wait_for_turn, &ticket); // may be
 *     give_back(&ticket);                              // not cut short
 *     rn_shield_restore(shield);
 *
 * A shield is the caller's alone: tasks it spawns begin unshielded. A scope
 * opened inside a shield is cut off from cancels outside, with all its tasks,
 * as its opener must wait for them anyway; what comes from inside (a failed
 * task, its own deadline, rn_scope_cancel) works as ever, and its opener sees
 * it, too. A scope's own close and the end of a task take no notice of shields:
 * they wait in any case.
 *
 * Shields are restored last in first out, like scopes are closed, each by the
 * task that has pushed it. One still in force when the task's function returns
 * ends there.
 */
#ifndef RUNNEL_SHIELD_H
#define RUNNEL_SHIELD_H

#include <runnel/base.h>

RN_BEGIN

/* The token of a push; the members are the library's. */
typedef struct rn_shield {
    uint64_t rn__task;     /* whose it is */
    const void *rn__scope; /* where it was pushed */
    uint32_t rn__number;   /* of the push */
    uint32_t rn__outer;    /* number of the one around it */
    uint32_t rn__before;   /* shields in force before */
} rn_shield;

/* Push a shield. No cancellation point.
 *
 * Returns: its token.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE rn_shield rn_shield_push(void);

/* Put back what held before the push. No cancellation point: a pending cancel
 * is seen by the next one.
 *
 * Panics: outside a task; if the shield is not the innermost in force of the
 * caller; if a scope opened since the push is still open.
 */
RN_API void rn_shield_restore(rn_shield shield);

/* Call fn(arg) as if the shield had not been pushed: it sees cancels if they
 * were seen before the push. Its return is no cancellation point.
 *
 * Waits: what fn does.
 * Returns: what fn returns.
 * Panics: as rn_shield_restore; so also if called again from fn with the same
 * token.
 */
RN_API int rn_unshield(rn_shield shield, int (*fn)(void *arg), void *arg);

RN_END

#endif
