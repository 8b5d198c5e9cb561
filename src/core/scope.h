/* core/scope.h - a scope, and what each spawn and end of a task does with it.
 *
 * Part of core.h, which includes it once tasks are known.
 */
#ifndef RN_SCOPE_H
#define RN_SCOPE_H

struct rn_scope {
    struct rn__object object;
    struct rn__lock lock;
    _Atomic uint32_t cancelled; /* enum below; 0: no */
    _Atomic uint32_t live;     /* tasks, and one for the owner until close; with
                                   cancelled, as a spawn needs both */
    _Atomic uint32_t pins;     /* cancels in progress that look at it */
    struct rn__task *owner;    /* who opened it */
    struct rn_scope *parent;   /* NULL for the root */
    struct rn__list in_parent; /* in parent->inner; parent->lock */
    struct rn__list inner;     /* scopes right inside; lock */
    struct rn__list tasks;     /* live ones that have waited; lock */
    struct rn__list ended;     /* tasks kept for a join; lock */
    struct rn__lock watch_lock;
    struct rn__list watchers;   /* selects; watch_lock */
    struct rn__waiter *closer;  /* who waits in close; set before its part of
                                   live is given up */
    bool gave_up;               /* a task ended -ECANCELED; lock */
    int error;                  /* first error of a task; lock */
    uint32_t end_reason;        /* cancelled when the last task left; lock */
    struct rn__timer timer;     /* deadline */
    bool expired;               /* it has passed once; its home's lock */
    struct rn_scope *work_next; /* in a cancel's work list (pinned) */
    struct rn_scope *expired_next;
};

enum {
    RN__CANCEL_NO,
    RN__CANCEL_USER,
    RN__CANCEL_CHILD,
    RN__CANCEL_DEADLINE,
    RN__CANCEL_PARENT
};

static inline bool
rn__scope_cancelled(const struct rn_scope *scope)
{
    /* acquire: what led to the cancel is visible to who sees it */
    return atomic_load_explicit(&scope->cancelled, memory_order_acquire) != 0;
}

/* Whether the calling task sees a cancel now: -ECANCELED or 0. */
static inline int
rn__cancel_check(const struct rn__task *self)
{
    return rn__unlikely(rn__scope_cancelled(self->scope)) && !self->shielded
               ? -ECANCELED
               : 0;
}

void rn__scope_init(struct rn_scope *scope, struct rn_scope *parent,
                    struct rn__task *owner);
void rn__scope_cancel(struct rn__rt *rt, struct rn_scope *scope,
                      uint32_t reason);
void rn__scope_pin(struct rn_scope *scope);
void rn__scope_unpin(struct rn_scope *scope);
/* A task of the scope is ending with this result: if it is an error, keep it
 * and cancel the scope. */
void rn__scope_failed(struct rn__rt *rt, struct rn_scope *scope, int result);

/* Free what a worker keeps for the next scopes. */
void rn__scopes_fini(struct rn__worker *worker);

/* Add a task that was just made. Returns 0, or -ECANCELED: the scope is
 * cancelled, or its close has found no task in it.
 *
 * A spawn and an end only count: whoever brings live to 0 has the scope for
 * itself. What cancel must find are tasks that wait, so a task joins the list
 * when it first does (rn__wait_park). */
static inline int
rn__scope_enter(struct rn_scope *scope, struct rn__task *task)
{
    uint32_t live = atomic_load_explicit(&scope->live, memory_order_relaxed);
    do
        if (rn__unlikely(live == 0 || rn__scope_cancelled(scope)))
            return -ECANCELED;
    while (rn__unlikely(!rn__cas(&scope->live, &live, live + 1)));
    task->scope = task->home = scope;
    /* release: its fields, for a dump that sees it alive */
    atomic_store_explicit(&task->state, RN__TASK_LIVE, memory_order_release);
    return 0;
}

/* A task waits for the first time. */
void rn__scope_list(struct rn__task *task);
/* Take it out again, or keep it for a join. */
void rn__scope_unlist(struct rn__task *task);

/* By who has brought live to 0. */
struct rn__waiter *rn__scope_emptied(struct rn__rt *rt, struct rn_scope *scope);

/* The task has ended and leaves its home. Returns a claimed waiter to be fired,
 * or NULL. With the last task of the root scope the runtime stops. */
static inline struct rn__waiter *
rn__scope_leave(struct rn__task *task)
{
    struct rn_scope *scope = task->home;
    if (task->listed || task->keep)
        rn__scope_unlist(task);
    /* acquire, release: the last one sees what all have done */
    if (rn__likely(rn__add(&scope->live, UINT32_MAX) > 0))
        return NULL; /* it may be freed from here on */
    return rn__scope_emptied(task->rt, scope);
}

#endif
