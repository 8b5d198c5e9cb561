/* runnel/select.h - wait for several things, do exactly one.
 *
 *     rn_arm arms[] = { RN_ARM_RECV(jobs, &job),
 *                       RN_ARM_SEND(log, &line),
 *                       RN_ARM_AT(rn_now() + RN_SEC) };
 *     int i = rn_select(arms, 3, 0, RN_NEVER);
 *     if (i == 0 && arms[0].result == -EPIPE)
 *         ...jobs was closed
 *
 * The arms are looked at in one moment: none is reported as not ready that
 * was ready throughout. Among several ready arms one is chosen uniformly (in
 * the simulator: by the schedule). The same channel may stand in any number of
 * arms, in both directions; a select never receives its own value. What an arm
 * names must live until the call has returned.
 */
#ifndef RUNNEL_SELECT_H
#define RUNNEL_SELECT_H

#include <runnel/chan.h>
#include <runnel/future.h>
#include <runnel/task.h>

RN_BEGIN

/* What an arm waits for. */
typedef enum rn_arm_kind {
    RN_ARM_KIND_NONE = 0, /* never ready */
    RN_ARM_KIND_SEND,     /* a send that can be done */
    RN_ARM_KIND_RECV,     /* a receive that can be done */
    RN_ARM_KIND_JOIN,     /* a task that has ended */
    RN_ARM_KIND_AT,       /* a point in time */
    RN_ARM_KIND_SCOPE,    /* a scope, or a context, that is cancelled */
    RN_ARM_KIND_FUTURE    /* a promise that is completed */
} rn_arm_kind;

/* One arm. Make it with an initialiser below; result is set by rn_select. */
typedef struct rn_arm {
    rn_arm_kind kind;
    int result;    /* of the chosen arm: as the single call returns */
    rn_chan *chan; /* SEND, RECV; NULL is never ready */
    void *data;    /* SEND: the value. RECV: where to. JOIN: int result.
                      SCOPE: the scope, or the context; NULL is never ready.
                      FUTURE: where to */
    uint64_t id;   /* JOIN: task id. AT: the time. FUTURE: its address; 0 is
                      never ready */
    uintptr_t rn__opaque[9]; /* the library's, while the call lasts */
} rn_arm;

/* clang-format off */
#define RN_ARM_NONE \
    { RN_ARM_KIND_NONE, 0, NULL, NULL, 0, { 0 } }
#define RN_ARM_SEND(chan, elem) \
    { RN_ARM_KIND_SEND, 0, (chan), (void *)(elem), 0, { 0 } }
#define RN_ARM_RECV(chan, elem) \
    { RN_ARM_KIND_RECV, 0, (chan), (elem), 0, { 0 } }
#define RN_ARM_JOIN(task, result) \
    { RN_ARM_KIND_JOIN, 0, NULL, (result), (task).id, { 0 } }
#define RN_ARM_AT(when) \
    { RN_ARM_KIND_AT, 0, NULL, NULL, (uint64_t)(when), { 0 } }
#define RN_ARM_SCOPE(scope) \
    { RN_ARM_KIND_SCOPE, 0, NULL, (scope), 0, { 0 } }
#define RN_ARM_FUTURE(future, value) \
    { RN_ARM_KIND_FUTURE, 0, NULL, (value), (uintptr_t)(future), { 0 } }
#define RN_ARM_CONTEXT(context) \
    { RN_ARM_KIND_SCOPE, 0, NULL, (context), 0, { 0 } }
/* clang-format on */

/* Among ready arms take the first instead of a random one. */
#define RN_SELECT_ORDERED 1u
/* The most arms one select takes. */
#define RN_SELECT_MAX 65535

/* Wait until one of the arms can be done, and do it.
 *
 * Waits: until an arm is ready; with RN_NOW as deadline not at all (Go's
 * default case). Without arms, or with arms that are never ready, until the
 * deadline. A cancellation point unless the deadline is RN_NOW.
 * Returns: the index of the arm that was done, its outcome in its result (of a
 * join also -ESRCH: another join was faster).
 * -EAGAIN, -ETIMEDOUT, -ECANCELED: no arm was done. -EINVAL: more than
 * RN_SELECT_MAX arms, an unknown kind or flag.
 * Order: as the single call of the chosen arm.
 * Panics: outside a task.
 */
RN_API int rn_select(rn_arm *arms, size_t count, unsigned flags,
                     rn_time deadline);

RN_END

#endif
