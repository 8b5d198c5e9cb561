/* core/outside.c - what OS threads that are no workers hand to the workers.
 *
 * Such a thread must not claim or fire a wait, nor take a lock of the runtime:
 * while one worker is awake these are plain loads and stores (base/atomic.h).
 * It pushes an item on a list, by true atomic operations, and a worker that
 * looks for work takes the whole list and does the rest.
 *
 * No item is overlooked: who posts pushes, then reads watching, searching and
 * asleep, and wakes a sleeper if there is one and nobody looks. A worker stops
 * watching or searching, or counts itself asleep, and then reads the list. All
 * of these are seq_cst, so one of the two sees the other. A worker that runs
 * tasks looks when it looks around (sched.c).
 *
 * Refused: to give up the plain operations of who is alone for as long as there
 * is another OS thread; every lock would pay for a call now and then.
 */
#include "core/outside.h"

#include "core/core.h"

void
rn__outside_expect(struct rn__rt *rt)
{
    /* relaxed: by a running worker, and who looks whether all sleep has passed
     * idle_lock after it; or by a thread for which another item is expected */
    atomic_fetch_add_explicit(&rt->outside_due, 1, memory_order_relaxed);
}

void
rn__outside_call_off(struct rn__rt *rt)
{
    /* relaxed: as above */
    atomic_fetch_sub_explicit(&rt->outside_due, 1, memory_order_relaxed);
}

void
rn__outside_post(struct rn__rt *rt, struct rn__outside *item)
{
    struct rn__outside *first =
        atomic_load_explicit(&rt->outside, memory_order_relaxed);
    do
        item->next = first;
    /* seq_cst: release for the taker, and before the reads below */
    while (!atomic_compare_exchange_weak(&rt->outside, &first, item));
    if (atomic_load(&rt->watching) == 0 && atomic_load(&rt->searching) == 0 &&
        atomic_load(&rt->asleep) > 0)
        rn__worker_wake_from_outside(rt);
}

/* They were pushed last first. */
static struct rn__outside *
reverse(struct rn__outside *item)
{
    struct rn__outside *list = NULL;
    while (item) {
        struct rn__outside *next = item->next;
        item->next = list;
        list = item;
        item = next;
    }
    return list;
}

bool
rn__outside_take(struct rn__rt *rt)
{
    /* seq_cst, like the swap: after the worker has said that it looks no more
     * (costs no more than a relaxed load on the machines there are) */
    if (rn__likely(!atomic_load(&rt->outside)))
        return false;
    struct rn__outside *item = reverse(atomic_exchange(&rt->outside, NULL));
    bool any = item != NULL;
    while (item) {
        struct rn__outside *next = item->next;
        rn__outside_call_off(rt);
        item->arrive(item);
        item = next;
    }
    return any;
}
