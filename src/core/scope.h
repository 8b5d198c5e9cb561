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
    _Atomic uint32_t pins;      /* cancels in progress that look at it */
    struct rn__task *owner;     /* who opened it */
    struct rn_scope *parent;    /* NULL for the root */
    struct rn__list in_parent;  /* in parent->inner; parent->lock */
    struct rn__list inner;      /* scopes right inside; lock */
    struct rn__list tasks;      /* live tasks; lock */
    struct rn__list ended;      /* tasks kept for a join; lock */
    struct rn__lock watch_lock;
    struct rn__list watchers;   /* selects; watch_lock */
    struct rn__list closers;    /* waiter of close; lock */
    size_t live;                /* length of tasks; lock */
    bool closing;               /* lock */
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

/* Add a task that was just made. Returns 0 or -ECANCELED. */
static inline int
rn__scope_enter(struct rn_scope *scope, struct rn__task *task)
{
    rn__lock(&scope->lock);
    if (rn__unlikely(rn__scope_cancelled(scope) ||
                     (scope->live == 0 && scope->closing))) {
        rn__unlock(&scope->lock);
        return -ECANCELED;
    }
    task->scope = task->home = scope;
    rn__list_insert(&scope->tasks, &task->sibling);
    scope->live++;
    /* release: its fields, for a dump that sees it alive */
    atomic_store_explicit(&task->state, RN__TASK_LIVE, memory_order_release);
    rn__unlock(&scope->lock);
    return 0;
}

/* Under the lock, which it gives up: the last task has left. */
struct rn__waiter *rn__scope_emptied(struct rn__rt *rt, struct rn_scope *scope);

/* The task has ended and leaves its home. Returns a claimed waiter to be fired,
 * or NULL. With the last task of the root scope the runtime stops. */
static inline struct rn__waiter *
rn__scope_leave(struct rn__task *task)
{
    struct rn_scope *scope = task->home;
    rn__lock(&scope->lock);
    rn__list_unlink(&task->sibling);
    if (rn__unlikely(task->keep))
        rn__list_append(&scope->ended, &task->sibling);
    if (--scope->live == 0)
        return rn__scope_emptied(task->rt, scope);
    rn__unlock(&scope->lock); /* may be freed from here on */
    return NULL;
}

#endif
