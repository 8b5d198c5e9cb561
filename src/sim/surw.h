/* sim/surw.h - how many operations each task does on each object. */
#ifndef RN_SURW_H
#define RN_SURW_H

#include "sim/sim.h"

/* Operations of a task on an object. */
struct rn__use {
    uint64_t lineage, parent; /* of the task */
    uint64_t address;         /* of the object */
    uint64_t count;
};

/* A table of them, open addressing, in order of first use. */
struct rn__uses {
    struct rn__use *list;
    size_t count, room;
    uint32_t *slots; /* 1 + place in list; 0: empty; twice room of them */
};

/* The one of a task and an object, made if there is none; NULL: no memory. */
struct rn__use *rn__uses_at(struct rn__uses *uses, uint64_t lineage,
                            uint64_t parent, uint64_t address);
void rn__uses_clear(struct rn__uses *uses);
void rn__uses_free(struct rn__uses *uses);

/* Count those of the schedule that has just run, into its log. */
void rn__uses_tell(struct rn__world *world, struct rn__uses *uses);

#endif
