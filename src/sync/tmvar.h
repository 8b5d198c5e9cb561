/* sync/tmvar.h - a place for one value, for tqueue.c, which has many. */
#ifndef RN_SYNC_TMVAR_H
#define RN_SYNC_TMVAR_H

#include "sync/stm.h"

#include <runnel/tmvar.h>

struct rn_tmvar {
    rn_tvar full, value;
    uint64_t is_full; /* of full */
    /* the value's memory follows, or lies elsewhere */
};

/* Make it in zeroed memory, its value in bytes of memory at storage. */
void rn__tmvar_init(rn_tmvar *tmvar, void *storage, size_t bytes);

#endif
