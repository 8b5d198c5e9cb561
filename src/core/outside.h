/* core/outside.h - what OS threads that are no workers have to do with a
 * runtime; a part of core.h.
 */
#ifndef RN_OUTSIDE_H
#define RN_OUTSIDE_H

#include <runnel/base.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

struct rn__rt;

/* What such a thread hands to the workers: one of them takes it and calls
 * arrive, while it looks for a task to run. arrive may claim and fire; it is
 * the last to touch the item. */
struct rn__outside {
    struct rn__outside *next;
    void (*arrive)(struct rn__outside *item);
};

/* By a worker, or by who is to post another one: an item will be posted. Until
 * it arrives, or is called off, there is no deadlock. */
void rn__outside_expect(struct rn__rt *rt);
void rn__outside_call_off(struct rn__rt *rt);
/* By any OS thread. Afterwards the item may be gone. */
void rn__outside_post(struct rn__rt *rt, struct rn__outside *item);
/* By a worker: let arrive what was posted. Returns whether anything was. */
bool rn__outside_take(struct rn__rt *rt);

/* How long to spin for what another thread is expected to do. Where both have
 * a CPU it comes soon, and a spin saves two futex calls. Where it did not come
 * of late, because it takes long or the CPUs are busy, a spin would keep others
 * from running: then longer ones are tried now and then, some in a row. Each
 * end learns for itself: on one CPU it is the end that spins in vain that must
 * stop. */
static inline rn_time
rn__spin_span(_Atomic uint32_t *misses)
{
    enum { PATIENCE = 8, PROBE_PERIOD = 128, PROBES = 4 };
    /* relaxed: a guess */
    uint32_t n = atomic_load_explicit(misses, memory_order_relaxed);
    return n < PATIENCE                ? 20 * RN_US
           : n % PROBE_PERIOD < PROBES ? 50 * RN_US
                                       : 0;
}

/* Tell whether it had come by the end of the spin, or of none. */
static inline void
rn__spin_learn(_Atomic uint32_t *misses, bool came)
{
    /* relaxed: a guess, of which one in a while may be lost */
    uint32_t n = atomic_load_explicit(misses, memory_order_relaxed);
    atomic_store_explicit(misses, came ? 0 : n + 1, memory_order_relaxed);
}

/* A part of a runtime that belongs to a folder above core; made by rn__alloc
 * when it is first used. */
struct rn__annex {
    /* For real, once no task is left: end its OS threads, or free all. */
    void (*end)(struct rn__annex *annex);
    /* Its statistics: a line, or further members of a JSON object. */
    void (*print)(const struct rn__annex *annex, bool json, FILE *out);
    void *memory; /* that it lies in, to be freed; of the part's own use */
};

#endif
