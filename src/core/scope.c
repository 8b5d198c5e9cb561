/* core/scope.c - scopes: who must end before whom, and who sees a cancel.
 *
 * scope->lock guards the lists of a scope. Cancel marks first and wakes after:
 * the scopes below are found level by level through a work list made of the
 * scopes themselves (no recursion, no memory), each pinned while it is in the
 * list; a close waits for the pins. One cancel runs at a time, so when it finds
 * a scope marked already, all below that are marked, too.
 *
 * A spawn and an end of a task only count (scope.h); a task joins the list when
 * it first waits, under the lock and before it looks for the mark: so it sees
 * the mark, or the waking pass, which comes after that, finds it. A task that
 * enters after the mark is refused, or does not begin. A scope opened below
 * after the mark inherits it; one opened before is in the list the marking pass
 * walks.
 *
 * Refused: looking upwards on each check (O(depth) on the hot path), and one
 * lock for the whole tree (every open and close would meet there).
 */
#include "core/core.h"

#include <string.h>

void
rn__scope_init(struct rn_scope *scope, struct rn_scope *parent,
               struct rn__task *owner)
{
    scope->parent = parent;
    scope->owner = owner;
    rn__list_init(&scope->in_parent);
    rn__list_init(&scope->inner);
    rn__list_init(&scope->tasks);
    rn__list_init(&scope->ended);
    atomic_store_explicit(&scope->live, 1, memory_order_relaxed);
    rn__list_init(&scope->watchers);
}

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

static void
wait_unpinned(struct rn_scope *scope)
{
    while (atomic_load_explicit(&scope->pins, memory_order_acquire) > 0)
        rn__os_relax();
}

/* ---- cancel ------------------------------------------------------------- */

static bool
mark(struct rn_scope *scope, uint32_t reason)
{
    uint32_t no = RN__CANCEL_NO;
    /* The heavy fence in rn__scope_cancel puts it before the looks at waits;
     * release: what led to the cancel is visible to who sees it. */
    return atomic_compare_exchange_strong(&scope->cancelled, &no, reason);
}

/* Mark all scopes below first; returns them as a list, first first. */
static void
mark_below(struct rn_scope *first)
{
    struct rn_scope *last = first;
    for (struct rn_scope *s = first; s; s = s->work_next) {
        rn__lock(&s->lock);
        rn__list_each (node, &s->inner) {
            struct rn_scope *inner =
                rn__container_of(node, struct rn_scope, in_parent);
            if (!mark(inner, RN__CANCEL_PARENT))
                continue;
            rn__scope_pin(inner);
            inner->work_next = NULL;
            last->work_next = inner;
            last = inner;
        }
        rn__unlock(&s->lock);
    }
}

static void
wake(struct rn__task *task)
{
    if (rn__wait_claim(task, -ECANCELED, true))
        rn__fire(task);
}

/* A select looks at the mark and joins the watchers under watch_lock; the mark
 * came before this, so it has seen the one or is seen here. */
static void
wake_watchers(struct rn_scope *scope)
{
    struct rn__list woken;
    rn__list_init(&woken);
    rn__lock(&scope->watch_lock);
    rn__wait_claim_all(&scope->watchers, 0, &woken);
    rn__unlock(&scope->watch_lock);
    rn__fire_all(&woken);
}

static void
wake_tasks(struct rn_scope *scope)
{
    rn__lock(&scope->lock);
    if (scope->owner)
        wake(scope->owner);
    rn__list_each (node, &scope->tasks)
        wake(rn__container_of(node, struct rn__task, sibling));
    rn__unlock(&scope->lock);
}

void
rn__scope_cancel(struct rn__rt *rt, struct rn_scope *scope, uint32_t reason)
{
    rn__lock(&rt->cancel_lock);
    if (!mark(scope, reason)) {
        rn__unlock(&rt->cancel_lock);
        return;
    }
    rn__scope_pin(scope);
    scope->work_next = NULL;
    mark_below(scope);
    rn__os_fence_all(); /* see the head of wait.c */
    for (struct rn_scope *s = scope; s; s = s->work_next) {
        wake_tasks(s);
        wake_watchers(s);
    }
    rn__unlock(&rt->cancel_lock);
    while (scope) {
        struct rn_scope *next = scope->work_next;
        rn__scope_unpin(scope);
        scope = next;
    }
}

