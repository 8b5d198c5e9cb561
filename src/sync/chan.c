/* sync/chan.c - channels.
 *
 * INVARIANT, under chan->lock: at most one of these holds: a receiver waits, a
 * value is buffered; a sender waits only if the ring is full; after close
 * nobody waits. So a send either hands its value to the first receiver, or
 * puts it into the ring, or waits; likewise a receive. Values are copied under
 * the lock, straight from stack to stack when somebody waits.
 *
 * After the unlock that ends a wait the channel is not touched any more: the
 * task that goes on may free it.
 */
#include "sync/sync.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ------------------------------------------------------------- */

/* Most values are a pointer or a number. */
static void
copy(const rn_chan *chan, void *to, const void *from)
{
    if (!to)
        return;
    if (chan->elem_bytes == sizeof(void *))
        memcpy(to, from, sizeof(void *));
    else if (chan->elem_bytes)
        memcpy(to, from, chan->elem_bytes);
}

static char *
place(const rn_chan *chan, size_t i)
{
    size_t at = chan->head + i;
    if (at >= chan->capacity)
        at -= chan->capacity;
    return chan->ring + at * chan->elem_bytes;
}

static void
put(rn_chan *chan, const void *elem)
{
    copy(chan, place(chan, chan->count), elem);
    chan->count++;
}

static void
take(rn_chan *chan, void *elem)
{
    copy(chan, elem, place(chan, 0));
    chan->count--;
    if (++chan->head == chan->capacity)
        chan->head = 0;
}

/* ---- under the lock ----------------------------------------------------- */

bool
rn__chan_can_send(rn_chan *chan)
{
    return chan->closed || chan->count < chan->capacity ||
           rn__wait_any(&chan->receivers);
}

bool
rn__chan_can_recv(rn_chan *chan)
{
    return chan->closed || chan->count > 0 || rn__wait_any(&chan->senders);
}

int
rn__chan_try_send(rn_chan *chan, const void *elem, struct rn__waiter **wake)
{
    *wake = NULL;
    if (chan->closed)
        return -EPIPE;
    if (chan->count == 0 &&
        (*wake = rn__wait_claim_first(&chan->receivers, 0))) {
        copy(chan, (*wake)->slot, elem);
        return 0;
    }
    if (chan->count == chan->capacity)
        return -EAGAIN;
    put(chan, elem);
    return 0;
}

int
rn__chan_try_recv(rn_chan *chan, void *elem, struct rn__waiter **wake)
{
    *wake = NULL;
    if (chan->count > 0) {
        take(chan, elem);
        if ((*wake = rn__wait_claim_first(&chan->senders, 0)))
            put(chan, (*wake)->slot);
        return 0;
    }
    if ((*wake = rn__wait_claim_first(&chan->senders, 0))) {
        copy(chan, elem, (*wake)->slot);
        return 0;
    }
    if (!chan->closed)
        return -EAGAIN;
    if (elem)
        memset(elem, 0, chan->elem_bytes);
    return -EPIPE;
}

void
rn__chan_offer(rn_chan *chan, const void *elem, struct rn__list *woken)
{
    struct rn__waiter *wake;
    rn__lock(&chan->lock);
    if (rn__chan_try_send(chan, elem, &wake) == 0 && wake)
        rn__list_append(woken, &wake->link);
    rn__unlock(&chan->lock);
}

/* ---- public ------------------------------------------------------------- */

int
rn_chan_new(size_t elem_bytes, size_t capacity, rn_chan **chan)
{
    size_t bytes;
    rn__need(chan, "rn_chan_new", rn__site());
    if (elem_bytes > PTRDIFF_MAX || capacity > PTRDIFF_MAX ||
        __builtin_mul_overflow(elem_bytes, capacity, &bytes) ||
        __builtin_add_overflow(bytes, sizeof(rn_chan), &bytes) ||
        bytes > PTRDIFF_MAX)
        return -EINVAL;
    rn_chan *c = rn__alloc(NULL, bytes);
    if (!c)
        return -ENOMEM;
    atomic_store_explicit(&c->refs, 1, memory_order_relaxed);
    c->elem_bytes = elem_bytes;
    c->capacity = capacity;
    c->ring = (char *)(c + 1);
    rn__list_init(&c->senders);
    rn__list_init(&c->receivers);
    *chan = c;
    return 0;
}

