/* core/scope.c - scopes: who must end before whom, and who sees a cancel.
 *
 * scope->lock guards the lists of a scope, and what is said of its tasks.
 *
 * A spawn and an end of a task only count (scope.h); a task joins the list when
 * it first waits, under the lock and before it looks for the mark: so it sees
 * the mark, or the waking pass, which comes after that, finds it. A task that
 * enters after the mark is refused, or does not begin. A scope opened below
 * after the mark inherits it; one opened before is in the list the marking pass
 * walks (cancel.c).
 *
 * A scope with a report, or outcomes, marks that in live: a spawn looks at live
 * anyway, and the tasks of no other scope count themselves.
 *
 * Refused: one lock for the whole tree (every open and close would meet there).
 */
#include "core/core.h"

#include "base/mem.h"

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

static void
wait_unpinned(struct rn_scope *scope)
{
    /* acquire, here and below: partners with rn__scope_unpin */
    uint32_t pins = atomic_load_explicit(&scope->pins, memory_order_acquire);
    if (rn__likely(!pins))
        return;
    if (pins & RN__SCOPE_CONTEXTS)
        rn__scope_leave_contexts(scope);
    while (atomic_load_explicit(&scope->pins, memory_order_acquire) &
           ~RN__SCOPE_CONTEXTS)
        rn__os_relax();
    if (pins & RN__SCOPE_CONTEXTS)
        rn__scope_drop_contexts(scope);
}

/* ---- tasks come and go -------------------------------------------------- */

int
rn__scope_reserve(struct rn_scope *scope)
{
    uint32_t live = atomic_load_explicit(&scope->live, memory_order_relaxed);
    do {
        if ((live & ~RN__SCOPE_COUNTS) == 0)
            return -EPIPE;
        if (rn__scope_cancelled(scope))
            return -ECANCELED;
    } while (!rn__cas(&scope->live, &live, live + 1));
    return 0;
}

void
rn__scope_admit(struct rn_scope *scope, struct rn__task *task)
{
    /* relaxed: set before the scope was known to anybody */
    if (atomic_load_explicit(&scope->live, memory_order_relaxed) &
        RN__SCOPE_COUNTS) {
        /* relaxed: only to be different for each */
        task->index =
            atomic_fetch_add_explicit(&scope->spawned, 1, memory_order_relaxed);
        task->at_home |= RN__HOME_COUNTED;
    }
    rn__scope_settle(scope, task);
}

int
rn__scope_enter_slow(struct rn_scope *scope, struct rn__task *task)
{
    int error = rn__scope_reserve(scope);
    if (!error)
        rn__scope_admit(scope, task);
    return error;
}

void
rn__scope_delist(struct rn__task *task)
{
    rn__lock(&task->home->lock);
    rn__list_unlink(&task->sibling);
    rn__unlock(&task->home->lock);
}

static size_t
index_of(const struct rn__task *task)
{
    return task->at_home & RN__HOME_COUNTED ? task->index : RN_INDEX_NONE;
}

void
rn__scope_note(struct rn__rt *rt, struct rn_scope *scope,
               const rn_failure *failure)
{
    rn__lock(&scope->lock);
    bool first = !scope->error;
    bool listed = scope->report && rn__report_add(scope->report, failure);
    if (first)
        scope->error = failure->code;
    rn__unlock(&scope->lock);
    if (listed)
        return;
    if (!first) /* what close returns says it of the first */
        rn__report_unheard(rt, failure);
    if (failure->drop)
        failure->drop(failure->payload);
}

size_t
rn__scope_index(const struct rn__task *task, struct rn_scope **scope)
{
    const struct rn__carrier *carrier = task->carrier;
    *scope = carrier ? carrier->scope : task->home;
    return carrier ? carrier->item : index_of(task);
}

void
rn__scope_note_task(struct rn__task *task, enum rn_phase phase, int code,
                    const void *site)
{
    struct rn_scope *scope;
    size_t index = rn__scope_index(task, &scope);
    rn_failure failure = {index, phase, code, NULL, NULL, site};
    rn__fail_take(task, &failure);
    rn__scope_note(task->rt, scope, &failure);
}

static void
give_up(struct rn_scope *scope)
{
    /* relaxed: read once all have left */
    if (!atomic_load_explicit(&scope->gave_up, memory_order_relaxed))
        atomic_store_explicit(&scope->gave_up, true, memory_order_relaxed);
}

