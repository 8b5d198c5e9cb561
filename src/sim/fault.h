/* sim/fault.h - the faults of a simulated world, part of sim.h. */
#ifndef RN_SIM_FAULT_H
#define RN_SIM_FAULT_H

#include "core/core.h"

#include <runnel/fault.h>

struct rn__world;

/* Of the schedule that runs. */
struct rn__injector {
    bool on;                         /* some kind is asked for */
    rn_sim_fault kinds[RN__MISHAPS]; /* as asked for */
    double chance[RN__MISHAPS];      /* in this schedule */
    uint32_t done[RN__MISHAPS];
    uint64_t total;
    double odds; /* of the choice that is being made, if it is about a fault;
                    0: it is not, all candidates are as likely */
};

/* Options as a world keeps them; once. */
void rn__injector_init(struct rn__injector *injector,
                       const rn_sim_faults *faults);
/* A schedule begins. */
void rn__injector_begin(struct rn__injector *injector, uint64_t seed);
/* What is wrong with the options; NULL: nothing. Malloc'ed. */
char *rn__faults_complain(const rn_sim_faults *faults);
/* Decide, record, and say whether it happens. */
bool rn__inject(struct rn__world *world, enum rn__mishap fault,
                const void *site);
/* The running task may be killed at this step. */
void rn__inject_kill(struct rn__world *world, struct rn__task *self,
                     const void *site);
/* Draw the choice that is being made by its odds. */
uint32_t rn__inject_draw(struct rn__world *world);
/* What time it becomes, if the first timer expires at first. */
rn_time rn__inject_late(struct rn__world *world, rn_time first);
/* Tell of the faults that were injected. */
void rn__inject_tell(struct rn__world *world, FILE *out);

#endif
