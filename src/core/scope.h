/* core/scope.h - a scope, and what each spawn and end of a task does with it.
 *
 * Part of core.h, which includes it once tasks are known.
 */
#ifndef RN_SCOPE_H
#define RN_SCOPE_H

struct rn_scope {
    struct rn__object object;
    struct rn__lock lock;
    _Atomic uint32_t cancelled; /* enum below and RN__CANCEL_SOME; 0: no */
    _Atomic uint32_t live;      /* tasks and held handles, and one for the owner
                                   until close; with cancelled, as a spawn needs
                                   both. The top bit: RN__SCOPE_COUNTS */
    _Atomic uint32_t pins;      /* cancels in progress that look at it. The top
                                   bit: RN__SCOPE_CONTEXTS */
    struct rn__task *owner;     /* who opened it */
    struct rn_scope *parent;    /* NULL for the root */
    struct rn__list in_parent;  /* in parent->inner; parent->lock */
    struct rn__list inner;      /* scopes right inside; lock */
    struct rn__list tasks;      /* live ones that have waited; lock */
    struct rn__list ended;      /* tasks kept for a join; lock */
    struct rn__lock watch_lock;
    uint32_t shields;           /* of the owner, when it opened it */
    struct rn__list watchers;   /* selects; watch_lock */
    struct rn__waiter *closer;  /* who waits in close; set before its part of
                                   live is given up */
    _Atomic bool gave_up;       /* a task ended -ECANCELED, and should not */
    bool collects;              /* a failure cancels nothing */
    bool is_context;            /* the node of a context: has no tasks */
    bool timed;                 /* a deadline led to the cancel; written before
                                   cancelled */
    _Atomic bool expired;       /* the deadline has passed once; written under
                                   the lock of its timer's home */
    int error;                  /* first error of a task; lock */
    uint32_t end_reason;        /* cancelled when the last task left */
    int code;                   /* of the cancel; written before cancelled */
    size_t culprit;             /* whose failure cancelled it; likewise */
    rn_report *report;          /* NULL: none; lock */
    rn_outcome *outcomes;       /* by index; lock */
    size_t outcome_room;        /* of outcomes */
    _Atomic uint32_t spawned;   /* into one that counts */
    _Atomic uint32_t calls;     /* places for calls at contexts; relaxed */
    struct rn__timer timer;     /* deadline */
    _Atomic rn_time deadline;   /* as it was set last; relaxed: a hint */
    struct rn__edge *under;     /* the context it is under; NULL: none */
    const char *name;           /* for dumps; NULL: none */
    struct rn_scope *work_next; /* in a cancel's work list (pinned) */
    struct rn_scope *expired_next;
    /* A task leaves that is PLACED; before it is counted out. NULL: none is */
    void (*on_leave)(void *arg);
    void *on_leave_arg;
    /* its own context, a reference; NULL: nobody has asked yet. Under lock */
    _Atomic(struct rn_context *) context;
};

/* In live: the scope has a report or outcomes, so each task gets an index and
 * tells how it has ended. A spawn sees it where it looks whether live is 0. */
#define RN__SCOPE_COUNTS 0x80000000u

/* In pins: the scope has a context of its own, or is under one. A close sees it
 * where it looks whether pins is 0. */
#define RN__SCOPE_CONTEXTS 0x80000000u

/* Why a scope is cancelled, or a task alone. */
enum {
    RN__CANCEL_NO = RN_REASON_NONE,
    RN__CANCEL_USER = RN_REASON_USER,
    RN__CANCEL_CHILD = RN_REASON_SIBLING,
    RN__CANCEL_DEADLINE = RN_REASON_DEADLINE,
    RN__CANCEL_PARENT = RN_REASON_PARENT,
    RN__CANCEL_RACE_LOST = RN_REASON_RACE_LOST,
    RN__CANCEL_SHUTDOWN = RN_REASON_SHUTDOWN,
    RN__CANCEL_SELF = RN_REASON_SELF
};

/* In cancelled, beside the reason: a task of the scope was cancelled alone, so
 * its tasks must look at told. Others pay for no look at it. */
#define RN__CANCEL_SOME 0x80000000u

/* How many shields a task in this scope, its innermost, has pushed outside of
 * it: a scope's own tasks begin without any. */
static inline uint32_t
rn__shields_outside(const struct rn_scope *scope, const struct rn__task *task)
{
    return scope->owner == task ? scope->shields : 0;
}

/* Why it is cancelled; RN__CANCEL_NO: it is not. */
static inline uint32_t
rn__scope_reason(const struct rn_scope *scope)
{
    /* acquire: what led to the cancel is visible to who sees it */
    return atomic_load_explicit(&scope->cancelled, memory_order_acquire) &
           ~RN__CANCEL_SOME;
}

