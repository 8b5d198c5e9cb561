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
    if (code < 0) {
        self->at_home |= RN__HOME_FAILED;
        rn__scope_note_task(self, RN_PHASE_FINALIZER, code, d->site, true);
    } else {
        forget(self);
    }
    return code;
}

int
rn__finalize(struct rn__task *self, int outcome)
{
    int result = outcome;
    bool shows = outcome != -ECANCELED; /* who gives up says so at the end */
    /* what it has left pushed ends here */
    self->shields = rn__shields_outside(self->scope, self);
    if (outcome < 0 && shows) {
        rn__scope_note_task(self, RN_PHASE_TASK, outcome, self->spawn_site,
                            true);
        self->at_home |= RN__HOME_FAILED;
    } else {
        forget(self);
    }
    struct rn__defer *d;
    while ((d = self->defers)) {
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
    return result;
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
    shield = rn_shield_push();
    result = release(arg, used);
    rn_shield_restore(shield);
    if (result >= 0)
        return used;
    if (used >= 0 || used == -ECANCELED)
        return result;
    /* What has been said may be use's, which tells of its failure itself. */
    rn__scope_note_task(self, RN_PHASE_FINALIZER, result, site, false);
    return used;
}
