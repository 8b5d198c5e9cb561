/* core/runq.h - a worker's run queue: a slot and two rings, the owner's own
 * until a thief wants some.
 *
 * The slot holds the task made ready last. Those it pushed out wait in a ring:
 * tasks that have run before in woken, first in first out; those that have not
 * begun in fresh, and there the newest begins first. So a tree of tasks is
 * walked in depth, with few of them alive at once, and thieves, who take the
 * oldest fresh ones, get whole branches. (Blumofe and Leiserson, "Scheduling
 * multithreaded computations by work stealing", 1999.)
 *
 * The owner comes here at every switch, a thief hardly ever. So they share an
 * owner-biased lock: the owner says busy, passes a light fence and looks for a
 * claim; if it sees one it is busy no more and waits until that is gone. The
 * thief claims, passes a heavy fence and waits until the owner is not busy. So
 * one of the two sees the other (Dekker's argument; base/atomic.h. Dice, Huang
 * and Yang, 2001), and the thief, who pays so much for it, goes first. The
 * owner pays two plain stores, and nothing is shared that both write. Nobody
 * waits between enter and leave, or with the claim for anything but that.
 *
 * Between enter and leave the owner may do anything with the queue; nobody else
 * touches it but a thief between claim and unlock. The lengths and the slot are
 * read by others at any time, as hints.
 *
 * Refused: the bounded ring with a compare-and-swap on its head for owner and
 * thieves alike (as in Go): 21 cycles more for each task taken, and a way
 * around for what does not fit.
 */
#ifndef RN_RUNQ_H
#define RN_RUNQ_H

#include "base/lock.h"

#include <stddef.h>

struct rn__task;

/* Tasks between head and tail, at [i % room]; a bounded FIFO that grows. */
struct rn__ring {
    _Atomic uint32_t head, tail; /* the oldest; behind the newest */
    uint32_t room;               /* a power of two, or 0 */
    struct rn__task **tasks;
};

struct rn__runq {
    _Atomic uint32_t busy;           /* the owner is at it */
    struct rn__lock claim;           /* a thief is, or wants to be */
    _Atomic(struct rn__task *) slot; /* made ready last: runs next */
    struct rn__ring woken, fresh;
};

/* At most so many are robbed at once: the owner may be waiting. */
enum { RN__LOOT_MAX = 128 };

/* The owner waits until a thief has gone. */
void rn__runq_give_way(struct rn__runq *q);
/* Between enter and leave: give a ring these places, twice as many as before
 * (at least RN__RING_FIRST); returns the old ones, which are no longer used. */
struct rn__task **rn__ring_grow(struct rn__ring *ring, struct rn__task **tasks);
enum { RN__RING_FIRST = 256 };
/* What a thief may take. */
enum rn__loot {
    RN__LOOT_QUEUED, /* the older half of what is fresh, or else of the woken */
    RN__LOOT_ALL,    /* or else what is in the slot */
    RN__LOOT_WOKEN   /* only what was woken */
};
/* A thief: returns how many it took. */
uint32_t rn__runq_rob(struct rn__runq *q, struct rn__task *loot[RN__LOOT_MAX],
                      enum rn__loot what);

static inline void
rn__runq_enter(struct rn__runq *q)
{
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
rn__ring_length(const struct rn__ring *ring)
{
    /* relaxed: exact for the owner, a hint for others */
    return atomic_load_explicit(&ring->tail, memory_order_relaxed) -
           atomic_load_explicit(&ring->head, memory_order_relaxed);
}

/* Without the slot. */
static inline uint32_t
rn__runq_length(const struct rn__runq *q)
{
    return rn__ring_length(&q->woken) + rn__ring_length(&q->fresh);
}

/* Between enter and leave, as all below. False: the ring is full. */
static inline bool
rn__ring_push(struct rn__ring *ring, struct rn__task *task)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (rn__unlikely(rn__ring_length(ring) == ring->room))
        return false;
    ring->tasks[tail & (ring->room - 1)] = task;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_relaxed);
    return true;
}

/* The i-th oldest, which there is, counted from 0. */
static inline struct rn__task *
rn__ring_peek(const struct rn__ring *ring, uint32_t i)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    return ring->tasks[(head + i) & (ring->room - 1)];
}

/* Not empty: the oldest. */
static inline struct rn__task *
rn__ring_shift(struct rn__ring *ring)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + 1, memory_order_relaxed);
    return ring->tasks[head & (ring->room - 1)];
}

/* Not empty: the newest. */
static inline struct rn__task *
rn__ring_pop(struct rn__ring *ring)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed) - 1;
    atomic_store_explicit(&ring->tail, tail, memory_order_relaxed);
    return ring->tasks[tail & (ring->room - 1)];
}

/* What to put into the slot; returns what was there. */
static inline struct rn__task *
rn__runq_swap(struct rn__runq *q, struct rn__task *task)
{
    struct rn__task *old = atomic_load_explicit(&q->slot, memory_order_relaxed);
    atomic_store_explicit(&q->slot, task, memory_order_relaxed);
    return old;
}

#endif