static inline bool
rn__scope_cancelled(const struct rn_scope *scope)
{
    return rn__scope_reason(scope) != RN__CANCEL_NO;
}

/* Whether a scope around the calling task is cancelled, be it shielded or not,
 * or perhaps the task alone. */
static inline bool
rn__cancel_near(const struct rn__task *self)
{
    /* acquire: what led to the cancel is visible to who sees it */
    return atomic_load_explicit(&self->scope->cancelled,
                                memory_order_acquire) != 0;
}

/* Then: why, as far as the task sees it through its shields, and with what
 * code (may be NULL); RN__CANCEL_NO: it does not see it. */
uint32_t rn__cancel_seen(const struct rn__task *self, int *code);

/* Whether the calling task sees a cancel now: -ECANCELED or 0. */
static inline int
rn__cancel_check(const struct rn__task *self)
{
    return rn__unlikely(rn__cancel_near(self)) && rn__cancel_seen(self, NULL)
               ? -ECANCELED
               : 0;
}

/* Whether the calling task has neither a step to announce nor a cancel to see,
 * so that a fast path may leave out both. */
static inline bool
rn__calm(const struct rn__task *self)
{
    uint32_t env = atomic_load_explicit(&rn__env_count, memory_order_relaxed);
    uint32_t mark =
        atomic_load_explicit(&self->scope->cancelled, memory_order_relaxed);
    return rn__likely((env | mark) == 0);
}

/* As rn_scope_open_with and rn_scope_close_with, called function at site. */
int rn__scope_open(struct rn__task *self, const rn_scope_options *options,
                   rn_scope **scope, const void *site);
int rn__scope_close(struct rn__task *self, rn_scope *scope, int body,
                    const char *function, const void *site);
void rn__scope_init(struct rn_scope *scope, struct rn_scope *parent,
                    struct rn__task *owner);
/* Cancel a scope and all below it; again is harmless. */
void rn__scope_cancel(struct rn__rt *rt, struct rn_scope *scope,
                      uint32_t reason);
/* The same with a code, and whose failure it was. */
void rn__scope_cancel_by(struct rn__rt *rt, struct rn_scope *scope,
                         uint32_t reason, int code, size_t culprit);
/* Under parent->lock: a new scope inherits a cancel. */
void rn__scope_inherit(struct rn_scope *scope, int code);
/* The same from a parent that is marked. */
void rn__scope_inherit_from(struct rn_scope *scope,
                            const struct rn_scope *parent);
/* Cancel a scope because one it is below is marked. */
void rn__scope_cancel_from(struct rn__rt *rt, struct rn_scope *scope,
                           const struct rn_scope *from);
/* The expiry of a scope's timer. */
void rn__scope_expire(struct rn__timer *timer, struct rn__expired *out);
void rn__scope_pin(struct rn_scope *scope);
void rn__scope_unpin(struct rn_scope *scope);
/* Keep a failure: in the report, or as what close returns. */
void rn__scope_note(struct rn__rt *rt, struct rn_scope *scope,
                    const rn_failure *failure);
/* Of the calling task, or the item it runs: its index, and whose scope. */
size_t rn__scope_index(const struct rn__task *task, struct rn_scope **scope);
/* Keep its failure, with what rn_fail has said of it. */
void rn__scope_note_task(struct rn__task *task, enum rn_phase phase, int code,
                         const void *site);
/* A task is ending with this negative result: keep it, and cancel its home. */
void rn__scope_failed(struct rn__task *task, int result);

/* Under task->lock: a task that is cancelled alone has a new home. */
void rn__task_tell_home(struct rn__task *task);
/* Under task->lock: cancel this task alone. */
void rn__task_tell(struct rn__task *task, uint32_t reason);
/* Under task->lock: whether a join of it by the caller could never end. */
bool rn__join_is_endless(const struct rn__task *task,
                         const struct rn__task *self);
/* The arm of a waiter for a task's end that leaves its result to others. */
enum { RN__ARM_WATCH = INT32_MAX };

/* ---- reports (report.c) -------------------------------------------------- */

/* The scope has ended: what its report says of all of it. */
void rn__scope_end_report(const struct rn_scope *scope, int result);
/* Make a report empty. */
void rn__report_begin(rn_report *report);
/* Whether there was room for it; else it is counted. */
bool rn__report_add(rn_report *report, const rn_failure *failure);
/* All but the first by index, those of one index as they came. */
void rn__report_sort(rn_report *report);
/* No report and no result tells of it. */
void rn__report_unheard(struct rn__rt *rt, const rn_failure *failure);
/* Take out what rn_fail of the calling task has left. NULL: nothing. */
struct rn__defer *rn__fail_pop(struct rn__task *self);
/* Put into failure what the calling task has said of it by rn_fail, if its code
 * is the same; else drop it. */
