/* core/runq.c - a worker's run queue: a ring that others steal from.
 *
 * head and tail only grow; a task is at ring[i % ROOM]. Which calls may run at
 * once:
 *
 *              put    take   steal (from)   steal (to)
 *     put      no     yes    yes            no (same owner)
 *     take     yes    yes    yes            no (same owner)
 *     steal    yes    yes    yes            -
 *
 * put and steal's destination belong to the owner. Takers read entries first
 * and then move head with a compare-and-swap: if it succeeds nobody else took
 * them, and the owner cannot have overwritten them, because it never lets tail
 * run more than ROOM ahead of head. (The shape is that of Go's scheduler,
 * Vyukov, "Scalable Go Scheduler Design", 2012.)
 */
#include "core/core.h"

#define ENTRY(q, i) (&(q)->ring[(i) % RN__RUNQ_ROOM])

bool
rn__runq_put(struct rn__runq *q, struct rn__task *task)
{
    /* acquire: the takers' reads of old entries come before our overwrite */
    uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);
    uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
    if (tail - head >= RN__RUNQ_ROOM)
        return false;
    atomic_store_explicit(ENTRY(q, tail), task, memory_order_relaxed);
    /* release: the entry is published */
    atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
    return true;
}

struct rn__task *
rn__runq_take(struct rn__runq *q)
{
    uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);
    for (;;) {
        uint32_t tail = atomic_load_explicit(&q->tail, memory_order_acquire);
        if (head == tail)
            return NULL;
        struct rn__task *task =
            atomic_load_explicit(ENTRY(q, head), memory_order_relaxed);
        /* release: our read of the entry comes before the owner's reuse */
        if (rn__cas(&q->head, &head, head + 1))
            return task;
    }
}

struct rn__task *
rn__runq_steal(struct rn__runq *to, struct rn__runq *from)
{
    uint32_t to_tail = atomic_load_explicit(&to->tail, memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&from->head, memory_order_acquire);
    for (;;) {
        /* acquire: partners with the owner's store in put */
        uint32_t tail = atomic_load_explicit(&from->tail, memory_order_acquire);
        uint32_t count = tail - head;
        if (count == 0)
            return NULL;
        count -= count / 2;
        if (count > RN__RUNQ_ROOM / 2) { /* head is stale */
            head = atomic_load_explicit(&from->head, memory_order_acquire);
            continue;
        }
        for (uint32_t i = 0; i + 1 < count; i++)
            atomic_store_explicit(ENTRY(to, to_tail + i),
                                  atomic_load_explicit(ENTRY(from, head + i),
                                                       memory_order_relaxed),
                                  memory_order_relaxed);
        struct rn__task *last = atomic_load_explicit(
            ENTRY(from, head + count - 1), memory_order_relaxed);
        /* release: our reads come before the owner's reuse */
        if (!atomic_compare_exchange_weak_explicit(
                &from->head, &head, head + count, memory_order_acq_rel,
                memory_order_acquire))
            continue;
        if (count > 1)
            atomic_store(&to->tail, to_tail + count - 1);
        return last;
    }
}

bool
rn__runq_empty(const struct rn__runq *q)
{
    /* seq_cst: a sleeper's recheck comes after it has counted itself asleep */
    return atomic_load(&q->head) == atomic_load(&q->tail);
}