/* ---- tasks come and go -------------------------------------------------- */

void
rn__scope_failed(struct rn__rt *rt, struct rn_scope *scope, int result)
{
    rn__lock(&scope->lock);
    if (result == -ECANCELED)
        scope->gave_up = true;
    else if (!scope->error)
        scope->error = result;
    rn__unlock(&scope->lock);
    if (!rn__scope_cancelled(scope)) /* else who cancels it wakes the others */
        rn__scope_cancel(rt, scope, RN__CANCEL_CHILD);
}

void
rn__scope_list(struct rn__task *task)
{
    struct rn_scope *scope = task->home;
    rn__lock(&scope->lock);
    rn__list_insert(&scope->tasks, &task->sibling);
    rn__unlock(&scope->lock);
    task->listed = true;
}

void
rn__scope_unlist(struct rn__task *task)
{
    struct rn_scope *scope = task->home;
    rn__lock(&scope->lock);
    if (task->listed)
        rn__list_unlink(&task->sibling);
    if (task->keep)
        rn__list_append(&scope->ended, &task->sibling);
    rn__unlock(&scope->lock);
    task->listed = false;
}

/* What is cancelled later changes nothing. */
static void
note_end(struct rn_scope *scope)
{
    scope->end_reason = atomic_load(&scope->cancelled);
}

struct rn__waiter *
rn__scope_emptied(struct rn__rt *rt, struct rn_scope *scope)
{
    struct rn__waiter *closer = scope->closer;
    note_end(scope);
    if (closer) { /* nobody else may claim it */
        bool claimed = rn__wait_claim(closer->task, 0, false);
        rn__assert(claimed);
    } else if (!rt->env) {
        rn__worker_stop_all(rt); /* it is the root */
    }
    return closer;
}

/* ---- open and close ----------------------------------------------------- */

static void
expire(struct rn__timer *timer, struct rn__expired *out)
{
    struct rn_scope *scope = rn__container_of(timer, struct rn_scope, timer);
    rn__note(RN__EXPIRE, &scope->object, NULL);
    if (scope->expired) /* it may still be in the list of the first time */
        return;
    scope->expired = true;
    rn__scope_pin(scope);
    scope->expired_next = out->scopes;
    out->scopes = scope;
}

static void
arm(struct rn__rt *rt, struct rn_scope *scope, rn_time deadline)
{
    if (deadline != RN_NEVER && deadline > rn__rt_now(rt)) {
        rn__timer_restart(&rn__worker_self()->timers, &scope->timer, deadline,
                          0);
        return;
    }
    rn__timer_stop(&scope->timer);
    if (deadline != RN_NEVER)
        rn__scope_cancel(rt, scope, RN__CANCEL_DEADLINE);
}

static void
link_below(struct rn_scope *scope, struct rn_scope *parent)
{
    rn__lock(&parent->lock);
    rn__list_append(&parent->inner, &scope->in_parent);
    if (rn__scope_cancelled(parent))
        mark(scope, RN__CANCEL_PARENT);
    rn__unlock(&parent->lock);
}

/* Zeroed memory for a scope. A worker keeps a few: groups are opened often. */
enum { SCOPES_KEPT = 16 };

static struct rn_scope *
scope_get(struct rn__rt *rt)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn_scope *scope = worker->scopes;
    if (!scope)
        return rn__alloc(rt, sizeof *scope);
    worker->scopes = scope->work_next;
    worker->scope_count--;
    memset(scope, 0, sizeof *scope);
    return scope;
}

static void
scope_put(struct rn__rt *rt, struct rn_scope *scope)
{
    struct rn__worker *worker = rn__worker_self();
    if (rt->env || rn__os_asan || worker->scope_count >= SCOPES_KEPT) {
        rn__free(rt, scope);
        return;
    }
    scope->work_next = worker->scopes;
    worker->scopes = scope;
    worker->scope_count++;
}

void
rn__scopes_fini(struct rn__worker *worker)
{
    while (worker->scopes) {
        struct rn_scope *scope = worker->scopes;
        worker->scopes = scope->work_next;
        rn__free(worker->rt, scope);
    }
}

