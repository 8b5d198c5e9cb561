/* core/finalizer.c - deferred calls, and rn_bracket.
 *
 * A task keeps its finalizers in a list, last first, and runs them once its
 * function has returned, inside a shield. A failure is noted when it happens,
 * that of the function before all: so the report has them in order. The scope
 * is cancelled when the task has ended. Nothing abandons a finalizer.
 */
#include "core/core.h"

static int
defer(rn_finalizer_fn *fn, void *arg, enum rn__when when, const char *function,
      const void *site)
{
    struct rn__task *self = rn__self();
    if (!self)
        rn__outside(function, site);
    rn__need(fn, function, site);
    struct rn__defer *d = rn__alloc(self->rt, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->fn = fn;
    d->arg = arg;
    d->site = site;
    d->when = when;
    d->next = self->defers;
    self->defers = d;
    rn__task_touch(self);
    rn__count(rn__worker_self(), deferred);
    return 0;
}

int
rn_defer(rn_finalizer_fn *fn, void *arg)
{
    return defer(fn, arg, RN__DEFER_ALWAYS, "rn_defer", rn__site());
}

int
rn_defer_on_error(rn_finalizer_fn *fn, void *arg)
{
    return defer(fn, arg, RN__DEFER_ON_ERROR, "rn_defer_on_error", rn__site());
}

int
rn_defer_on_cancel(rn_finalizer_fn *fn, void *arg)
{
    return defer(fn, arg, RN__DEFER_ON_CANCEL, "rn_defer_on_cancel",
                 rn__site());
}

static bool
applies(enum rn__when when, int outcome)
{
    return when == RN__DEFER_ALWAYS ||
           when == (outcome >= 0            ? RN__DEFER_NEVER
                    : outcome == -ECANCELED ? RN__DEFER_ON_CANCEL
                                            : RN__DEFER_ON_ERROR);
}

/* Drop what rn_fail has said without a failure, so that no later one has it. */
static void
forget(struct rn__task *self)
{
    rn_failure nothing = {.code = 0};
    if (self->defers)
        rn__fail_take(self, &nothing);
}

/* Run one; returns its code. By the worker's coarse clock: it is read anew in
 * each wait, and who computes for long is the monitor's business. */
static int
run(struct rn__task *self, const struct rn__defer *d, int outcome)
{
    rn_time began = rn__worker_self()->clock;
    rn_shield shield = rn_shield_push();
    int code = applies(d->when, outcome) ? d->fn(d->arg, outcome) : 0;
    rn_shield_restore(shield);
    struct rn__worker *worker = rn__worker_self();
    rn__count(worker, finalized);
    if (rn__unlikely(worker->clock - began >= self->rt->options.watchdog))
        rn__watchdog_slow_finalizer(self, d->site, worker->clock - began);
    if (code < 0 && code != -ECANCELED) {
        self->at_home |= RN__HOME_FAILED;
        rn__scope_note_task(self, RN_PHASE_FINALIZER, code, d->site);
    } else {
        forget(self);
    }
    return code;
}

/* Of a scope the calling task has opened it is the body that failed; NULL: the
 * task, or the item. */
static void
tell(struct rn__task *self, struct rn_scope *scope, const struct rn__defer *d)
{
    rn_failure failure = {
        RN_INDEX_NONE, RN_PHASE_FINALIZER, d->code, d->arg, d->drop, d->site};
    if (!scope)
        failure.index = rn__scope_index(self, &scope);
    rn__scope_note(self->rt, scope, &failure);
}

/* The oldest that is to be told of this scope, or of any; NULL: none. */
static struct rn__defer *
take_told(struct rn__task *self, const struct rn_scope *scope)
{
    struct rn__defer **oldest = NULL;
    for (struct rn__defer **at = &self->defers; *at; at = &(*at)->next)
        if ((*at)->when == RN__DEFER_TELL && (!scope || (*at)->scope == scope))
            oldest = at;
    struct rn__defer *d = oldest ? *oldest : NULL;
    if (d)
        *oldest = d->next;
    return d;
}

void
rn__finalizer_tell(struct rn__task *self, struct rn_scope *scope)
{
    struct rn__defer *d;
    while ((d = take_told(self, scope))) {
        tell(self, scope, d);
        rn__free(self->rt, d);
    }
}

int
rn__finalize(struct rn__task *self, int outcome, const void *site)
{
    int result = outcome;
    bool shows = outcome != -ECANCELED; /* who gives up says so at the end */
    /* what it has left pushed ends here */
    self->shields = rn__shields_outside(self->scope, self);
    if (outcome < 0 && shows) {
        rn__scope_note_task(self, RN_PHASE_TASK, outcome, site);
        self->at_home |= RN__HOME_FAILED;
    } else {
        forget(self);
    }
    struct rn__defer *d;
    for (;;) {
        rn__finalizer_tell(self, NULL);
        if (!(d = self->defers))
            return result;
        self->defers = d->next;
        int code = 0;
        if (d->when != RN__DEFER_NEVER)
            code = run(self, d, outcome);
        else if (d->drop)
            d->drop(d->arg);
        if (code < 0 && (result >= 0 || result == -ECANCELED))
            result = code;
        rn__free(self->rt, d);
    }
}

/* The scope the calling task has opened last, and not closed; NULL: none. */
static struct rn_scope *
opened(const struct rn__task *self)
{
    struct rn_scope *scope = self->scope;
    bool is_item = self->carrier && self->carrier->scope == scope;
    return scope == self->home || is_item ? NULL : scope;
}

/* A release has failed after use has, which its caller may tell of yet: so that
 * use's failure comes first this one is kept until then. Without memory it is
 * told at once. */
static void
tell_later(struct rn__task *self, const rn_failure *failure)
{
    struct rn__defer *d = rn__alloc(self->rt, sizeof *d);
    struct rn__defer now = {.scope = opened(self),
                            .arg = failure->payload,
                            .site = failure->site,
                            .when = RN__DEFER_TELL,
                            .code = failure->code,
                            .drop = failure->drop};
    if (!d) {
        tell(self, now.scope, &now);
        return;
    }
    *d = now;
    d->next = self->defers;
    self->defers = d;
    rn__task_touch(self);
}

/* Release after use has failed, whose payload is kept. */
static void
release_too(struct rn__task *self, rn_finalizer_fn *release, void *arg,
            int used, const void *site)
{
    struct rn__defer *said = rn__fail_pop(self);
    rn_shield shield = rn_shield_push();
    rn_failure failure = {.site = site};
    failure.code = release(arg, used);
    rn_shield_restore(shield);
    rn__fail_take(self, &failure);
    if (failure.code < 0 && failure.code != -ECANCELED)
        tell_later(self, &failure);
    else if (failure.drop)
        failure.drop(failure.payload);
    if (said) {
        said->next = self->defers;
        self->defers = said;
    }
}

int
rn_bracket(int (*acquire)(void *arg), int (*use)(void *arg),
           rn_finalizer_fn *release, void *arg)
{
    struct rn__task *self = rn__self_in("rn_bracket");
    const void *site = rn__site();
    rn__need(use, "rn_bracket", site);
    rn__need(release, "rn_bracket", site);
    rn__step(RN__POLL, NULL, site);
    if (rn__cancel_check(self))
        return -ECANCELED;
    rn_shield shield = rn_shield_push();
    int result = acquire ? acquire(arg) : 0;
    rn_shield_restore(shield);
    if (result < 0)
        return result;
    int used = use(arg);
    if (used < 0 && used != -ECANCELED) {
        release_too(self, release, arg, used, site);
        return used;
    }
    shield = rn_shield_push();
    result = release(arg, used);
    rn_shield_restore(shield);
    return result < 0 ? result : used;
}
