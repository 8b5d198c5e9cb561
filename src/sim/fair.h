/* sim/fair.h - tasks that spin, and what to do about them.
 *
 * A strategy with priorities runs a task that spins for ever, while what it
 * waits for has to be done by another. So a task that yields again, or takes
 * many steps in a row that change nothing, is idle, and whoever chooses by
 * priority lets others go first (Musuvathi and Qadeer, "Fair stateless model
 * checking", 2008; there only a yield counts). Its first two yields do not
 * count: orders in which it does not really give way are orders too. And when
 * an instant takes very long all choose at random, which is fair.
 */
#ifndef RN_FAIR_H
#define RN_FAIR_H

#include "sim/sim.h"

enum {
    RN__IDLE_YIELD = 16,
    RN__IDLE_MANY = 3 * RN__IDLE_YIELD,
    RN__FAIR_STEPS = 5000 /* in one instant */
};

/* The idle steps of a task once it has announced one of that kind. */
static inline uint32_t
rn__idle_after(uint32_t idle, enum rn__kind kind)
{
    switch (kind) {
    case RN__YIELD:
        return idle + RN__IDLE_YIELD;
    case RN__LOAD:
    case RN__CELL_READ:
    case RN__TVAR_READ:
    case RN__CAS: /* it may fail */
    case RN__LOCK:
    case RN__UNLOCK:
    case RN__RLOCK:
    case RN__RUNLOCK:
    case RN__POLL:
    case RN__CHAN_LEN:
    case RN__CONTEXT_LOOK:
        return idle + 1;
    default:
        return 0;
    }
}

/* Whether others should go first, for once. */
static inline bool
rn__is_idle(const struct rn__pending *step)
{
    return step->idle >= RN__IDLE_MANY;
}

/* Whether it is time to give up all plans. */
static inline bool
rn__is_long(const struct rn__world *world)
{
    return world->instant_steps > RN__FAIR_STEPS;
}

/* Operations whose order on an object is worth a search: not those on tasks and
 * scopes, and what gives back a lock follows what has taken it. */
static inline bool
rn__is_shared(enum rn__kind kind)
{
    switch (kind) {
    case RN__SPAWN:
    case RN__JOIN:
    case RN__SCOPE_OPEN:
    case RN__SCOPE_CLOSE:
    case RN__TASK_MOVE:
    case RN__PAR:
    case RN__PAR_TAKE:
    case RN__UNLOCK:
    case RN__RUNLOCK:
    case RN__WUNLOCK:
    case RN__GIVE_BACK:
        return false;
    default:
        return true;
    }
}

/* Whether the step is one of those world->watch asks for. */
static inline bool
rn__is_watched(const struct rn__world *world, const struct rn__pending *step)
{
    return step->address && rn__is_shared(step->kind) &&
           (world->watch == RN__WATCH_ALL || world->watch == step->address);
}

/* Whether the order of two pending steps can matter. */
static inline bool
rn__may_conflict(const struct rn__pending *a, const struct rn__pending *b)
{
    return a->address && a->address == b->address &&
           !((a->kind == RN__LOAD || a->kind == RN__CELL_READ) &&
             (b->kind == RN__LOAD || b->kind == RN__CELL_READ));
}

#endif
