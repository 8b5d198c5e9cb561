/* sim/preempt.h - how few preemptions a trace needs. */
#ifndef RN_PREEMPT_H
#define RN_PREEMPT_H

#include "sim/depend.h"

/* The fewest preemptions of all schedules that have the trace of this run; -1:
 * there are too many to look at, or out of memory. A preemption is to leave a
 * task that could go on and did not yield. */
int rn__preemptions(const struct rn__depend *d);

#endif
