/* par.c - soak work of parallel operators: items that wait, fail, defer, spawn
 * and nest, under limits, deadlines and cancels at random moments.
 */
#include "soak.h"

#include <errno.h>
#include <stdlib.h>

enum { MOST = 60 };

/* An operator, what its items do, and what became of them. */
struct op {
    uint64_t seed;
    size_t n, limit;
    bool waits, fails, nests; /* what items may do */
    _Atomic int active, begun, ended, deferred, finalized, spawned, grown;
    _Atomic int calls[MOST];
    _Atomic int results[MOST]; /* what it should have ended with */
};

static void
item_over(struct op *op)
{
    atomic_fetch_sub(&op->active, 1);
    atomic_fetch_add(&op->ended, 1);
    tick();
}

/* The first deferred, so the last that is called. */
static int
finalize_last(void *arg, int outcome)
{
    struct op *op = arg;
    need(outcome <= 1 && rn_cancel_requested() == 0);
    atomic_fetch_add(&op->finalized, 1);
    item_over(op);
    return 0;
}

static int
finalize_slowly(void *arg, int outcome)
{
    struct op *op = arg;
    uint64_t prng = op->seed ^ (uint64_t)outcome;
    need(dawdle(&prng) == 0);
    atomic_fetch_add(&op->finalized, 1);
    return 0;
}

static int
grown_up(void *arg)
{
    struct op *op = arg;
    int error = rn_yield();
    atomic_fetch_add(&op->grown, 1);
    return error;
}

static int run_op(struct op *op, rn_time deadline, unsigned flags,
                  bool foreign);

static int
nested(uint64_t seed)
{
    uint64_t prng = seed;
    struct op inner = {.seed = rn__prng_next(&prng), .waits = true};
    inner.n = (size_t)below(&prng, 12);
    inner.limit = (size_t)below(&prng, 4);
    return run_op(&inner, 0, 0, true);
}

/* Do as many things as chance has it. Returns how the item ends. */
static int
act(struct op *op, size_t i, uint64_t *prng, bool deferred)
{
    for (int k = op->waits ? below(prng, 4) : 0; k > 0; k--) {
        int error = dawdle(prng);
        if (error < 0)
            return error;
    }
    if (deferred && below(prng, 3) == 0) {
        need(rn_defer(finalize_slowly, op) == 0);
        atomic_fetch_add(&op->deferred, 1);
    }
    /* a task that is cancelled before it begins never does */
    if (op->waits && !op->limit && below(prng, 8) == 0 &&
        rn_go(NULL, grown_up, op) == 0)
        atomic_fetch_add(&op->spawned, 1);
    if (op->nests && below(prng, 8) == 0) {
        int error = nested(rn__prng_next(prng));
        if (error < 0)
            return error;
    }
    if (op->fails && below(prng, 20) == 0)
        return below(prng, 6) ? -1000 - (int)i : -ECANCELED;
    return (int)(i % 2);
}

static int
item(size_t i, void *ctx)
{
    struct op *op = ctx;
    uint64_t prng = rn__mix64(op->seed + i);
    int active = atomic_fetch_add(&op->active, 1) + 1;
    int order = atomic_fetch_add(&op->begun, 1);
    need(!op->limit || (size_t)active <= op->limit);
    need(op->limit != 1 || (size_t)order == i);
    need(atomic_fetch_add(&op->calls[i], 1) == 0);
    bool defers = below(&prng, 4) == 0;
    if (defers) {
        need(rn_defer(finalize_last, op) == 0);
        atomic_fetch_add(&op->deferred, 1);
    }
    int result = act(op, i, &prng, defers);
    atomic_store(&op->results[i], result);
    if (!defers)
        item_over(op);
    return result;
}

static void
check_outcomes(struct op *op, const rn_outcome *outcomes, size_t *count)
{
    size_t last = 0;
    for (size_t i = 0; i < op->n; i++) {
        int result = atomic_load(&op->results[i]);
        rn_outcome want = !atomic_load(&op->calls[i]) ? RN_OUTCOME_NOT_RUN
                          : result >= 0               ? RN_OUTCOME_OK
                          : result == -ECANCELED      ? RN_OUTCOME_CANCELLED
                                                      : RN_OUTCOME_ERR;
        need(outcomes[i] == want);
        count[want]++;
        if (want != RN_OUTCOME_NOT_RUN)
            last = i + 1;
    }
    /* with a limit they are taken in the order of their indices; one that was
     * taken has not begun if a cancel came between */
    need(!op->limit || last < (size_t)atomic_load(&op->begun) + op->limit);
    need(count[RN_OUTCOME_NOT_RUN] + (size_t)atomic_load(&op->begun) == op->n);
}

