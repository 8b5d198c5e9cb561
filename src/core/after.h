/* core/after.h - what the start and the wait of a task know of those that are
 * to begin at a time. Part of core.h.
 */
#ifndef RN_AFTER_H
#define RN_AFTER_H

#include "core/core.h"

/* A cancelled task will not begin: let go of its timer, if it has one. Returns
 * its result. */
int rn__after_unbegun(struct rn__task *task);

#endif
