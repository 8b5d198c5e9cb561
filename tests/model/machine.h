/* machine.h - a runtime for models of what lies above the scheduler: each
 * thread of the model is a worker that runs one task all the time. To park, it
 * leaves the task's stack as a worker would, and then waits to be told to go on
 * with it.
 *
 * A task must be made ready once for each time it parks, after it has left its
 * stack: that is checked here.
 */
#ifndef MODEL_MACHINE_H
#define MODEL_MACHINE_H

#include "shadow.h"

#include "core/core.h"

extern struct rn__rt machine;

/* Make the runtime as new, with its tasks in one scope; from a setup. */
void machine_setup(void);
/* The task of the i-th thread, of the calling one. */
struct rn__task *machine_task(int i);
struct rn__task *machine_self(void);

#endif
