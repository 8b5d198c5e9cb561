/* core/runq.c - the rare parts of a run queue: it grows, or it is robbed. */
#include "core/runq.h"

#include "os/os.h"

#include <string.h>

enum { SPINS = 128 };

static void
spin(int *spins)
{
    if (++*spins < SPINS)
        rn__cpu_pause();
    else
        rn__os_relax(); /* the other may have been preempted */
}

void
rn__runq_give_way(struct rn__runq *q)
{
    int spins = 0;
    do {
        /* release: we have touched nothing */
        atomic_store_explicit(&q->busy, 0, memory_order_release);
        /* acquire: what the thief has taken is gone; see its unlock */
        while (atomic_load_explicit(&q->claim.held, memory_order_acquire))
            spin(&spins);
        /* relaxed: as in rn__runq_enter */
        atomic_store_explicit(&q->busy, 1, memory_order_relaxed);
        rn__fence_light();
    } while (atomic_load_explicit(&q->claim.held, memory_order_acquire));
}

struct rn__task **
rn__ring_grow(struct rn__ring *ring, struct rn__task **tasks)
{
    struct rn__task **old = ring->tasks;
    uint32_t count = rn__ring_length(ring);
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        tasks[i] = old[(head + i) & (ring->room - 1)];
    ring->tasks = tasks;
    ring->room = ring->room ? 2 * ring->room : RN__RING_FIRST;
    atomic_store_explicit(&ring->head, 0, memory_order_relaxed);
    atomic_store_explicit(&ring->tail, count, memory_order_relaxed);
    return old;
}

/* With the claim, and the owner not busy. */
static uint32_t
take_half(struct rn__ring *ring, struct rn__task **loot)
{
    uint32_t count = rn__ring_length(ring);
    count -= count / 2;
    if (count > RN__LOOT_MAX)
        count = RN__LOOT_MAX;
    for (uint32_t i = 0; i < count; i++)
        loot[i] = rn__ring_shift(ring);
    return count;
}

uint32_t
rn__runq_rob(struct rn__runq *q, struct rn__task *loot[RN__LOOT_MAX],
             enum rn__loot what)
{
    int spins = 0;
    if (!rn__trylock(&q->claim))
        return 0;
    rn__os_fence_all(); /* between our claim and the look at busy */
    /* acquire: partners with the owner's release */
    while (atomic_load_explicit(&q->busy, memory_order_acquire))
        spin(&spins);
    uint32_t count = what == RN__LOOT_WOKEN ? 0 : take_half(&q->fresh, loot);
    if (count == 0)
        count = take_half(&q->woken, loot);
    if (count == 0 && what == RN__LOOT_ALL &&
        (loot[0] = rn__runq_swap(q, NULL)))
        count = 1;
    rn__unlock(&q->claim);
    return count;
}
