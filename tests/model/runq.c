/* runq.c - the run queue's part for the models of sched.c. */
#include "runq.h"

#include "shadow.h"

bool queues_are_places;

/* Who waits for a thief or an owner waits for news, if the model sees them. */
static void
wait_a_little(void)
{
    if (queues_are_places)
        model_pause();
    else
        model_yield();
}

#undef rn__cpu_pause
#undef rn__os_relax
#define rn__cpu_pause wait_a_little
#define rn__os_relax wait_a_little

#include "core/runq.c"
