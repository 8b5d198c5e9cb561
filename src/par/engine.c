/* par/engine.c - who runs which items, and when all is over.
 *
 * Under op->lock a carrier takes a block of items: what is left of another's
 * block, or else the first ones that nobody has taken. Then it runs them as
 * plain calls, with a look at scope.cancelled before each and nothing else that
 * is shared. pace.c says how large blocks are and when to call others.
 *
 * A carrier whose item waits for the first time (rn__carriers_suspend) keeps
 * this item only: it publishes the rest of its block, and if no able carrier is
 * left it spawns one. So, limit permitting, all items that wait do so at once.
 * INVARIANT: while items are left and the operation is not cancelled, a carrier
 * is able, or as many are active as may be; one of these becomes able when its
 * item ends. A rest lives with its carrier, which takes it back unless others
 * were faster.
 *
 * The operation returns when its scope is empty: carriers are tasks of it. They
 * begin even if it is cancelled, as others count on them.
 *
 * Refused: a word {lo, hi} for each carrier, whose upper half thieves cut off
 * by compare-and-swap. It costs one for each item, or, if the owner takes
 * blocks out of it too, gives no more than one counter for all, which also
 * keeps the order that a limit promises. And a counter without a lock: a block
 * takes 10 us, the lock 20 ns.
 */
#include "par/par.h"

#include "base/mem.h"

#include <string.h>

enum { SIM_WIDTH = 3 }; /* able carriers where workers do not count */

static void share(struct rn__carry *carry);

/* ---- how items end ------------------------------------------------------ */

static rn_outcome
outcome_of(int result)
{
    return result >= 0            ? RN_OUTCOME_OK
           : result == -ECANCELED ? RN_OUTCOME_CANCELLED
                                  : RN_OUTCOME_ERR;
}

/* Cancel what has not ended. */
static void
cancel(struct rn__par *op, uint32_t reason, size_t i, int code)
{
    if (!rn__par_stopped(op))
        rn__scope_cancel_by(rn__rt_self(), &op->scope, reason, code, i);
}

static uint32_t
reason_of(int code)
{
    return code == -ECANCELED ? RN__CANCEL_SELF : RN__CANCEL_CHILD;
}

void
rn__par_failed(struct rn__par *op, int code)
{
    rn_failure failure = {RN_INDEX_NONE, RN_PHASE_BODY, code,
                          NULL,          NULL,          op->site};
    rn__step(RN__PAR_FAIL, &op->object, op->site);
    if (code != -ECANCELED)
        rn__scope_note(rn__rt_self(), &op->scope, &failure);
    cancel(op, reason_of(code), RN_INDEX_NONE, code);
}

/* Run the item's deferred calls; returns what it ended with. *noted: its error
 * has been noted. */
static int
finalize(struct rn__carry *carry, int result, bool *noted)
{
    struct rn__task *self = carry->task;
    uint8_t before = self->at_home & RN__HOME_FAILED; /* of another item */
    *noted = false;
    if (!self->defers)
        return result;
    self->at_home &= (uint8_t)~RN__HOME_FAILED;
    result = rn__finalize(self, result, carry->op->site);
    *noted = self->at_home & RN__HOME_FAILED;
    self->at_home = (uint8_t)((self->at_home & ~RN__HOME_FAILED) | before);
    return result;
}

/* What to cancel the others with; RN__CANCEL_NO: nothing. */
static uint32_t
judge(struct rn__carry *carry, size_t i, int result)
{
    struct rn__par *op = carry->op;
    uint32_t reason = RN__CANCEL_NO;
    rn__lock(&op->lock);
    if (result == -ECANCELED)
        op->cancelled += carry->weight;
    else if (result < 0)
        op->failed += carry->weight;
    if (op->kind->judge)
        reason = op->kind->judge(op, i, result);
    else if (result < 0 && !(op->flags & RN_PAR_COLLECT))
        reason = reason_of(result);
    rn__unlock(&op->lock);
    return reason;
}

