/* sync/sync.h - what select and timers know of channels. */
#ifndef RN_SYNC_H
#define RN_SYNC_H

#include "core/core.h"

#include <runnel/chan.h>
#include <string.h>

struct rn_chan {
    struct rn__object object;
    struct rn__lock lock; /* all below but refs and the sizes */
    _Atomic uint32_t refs;
    size_t elem_bytes;
    size_t capacity;
    _Atomic size_t count;      /* values in the ring; relaxed under the lock */
    size_t head;               /* place of the oldest */
    struct rn__list senders;   /* waiting because it is full */
    struct rn__list receivers; /* waiting because it is empty */
    _Atomic bool closed;       /* relaxed under the lock */
    char *ring;                /* capacity * elem_bytes */
};

/* Make a channel of memory that ends with its ring. The last rn_chan_unref
 * frees it. */
void rn__chan_init(rn_chan *chan, size_t elem_bytes, size_t capacity);

/* ---- without the lock --------------------------------------------------- */

/* Whether a send, or a receive, could do something: exact for some moment
 * during the call. Nobody waits to receive while there are values, nobody to
 * send while there is room; and what is closed stays so. So if all looks say
 * no, in this order, it was no at the one that comes last for that channel's
 * kind. The loads are acquire to keep the order. */
static inline bool
rn__chan_may_send(const rn_chan *chan)
{
    return atomic_load_explicit(&chan->count, memory_order_acquire) <
               chan->capacity ||
           !rn__list_seems_empty(&chan->receivers) ||
           atomic_load_explicit(&chan->closed, memory_order_acquire);
}

static inline bool
rn__chan_may_recv(const rn_chan *chan)
{
    return atomic_load_explicit(&chan->count, memory_order_acquire) > 0 ||
           !rn__list_seems_empty(&chan->senders) ||
           atomic_load_explicit(&chan->closed, memory_order_acquire);
}

/* ---- under the lock ----------------------------------------------------- */

static inline size_t
rn__chan_count(const rn_chan *chan)
{
    return atomic_load_explicit(&chan->count, memory_order_relaxed);
}

static inline bool
rn__chan_closed(const rn_chan *chan)
{
    return atomic_load_explicit(&chan->closed, memory_order_relaxed);
}

/* Most values are a pointer or a number. */
static inline void
rn__chan_copy(const rn_chan *chan, void *to, const void *from)
{
    if (rn__likely(chan->elem_bytes == sizeof(void *) && to))
        memcpy(to, from, sizeof(void *));
    else if (to && chan->elem_bytes)
        memcpy(to, from, chan->elem_bytes);
}

static inline void
rn__chan_put(rn_chan *chan, const void *elem)
{
    size_t count = rn__chan_count(chan), at = chan->head + count;
    if (at >= chan->capacity)
        at -= chan->capacity;
    rn__chan_copy(chan, chan->ring + at * chan->elem_bytes, elem);
    atomic_store_explicit(&chan->count, count + 1, memory_order_relaxed);
}

static inline void
rn__chan_take(rn_chan *chan, void *elem)
{
    size_t head = chan->head;
    rn__chan_copy(chan, elem, chan->ring + head * chan->elem_bytes);
    atomic_store_explicit(&chan->count, rn__chan_count(chan) - 1,
                          memory_order_relaxed);
    chan->head = ++head == chan->capacity ? 0 : head;
}

/* Whether the try below would do something. */
static inline bool
rn__chan_can_send(rn_chan *chan)
{
    return rn__chan_closed(chan) || rn__chan_count(chan) < chan->capacity ||
           rn__wait_any(&chan->receivers);
}

static inline bool
rn__chan_can_recv(rn_chan *chan)
{
    return rn__chan_closed(chan) || rn__chan_count(chan) > 0 ||
           rn__wait_any(&chan->senders);
}

/* Done: 0 or -EPIPE, and *wake is a claimed waiter to be fired once unlocked,
 * or NULL. Not possible now: -EAGAIN. */
static inline int
rn__chan_try_send(rn_chan *chan, const void *elem, struct rn__waiter **wake)
{
    *wake = NULL;
    if (rn__unlikely(rn__chan_closed(chan)))
        return -EPIPE;
    if ((*wake = rn__wait_claim_first(&chan->receivers, 0))) {
        rn__chan_copy(chan, (*wake)->slot, elem);
        return 0;
    }
    if (rn__chan_count(chan) == chan->capacity)
        return -EAGAIN;
    rn__chan_put(chan, elem);
    return 0;
}

static inline int
rn__chan_try_recv(rn_chan *chan, void *elem, struct rn__waiter **wake)
{
    *wake = NULL;
    if (rn__chan_count(chan) > 0) {
        rn__chan_take(chan, elem);
        if ((*wake = rn__wait_claim_first(&chan->senders, 0)))
            rn__chan_put(chan, (*wake)->slot);
        return 0;
    }
    if ((*wake = rn__wait_claim_first(&chan->senders, 0))) {
        rn__chan_copy(chan, elem, (*wake)->slot);
        return 0;
    }
    if (!rn__chan_closed(chan))
        return -EAGAIN;
    if (elem)
        memset(elem, 0, chan->elem_bytes);
    return -EPIPE;
}

/* ---- operations --------------------------------------------------------- */

/* Do what rn_chan_send and rn_chan_recv promise, for self at site; the channel
 * may be NULL. */
int rn__chan_send(struct rn__task *self, rn_chan *chan, const void *elem,
                  rn_time deadline, const void *site);
int rn__chan_recv(struct rn__task *self, rn_chan *chan, void *elem,
                  rn_time deadline, const void *site);

/* Lock, send if possible, unlock; who is to be fired goes to woken. */
void rn__chan_offer(rn_chan *chan, const void *elem, struct rn__list *woken);

#endif
