/* sim/freed.h - objects that have been freed, part of sim.h. */
#ifndef RN_SIM_FREED_H
#define RN_SIM_FREED_H

#include "core/core.h"

struct rn__world;

enum { RN__FREED = 256 }; /* blocks kept back, oldest first */

struct rn__freed_block {
    char *memory;
    size_t bytes;
    size_t event; /* how many there were */
    uint32_t task;
};

struct rn__freed {
    uint64_t count; /* ever, in this schedule */
    struct rn__freed_block blocks[RN__FREED];
    const struct rn__freed_block *used; /* what the finding is about */
};

/* Whether an object lies in freed memory. */
static inline bool
rn__freed_is(const struct rn__object *object)
{
    return object->id == UINT64_C(0xdededededededede);
}

/* Keep a block of the arena back instead of giving it out again. */
void rn__freed_keep(struct rn__world *world, void *memory);
/* End the schedule: this operation is about a freed object. */
void rn__freed_use(struct rn__world *world, enum rn__kind kind,
                   const struct rn__object *object, const void *site);
/* Which of the blocks kept back it is, for the report. */
void rn__freed_find(struct rn__world *world, const struct rn__object *object);
/* Tell who freed it. */
void rn__freed_tell(struct rn__world *world, FILE *out);

#endif
