/* core/timers.h - the timers of a worker. */
#ifndef RN_TIMERS_H
#define RN_TIMERS_H

#include "base/list.h"
#include "base/lock.h"
#include "base/wheel.h"

#include <runnel/base.h>

struct rn__rt;
struct rn__task;
struct rn__worker;
struct rn_scope;

/* What a round of expiries has to do once it has unlocked. */
struct rn__expired {
    struct rn__list waiters; /* claimed waiters of channels */
    struct rn__task *tasks;  /* claimed tasks, by task.next, first first */
    struct rn__task **tasks_end;
    struct rn_scope *scopes; /* pinned scopes to cancel, by expired_next */
};

/* One a worker. */
struct rn__timers {
    struct rn__lock lock;
    _Atomic rn_time next; /* when the first expires, or when to look for it
                             again; RN_NEVER: none. A hint outside the lock,
                             exact under it */
    struct rn__wheel wheel;
    /* For an env: which are due at due_at has changed so often, other than by
     * rn__timer_expire. Under the lock. */
    rn_time due_at;
    uint64_t due_changes;
};

struct rn__timer {
    struct rn__heap_node node; /* guarded by home's lock, as is period */
    _Atomic(struct rn__timers *) home; /* where it runs, or ran last; NULL: it
                                          never did. Changes under the lock of
                                          the home it leaves */
    rn_time period;                    /* of a ticker; its expire restarts it */
    /* Called under home's lock when it has expired and is out of the wheel. */
    void (*expire)(struct rn__timer *timer, struct rn__expired *out);
};

/* A zeroed timer needs only its expire. */
static inline void
rn__timer_init(struct rn__timer *timer,
               void (*expire)(struct rn__timer *timer, struct rn__expired *out))
{
    timer->node.prev = NULL;
    atomic_init(&timer->home, NULL);
    timer->expire = expire;
}

void rn__timers_init(struct rn__timers *timers, rn_time now);
/* Start a timer nobody else knows of yet, here. */
void rn__timer_start(struct rn__timers *here, struct rn__timer *timer,
                     rn_time when, rn_time period);
/* Start it anew, whether it runs or not, here if it can be had. Returns whether
 * it was running. */
bool rn__timer_restart(struct rn__timers *here, struct rn__timer *timer,
                       rn_time when, rn_time period);
/* Stop. Returns whether it was running. Afterwards expire is not running. */
bool rn__timer_stop(struct rn__timer *timer);
/* From an expire: start this timer again. */
void rn__timer_again(struct rn__timer *timer, rn_time when);
/* Expire, by the clock of the worker, those of timers that are due at limit;
 * returns how many. */
size_t rn__timers_run(struct rn__worker *worker, struct rn__timers *timers,
                      rn_time limit);
/* It is now: expire what is due of the worker's own, and what is overdue at
 * another, each time a different one. */
void rn__timers_look(struct rn__worker *worker, rn_time now);
/* The same, for a worker with nothing else to do: what is due anywhere. */
void rn__timers_look_everywhere(struct rn__worker *worker, rn_time now);
/* When the first of all workers' expires; RN_NEVER: none. A hint. */
rn_time rn__timers_next(struct rn__rt *rt);

/* ---- for an env, whose only worker's timers they are --------------------- */

/* Whether some may be due at now; if so, find out. */
static inline bool
rn__timers_may_be_due(const struct rn__timers *timers, rn_time now)
{
    return atomic_load_explicit(&timers->next, memory_order_relaxed) <= now;
}

/* The first max of those that are due at now; returns how many. */
size_t rn__timers_due(struct rn__timers *timers, rn_time now,
                      struct rn__heap_node **due, size_t max);
/* When exactly the first expires; RN_NEVER: none. */
rn_time rn__timers_first(struct rn__timers *timers);
/* Expire this one, which is running. */
void rn__timer_expire(struct rn__worker *worker, struct rn__timer *timer);

#endif