void
rn__par_ended(struct rn__carry *carry, int result)
{
    struct rn__par *op = carry->op;
    struct rn__task *self = carry->task;
    size_t i = carry->next - carry->weight;
    bool noted;
    carry->base.item = i;
    /* relaxed: own use, see core.h */
    uint8_t touched =
        atomic_exchange_explicit(&self->touched, 0, memory_order_relaxed);
    carry->touched |= touched;
    if (touched & RN__CALLED)
        share(carry);
    if (self->scope != &op->scope)
        rn__panic_at(op->site, "an item ended with a scope still open");
    result = finalize(carry, result, &noted);
    /* those it has left end with it */
    self->shields = rn__shields_outside(&op->scope, self);
    self->shield_top = carry->shield_top;
    if (op->outcomes)
        op->outcomes[i] = outcome_of(result);
    if (result >= 0 && !op->kind->judge)
        return;
    rn__step(RN__PAR_FAIL, &op->object, op->site);
    if (result < 0)
        carry->bad += carry->weight;
    uint32_t reason = judge(carry, i, result);
    if (result < 0 && result != -ECANCELED && !noted)
        rn__scope_note_task(self, RN_PHASE_TASK, result, op->site);
    if (reason)
        cancel(op, reason, i, result);
}

/* ---- carriers ----------------------------------------------------------- */

/* Under the lock: whether there is something to take. */
static bool
has_items(const struct rn__par *op)
{
    return !rn__par_stopped(op) && !op->pulling &&
           (op->next < op->n || !rn__list_empty(&op->spares));
}

/* Under the lock: whether one more carrier may be spawned, who is counted. */
static bool
reserve(struct rn__par *op)
{
    if (op->active >= op->limit)
        return false;
    op->active++;
    op->able++;
    return true;
}

/* Spawn the one that was reserved. Without memory there is none: then who is
 * active goes on alone. No step: it may be called by a task that parks. */
static void
spawn(struct rn__par *op, bool offer)
{
    struct rn__task *task = rn__task_make(rn__par_carry, op, op->site);
    const char *name = op->options->name;
    if (task) {
        /* relaxed: for dumps */
        atomic_store_explicit(&task->name, name, memory_order_relaxed);
        task->known = name != NULL;
        task->at_home = RN__HOME_BEGINS;
        if (rn__scope_enter(&op->scope, task) == 0) {
            rn__count(rn__worker_self(), tasks);
            if (offer)
                rn__sched_offer(task);
            else
                rn__sched_ready(task);
            return;
        }
        rn__task_free(task);
    }
    rn__lock(&op->lock);
    op->active--;
    op->able--;
    rn__unlock(&op->lock);
}

/* Under the lock: the carrier does no more. */
static void
retire(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    rn__list_remove(&carry->spare);
    rn__list_remove(&carry->riches);
    op->able -= carry->able;
    op->active--;
    carry->able = false;
}

/* Under the lock: from here on its block is for all. */
static void
publish(struct rn__carry *carry, size_t from)
{
    size_t to = carry->block.hi;
    /* What is published already, and not taken, lies right behind. */
    if (!rn__list_empty(&carry->spare))
        to = carry->rest.hi;
    else
        rn__list_append(&carry->op->spares, &carry->spare);
    carry->rest = (struct rn__span){from, to};
    carry->block.hi = from;
}

/* Its item is about to wait, on the stack of its task, which has opened a wait.
 */
static void
suspend(struct rn__carrier *base)
{
    struct rn__carry *carry = rn__container_of(base, struct rn__carry, base);
    struct rn__par *op = carry->op;
    rn__lock(&op->lock);
    if (carry->next < carry->block.hi)
        publish(carry, carry->next);
    rn__list_remove(&carry->riches); /* or who begs asks all that wait */
    rn__task_touch(carry->task);     /* so rn__par_loop sees the new end */
    carry->able = false;
    bool alone = --op->able == 0 && has_items(op) && reserve(op);
    rn__unlock(&op->lock);
    if (alone)
        spawn(op, false);
}

