/* sim/tail.h - the fair tail of a schedule, and harness tasks; part of sim.h.
 */
#ifndef RN_SIM_TAIL_H
#define RN_SIM_TAIL_H

#include "core/core.h"

struct rn__world;

enum {
    RN__TAIL_STEPS = 10000, /* by default, without progress */
    RN__TAIL_TASKS = 64,    /* whose progress is watched */
    RN__HARNESS = 32        /* tasks that are not reordered */
};

/* What a task has said of its progress. */
struct rn__progress {
    uint32_t task; /* number */
    uint64_t step; /* of the last time */
    uint64_t count;
};

struct rn__fairness {
    bool on;
    uint64_t steps; /* allowed without progress */
    uint64_t since; /* step of the last progress, or of the beginning */
    uint32_t turn;  /* of choices that are not about tasks */
    uint32_t count;
    struct rn__progress tasks[RN__TAIL_TASKS];
};

struct rn__harness {
    uint32_t count;
    const struct rn__task *tasks[RN__HARNESS];
};

/* A step has been counted: whether there was none for too long. Then the
 * schedule has ended, and in a task it does not return. */
bool rn__tail_late(struct rn__world *world);
/* A task ends: forget it. */
void rn__tail_end_task(struct rn__world *world, const struct rn__task *task);
/* Whether the task is part of the harness. */
bool rn__harness_has(const struct rn__harness *harness,
                     const struct rn__task *task);
/* Tell who ran since the last progress. */
void rn__tail_tell(struct rn__world *world, FILE *out);

#endif
