/* sim/choose.h - choices of a schedule, for the world. */
#ifndef RN_CHOOSE_H
#define RN_CHOOSE_H

#include "sim/fair.h"
#include "sim/sim.h"

/* Who may go on next: those ready, then timers; self, if there is one, before
 * them or (last) after them. */
struct rn__candidates {
    struct rn__task *self;
    bool last;
    size_t timers; /* of world->due */
};

/* Make a choice; the first of fewer than two, and until the search begins, is
 * no choice. */
uint32_t rn__choose_fork(struct rn__world *world, const struct rn__fork *fork);
/* Who goes on. Returns the place among those ready, then timers; -1: self. */
int64_t rn__choose_next(struct rn__world *world,
                        const struct rn__candidates *candidates);

/* What pends is that the task begins; by: the number of its parent, 0: none. */
void rn__pend_begin(struct rn__world *world, const struct rn__task *task,
                    uint32_t by);

/* What the task of that number does next. */
static inline void
rn__pend(struct rn__world *world, uint32_t task, enum rn__kind kind,
         const struct rn__object *object, const void *site)
{
    struct rn__pending *p = &world->pending[task];
    p->object = object ? (uint32_t)object->id : 0;
    p->kind = kind;
    p->site = site;
    p->address = object;
    p->mark = 0;
    p->idle = rn__idle_after(p->idle, kind);
    if (world->watch && rn__is_watched(world, p))
        p->seen++;
}

#endif
