/* sync/sync.h - what select and timers know of channels. */
#ifndef RN_SYNC_H
#define RN_SYNC_H

#include "core/core.h"

#include <runnel/chan.h>

struct rn_chan {
    struct rn__object object;
    struct rn__lock lock; /* all below but refs and the sizes */
    _Atomic uint32_t refs;
    size_t elem_bytes;
    size_t capacity;
    size_t count; /* values in the ring */
    size_t head;  /* place of the oldest */
    bool closed;
    struct rn__list senders;   /* waiting because it is full */
    struct rn__list receivers; /* waiting because it is empty */
    char *ring;                /* capacity * elem_bytes */
};

/* All under the channel's lock. Done: 0 or -EPIPE, and *wake is a claimed
 * waiter to be fired once unlocked, or NULL. Not possible now: -EAGAIN. */
int rn__chan_try_send(rn_chan *chan, const void *elem,
                      struct rn__waiter **wake);
int rn__chan_try_recv(rn_chan *chan, void *elem, struct rn__waiter **wake);
/* Whether the try would do something. */
bool rn__chan_can_send(rn_chan *chan);
bool rn__chan_can_recv(rn_chan *chan);

/* A send or a receive. */
struct rn__chanop {
    enum rn__kind kind; /* SEND, RECV */
    rn_chan *chan;      /* NULL: never possible */
    void *elem;
    rn_time deadline;
};

/* Do it as rn_chan_send and rn_chan_recv promise, for the caller at site. */
int rn__chan_operate(struct rn__task *self, const struct rn__chanop *op,
                     const void *site);

/* Lock, send if possible, unlock; who is to be fired goes to woken. */
void rn__chan_offer(rn_chan *chan, const void *elem, struct rn__list *woken);

#endif
