/* core/outside.h - what OS threads that are no workers have to do with a
 * runtime; a part of core.h.
 */
#ifndef RN_OUTSIDE_H
#define RN_OUTSIDE_H

#include <stdbool.h>
#include <stdio.h>

struct rn__rt;

/* What such a thread hands to the workers: one of them takes it and calls
 * arrive, while it looks for a task to run. arrive may claim and fire; it is
 * the last to touch the item. */
struct rn__outside {
    struct rn__outside *next;
    void (*arrive)(struct rn__outside *item);
};

/* By a worker: an item will be posted. Until it arrives, or is called off,
 * there is no deadlock. */
void rn__outside_expect(struct rn__rt *rt);
void rn__outside_call_off(struct rn__rt *rt);
/* By any OS thread. Afterwards the item may be gone. */
void rn__outside_post(struct rn__rt *rt, struct rn__outside *item);
/* By a worker: let arrive what was posted. Returns whether anything was. */
bool rn__outside_take(struct rn__rt *rt);

/* A part of a runtime that belongs to a folder above core; made by rn__alloc
 * when it is first used. */
struct rn__annex {
    /* For real, once no task is left: end its OS threads. */
    void (*end)(struct rn__annex *annex);
    /* Its statistics: a line, or further members of a JSON object. */
    void (*print)(const struct rn__annex *annex, bool json, FILE *out);
};

#endif
