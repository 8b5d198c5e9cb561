/* sim/due.h - the timers that are due, part of sim.h. */
#ifndef RN_SIM_DUE_H
#define RN_SIM_DUE_H

#include "core/core.h"

struct rn__world;

enum {
    RN__SIM_CANDIDATES = 64, /* timers due at once that are told apart */
    RN__DUE_KEPT = 4 * RN__SIM_CANDIDATES
};

/* The first of those due, in the order in which they would expire. */
struct rn__due {
    bool known;
    bool more; /* than are kept */
    rn_time at;
    uint64_t changes; /* of the timers, when it was looked */
    uint32_t first, end;
    struct rn__heap_node *kept[RN__DUE_KEPT];
};

size_t rn__due_look(struct rn__world *world);

/* Take out number i, to expire it. */
struct rn__heap_node *rn__due_take(struct rn__due *due, size_t i);

static inline struct rn__heap_node *
rn__due_at(const struct rn__due *due, size_t i)
{
    return due->kept[due->first + i];
}

#endif
