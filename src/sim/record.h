/* sim/record.h - the record of a schedule: its events and their digest. */
#ifndef RN_SIM_RECORD_H
#define RN_SIM_RECORD_H

#include "sim/sim.h"

/* Add to the digest: a multiply and a shift each, as one waits for the other.
 * What is added should differ in all its bits. */
static inline void
rn__digest_add(struct rn__world *world, uint64_t what)
{
    uint64_t sum = (world->digest + what) * 0x9e3779b97f4a7c15u;
    world->digest = sum ^ sum >> 32;
}

/* The limit is reached: forget the older half, if it is not that of all. False:
 * there is no room. */
bool rn__record_room(struct rn__world *world);
/* A schedule begins. */
void rn__record_begin(struct rn__world *world);

static inline void
rn__record(struct rn__world *world, uint32_t task, enum rn__kind kind,
           uint32_t object, const void *site)
{
    struct rn__event e = rn__event_make(world->now, task, kind, object, site);
    uint64_t where = rn__code_offset(&world->code, site) << 8 | kind;
    uint64_t who = (uint64_t)task << 32 | object;
    rn__digest_add(world,
                   where * 0xd6e8feb86659fd93u + who * 0xff51afd7ed558ccdu);
    if (rn__unlikely(world->event_count == world->event_limit) &&
        !rn__record_room(world))
        return;
    world->events[world->event_count++] = e;
}

#endif