/* Who gives up because it alone was told to has done what it should. */
void
rn__scope_failed(struct rn__task *task, int result)
{
    struct rn_scope *scope = task->home;
    bool asked = rn__scope_cancelled(scope); /* then all are told already */
    bool told = atomic_load_explicit(&task->told, memory_order_relaxed) != 0;
    bool gives_up = result == -ECANCELED && !(task->at_home & RN__HOME_FAILED);
    if (gives_up && (asked || !told))
        give_up(scope);
    else if (!gives_up && !(task->at_home & RN__HOME_FAILED))
        rn__scope_note_task(task, RN_PHASE_TASK, result, task->spawn_site);
    if (asked || scope->collects || (gives_up && told))
        return;
    rn__scope_cancel_by(task->rt, scope,
                        gives_up ? RN__CANCEL_SELF : RN__CANCEL_CHILD, result,
                        index_of(task));
}

void
rn__scope_list(struct rn__task *task)
{
    struct rn_scope *scope = task->home;
    rn__lock(&scope->lock);
    rn__list_insert(&scope->tasks, &task->sibling);
    rn__unlock(&scope->lock);
    task->at_home |= RN__HOME_LISTED;
}

/* Under scope->lock: how a task has ended. */
static void
count(struct rn_scope *scope, const struct rn__task *task)
{
    rn_outcome outcome = task->result >= 0            ? RN_OUTCOME_OK
                         : task->result == -ECANCELED ? RN_OUTCOME_CANCELLED
                                                      : RN_OUTCOME_ERR;
    if (task->index < scope->outcome_room)
        scope->outcomes[task->index] = outcome;
    if (scope->report && outcome == RN_OUTCOME_OK)
        scope->report->ok++;
    else if (scope->report && outcome == RN_OUTCOME_CANCELLED)
        scope->report->cancelled++;
}

void
rn__scope_unlist(struct rn__task *task)
{
    struct rn_scope *scope = task->home;
    rn__lock(&scope->lock);
    if (task->at_home & RN__HOME_LISTED)
        rn__list_unlink(&task->sibling);
    if (task->at_home & RN__HOME_COUNTED)
        count(scope, task);
    if (task->at_home & RN__HOME_KEEP)
        rn__list_append(&scope->ended, &task->sibling);
    rn__unlock(&scope->lock);
    if (task->at_home & RN__HOME_PLACED)
        scope->on_leave(scope->on_leave_arg);
}

/* What is cancelled later changes nothing. */
static void
note_end(struct rn_scope *scope)
{
    scope->end_reason = rn__scope_reason(scope);
}