rn_chan *
rn_chan_ref(rn_chan *chan)
{
    /* relaxed: the caller has a reference already */
    if (chan)
        atomic_fetch_add_explicit(&chan->refs, 1, memory_order_relaxed);
    return chan;
}

void
rn_chan_unref(rn_chan *chan)
{
    /* acq_rel: all uses by others come before the free */
    if (!chan ||
        atomic_fetch_sub_explicit(&chan->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (rn__wait_any(&chan->senders) || rn__wait_any(&chan->receivers))
        rn__panic_at(rn__site(), "rn_chan_unref frees a channel a task waits "
                                 "on");
    rn__free(NULL, chan);
}

int
rn__chan_operate(struct rn__task *self, const struct rn__chanop *op,
                 const void *site)
{
    rn_chan *chan = op->chan;
    bool send = op->kind == RN__SEND, try = op->deadline == RN_NOW;
    struct rn__waiter *wake;
    rn__step(op->kind, chan ? &chan->object : NULL, site);
    if (!try && rn__cancel_check(self))
        return -ECANCELED;
    if (!chan)
        return rn__wait_forever(self, op->kind, site, op->deadline);
    if (send && chan->elem_bytes)
        rn__need(op->elem, "rn_chan_send", site);
    rn__lock(&chan->lock);
    int result = send ? rn__chan_try_send(chan, op->elem, &wake)
                      : rn__chan_try_recv(chan, op->elem, &wake);
    if (result == -EAGAIN && !try) {
        struct rn__waitspec spec = {op->kind,
                                    &chan->object,
                                    site,
                                    &chan->lock,
                                    send ? &chan->senders : &chan->receivers,
                                    op->elem};
        result = rn__wait_one(self, &spec, op->deadline);
        return result < 0 ? result : self->wait_status;
    }
    rn__unlock(&chan->lock);
    if (wake)
        rn__fire(wake->task);
    return result;
}

int
rn_chan_send(rn_chan *chan, const void *elem, rn_time deadline)
{
    struct rn__chanop op = {RN__SEND, chan, (void *)(uintptr_t)elem, deadline};
    return rn__chan_operate(rn__self_in("rn_chan_send"), &op, rn__site());
}

int
rn_chan_recv(rn_chan *chan, void *elem, rn_time deadline)
{
    struct rn__chanop op = {RN__RECV, chan, elem, deadline};
    return rn__chan_operate(rn__self_in("rn_chan_recv"), &op, rn__site());
}

static void
zero_slots(const rn_chan *chan, struct rn__list *woken)
{
    rn__list_each (node, woken) {
        struct rn__waiter *w = rn__container_of(node, struct rn__waiter, link);
        if (w->slot)
            memset(w->slot, 0, chan->elem_bytes);
    }
}

void
rn_chan_close(rn_chan *chan)
{
    rn__self_in("rn_chan_close");
    const void *site = rn__site();
    struct rn__list woken;
    rn__list_init(&woken);
    if (!chan)
        rn__panic_at(site, "close of a nil channel");
    rn__step(RN__CLOSE, &chan->object, site);
    rn__lock(&chan->lock);
    if (chan->closed) {
        rn__unlock(&chan->lock);
        rn__panic_at(site, "close of a closed channel");
    }
    chan->closed = true;
    rn__wait_claim_all(&chan->receivers, -EPIPE, &woken);
    zero_slots(chan, &woken);
    rn__wait_claim_all(&chan->senders, -EPIPE, &woken);
    rn__unlock(&chan->lock);
    rn__fire_all(&woken);
}

size_t
rn_chan_len(const rn_chan *chan)
{
    if (!chan)
        return 0;
    rn_chan *c = (rn_chan *)(uintptr_t)chan;
    rn__step(RN__CHAN_LEN, &c->object, rn__site());
    rn__lock(&c->lock);
    size_t count = c->count;
    rn__unlock(&c->lock);
    return count;
}

size_t
rn_chan_cap(const rn_chan *chan)
{
    return chan ? chan->capacity : 0;
}
