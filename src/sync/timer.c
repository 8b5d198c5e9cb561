/* sync/timer.c - timers and tickers that send into a channel.
 *
 * Expiry runs under the timers' lock and takes the channel's inside it; who is
 * to go on is collected and fired after both. After rn__timer_stop nothing of
 * the timer is in use, so it can be freed.
 *
 * A timer is one block of memory that begins with its channel. So the last
 * reference to the channel frees it, be it the timer's own or another's. If it
 * is the timer's own, the worker keeps the block for the next timer.
 */
#include <runnel/time.h>

#include "sync/sync.h"

#include <string.h>

struct rn_timer {
    struct rn_chan chan;
    rn_time value; /* its ring */
    struct rn__object object;
    struct rn__timer timer;
};

_Static_assert(offsetof(struct rn_timer, chan) == 0 &&
                   offsetof(struct rn_timer, value) == sizeof(struct rn_chan),
               "the block is the channel's memory");

/* ---- memory ------------------------------------------------------------- */

enum { BLOCKS_KEPT = 64 };

static struct rn_timer *
take_block(struct rn__worker *worker)
{
    struct rn_timer *block = worker->blocks;
    if (!block)
        return rn__alloc(worker->rt, sizeof *block);
    worker->blocks = *(void **)block;
    worker->block_count--;
    return block;
}

/* A simulated world has its own order of addresses; who looks for uses after
 * the free wants them all freed. */
static void
give_block(struct rn__worker *worker, struct rn_timer *block)
{
    if (worker->rt->env || rn__os_asan || worker->block_count == BLOCKS_KEPT) {
        rn__free(worker->rt, block);
        return;
    }
    /* relaxed: for who frees it again */
    atomic_store_explicit(&block->chan.refs, 0, memory_order_relaxed);
    *(void **)block = worker->blocks;
    worker->blocks = block;
    worker->block_count++;
}

/* ---- expiry ------------------------------------------------------------- */

static void
expire(struct rn__timer *timer, struct rn__expired *out)
{
    struct rn_timer *t = rn__container_of(timer, struct rn_timer, timer);
    struct rn__rt *rt = rn__rt_self();
    rn_time when = timer->node.key;
    rn__note(RN__FIRE, &t->object, NULL);
    rn__chan_offer(&t->chan, &when, &out->waiters);
    if (timer->period == 0)
        return;
    rn_time late = rn__rt_now(rt) - when;
    rn_time missed = late > 0 ? late / timer->period : 0;
    if (!__builtin_add_overflow(when, timer->period * (missed + 1), &when))
        rn__timer_again(timer, when);
}

/* RN_NOW and other times before all times mean at once. */
static rn_time
start_time(struct rn__worker *worker, rn_time when)
{
    return rn__unlikely(when < 0) ? rn__rt_now(worker->rt) : when;
}

/* ---- public ------------------------------------------------------------- */

int
rn_timer_new(rn_time when, rn_time period, rn_timer **timer)
{
    struct rn__worker *worker = rn__worker_in("rn_timer_new");
    rn__need(timer, "rn_timer_new", rn__site());
    if (period < 0)
        return -EINVAL;
    struct rn_timer *t = take_block(worker);
    if (!t)
        return -ENOMEM;
    memset(&t->object, 0, sizeof t->object);
    rn__chan_init(&t->chan, sizeof t->value, 1);
    rn__timer_init(&t->timer, expire);
    rn__step(RN__TIMER_START, &t->object, rn__site());
    rn__timer_start(&worker->timers, &t->timer, start_time(worker, when),
                    period);
    *timer = t;
    return 0;
}

void
rn_timer_free(rn_timer *timer)
{
    struct rn__worker *worker = rn__worker_in("rn_timer_free");
    if (!timer)
        return;
    rn_chan *chan = &timer->chan;
    /* acquire: all uses by others that have given their references back */
    uint32_t refs = atomic_load_explicit(&chan->refs, memory_order_acquire);
    if (rn__unlikely(refs == 0))
        rn__panic_at(rn__site(), "rn_timer_free of a timer freed before");
    rn__step(RN__TIMER_STOP, &timer->object, rn__site());
    rn__timer_stop(&timer->timer);
    if (refs > 1 || !rn__list_empty(&chan->receivers) ||
        !rn__list_empty(&chan->senders))
        rn_chan_unref(chan); /* says what is wrong */
    else
        give_block(worker, timer);
}

rn_chan *
rn_timer_chan(const rn_timer *timer)
{
    rn__need(timer, "rn_timer_chan", rn__site());
    return (rn_chan *)(uintptr_t)&timer->chan;
}

int
rn_timer_stop(rn_timer *timer)
{
    rn__worker_in("rn_timer_stop");
    rn__need(timer, "rn_timer_stop", rn__site());
    rn__step(RN__TIMER_STOP, &timer->object, rn__site());
    return rn__timer_stop(&timer->timer);
}

int
rn_timer_reset(rn_timer *timer, rn_time when, rn_time period)
{
    struct rn__worker *worker = rn__worker_in("rn_timer_reset");
    rn__need(timer, "rn_timer_reset", rn__site());
    if (period < 0)
        return -EINVAL;
    rn__step(RN__TIMER_START, &timer->object, rn__site());
    return rn__timer_restart(&worker->timers, &timer->timer,
                             start_time(worker, when), period);
}