int
rn_scope_open(rn_time deadline, rn_scope **scope)
{
    struct rn__task *self = rn__self_in("rn_scope_open");
    struct rn__rt *rt = self->rt;
    rn__need(scope, "rn_scope_open", rn__site());
    struct rn_scope *s = scope_get(rt);
    if (!s)
        return -ENOMEM;
    rn__scope_init(s, self->scope, self);
    rn__timer_init(&s->timer, expire);
    rn__step(RN__SCOPE_OPEN, &s->object, rn__site());
    if (!self->shielded) /* a deferred call passes no cancel on */
        link_below(s, self->scope);
    self->scope = s;
    arm(rt, s, deadline);
    *scope = s;
    return 0;
}

static void
join_all(struct rn__task *self, struct rn_scope *scope, const void *site)
{
    uint32_t mine = 1;
    if (rn__cas(&scope->live, &mine, 0)) {
        note_end(scope);
        return;
    }
    struct rn__waiter waiter = {.task = self};
    rn__wait_open(self, RN__SCOPE_CLOSE, &scope->object, site, false);
    scope->closer = &waiter;
    /* release: the waiter, for who comes last; acquire: if that is us */
    if (rn__add(&scope->live, UINT32_MAX) > 0) {
        rn__wait_park(self, RN_NEVER);
        return;
    }
    note_end(scope);
    bool claimed = rn__wait_claim(self, 0, false);
    rn__assert(claimed);
}

/* Free the records nobody has joined. A join that is just taking one holds its
 * lock and waits for ours, so it is told by the generation. */
static void
drop_ended(struct rn_scope *scope)
{
    for (;;) {
        rn__lock(&scope->lock);
        struct rn__list *node = rn__list_pop(&scope->ended);
        struct rn__task *task =
            node ? rn__container_of(node, struct rn__task, sibling) : NULL;
        uint64_t id = task ? rn__task_handle(task).id : 0;
        rn__unlock(&scope->lock);
        if (!task)
            return;
        task = rn__task_find(rn__rt_self(), id);
        if (task)
            rn__task_consume(task);
    }
}

static int
status(const struct rn_scope *scope)
{
    if (scope->error)
        return scope->error;
    if (scope->end_reason == RN__CANCEL_DEADLINE)
        return -ETIMEDOUT;
    return scope->gave_up ? -ECANCELED : 0;
}

int
rn_scope_close(rn_scope *scope)
{
    struct rn__task *self = rn__self_in("rn_scope_close");
    struct rn__rt *rt = self->rt;
    const void *site = rn__site();
    rn__need(scope, "rn_scope_close", site);
    if (self->scope != scope || scope->owner != self)
        rn__panic_at(site, "rn_scope_close of what is not the innermost scope "
                           "the caller has open (closed before, or another is "
                           "open inside it)");
    rn__step(RN__SCOPE_CLOSE, &scope->object, site);
    join_all(self, scope, site);
    rn__timer_stop(&scope->timer);
    drop_ended(scope);
    rn__lock(&scope->parent->lock);
    rn__list_remove(&scope->in_parent);
    rn__unlock(&scope->parent->lock);
    self->scope = scope->parent;
    wait_unpinned(scope);
    rn__lock(&scope->watch_lock);
    bool watched = !rn__list_empty(&scope->watchers);
    rn__unlock(&scope->watch_lock);
    if (watched)
        rn__panic_at(site, "rn_scope_close of a scope a select waits for");
    int result = status(scope);
    scope_put(rt, scope);
    return result;
}

void
rn_scope_cancel(rn_scope *scope)
{
    rn__self_in("rn_scope_cancel");
    const void *site = rn__site();
    rn__need(scope, "rn_scope_cancel", site);
    rn__step(RN__SCOPE_CANCEL, &scope->object, site);
    rn__scope_cancel(rn__rt_self(), scope, RN__CANCEL_USER);
}

int
rn_scope_set_deadline(rn_scope *scope, rn_time deadline)
{
    rn__self_in("rn_scope_set_deadline");
    struct rn__rt *rt = rn__rt_self();
    const void *site = rn__site();
    rn__need(scope, "rn_scope_set_deadline", site);
    rn__step(RN__TIMER_START, &scope->object, site);
    if (rn__scope_cancelled(scope))
        return -ECANCELED;
    arm(rt, scope, deadline);
    return 0;
}