void rn__fail_take(struct rn__task *self, rn_failure *failure);

/* ---- finalizers (finalizer.c) -------------------------------------------- */

/* What a task keeps for its end, last first (finalizer.c): deferred calls, and
 * what rn_fail has said. */
enum rn__when {
    RN__DEFER_ALWAYS,
    RN__DEFER_ON_ERROR,
    RN__DEFER_ON_CANCEL,
    RN__DEFER_NEVER, /* no call: the payload of a failure */
    RN__DEFER_TELL   /* no call: a failure of which the scope is told later */
};

struct rn__defer {
    struct rn__defer *next;
    union {
        rn_finalizer_fn *fn;
        struct rn_scope *scope; /* of TELL: that it had opened; NULL: none */
    };
    void *arg; /* of fn; or the payload */
    const void *site;
    enum rn__when when;
    int code;                    /* of NEVER, TELL */
    void (*drop)(void *payload); /* of NEVER, TELL */
};

/* Run what the calling task, or the item begun at site, has deferred. Returns
 * its result. */
int rn__finalize(struct rn__task *self, int outcome, const void *site);
/* The calling task closes this scope: note what was to be told later. */
void rn__finalizer_tell(struct rn__task *self, struct rn_scope *scope);

/* ---- open, close, tasks ------------------------------------------------- */

/* Open a zeroed scope inside the calling task's innermost one and make it the
 * innermost. Close it again: wait for its tasks, after which its error, gave_up
 * and end_reason are final. The memory is the caller's. */
void rn__scope_begin(struct rn_scope *scope, struct rn__task *self,
                     rn_time deadline, const void *site);
void rn__scope_finish(struct rn_scope *scope, struct rn__task *self,
                      const void *site);

/* Free what a worker keeps for the next scopes. */
void rn__scopes_fini(struct rn__worker *worker);

/* The rest of rn__scope_enter: one that counts, or takes none. */
int rn__scope_enter_slow(struct rn_scope *scope, struct rn__task *task);

/* The two halves of it: a place in the scope, and a task for the place. */
int rn__scope_reserve(struct rn_scope *scope);
void rn__scope_admit(struct rn_scope *scope, struct rn__task *task);

static inline void
rn__scope_settle(struct rn_scope *scope, struct rn__task *task)
{
    task->scope = task->home = scope;
    /* release: its fields, for a dump that sees it alive */
    atomic_store_explicit(&task->state, RN__TASK_LIVE, memory_order_release);
}

/* Add a task that was just made. Returns 0; -ECANCELED: it is cancelled;
 * -EPIPE: it is closed but for the call.
 *
 * A spawn and an end only count: whoever brings live to 0 has the scope for
 * itself. What cancel must find are tasks that wait, so a task joins the list
 * when it first does (rn__wait_park). */
static inline int
rn__scope_enter(struct rn_scope *scope, struct rn__task *task)
{
    uint32_t live = atomic_load_explicit(&scope->live, memory_order_relaxed);
    do
        if (rn__unlikely(
                (int32_t)live <= 0 ||
                atomic_load_explicit(&scope->cancelled, memory_order_acquire)))
            return rn__scope_enter_slow(scope, task);
    while (rn__unlikely(!rn__cas(&scope->live, &live, live + 1)));
    rn__scope_settle(scope, task);
    return 0;
}

/* A task waits for the first time. */
void rn__scope_list(struct rn__task *task);
/* It moves: take it out of the list. */
void rn__scope_delist(struct rn__task *task);
/* It has ended: take it out again, count it, keep it for a join. */
void rn__scope_unlist(struct rn__task *task);

/* By who has brought live to this. Returns a claimed waiter to be fired, or
 * NULL. */
struct rn__waiter *rn__scope_emptied(struct rn__rt *rt, struct rn_scope *scope,
                                     uint32_t live);

/* Give a place back. Returns a claimed waiter to be fired, or NULL. */
static inline struct rn__waiter *
rn__scope_give_back(struct rn__rt *rt, struct rn_scope *scope)
{
    /* acquire, release: the last one sees what all have done */
    uint32_t live = rn__add(&scope->live, UINT32_MAX);
    if (rn__likely((int32_t)live > 0))
        return NULL; /* it may be freed from here on */
    return rn__scope_emptied(rt, scope, live);
}

/* The task has ended and leaves its home. Returns a claimed waiter to be fired,
 * or NULL. With the last task of the root scope the runtime stops. */
static inline struct rn__waiter *
rn__scope_leave(struct rn__task *task)
{
    struct rn_scope *scope = task->home;
    if (task->at_home)
        rn__scope_unlist(task);
    return rn__scope_give_back(task->rt, scope);
}

#endif
