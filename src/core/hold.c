/* core/hold.c - handles by which other OS threads spawn into a scope.
 *
 * A handle counts in scope->live like a task. Another thread may touch no wait,
 * no lock and no count of the runtime (outside.c); it reads whether the scope
 * is cancelled, and posts. What it posts is taken in order, but by several
 * workers, so a release may overtake a task to be: the handle counts what is on
 * its way, and whatever arrives last lets the scope go. The thread says in
 * rt->posting that it is at it: then the run may end, and waits for that before
 * the runtime is freed.
 */
#include "core/core.h"

#include <runnel/hold.h>

struct rn_scope_handle {
    struct rn__outside release;
    struct rn__rt *rt;
    struct rn_scope *scope;
    _Atomic uint32_t due; /* the release, and tasks to be */
};

/* A task to be. */
struct order {
    struct rn__outside item;
    struct rn_scope_handle *handle;
    rn_task_fn *fn;
    void *arg;
    const void *site;
};

static void
post(struct rn__rt *rt, struct rn__outside *item)
{
    atomic_fetch_add(&rt->posting, 1);
    rn__outside_post(rt, item);
    /* release: our last touch; partners with the acquire in rn__hold_end */
    atomic_fetch_sub_explicit(&rt->posting, 1, memory_order_release);
}

void
rn__hold_end(struct rn__rt *rt)
{
    while (atomic_load_explicit(&rt->posting, memory_order_acquire) > 0)
        rn__os_relax();
}

/* ---- arrivals, on a worker ----------------------------------------------- */

/* One that was due has arrived. */
static void
arrived(struct rn_scope_handle *handle)
{
    struct rn__rt *rt = handle->rt;
    struct rn_scope *scope = handle->scope;
    /* acq_rel: all other uses of the handle come before; with each other */
    if (atomic_fetch_sub_explicit(&handle->due, 1, memory_order_acq_rel) > 1)
        return;
    rn__free(rt, handle);
    struct rn__waiter *closer = rn__scope_give_back(rt, scope);
    if (closer)
        rn__fire(closer->task);
}

static void
arrive_release(struct rn__outside *item)
{
    arrived(rn__container_of(item, struct rn_scope_handle, release));
}

/* If there is no memory for a task it tries again at the next look. */
static void
arrive_order(struct rn__outside *item)
{
    struct order *order = rn__container_of(item, struct order, item);
    struct rn_scope_handle *handle = order->handle;
    struct rn__rt *rt = handle->rt;
    struct rn__task *task = rn__task_make(order->fn, order->arg, order->site);
    if (!task) {
        rn__outside_expect(rt);
        rn__outside_post(rt, item);
        return;
    }
    atomic_store_explicit(&task->name, NULL, memory_order_relaxed);
    rn__add(&handle->scope->live, 1);
    rn__scope_admit(handle->scope, task);
    rn__count(rn__worker_self(), tasks);
    rn__free(rt, order);
    rn__sched_ready(task);
    arrived(handle);
}

/* ---- public -------------------------------------------------------------- */

int
rn_scope_hold(rn_scope *scope, rn_scope_handle **handle)
{
    struct rn__task *self = rn__self_in("rn_scope_hold");
    rn__need(handle, "rn_scope_hold", rn__site());
    if (!scope)
        scope = self->scope;
    struct rn_scope_handle *h = rn__alloc(self->rt, sizeof *h);
    if (!h)
        return -ENOMEM;
    rn__step(RN__HOLD, &scope->object, rn__site());
    int error = rn__scope_reserve(scope);
    if (error) {
        rn__free(self->rt, h);
        return error;
    }
    h->release.arrive = arrive_release;
    h->rt = self->rt;
    h->scope = scope;
    /* relaxed: the handle is handed over by other means */
    atomic_store_explicit(&h->due, 1, memory_order_relaxed);
    rn__outside_expect(h->rt);
    *handle = h;
    return 0;
}

int
rn_scope_handle_go(rn_scope_handle *handle, rn_task_fn *fn, void *arg)
{
    const void *site = rn__site();
    rn__need(handle, "rn_scope_handle_go", site);
    rn__need(fn, "rn_scope_handle_go", site);
    struct rn__rt *rt = handle->rt;
    if (rn__rt_self() == rt)
        return rn__task_go(handle->scope, fn, arg, site);
    if (rn__scope_cancelled(handle->scope))
        return -ECANCELED;
    struct order *order = rn__alloc(rt, sizeof *order);
    if (!order)
        return -ENOMEM;
    *order = (struct order){{NULL, arrive_order}, handle, fn, arg, site};
    /* relaxed: it is not released; partners with arrived */
    atomic_fetch_add_explicit(&handle->due, 1, memory_order_relaxed);
    rn__outside_expect(rt);
    post(rt, &order->item);
    return 0;
}

void
rn_scope_handle_release(rn_scope_handle *handle)
{
    if (!handle)
        return;
    struct rn__rt *rt = handle->rt;
    if (rn__rt_self() != rt) {
        post(rt, &handle->release);
        return;
    }
    rn__step(RN__RELEASE, &handle->scope->object, rn__site());
    rn__outside_call_off(rt);
    arrived(handle);
}
