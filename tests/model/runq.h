/* runq.h - what sched.c says about run queues. */
#ifndef MODEL_RUNQ_H
#define MODEL_RUNQ_H

#include <stdbool.h>

/* Whether claim and busy of the queues that meet are shared places. */
extern bool queues_are_places;

#endif
