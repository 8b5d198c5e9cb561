/* core/cancel.c - cancel a scope, or one task, and who sees it.
 *
 * Cancel marks first and wakes after: the scopes below are found level by level
 * through a work list made of the scopes themselves (no recursion, no memory),
 * each pinned while it is in the list; a close waits for the pins. One cancel
 * runs at a time, so when it finds a scope marked already, all below that are
 * marked, too. Why, and with what code, is written before the mark; nobody
 * writes it again.
 *
 * Contexts are nodes of the same tree (context.c). Only they have followers, by
 * which a scope or a context is below more than one; it is marked once.
 *
 * A task alone is cancelled by its own mark, told; by a bit in the mark of its
 * home, so that only tasks of such a home look at told; and by a cancel of the
 * outermost scope it has opened, which home->lock hands over: who opens a scope
 * right inside home sees the mark, or is seen.
 *
 * Shields. A task counts those it has pushed, and a scope keeps how many there
 * were when it was opened. A cancel is visible through none: of the innermost
 * scope, if no shield was pushed since; of home and of the task alone, if there
 * is none at all. So a check reads the innermost scope only: one that was
 * opened inside a shield, right below where it was pushed, is not linked to the
 * scope around it and inherits no cancel.
 *
 * Refused: looking upwards on each check (O(depth) on the hot path); a bit for
 * each scope in the task.
 */
#include "core/core.h"

#include <limits.h>

void
rn__scope_pin(struct rn_scope *scope)
{
    /* relaxed: the lock or list it was found through keeps it alive now */
    atomic_fetch_add_explicit(&scope->pins, 1, memory_order_relaxed);
}

void
rn__scope_unpin(struct rn_scope *scope)
{
    /* release: our last touch; partners with the acquire in wait_unpinned */
    atomic_fetch_sub_explicit(&scope->pins, 1, memory_order_release);
}

/* ---- mark and wake ------------------------------------------------------ */

/* Under cancel_lock; or by who opens the scope, under parent->lock. Nobody else
 * marks it meanwhile. */
static bool
mark(struct rn_scope *scope, uint32_t reason, int code, size_t culprit)
{
    /* relaxed: see above */
    uint32_t some =
        atomic_load_explicit(&scope->cancelled, memory_order_relaxed);
    if (some & ~RN__CANCEL_SOME)
        return false;
    scope->code = code;
    scope->culprit = culprit;
    scope->timed |= reason == RN__CANCEL_DEADLINE;
    /* The heavy fence before the wakes puts it before the looks at waits; for
     * a context nobody looks at its mark but under a lock. Release: what led to
     * the cancel is visible to who sees it. */
    if (scope->is_context)
        atomic_store_explicit(&scope->cancelled, reason, memory_order_release);
    else
        atomic_store(&scope->cancelled, reason | some);
    return true;
}

/* Likewise: because one it is below is marked. */
static bool
mark_from(struct rn_scope *scope, const struct rn_scope *from)
{
    if (rn__scope_cancelled(scope))
        return false;
    scope->timed = from->timed;
    return mark(scope, RN__CANCEL_PARENT, from->code, RN_INDEX_NONE);
}

void
rn__scope_inherit_from(struct rn_scope *scope, const struct rn_scope *parent)
{
    mark_from(scope, parent);
}

void
rn__scope_inherit(struct rn_scope *scope, int code)
{
    if (rn__scope_cancelled(scope->parent))
        scope->timed = scope->parent->timed;
    mark(scope, RN__CANCEL_PARENT, code, RN_INDEX_NONE);
}

/* What a cancel has marked: a list of pinned scopes. */
struct marked {
    struct rn_scope *last;
    bool tasks; /* one of them may have some */
};

static void
add(struct marked *marked, struct rn_scope *scope)
{
    rn__scope_pin(scope);
    scope->work_next = NULL;
    marked->last->work_next = scope;
    marked->last = scope;
    marked->tasks |= !scope->is_context;
}

static void
mark_followers(const struct rn_scope *context, struct marked *marked)
{
    const struct rn_context *from =
        rn__container_of(context, const struct rn_context, node);
    rn__list_each (link, &from->followers) {
        struct rn_scope *target =
            rn__container_of(link, struct rn__edge, link)->target;
        if (target && mark_from(target, context))
            add(marked, target);
    }
}

/* Mark all scopes below first, which is marked, pinned and the end of the work
 * list so far. Returns whether any of these can have tasks. */
static bool
mark_below(struct rn_scope *first)
{
    struct marked marked = {first, !first->is_context};
    for (struct rn_scope *s = first; s; s = s->work_next) {
        rn__lock(&s->lock);
        rn__list_each (node, &s->inner) {
            struct rn_scope *inner =
                rn__container_of(node, struct rn_scope, in_parent);
            if (mark_from(inner, s))
                add(&marked, inner);
        }
        if (s->is_context)
            mark_followers(s, &marked);
        rn__unlock(&s->lock);
    }
    return marked.tasks;
}

