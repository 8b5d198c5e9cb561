/* sync/waitgroup.c - a counter whose zero can be waited for.
 *
 * Both sides always take the lock: the one that brings the counter to zero
 * leaves with the unlock as its last touch, and a waiter that finds zero has
 * seen that unlock, so it may free the group.
 */
#include <runnel/waitgroup.h>

#include "core/core.h"

struct group {
    struct rn__object object;
    struct rn__lock lock; /* count, queue */
    int32_t count;
    struct rn__list queue;
};

_Static_assert(sizeof(struct group) <= sizeof(rn_waitgroup),
               "rn_waitgroup is too small");

static struct group *
inner(rn_waitgroup *group)
{
    return (struct group *)(void *)group->rn__opaque;
}

/* Under the lock, which it gives up. */
__attribute__((noinline)) static void
wake_all(struct group *g)
{
    struct rn__list woken;
    rn__list_init(&woken);
    rn__wait_claim_all(&g->queue, 0, &woken);
    rn__unlock(&g->lock);
    rn__fire_all(&woken);
}

static inline void
add(struct group *g, int n, const void *site)
{
    if (rn__steps_matter())
        rn__step_by(RN__GROUP_ADD, &g->object, site, n > 0 ? RN_NOW : RN_NEVER);
    rn__lock(&g->lock);
    int64_t count = (int64_t)g->count + n;
    if (count < 0 || count > INT32_MAX) {
        rn__unlock(&g->lock);
        rn__panic_at(site, count < 0 ? "wait group counter below zero"
                                     : "wait group counter over 2^31 - 1");
    }
    g->count = (int32_t)count;
    if (count == 0 && !rn__list_empty(&g->queue))
        wake_all(g);
    else
        rn__unlock(&g->lock);
}

void
rn_waitgroup_add(rn_waitgroup *group, int n)
{
    rn__self_in("rn_waitgroup_add");
    rn__need(group, "rn_waitgroup_add", rn__site());
    add(inner(group), n, rn__site());
}

void
rn_waitgroup_done(rn_waitgroup *group)
{
    rn__self_in("rn_waitgroup_done");
    rn__need(group, "rn_waitgroup_done", rn__site());
    add(inner(group), -1, rn__site());
}

int
rn_waitgroup_wait(rn_waitgroup *group, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_waitgroup_wait");
    const void *site = rn__site();
    rn__need(group, "rn_waitgroup_wait", site);
    struct group *g = inner(group);
    rn__step_by(RN__GROUP_WAIT, &g->object, site, deadline);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    rn__lock(&g->lock);
    if (g->count == 0 || deadline == RN_NOW) {
        int result = g->count == 0 ? 0 : -EAGAIN;
        rn__unlock(&g->lock);
        return result;
    }
    struct rn__waitspec spec = {RN__GROUP_WAIT, &g->object, site,
                                &g->lock,       &g->queue,  NULL};
    return rn__wait_one(self, &spec, deadline);
}
