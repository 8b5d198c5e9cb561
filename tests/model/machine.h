/* machine.h - a runtime for models of what lies above the scheduler: each
 * thread of the model is a worker that runs one task all the time, and a task
 * that parks waits until it has been made ready. A task must be made ready once
 * for each time it parks: that is checked here.
 */
#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include "shadow.h"

#include "core/core.h"

extern struct rn__rt machine;
extern struct rn__worker machine_workers[MODEL_THREADS];
extern struct rn__task machine_tasks[MODEL_THREADS];

/* Make the runtime as new, its tasks in the root scope; from a setup. */
void machine_setup(void);
/* No task is ready that has not parked; from a check. */
void machine_check(void);
/* The task of the calling thread. */
struct rn__task *machine_self(void);

#endif
