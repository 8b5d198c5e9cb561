/* sync/timer.c - timers and tickers that send into a channel.
 *
 * Expiry runs under the timers' lock and takes the channel's inside it; who is
 * to go on is collected and fired after both. After rn__timer_stop nothing of
 * the timer is in use, so it can be freed.
 */
#include <runnel/time.h>

#include "sync/sync.h"

struct rn_timer {
    struct rn__object object;
    struct rn__timer timer;
    rn_chan *chan;
};

static void
expire(struct rn__timer *timer, struct rn__expired *out)
{
    struct rn_timer *t = rn__container_of(timer, struct rn_timer, timer);
    struct rn__rt *rt = rn__rt_self();
    rn_time when = timer->node.key;
    rn__note(RN__FIRE, &t->object, NULL);
    rn__chan_offer(t->chan, &when, &out->waiters);
    if (timer->period == 0)
        return;
    rn_time late = rn__rt_now(rt) - when;
    rn_time missed = late > 0 ? late / timer->period : 0;
    if (!__builtin_add_overflow(when, timer->period * (missed + 1), &when))
        rn__timer_again(timer, when);
}

/* RN_NOW and other times before all times mean at once. */
static rn_time
start_time(struct rn__rt *rt, rn_time when)
{
    return when < 0 ? rn__rt_now(rt) : when;
}

int
rn_timer_new(rn_time when, rn_time period, rn_timer **timer)
{
    rn__self_in("rn_timer_new");
    struct rn__rt *rt = rn__rt_self();
    rn__need(timer, "rn_timer_new", rn__site());
    if (period < 0)
        return -EINVAL;
    struct rn_timer *t = rn__alloc(rt, sizeof *t);
    if (!t)
        return -ENOMEM;
    if (rn_chan_new(sizeof(rn_time), 1, &t->chan) < 0) {
        rn__free(rt, t);
        return -ENOMEM;
    }
    t->timer.expire = expire;
    rn__step(RN__TIMER_START, &t->object, rn__site());
    rn__timer_start(&rn__worker_self()->timers, &t->timer, start_time(rt, when),
                    period);
    *timer = t;
    return 0;
}

void
rn_timer_free(rn_timer *timer)
{
    rn__self_in("rn_timer_free");
    struct rn__rt *rt = rn__rt_self();
    if (!timer)
        return;
    rn__step(RN__TIMER_STOP, &timer->object, rn__site());
    rn__timer_stop(&timer->timer);
    rn_chan_unref(timer->chan);
    rn__free(rt, timer);
}

rn_chan *
rn_timer_chan(const rn_timer *timer)
{
    rn__need(timer, "rn_timer_chan", rn__site());
    return timer->chan;
}

int
rn_timer_stop(rn_timer *timer)
{
    rn__self_in("rn_timer_stop");
    rn__need(timer, "rn_timer_stop", rn__site());
    rn__step(RN__TIMER_STOP, &timer->object, rn__site());
    return rn__timer_stop(&timer->timer);
}

int
rn_timer_reset(rn_timer *timer, rn_time when, rn_time period)
{
    rn__self_in("rn_timer_reset");
    rn__need(timer, "rn_timer_reset", rn__site());
    struct rn__rt *rt = rn__rt_self();
    if (period < 0)
        return -EINVAL;
    rn__step(RN__TIMER_START, &timer->object, rn__site());
    return rn__timer_restart(&rn__worker_self()->timers, &timer->timer,
                             start_time(rt, when), period);
}
