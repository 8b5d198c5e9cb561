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

void
rn__chan_init(rn_chan *chan, size_t elem_bytes, size_t capacity)
{
    memset(chan, 0, sizeof *chan);
    atomic_store_explicit(&chan->refs, 1, memory_order_relaxed);
    chan->elem_bytes = elem_bytes;
    chan->capacity = capacity;
    chan->ring = (char *)(chan + 1);
    rn__list_init(&chan->senders);
    rn__list_init(&chan->receivers);
}

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
    rn__chan_init(c, elem_bytes, capacity);
    *chan = c;
    return 0;
}

rn_chan *
rn_chan_ref(rn_chan *chan)
{
    if (chan && rn__mishap(RN__MISHAP_FREED, &chan->object, rn__site()))
        rn__panic_at(rn__site(), "rn_chan_ref of a channel freed before");
    /* relaxed: the caller has a reference already */
    if (chan)
        atomic_fetch_add_explicit(&chan->refs, 1, memory_order_relaxed);
    return chan;
}

void
rn_chan_unref(rn_chan *chan)
{
    if (chan && rn__mishap(RN__MISHAP_FREED, &chan->object, rn__site()))
        rn__panic_at(rn__site(), "rn_chan_unref of a channel freed before");
    /* acq_rel: all uses by others come before the free */
    if (!chan ||
        atomic_fetch_sub_explicit(&chan->refs, 1, memory_order_acq_rel) > 1)
        return;
    /* Claimed ones, too: a select may still come to leave the queue. */
    if (!rn__list_empty(&chan->senders) || !rn__list_empty(&chan->receivers))
        rn__panic_at(rn__site(), "rn_chan_unref frees a channel a task waits "
                                 "on");
    rn__note(RN__FREE, &chan->object, rn__site());
    rn__free(NULL, chan);
}

/* Under the lock, which it gives up. Out of line, so that who does not wait
 * saves no registers for it. */
__attribute__((noinline)) static int
wait_send(struct rn__task *self, rn_chan *chan, const void *elem,
          rn_time deadline, const void *site)
{
    struct rn__waitspec spec = {RN__SEND,       &chan->object,
                                site,           &chan->lock,
                                &chan->senders, (void *)(uintptr_t)elem};
    int result = rn__wait_here(self, &spec, deadline);
    return result < 0 ? result : self->wait_status;
}

__attribute__((noinline)) static int
wait_recv(struct rn__task *self, rn_chan *chan, void *elem, rn_time deadline,
          const void *site)
{
    struct rn__waitspec spec = {RN__RECV,    &chan->object,    site,
                                &chan->lock, &chan->receivers, elem};
    int result = rn__wait_here(self, &spec, deadline);
    return result < 0 ? result : self->wait_status;
}

static inline int
finish(rn_chan *chan, struct rn__waiter *wake, int result)
{
    rn__unlock(&chan->lock);
    if (wake)
        rn__fire(wake->task);
    return result;
}

__attribute__((always_inline)) static inline int
send(struct rn__task *self, rn_chan *chan, const void *elem, rn_time deadline,
     const void *site)
{
    struct rn__waiter *wake;
    rn__step_by(RN__SEND, chan ? &chan->object : NULL, site, deadline);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    if (rn__unlikely(!chan))
        return rn__wait_forever(self, RN__SEND, site, deadline);
    if (rn__unlikely(!elem) && chan->elem_bytes)
        rn__need(elem, "rn_chan_send", site);
    if (deadline == RN_NOW && !rn__chan_may_send(chan))
        return -EAGAIN;
    rn__lock(&chan->lock);
    int result = rn__chan_try_send(chan, elem, &wake);
    if (rn__likely(result != -EAGAIN || deadline == RN_NOW))
        return finish(chan, wake, result);
    return wait_send(self, chan, elem, deadline, site);
}

__attribute__((always_inline)) static inline int
recv(struct rn__task *self, rn_chan *chan, void *elem, rn_time deadline,
     const void *site)
{
    struct rn__waiter *wake;
    rn__step_by(RN__RECV, chan ? &chan->object : NULL, site, deadline);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    if (rn__unlikely(!chan))
        return rn__wait_forever(self, RN__RECV, site, deadline);
    if (deadline == RN_NOW && !rn__chan_may_recv(chan))
        return -EAGAIN;
    rn__lock(&chan->lock);
    int result = rn__chan_try_recv(chan, elem, &wake);
    if (rn__likely(result != -EAGAIN || deadline == RN_NOW))
        return finish(chan, wake, result);
    return wait_recv(self, chan, elem, deadline, site);
}

int
rn__chan_send(struct rn__task *self, rn_chan *chan, const void *elem,
              rn_time deadline, const void *site)
{
    return send(self, chan, elem, deadline, site);
}

int
rn__chan_recv(struct rn__task *self, rn_chan *chan, void *elem,
              rn_time deadline, const void *site)
{
    return recv(self, chan, elem, deadline, site);
}

int
rn_chan_send(rn_chan *chan, const void *elem, rn_time deadline)
{
    return send(rn__self_in("rn_chan_send"), chan, elem, deadline, rn__site());
}

int
rn_chan_recv(rn_chan *chan, void *elem, rn_time deadline)
{
    return recv(rn__self_in("rn_chan_recv"), chan, elem, deadline, rn__site());
}

/* Claim all that wait in queue, to be fired in order of arrival. They are
 * linked as tasks, not as waiters: with a million of them each stack is touched
 * once here, and their records lie in a row. */
static void
end_waits(rn_chan *chan, struct rn__list *queue, struct rn__task ***last)
{
    struct rn__waiter *waiter;
    bool zero = queue == &chan->receivers;
    while ((waiter = rn__wait_claim_first(queue, -EPIPE))) {
        rn__prefetch(queue->next);
        if (zero && waiter->slot)
            memset(waiter->slot, 0, chan->elem_bytes);
        **last = waiter->task;
        *last = &waiter->task->next;
    }
}

void
rn_chan_close(rn_chan *chan)
{
    rn__self_in("rn_chan_close");
    const void *site = rn__site();
    struct rn__task *woken = NULL, **last = &woken;
    if (!chan)
        rn__panic_at(site, "close of a nil channel");
    rn__step(RN__CLOSE, &chan->object, site);
    rn__lock(&chan->lock);
    if (rn__chan_closed(chan)) {
        rn__unlock(&chan->lock);
        rn__panic_at(site, "close of a closed channel");
    }
    atomic_store_explicit(&chan->closed, true, memory_order_relaxed);
    end_waits(chan, &chan->receivers, &last);
    end_waits(chan, &chan->senders, &last);
    *last = NULL;
    rn__unlock(&chan->lock);
    while (woken) {
        struct rn__task *task = woken;
        woken = task->next;
        rn__fire(task);
    }
}

size_t
rn_chan_len(const rn_chan *chan)
{
    if (!chan)
        return 0;
    rn_chan *c = (rn_chan *)(uintptr_t)chan;
    rn__step(RN__CHAN_LEN, &c->object, rn__site());
    /* acquire: what was done before the last send; no lock, as any OS thread
     * may ask */
    return atomic_load_explicit(&c->count, memory_order_acquire);
}

size_t
rn_chan_cap(const rn_chan *chan)
{
    return chan ? chan->capacity : 0;
}