static void
wake(struct rn__task *task, uint32_t shields)
{
    if (rn__wait_cancel(task, shields) || rn__wait_cancel(task, RN__WAIT_BEGIN))
        rn__fire(task);
}

/* A select looks at the mark and joins the watchers under watch_lock; the mark
 * came before this, so it has seen the one or is seen here. */
static void
wake_watchers(struct rn_scope *scope)
{
    struct rn__list woken;
    rn__lock(&scope->watch_lock);
    if (rn__likely(rn__list_empty(&scope->watchers))) {
        rn__unlock(&scope->watch_lock);
        return;
    }
    rn__list_init(&woken);
    rn__wait_claim_all(&scope->watchers, 0, &woken);
    rn__unlock(&scope->watch_lock);
    rn__fire_all(&woken);
}

static void
wake_tasks(struct rn_scope *scope)
{
    rn__lock(&scope->lock);
    if (scope->owner)
        wake(scope->owner, scope->shields);
    rn__list_each (node, &scope->tasks) {
        rn__prefetch(rn__container_of(node->next, struct rn__task, sibling));
        wake(rn__container_of(node, struct rn__task, sibling), 0);
    }
    rn__unlock(&scope->lock);
}

static void
wake_all(struct rn_scope *marked)
{
    for (struct rn_scope *s = marked; s; s = s->work_next) {
        if (s->is_context)
            rn__context_wake(s);
        else
            wake_tasks(s);
        wake_watchers(s);
    }
}

static void
unpin_all(struct rn_scope *marked)
{
    while (marked) {
        struct rn_scope *next = marked->work_next;
        rn__scope_unpin(marked);
        marked = next;
    }
}

/* Under cancel_lock, which it gives up: this one has just been marked. Where no
 * tasks are, nobody waits without a lock. */
static void
spread(struct rn__rt *rt, struct rn_scope *scope)
{
    if (scope->is_context && rn__context_is_leaf(scope)) {
        wake_watchers(scope);
        rn__unlock(&rt->cancel_lock);
        return; /* the caller keeps it alive */
    }
    rn__scope_pin(scope);
    scope->work_next = NULL;
    if (mark_below(scope))
        rn__os_fence_all(); /* see the head of wait.c */
    wake_all(scope);
    rn__unlock(&rt->cancel_lock);
    unpin_all(scope);
}

void
rn__scope_cancel_by(struct rn__rt *rt, struct rn_scope *scope, uint32_t reason,
                    int code, size_t culprit)
{
    rn__lock(&rt->cancel_lock);
    if (mark(scope, reason, code, culprit))
        spread(rt, scope);
    else
        rn__unlock(&rt->cancel_lock);
}

void
rn__scope_cancel_from(struct rn__rt *rt, struct rn_scope *scope,
                      const struct rn_scope *from)
{
    rn__lock(&rt->cancel_lock);
    if (mark_from(scope, from))
        spread(rt, scope);
    else
        rn__unlock(&rt->cancel_lock);
}

void
rn__scope_cancel(struct rn__rt *rt, struct rn_scope *scope, uint32_t reason)
{
    int code = reason == RN__CANCEL_DEADLINE ? -ETIMEDOUT
               : reason == RN__CANCEL_SELF   ? -ECANCELED
                                             : 0;
    rn__scope_cancel_by(rt, scope, reason, code, RN_INDEX_NONE);
}

/* ---- one task ----------------------------------------------------------- */

/* Under cancel_lock: mark and pin the outermost scope the task has opened. */
static struct rn_scope *
mark_outer(struct rn__task *task)
{
    rn__lock(&task->home->lock);
    /* relaxed: under the lock */
    bool opened = atomic_load_explicit(&task->state, memory_order_relaxed) &
                  RN__TASK_OPENED;
    struct rn_scope *outer = opened ? task->outer : NULL;
    if (outer && mark(outer, RN__CANCEL_PARENT, 0, RN_INDEX_NONE)) {
        rn__scope_pin(outer);
        outer->work_next = NULL;
    } else {
        outer = NULL;
    }
    rn__unlock(&task->home->lock);
    return outer;
}

/* Under cancel_lock: the tasks of a scope must look at told. */
static void
mark_some(struct rn_scope *home)
{
    /* relaxed: written under cancel_lock only */
    uint32_t now = atomic_load_explicit(&home->cancelled, memory_order_relaxed);
    /* release: told; partners with rn__cancel_near */
    atomic_store_explicit(&home->cancelled, now | RN__CANCEL_SOME,
                          memory_order_release);
}

void
rn__task_tell_home(struct rn__task *task)
{
    rn__lock(&task->rt->cancel_lock);
    mark_some(task->home);
    rn__unlock(&task->rt->cancel_lock);
}

void
rn__task_tell(struct rn__task *task, uint32_t reason)
{
    struct rn__rt *rt = task->rt;
    rn__lock(&rt->cancel_lock);
    /* relaxed: written under cancel_lock only */
    if (atomic_load_explicit(&task->told, memory_order_relaxed)) {
        rn__unlock(&rt->cancel_lock);
        return;
    }
    /* release: what led to it; partners with rn__cancel_seen */
    atomic_store_explicit(&task->told, reason, memory_order_release);
    mark_some(task->home);
    struct rn_scope *outer = mark_outer(task);
    if (outer)
        mark_below(outer);
    rn__os_fence_all(); /* see the head of wait.c */
    wake(task, 0);
    wake_all(outer);
    rn__unlock(&rt->cancel_lock);
    unpin_all(outer);
}

