/* sync/workgroup.c - a scope whose tasks need a place each.
 *
 * The places are a semaphore. A task gives its place back when it leaves its
 * home: after its deferred calls, also if it never began, and before it is
 * counted out, so the group is still there (rn__scope_unlist). Without a limit
 * a group is a scope and nothing else.
 */
#include <runnel/workgroup.h>

#include "sync/sema.h"

static void
free_place(void *places)
{
    rn__sema_release(places, 1, NULL);
}

static void
need_open(const rn_workgroup *group, const char *function, const void *site)
{
    rn__need(group, function, site);
    if (rn__unlikely(!group->rn__scope))
        rn__panic_at(site, "%s: the group is not open", function);
}

int
rn_workgroup_open(rn_workgroup *group, size_t limit,
                  const rn_scope_options *options)
{
    struct rn__task *self = rn__self_in("rn_workgroup_open");
    rn__need(group, "rn_workgroup_open", rn__site());
    rn_scope *scope;
    int error = rn__scope_open(self, options, &scope, rn__site());
    if (error)
        return error;
    if (limit) {
        group->rn__places = (rn_sema)RN_SEMA_INIT(limit);
        scope->on_leave = free_place;
        scope->on_leave_arg = &group->rn__places;
    }
    group->rn__scope = scope;
    return 0;
}

static int
spawn(struct rn_scope *scope, rn_task_fn *fn, void *arg, const void *site)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__task *task = rn__task_make(fn, arg, site);
    if (rn__unlikely(!task))
        return -ENOMEM;
    /* relaxed: for dumps */
    atomic_store_explicit(&task->name, NULL, memory_order_relaxed);
    rn__step(RN__SPAWN, &task->object, site);
    int error = rn__scope_enter(scope, task);
    if (rn__unlikely(error)) {
        rn__task_free(task);
        return error == -EPIPE ? -ECANCELED : error;
    }
    if (scope->on_leave)
        task->at_home |= RN__HOME_PLACED;
    rn__count(worker, tasks);
    rn__sched_ready(task);
    return 0;
}

int
rn_workgroup_go(rn_workgroup *group, rn_task_fn *fn, void *arg,
                rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_workgroup_go");
    const void *site = rn__site();
    need_open(group, "rn_workgroup_go", site);
    rn__need(fn, "rn_workgroup_go", site);
    struct rn_scope *scope = group->rn__scope;
    if (!scope->on_leave)
        return spawn(scope, fn, arg, site);
    rn__step(RN__PLACE, (struct rn__object *)(void *)&group->rn__places, site);
    int error = rn__sema_acquire(&group->rn__places, self, RN__PLACE, 1,
                                 deadline, site);
    if (error)
        return error;
    error = spawn(scope, fn, arg, site);
    if (rn__unlikely(error))
        free_place(&group->rn__places);
    return error;
}

rn_scope *
rn_workgroup_scope(const rn_workgroup *group)
{
    rn__need(group, "rn_workgroup_scope", rn__site());
    return group->rn__scope;
}

int
rn_workgroup_wait(rn_workgroup *group, int body)
{
    struct rn__task *self = rn__self_in("rn_workgroup_wait");
    const void *site = rn__site();
    need_open(group, "rn_workgroup_wait", site);
    int result = rn__scope_close(self, group->rn__scope, body,
                                 "rn_workgroup_wait", site);
    group->rn__scope = NULL; /* tasks of the group may add others until then */
    return result;
}
