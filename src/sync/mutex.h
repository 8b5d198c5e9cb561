/* sync/mutex.h - what conditions know of mutexes. */
#ifndef RN_SYNC_MUTEX_H
#define RN_SYNC_MUTEX_H

#include "core/core.h"

#include <runnel/mutex.h>

/* Lock again after a condition's wait: no cancel and no deadline ends it. */
void rn__mutex_relock(rn_mutex *mutex, struct rn__task *self, const void *site);
/* Unlock without announcing it. */
void rn__mutex_release(rn_mutex *mutex);
bool rn__mutex_holds(rn_mutex *mutex, const struct rn__task *self);

#endif