/* ---- who sees it -------------------------------------------------------- */

uint32_t
rn__cancel_seen(const struct rn__task *self, int *code)
{
    const struct rn_scope *scope = self->scope;
    /* acquire: what led to the cancel, and code */
    uint32_t told =
        self->shields == 0 && scope == self->home
            ? atomic_load_explicit(&self->told, memory_order_acquire)
            : 0;
    uint32_t reason = self->shields == rn__shields_outside(scope, self)
                          ? rn__scope_reason(scope)
                          : RN__CANCEL_NO;
    if (!told && !reason)
        return RN__CANCEL_NO;
    if (code)
        *code = told ? 0 : scope->code;
    return told ? told : reason;
}

/* ---- public ------------------------------------------------------------- */

static void
cancel(rn_scope *scope, int code, const char *function, const void *site)
{
    rn__need(scope, function, site);
    rn__step(RN__SCOPE_CANCEL, &scope->object, site);
    rn__scope_cancel_by(rn__rt_self(), scope, RN__CANCEL_USER, code,
                        RN_INDEX_NONE);
}

void
rn_scope_cancel(rn_scope *scope)
{
    rn__self_in("rn_scope_cancel");
    cancel(scope, 0, "rn_scope_cancel", rn__site());
}

void
rn_scope_cancel_with(rn_scope *scope, int code)
{
    rn__self_in("rn_scope_cancel_with");
    cancel(scope, code, "rn_scope_cancel_with", rn__site());
}

int
rn_cancel_requested(void)
{
    struct rn__task *self = rn__self_in("rn_cancel_requested");
    rn__step(RN__POLL, NULL, rn__site());
    return rn__cancel_check(self) != 0;
}

rn_reason
rn_cancel_reason(int *code)
{
    struct rn__task *self = rn__self_in("rn_cancel_reason");
    rn__step(RN__POLL, NULL, rn__site());
    int why = 0;
    uint32_t reason = rn__cancel_near(self) ? rn__cancel_seen(self, &why) : 0;
    if (reason == RN__CANCEL_SELF) /* which another task did */
        reason = RN__CANCEL_CHILD;
    if (code)
        *code = why;
    return (rn_reason)reason;
}

/* Whether the task cannot end before the caller has: it has opened a scope
 * around it. Such a task stays where it is, and so do the scopes between. */
static bool
is_around(const struct rn__task *task, const struct rn__task *self)
{
    if (task == self)
        return true;
    for (const struct rn_scope *s = self->home; s->owner; s = s->owner->home)
        if (s->owner == task)
            return true;
    return false;
}

bool
rn__join_is_endless(const struct rn__task *task, const struct rn__task *self)
{
    /* One of the scope the caller is in cannot be around it, but for itself */
    return task == self || (task->home != self->scope && is_around(task, self));
}

void
rn_task_cancel(rn_task task)
{
    struct rn__task *self = rn__self_in("rn_task_cancel");
    rn__step(RN__TASK_CANCEL, NULL, rn__site());
    struct rn__task *target = rn__task_find(self->rt, task.id);
    if (!target)
        return;
    if (!target->ended)
        rn__task_tell(target, RN__CANCEL_USER);
    rn__unlock(&target->lock);
}

int
rn_task_cancel_join(rn_task task, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_task_cancel_join");
    const void *site = rn__site();
    rn__step(RN__TASK_CANCEL, NULL, site);
    struct rn__task *target = rn__task_find(self->rt, task.id);
    if (!target)
        return 0;
    if (target->ended || rn__join_is_endless(target, self)) {
        int result = target->ended ? 0 : -EDEADLK;
        rn__unlock(&target->lock);
        return result;
    }
    rn__task_tell(target, RN__CANCEL_USER);
    if (deadline == RN_NOW) {
        rn__unlock(&target->lock);
        return -EAGAIN;
    }
    struct rn__waiter waiter;
    rn__wait_open(self, RN__JOIN, &target->object, site, true);
    rn__wait_add(&target->joiners, &waiter, self, RN__ARM_WATCH, NULL);
    rn__unlock(&target->lock);
    int result = rn__wait_park(self, deadline);
    if (result >= 0)
        return 0;
    rn__lock(&target->lock);
    rn__list_remove(&waiter.link);
    rn__unlock(&target->lock);
    return result;
}

void
rn_shutdown(int code)
{
    rn__self_in("rn_shutdown");
    struct rn__rt *rt = rn__rt_self();
    rn__step(RN__SCOPE_CANCEL, &rt->root.object, rn__site());
    rn__scope_cancel_by(rt, &rt->root, RN__CANCEL_SHUTDOWN, code,
                        RN_INDEX_NONE);
}
