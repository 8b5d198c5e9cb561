/* runnel/barrier.h - a place where a number of tasks wait for each other.
 *
 *     rn_barrier barrier = RN_BARRIER_INIT(4);
 *     ...in each of four tasks:
 *     for (int step = 0; step < steps; step++) {
 *         compute(part, step);
 *         rn_barrier_wait(&barrier, RN_NEVER);
 *     }
 *
 * When the last party has come all go on, and the barrier can be used again at
 * once: who comes next belongs to the next generation. RN_BARRIER_INIT makes
 * one: no init, no fini.
 *
 * A wait that is cancelled or times out takes itself out: it does not count as
 * having come, the others go on waiting, and the party may come again. Whether
 * it is out or all have come is decided in one moment; nobody goes on unless
 * all have come. Once a wait has returned no other task touches the object any
 * more, unless it waits for another generation: it may be freed.
 */
#ifndef RUNNEL_BARRIER_H
#define RUNNEL_BARRIER_H

#include <runnel/base.h>

RN_BEGIN

/* A barrier; its fields are the library's. */
typedef struct rn_barrier {
    uint64_t rn__object[2];
    uint32_t rn__parties;
    uint32_t rn__opaque32;
    uint64_t rn__opaque[5];
} rn_barrier;

/* clang-format off */
/* One for so many parties, at least 1. */
#define RN_BARRIER_INIT(parties) { { 0 }, (parties), 0, { 0 } }
/* clang-format on */

/* Come, and wait until all parties have.
 *
 * Waits: until the last party has come; a cancellation point unless the
 * deadline is RN_NOW. As the last one: only for parties whose waits are ending
 * at this moment.
 * Returns: 1 to the party that came last, 0 to the others. -EAGAIN,
 * -ETIMEDOUT, -ECANCELED: the caller has not come.
 * Order: what each party did before it came is visible to all.
 * Panics: if the barrier is for no parties; outside a task.
 */
RN_API int rn_barrier_wait(rn_barrier *barrier, rn_time deadline);

RN_END

#endif