/* Between two items of a block: give the upper half of what is left of it to
 * somebody who has nothing to do. */
static void
share(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    size_t left = carry->block.hi - carry->next;
    if (left < 2 || !rn__pace_shares(carry, left))
        return;
    rn__lock(&op->lock);
    bool shared = rn__list_empty(&carry->spare) && op->able < op->width &&
                  !rn__par_stopped(op) && reserve(op);
    if (shared)
        publish(carry, carry->next + left / 2);
    rn__unlock(&op->lock);
    if (shared)
        spawn(op, true);
}

/* ---- taking ------------------------------------------------------------- */

/* Those of the block that have said nothing else have ended well. Not while
 * they run: the loops are short. */
static void
tell_outcomes(const struct rn__carry *carry)
{
    rn_outcome *outcomes = carry->op->outcomes;
    for (size_t i = carry->block.lo; outcomes && i < carry->next; i++)
        if (outcomes[i] == RN_OUTCOME_NOT_RUN)
            outcomes[i] = RN_OUTCOME_OK;
}

/* Under the lock: what became of the block that was run. */
static void
account(struct rn__carry *carry, uint32_t seen)
{
    struct rn__par *op = carry->op;
    size_t done = carry->next - carry->block.lo;
    if (done == 0)
        return;
    op->ok += done - carry->bad;
    op->seen |= seen;
    carry->pace.size = done;
    carry->block.lo = carry->next;
    carry->bad = 0;
}

/* Under the lock: whether the carrier may take more. One whose item has waited
 * is only needed if there are too few others, or for its own rest. */
static bool
enable(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    if (carry->able)
        return true;
    if (op->able >= op->width && rn__list_empty(&carry->spare))
        return false;
    op->able++;
    return carry->able = true;
}

static size_t
block_size(struct rn__carry *carry, size_t left)
{
    const struct rn__par *op = carry->op;
    size_t chunk = op->options->chunk;
    if (op->strict && op->width > 1)
        return chunk == 0 ? 1 : chunk < left ? chunk : left;
    return rn__pace_block(carry, left);
}

/* Under the lock; there is one. All of it: what its carrier has left is to lie
 * right before it (publish). */
static void
take_spare(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    struct rn__carry *from = carry;
    if (rn__list_empty(&carry->spare))
        from = rn__container_of(op->spares.next, struct rn__carry, spare);
    block_size(carry, from->rest.hi - from->rest.lo);
    carry->block = from->rest;
    rn__list_remove(&from->spare);
}

/* Under the lock. */
static bool
take_block(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    if (!has_items(op))
        return false;
    if (!rn__list_empty(&op->spares)) {
        take_spare(carry);
    } else {
        size_t size = op->kind->pull ? 1 : block_size(carry, op->n - op->next);
        carry->block = (struct rn__span){op->next, op->next + size};
        op->next += size;
        op->pulling = op->kind->pull != NULL;
    }
    carry->next = carry->block.lo;
    if (carry->block.hi - carry->block.lo > 1 && rn__list_empty(&carry->riches))
        rn__list_append(&op->rich, &carry->riches);
    return true;
}

/* Under the lock: whether another carrier is to be spawned, who is counted. */
static bool
call(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    return op->able < op->width && has_items(op) &&
           rn__pace_calls(carry, op->n - op->next) && reserve(op);
}

/* The item that was taken does not exist yet. False: it never will. */
static bool
pull(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    int got = op->kind->pull(carry);
    if (got < 0)
        rn__par_failed(op, got);
    rn__lock(&op->lock);
    op->pulling = false;
    bool calls = got > 0 && call(carry);
    if (got == 0)
        op->n = op->next = carry->block.lo;
    if (got <= 0)
        retire(carry);
    rn__unlock(&op->lock);
    if (calls)
        spawn(op, true);
    return got > 0;
}

