/* sim/stuck.h - tasks that wait for each other while others go on, part of
 * sim.h. */
#ifndef RN_SIM_STUCK_H
#define RN_SIM_STUCK_H

#include "core/core.h"

struct rn__world;

enum { RN__SUSPECTS = 8 };

struct rn__stuck {
    bool locks; /* somebody has waited for one in this schedule */
    uint32_t count;
    uint64_t suspects[RN__SUSPECTS]; /* handles of tasks */
    uint64_t since;                  /* step of the last one */
};

/* The running task is about to park: is it stuck now? */
void rn__stuck_check(struct rn__world *world, struct rn__task *self);
/* The running task ends: does anybody wait for a lock it holds? */
void rn__stuck_ended(struct rn__world *world, struct rn__task *self);
/* Whether there are suspects, and many steps have been made since. */
bool rn__stuck_for_long(const struct rn__world *world);
/* Others go on: how many tasks are still stuck together; 0: none. */
size_t rn__stuck_judge(struct rn__world *world);
/* Tell which locks are held by tasks that have ended. */
void rn__stuck_tell(struct rn__world *world, FILE *out);

#endif
