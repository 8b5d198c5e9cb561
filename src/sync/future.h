/* sync/future.h - what select knows of futures. */
#ifndef RN_SYNC_FUTURE_H
#define RN_SYNC_FUTURE_H

#include "core/core.h"

#include <runnel/future.h>
#include <string.h>

struct rn_future {
    struct rn__object object;
    struct rn__lock lock;  /* all below but refs and bytes, until it is done */
    _Atomic uint32_t refs; /* the promise has one, too */
    _Atomic bool done;     /* completed; what it is completed with stays */
    int error;             /* of its completion, or 0 */
    size_t bytes;
    struct rn__list queue;
    _Alignas(max_align_t) char value[]; /* if error is 0 */
};

/* Whether it is completed: then it may be read without the lock. */
static inline bool
rn__future_done(const struct rn_future *future)
{
    /* acquire: the value; partners with the release in complete */
    return atomic_load_explicit(&future->done, memory_order_acquire);
}

/* Of a completed one: take the value, or return the error. */
static inline int
rn__future_get(const struct rn_future *future, void *value)
{
    if (future->error == 0 && value && future->bytes)
        memcpy(value, future->value, future->bytes);
    return future->error;
}

#endif