/* Under the lock: a carrier is about to end for want of items, while others may
 * have more than they thought. */
static void
beg(struct rn__par *op, const struct rn__carry *self)
{
    rn__list_each (node, &op->rich) {
        struct rn__carry *carry =
            rn__container_of(node, struct rn__carry, riches);
        if (carry != self && carry->block.hi - carry->block.lo > 1)
            /* relaxed: a hint; partners with rn__par_odd */
            atomic_fetch_or_explicit(&carry->task->touched, RN__CALLED,
                                     memory_order_relaxed);
    }
}

/* Take a block; false: the carrier is not needed any more. */
static bool
take(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    /* The moment the last item ended. */
    uint32_t seen = rn__scope_reason(&op->scope);
    rn__step(RN__PAR_TAKE, &op->object, op->site);
    rn__pace_yield(carry);
    tell_outcomes(carry);
    rn__lock(&op->lock);
    account(carry, seen);
    bool taken = enable(carry) && take_block(carry);
    bool calls = taken && call(carry);
    if (!taken && carry->able)
        beg(op, carry);
    if (!taken)
        retire(carry);
    rn__unlock(&op->lock);
    carry->base.suspended = false;
    if (calls)
        spawn(op, true);
    return taken && (!op->kind->pull || pull(carry));
}

static void
run_block(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    struct rn__task *self = carry->task;
    int error = op->kind->begin ? op->kind->begin(carry) : 0;
    if (error < 0) {
        rn__par_failed(op, error);
        return;
    }
    if (!(op->flags & RN_PAR_LEAF))
        self->at_home |= RN__HOME_ITEM;
    op->kind->run(carry);
    self->at_home &= (uint8_t)~RN__HOME_ITEM;
}

/* The calling task is a carrier as long as it is needed. */
static void
work(struct rn__par *op, struct rn__task *self)
{
    struct rn__carry carry;
    rn__clear(&carry, offsetof(struct rn__carry, room));
    carry.base.suspend = suspend;
    carry.base.outer = self->carrier;
    carry.base.scope = &op->scope;
    carry.op = op;
    carry.task = self;
    carry.able = true; /* it has been reserved */
    carry.weight = 1;
    carry.pace.item = -1;
    carry.shield_top = self->shield_top;
    struct rn__defer *defers = self->defers;
    bool in_item = self->at_home & RN__HOME_ITEM;
    self->at_home &= (uint8_t)~RN__HOME_ITEM;
    self->carrier = &carry.base;
    self->defers = NULL;
    /* relaxed, here and below: own use, see core.h */
    carry.touched = atomic_load_explicit(&self->touched, memory_order_relaxed);
    atomic_store_explicit(&self->touched, 0, memory_order_relaxed);
    while (take(&carry))
        run_block(&carry);
    rn__pace_learn(&carry);
    if (op->kind->leave)
        op->kind->leave(&carry);
    self->defers = defers;
    /* The item around may have to end oddly, or its carrier be called. */
    atomic_store_explicit(&self->touched, RN__TOUCHED | carry.touched,
                          memory_order_relaxed);
    self->carrier = carry.base.outer;
    if (in_item && !carry.base.outer->suspended)
        self->at_home |= RN__HOME_ITEM;
}

int
rn__par_carry(void *arg)
{
    struct rn__task *self = rn__self();
    self->at_home &= (uint8_t)~RN__HOME_BEGINS;
    work(arg, self);
    return 0;
}

/* ---- the operation ------------------------------------------------------ */