static void
check_report(struct op *op, const rn_report *report, const size_t *count)
{
    size_t errors = count[RN_OUTCOME_ERR];
    need(report->count + report->more == errors);
    need(report->not_run == count[RN_OUTCOME_NOT_RUN]);
    if (!atomic_load(&op->spawned)) {
        need(report->ok == count[RN_OUTCOME_OK]);
        need(report->cancelled == count[RN_OUTCOME_CANCELLED]);
    }
    need(errors == 0 || report->status == report->failures[0].code);
    for (size_t i = 0; i < report->count; i++) {
        const rn_failure *f = &report->failures[i];
        need(f->phase == RN_PHASE_TASK && f->index < op->n);
        need(f->code == atomic_load(&op->results[f->index]));
        need(i < 2 || report->failures[i - 1].index < f->index);
    }
}

/* foreign: it may be cancelled from outside. Returns what the operator did. */
static int
run_op(struct op *op, rn_time deadline, unsigned flags, bool foreign)
{
    rn_outcome outcomes[MOST];
    rn_report report = RN_REPORT_INIT;
    rn_par_options o = {.limit = op->limit,
                        .deadline = deadline,
                        .flags = flags,
                        .outcomes = outcomes,
                        .report = &report};
    size_t count[4] = {0};
    int e = rn_par_for(op->n, item, op, &o);
    need(atomic_load(&op->active) == 0);
    need(atomic_load(&op->begun) == atomic_load(&op->ended));
    need(atomic_load(&op->deferred) == atomic_load(&op->finalized));
    need(e == report.status && e <= 0);
    check_outcomes(op, outcomes, count);
    check_report(op, &report, count);
    bool all = count[RN_OUTCOME_OK] == op->n;
    need(count[RN_OUTCOME_ERR] || e == 0 || e == -ETIMEDOUT || e == -ECANCELED);
    need(all || e < 0);
    need(e != -ETIMEDOUT || deadline);
    need(e != -ECANCELED || foreign || op->fails);
    if (all && !foreign && !deadline) {
        need(e == 0);
        need(atomic_load(&op->spawned) == atomic_load(&op->grown));
    }
    rn_report_fini(&report);
    return e;
}

/* In a scope of its own, which another task may cancel. */
static void
one_op(rn_scope *outside, uint64_t *prng)
{
    struct op op = {.seed = rn__prng_next(prng)};
    struct canceller c = {.seed = rn__prng_next(prng)};
    bool cancels = below(prng, 3) == 0;
    rn_task task;
    rn_time deadline = 0;
    op.n = (size_t)below(prng, MOST + 1);
    op.limit = below(prng, 2) ? (size_t)below(prng, 6) : 0;
    op.waits = below(prng, 4);
    op.nests = op.waits && below(prng, 2);
    op.fails = below(prng, 2);
    if (below(prng, 3) == 0)
        deadline = below(prng, 8) ? rn_after(below(prng, 400) * RN_US) : RN_NOW;
    unsigned flags = below(prng, 3) ? 0 : RN_PAR_COLLECT;
    if (!op.waits && below(prng, 2))
        flags |= RN_PAR_LEAF;
    need(rn_scope_open(RN_NEVER, &c.scope) == 0);
    if (cancels)
        need(!rn_task_spawn(outside, cancel_later, &c, NULL, &task));
    int e = run_op(&op, deadline, flags, cancels);
    need(e != -ECANCELED || op.fails || rn_yield() == -ECANCELED);
    rn_shield shield = rn_shield_push();
    if (cancels)
        need(rn_task_join(task, RN_NEVER, NULL) == 0);
    rn_shield_restore(shield);
    need(rn_yield() == (cancels ? -ECANCELED : 0));
    need(rn_scope_close(c.scope) == 0);
    tick();
}

