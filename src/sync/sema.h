/* sync/sema.h - what work groups know of semaphores. */
#ifndef RN_SYNC_SEMA_H
#define RN_SYNC_SEMA_H

#include "core/core.h"

#include <runnel/sema.h>

/* As rn_sema_acquire and rn_sema_release, unannounced. kind: what the wait is
 * called. n is not more than the size. */
int rn__sema_acquire(rn_sema *sema, struct rn__task *self, enum rn__kind kind,
                     size_t n, rn_time deadline, const void *site);
void rn__sema_release(rn_sema *sema, size_t n, const void *site);

#endif