struct rn__waiter *
rn__scope_emptied(struct rn__rt *rt, struct rn_scope *scope, uint32_t live)
{
    if (live & ~RN__SCOPE_COUNTS)
        return NULL; /* it may be freed */
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

void
rn__scope_expire(struct rn__timer *timer, struct rn__expired *out)
{
    struct rn_scope *scope = rn__container_of(timer, struct rn_scope, timer);
    rn__note(scope->is_context ? RN__CONTEXT_DUE : RN__EXPIRE, &scope->object,
             NULL);
    /* relaxed: under the lock */
    if (atomic_load_explicit(&scope->expired, memory_order_relaxed))
        return; /* it may still be in the list of the first time */
    atomic_store_explicit(&scope->expired, true, memory_order_relaxed);
    rn__scope_pin(scope);
    scope->expired_next = out->scopes;
    out->scopes = scope;
}

static void
arm(struct rn__rt *rt, struct rn_scope *scope, rn_time deadline)
{
    atomic_store_explicit(&scope->deadline, deadline, memory_order_relaxed);
    if (deadline != RN_NEVER && deadline > rn__rt_now(rt)) {
        rn__timer_restart(&rn__worker_self()->timers, &scope->timer, deadline,
                          0);
        return;
    }
    rn__timer_stop(&scope->timer);
    if (deadline != RN_NEVER)
        rn__scope_cancel(rt, scope, RN__CANCEL_DEADLINE);
}

/* Under home->lock. */
static void
set_outer(struct rn__task *self, struct rn_scope *outer)
{
    /* relaxed: only it changes while it runs; under the lock */
    uint8_t state = atomic_load_explicit(&self->state, memory_order_relaxed);
    state &= (uint8_t)~RN__TASK_OPENED;
    self->outer = outer;
    atomic_store_explicit(&self->state, outer ? state | RN__TASK_OPENED : state,
                          memory_order_relaxed);
}

/* Who opens a scope inside a shield, right where it was pushed, passes no
 * cancel on. */
static void
link_below(struct rn_scope *scope, struct rn_scope *parent,
           struct rn__task *self)
{
    scope->shields = self->shields;
    if (rn__unlikely(self->shields != rn__shields_outside(parent, self)))
        return;
    rn__lock(&parent->lock);
    rn__list_append(&parent->inner, &scope->in_parent);
    if (parent == self->home)
        set_outer(self, scope);
    if (rn__unlikely(rn__cancel_near(self))) { /* scope is still parent */
        int code = 0;
        if (rn__cancel_seen(self, &code))
            rn__scope_inherit(scope, code);
    }
    rn__unlock(&parent->lock);
}

static void
unlink_from(struct rn_scope *parent, struct rn_scope *scope,
            struct rn__task *self)
{
    rn__lock(&parent->lock);
    rn__list_remove(&scope->in_parent);
    if (parent == self->home)
        set_outer(self, NULL);
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
    rn__clear(scope, sizeof *scope);
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

__attribute__((noinline)) static void
start_report(struct rn_scope *scope, const rn_scope_options *options)
{
    scope->collects = options->flags & RN_SCOPE_COLLECT;
    scope->name = options->name;
    scope->report = options->report;
    scope->outcomes = options->outcomes;
    scope->outcome_room = options->outcomes ? options->outcome_room : 0;
    if (scope->report)
        rn__report_begin(scope->report);
    for (size_t i = 0; i < scope->outcome_room; i++)
        scope->outcomes[i] = RN_OUTCOME_NOT_RUN;
    if (scope->report || scope->outcomes)
        atomic_store_explicit(&scope->live, RN__SCOPE_COUNTS | 1,
                              memory_order_relaxed);
}

void
rn__scope_begin(struct rn_scope *scope, struct rn__task *self, rn_time deadline,
                const void *site)
{
    rn__scope_init(scope, self->scope, self);
    rn__timer_init(&scope->timer, rn__scope_expire);
    rn__step(RN__SCOPE_OPEN, &scope->object, site);
    link_below(scope, self->scope, self);
    self->scope = scope;
    rn__task_touch(self);
    if (deadline != RN_NEVER)
        arm(self->rt, scope, deadline);
}

__attribute__((always_inline)) static inline int
open_scope(struct rn__task *self, rn_time deadline,
           const rn_scope_options *options, rn_scope **scope, const void *site)
{
    struct rn__rt *rt = self->rt;
    struct rn_scope *s = scope_get(rt);
    if (!s)
        return -ENOMEM;
    rn__scope_init(s, self->scope, self);
    rn__timer_init(&s->timer, rn__scope_expire);
    if (options && options->context && !rn__scope_under(s, options->context)) {
        scope_put(rt, s);
        return -ENOMEM;
    }
    if (options)
        start_report(s, options);
    rn__step(RN__SCOPE_OPEN, &s->object, site);
    link_below(s, self->scope, self);
    self->scope = s;
    rn__task_touch(self);
    arm(rt, s, deadline);
    if (options && options->context)
        rn__scope_follow(s);
    *scope = s;
    return 0;
}

int
rn_scope_open(rn_time deadline, rn_scope **scope)
{
    struct rn__task *self = rn__self_in("rn_scope_open");
    rn__need(scope, "rn_scope_open", rn__site());
    return open_scope(self, deadline, NULL, scope, rn__site());
}

int
rn__scope_open(struct rn__task *self, const rn_scope_options *options,
               rn_scope **scope, const void *site)
{
    if (!options)
        return open_scope(self, RN_NEVER, NULL, scope, site);
    if (options->flags & ~(unsigned)RN_SCOPE_COLLECT)
        return -EINVAL;
    rn_time deadline = options->deadline ? options->deadline : RN_NEVER;
    return open_scope(self, deadline, options, scope, site);
}

int
rn_scope_open_with(const rn_scope_options *options, rn_scope **scope)
{
    struct rn__task *self = rn__self_in("rn_scope_open_with");
    rn__need(scope, "rn_scope_open_with", rn__site());
    return rn__scope_open(self, options, scope, rn__site());
}

static void
join_all(struct rn__task *self, struct rn_scope *scope, const void *site)
{
    uint32_t counts = RN__SCOPE_COUNTS &
                      atomic_load_explicit(&scope->live, memory_order_relaxed);
    uint32_t mine = counts | 1;
    if (rn__cas(&scope->live, &mine, counts)) {
        note_end(scope);
        return;
    }
    struct rn__waiter waiter = {.task = self};
    rn__wait_open(self, RN__SCOPE_CLOSE, &scope->object, site, false);
    scope->closer = &waiter;
    /* release: the waiter, for who comes last; acquire: if that is us */
    if (rn__add(&scope->live, UINT32_MAX) != counts) {
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
    return atomic_load_explicit(&scope->gave_up, memory_order_relaxed)
               ? -ECANCELED
               : 0;
}

/* Nobody else is at it any more. */
void
rn__scope_end_report(const struct rn_scope *scope, int result)
{
    rn_report *report = scope->report;
    report->status = result;
    report->trigger = (rn_reason)scope->end_reason;
    report->trigger_index = scope->end_reason ? scope->culprit : RN_INDEX_NONE;
    report->trigger_code = scope->end_reason ? scope->code : 0;
    rn__report_sort(report);
}

static void
check_innermost(const struct rn__task *self, const struct rn_scope *scope,
                const char *function, const void *site)
{
    rn__need(scope, function, site);
    if (rn__unlikely(self->scope != scope || scope->owner != self))
        rn__panic_at(site,
                     "%s of what is not the innermost scope the caller has "
                     "open (closed before, or another is open inside it)",
                     function);
    if (rn__unlikely(self->shields != scope->shields))
        rn__panic_at(site, "%s with a shield pushed inside it", function);
}

void
rn__scope_finish(struct rn_scope *scope, struct rn__task *self,
                 const void *site)
{
    join_all(self, scope, site);
    rn__timer_stop(&scope->timer);
    drop_ended(scope);
    unlink_from(scope->parent, scope, self);
    self->scope = scope->parent;
    wait_unpinned(scope);
    rn__lock(&scope->watch_lock);
    bool watched = !rn__list_empty(&scope->watchers);
    rn__unlock(&scope->watch_lock);
    if (watched)
        rn__panic_at(site, "rn_scope_close of a scope a select waits for");
}

static int
close_scope(struct rn__task *self, struct rn_scope *scope, const void *site)
{
    rn__scope_finish(scope, self, site);
    int result = status(scope);
    if (scope->report)
        rn__scope_end_report(scope, result);
    scope_put(self->rt, scope);
    return result;
}

int
rn_scope_close(rn_scope *scope)
{
    struct rn__task *self = rn__self_in("rn_scope_close");
    const void *site = rn__site();
    check_innermost(self, scope, "rn_scope_close", site);
    rn__step(RN__SCOPE_CLOSE, &scope->object, site);
    if (rn__unlikely(self->defers != NULL))
        rn__finalizer_tell(self, scope);
    return close_scope(self, scope, site);
}

/* The body is one more child. */
static void
body_failed(struct rn__task *self, struct rn_scope *scope, int body,
            const void *site)
{
    bool asked = rn__cancel_check(self) != 0;
    bool gives_up = body == -ECANCELED;
    rn_failure failure = {RN_INDEX_NONE, RN_PHASE_BODY, body, NULL, NULL, site};
    rn__fail_take(self, &failure);
    if (gives_up)
        give_up(scope);
    else
        rn__scope_note(self->rt, scope, &failure);
    if (gives_up && failure.drop) /* nobody is told */
        failure.drop(failure.payload);
    if (!asked && !scope->collects)
        rn__scope_cancel_by(self->rt, scope,
                            gives_up ? RN__CANCEL_SELF : RN__CANCEL_CHILD, body,
                            RN_INDEX_NONE);
}

int
rn__scope_close(struct rn__task *self, rn_scope *scope, int body,
                const char *function, const void *site)
{
    check_innermost(self, scope, function, site);
    rn__step(RN__SCOPE_CLOSE, &scope->object, site);
    if (body < 0)
        body_failed(self, scope, body, site);
    if (rn__unlikely(self->defers != NULL))
        rn__finalizer_tell(self, scope);
    rn_report *report = scope->report;
    int result = close_scope(self, scope, site);
    if (result < 0 || body <= 0)
        return result;
    if (report)
        report->status = body;
    return body;
}

int
rn_scope_close_with(rn_scope *scope, int body)
{
    return rn__scope_close(rn__self_in("rn_scope_close_with"), scope, body,
                           "rn_scope_close_with", rn__site());
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
    /* relaxed: arm has had the lock of the timer, so it is seen if the old
     * deadline had passed; the cancel is on its way */
    return atomic_load_explicit(&scope->expired, memory_order_relaxed)
               ? -ECANCELED
               : 0;
}