int
work_par(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *outside;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    for (int i = 0; i < 12; i++)
        one_op(outside, &prng);
    return rn_scope_close(outside);
}

/* ---- items that wait for each other ------------------------------------- */

struct meeting {
    rn_chan *chans[MOST / 2];
    rn_barrier barrier;
    _Atomic int met;
};

/* Items 2k and 2k+1 hand something over, then all meet. */
static int
meet(size_t i, void *ctx)
{
    struct meeting *m = ctx;
    int64_t value = (int64_t)i;
    rn_chan *chan = m->chans[i / 2];
    if (i % 2) {
        need(rn_chan_send(chan, &value, RN_NEVER) == 0);
    } else {
        need(rn_chan_recv(chan, &value, RN_NEVER) == 0);
        need(value == (int64_t)i + 1);
    }
    if (m->barrier.rn__parties)
        atomic_fetch_add(&m->met, rn_barrier_wait(&m->barrier, RN_NEVER));
    tick();
    return 0;
}

int
work_par_meet(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int round = 0; round < 12; round++) {
        size_t n = 2 * (size_t)(1 + below(&prng, MOST / 2));
        bool all = below(&prng, 2);
        struct meeting m = {.barrier = RN_BARRIER_INIT(all ? (unsigned)n : 0)};
        rn_par_options o = {.limit = all ? n : 2};
        if (below(&prng, 2))
            o.limit = 0;
        for (size_t i = 0; i < n / 2; i++)
            need(rn_chan_new(sizeof(int64_t), 0, &m.chans[i]) == 0);
        need(rn_par_for(n, meet, &m, &o) == 0);
        need(!all || atomic_load(&m.met) == 1);
        for (size_t i = 0; i < n / 2; i++)
            rn_chan_unref(m.chans[i]);
    }
    return 0;
}

/* ---- items that come one by one ----------------------------------------- */

struct supply {
    uint64_t seed, prng;
    int64_t next;
    int64_t last;
    size_t limit;
    int error; /* what ends it */
    _Atomic int pulling, active;
    _Atomic int64_t sum, done;
};

static int
supply_next(void *item, void *ctx)
{
    struct supply *s = ctx;
    need(atomic_fetch_add(&s->pulling, 1) == 0);
    int error = dawdle(&s->prng);
    int got = error < 0 ? error : s->next < s->last ? 1 : s->error;
    if (got == 1)
        *(int64_t *)item = s->next++;
    atomic_fetch_sub(&s->pulling, 1);
    return got;
}

static int
supply_item(size_t i, void *item, void *ctx)
{
    struct supply *s = ctx;
    uint64_t prng = rn__mix64(s->seed + i);
    size_t active = (size_t)atomic_fetch_add(&s->active, 1) + 1;
    need(!s->limit || active <= s->limit);
    int error = dawdle(&prng);
    need(*(int64_t *)item == (int64_t)i);
    if (error == 0) {
        atomic_fetch_add(&s->sum, (int64_t)i);
        atomic_fetch_add(&s->done, 1);
    }
    atomic_fetch_sub(&s->active, 1);
    tick();
    return error;
}

int
work_par_pull(void *arg)
{
    static const rn_par_source source = {supply_next, sizeof(int64_t),
                                         supply_item};
    uint64_t prng = *(uint64_t *)arg;
    for (int round = 0; round < 12; round++) {
        struct supply s = {.seed = rn__prng_next(&prng)};
        bool hurry = below(&prng, 3) == 0;
        rn_par_options o = {.limit = s.limit = (size_t)below(&prng, 5)};
        s.prng = s.seed;
        s.last = below(&prng, 80);
        s.error = below(&prng, 4) ? 0 : -EIO;
        if (hurry)
            o.deadline = rn_after(below(&prng, 500) * RN_US);
        int e = rn_par_pull(&source, &s, &o);
        need(e == s.error || (hurry && e == -ETIMEDOUT));
        need(atomic_load(&s.active) == 0 && atomic_load(&s.pulling) == 0);
        need(atomic_load(&s.done) <= s.next);
        if (e == 0)
            need(s.next == s.last && atomic_load(&s.done) == s.last &&
                 atomic_load(&s.sum) == s.last * (s.last - 1) / 2);
    }
    return 0;
}