int
rn__par_open(struct rn__par *op, size_t n, const rn_par_options *options,
             const void *site)
{
    static const rn_par_options none;
    struct rn__task *self = rn__self();
    rn__clear(op, sizeof *op);
    op->n = n;
    op->options = options ? options : &none;
    op->flags = op->options->flags;
    op->site = site;
    op->outcomes = op->options->outcomes;
    op->scope.report = op->options->report;
    op->scope.collects = op->flags & RN_PAR_COLLECT;
    op->scope.name = op->options->name;
    if (op->scope.report)
        rn__report_begin(op->scope.report);
    if (op->outcomes && n < SIZE_MAX)
        memset(op->outcomes, 0, n * sizeof *op->outcomes);
    if (op->flags &
        ~(unsigned)(RN_PAR_COLLECT | RN_PAR_LEAF | RN_PAR_FIRST_SUCCESS))
        return -EINVAL;
    rn__step(RN__PAR, &op->object, site);
    if (rn__unlikely(rn__cancel_near(self)) &&
        rn__cancel_seen(self, &op->scope.code)) {
        op->scope.cancelled = RN__CANCEL_PARENT;
        op->scope.culprit = RN_INDEX_NONE;
        return -ECANCELED;
    }
    return n == 0;
}

/* All has ended: why it was cancelled, if that mattered. */
static uint32_t
end_reason(const struct rn__par *op)
{
    const struct rn_scope *scope = &op->scope;
    if (op->ok + op->cancelled + op->failed < op->n)
        return rn__scope_reason(scope);
    return op->ok == op->n && scope->gave_up ? scope->end_reason : op->seen;
}

static int
status(const struct rn__par *op)
{
    const struct rn_scope *scope = &op->scope;
    if (op->race && op->race->count >= op->wanted && op->decided == 0)
        return 0;
    if (op->decided < 0)
        return op->decided;
    if (scope->error)
        return scope->error;
    if (end_reason(op) == RN__CANCEL_DEADLINE)
        return -ETIMEDOUT;
    return op->ok < op->n || scope->gave_up ? -ECANCELED : 0;
}

int
rn__par_close(struct rn__par *op, int result)
{
    struct rn_scope *scope = &op->scope;
    rn_report *report = scope->report;
    if (!report) {
        rn_failure failure = {RN_INDEX_NONE, RN_PHASE_TASK, scope->error,
                              NULL,          NULL,          op->site};
        if (scope->error && scope->error != result)
            rn__report_unheard(rn__rt_self(), &failure);
        return result;
    }
    scope->end_reason = end_reason(op);
    report->ok = op->ok;
    report->cancelled = op->cancelled;
    report->not_run =
        op->n == SIZE_MAX ? 0 : op->n - op->ok - op->cancelled - op->failed;
    rn__scope_end_report(scope, result);
    return result;
}

int
rn__par_run(struct rn__par *op)
{
    struct rn__task *self = rn__self();
    const rn_par_options *o = op->options;
    size_t workers = (size_t)self->rt->worker_count;
    size_t width = self->rt->env ? SIM_WIDTH : workers;
    op->limit = o->limit ? o->limit : SIZE_MAX;
    op->strict = o->limit && o->limit < op->n;
    op->width = (uint32_t)(width < op->limit ? width : op->limit);
    op->able = op->active = 1;
    rn__list_init(&op->spares);
    rn__list_init(&op->rich);
    rn__scope_begin(&op->scope, self, o->deadline ? o->deadline : RN_NEVER,
                    op->site);
    work(op, self);
    rn__step(RN__SCOPE_CLOSE, &op->scope.object, op->site);
    rn__scope_finish(&op->scope, self, op->site);
    return rn__par_close(op, status(op));
}

int
rn__par_run_values(struct rn__par *op)
{
    struct rn__rt *rt = rn__rt_self();
    void (*drop)(void *, void *) = op->options->drop;
    rn_outcome *own = NULL;
    if (drop && !op->outcomes) {
        own = op->outcomes = rn__alloc(rt, op->n * sizeof *own);
        if (!own)
            return rn__par_close(op, -ENOMEM);
    }
    int result = rn__par_run(op);
    for (size_t i = 0; drop && result < 0 && i < op->n; i++)
        if (op->outcomes[i] == RN_OUTCOME_OK)
            drop(op->work.out + i * op->work.stride, op->work.ctx);
    rn__free(rt, own);
    return result;
}
