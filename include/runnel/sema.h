/* runnel/sema.h - a weighted semaphore: units to be taken and given back.
 *
 *     rn_sema bytes = RN_SEMA_INIT(1 << 20);
 *     rn_sema_acquire(&bytes, length, RN_NEVER);
 *     ...
 *     rn_sema_release(&bytes, length);
 *
 * Waiting tasks are served strictly in the order they came: while the first
 * wants more than is free, those behind it wait, too, even if there is enough
 * for them. So a large acquire is not starved by small ones. When the first
 * gives up, the next is looked at.
 *
 * RN_SEMA_INIT makes one: no init, no fini. Any task may release what another
 * has acquired. As soon as a release has let another task go on, the object is
 * not touched any more: that task may free it.
 */
#ifndef RUNNEL_SEMA_H
#define RUNNEL_SEMA_H

#include <runnel/base.h>

RN_BEGIN

/* A semaphore; its fields are the library's. */
typedef struct rn_sema {
    uint64_t rn__object[2];
    uint64_t rn__size;
    uint64_t rn__opaque[4];
} rn_sema;

/* clang-format off */
/* One of so many units, all free. */
#define RN_SEMA_INIT(size) { { 0 }, (size), { 0 } }
/* clang-format on */

/* Take n units; 0 are always there.
 *
 * Waits: until all n are free and it is the caller's turn; a cancellation point
 * unless the deadline is RN_NOW.
 * Returns: 0. -EAGAIN, -ETIMEDOUT, -ECANCELED: none were taken. -EINVAL: n is
 * more than the size, so they never could be.
 * Order: what was done before the releases that made them free is visible.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_sema_acquire(rn_sema *sema, size_t n,
                                       rn_time deadline);

/* Give n units back. Never waits; not a cancellation point.
 *
 * Panics: if fewer are taken; outside a task.
 */
RN_API void rn_sema_release(rn_sema *sema, size_t n);

RN_END

#endif
