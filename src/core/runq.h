/* core/runq.h - a worker's run queue: a slot and a ring, the owner's own until
 * a thief wants some.
 *
 * The owner comes here at every switch, a thief hardly ever. So they share an
 * owner-biased lock: the owner says busy, passes a light fence and looks for a
 * claim; the thief claims, passes a heavy fence and looks for busy. Whoever
 * sees the other gives way: the thief for good, the owner until the claim is
 * gone. (Dekker's argument; base/atomic.h. Dice, Huang and Yang, 2001.) The
 * owner pays two plain stores, and nothing is shared that both write.
 *
 * Between enter and leave the owner may do anything with the queue; nobody else
 * touches it but a thief between claim and unlock. head and tail are read by
 * others at any time, as hints.
 *
 * Refused: the bounded ring with a compare-and-swap on its head for owner and
 * thieves alike (as in Go, and here before): 21 cycles more for each task
 * taken, and a way around for what does not fit.
 */
#ifndef RN_RUNQ_H
#define RN_RUNQ_H

#include "base/lock.h"

#include <stddef.h>

struct rn__task;

struct rn__runq {
    _Atomic uint32_t busy;           /* the owner is at it */
    struct rn__lock claim;           /* a thief is, or wants to be */
    _Atomic(struct rn__task *) slot; /* made ready last: runs next */
    _Atomic uint32_t head, tail;     /* the oldest is ring[head % room] */
    uint32_t room;                   /* a power of two, or 0 */
    struct rn__task **ring;
};

/* At most so many are robbed at once: the owner may be waiting. */
enum { RN__LOOT_MAX = 128 };

/* The owner waits until a thief has gone. */
void rn__runq_give_way(struct rn__runq *q);
/* Between enter and leave: replace the ring by this one of twice the room (at
 * least RN__RUNQ_FIRST); returns the old one, which is no longer used. */
struct rn__task **rn__runq_grow(struct rn__runq *q, struct rn__task **ring);
enum { RN__RUNQ_FIRST = 256 };
/* A thief: take the older half of another's ring, or with all set, if the ring
 * is empty, its slot. Returns how many. */
uint32_t rn__runq_rob(struct rn__runq *q, struct rn__task *loot[RN__LOOT_MAX],
                      bool all);

static inline void
rn__runq_enter(struct rn__runq *q)
{
    if (rn__alone())
        return;
    /* relaxed: ordered by the fence; partners with rn__runq_rob */
    atomic_store_explicit(&q->busy, 1, memory_order_relaxed);
    rn__fence_light();
    /* acquire: what a thief has taken is gone */
    if (rn__unlikely(
            atomic_load_explicit(&q->claim.held, memory_order_acquire)))
        rn__runq_give_way(q);
}

static inline void
rn__runq_leave(struct rn__runq *q)
{
    /* release: the queue as it is now; partners with rn__runq_rob */
    atomic_store_explicit(&q->busy, 0, memory_order_release);
}

static inline uint32_t
rn__runq_length(const struct rn__runq *q)
{
    /* relaxed: exact for the owner, a hint for others */
    return atomic_load_explicit(&q->tail, memory_order_relaxed) -
           atomic_load_explicit(&q->head, memory_order_relaxed);
}

/* Between enter and leave. False: the ring is full. */
static inline bool
rn__runq_push(struct rn__runq *q, struct rn__task *task)
{
    uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    if (rn__unlikely(rn__runq_length(q) == q->room))
        return false;
    q->ring[tail & (q->room - 1)] = task;
    atomic_store_explicit(&q->tail, tail + 1, memory_order_relaxed);
    return true;
}

/* Between enter and leave, and not empty: the oldest. */
static inline struct rn__task *
rn__runq_shift(struct rn__runq *q)
{
    uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);
    atomic_store_explicit(&q->head, head + 1, memory_order_relaxed);
    return q->ring[head & (q->room - 1)];
}

/* Between enter and leave: what to put into the slot; what was there. */
static inline struct rn__task *
rn__runq_swap(struct rn__runq *q, struct rn__task *task)
{
    struct rn__task *old = atomic_load_explicit(&q->slot, memory_order_relaxed);
    atomic_store_explicit(&q->slot, task, memory_order_relaxed);
    return old;
}

#endif
