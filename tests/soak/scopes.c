/* scopes.c - soak work of scopes that report, of shields, finalizers and
 * brackets, and of calls by a clock that are stopped.
 */
#include "soak.h"

#include <errno.h>

/* ---- reports ------------------------------------------------------------ */

enum { CHILDREN = 24 };

struct family;

/* A task of the scope; written by it, read when the scope is closed. */
struct child {
    struct family *family;
    uint64_t seed;
    int result, failures;
    bool begun, finalizer_failed;
};

struct family {
    struct child children[CHILDREN];
    rn_outcome outcomes[CHILDREN];
    rn_failure room[4];
    size_t count; /* spawned */
    _Atomic int made, dropped;
    bool fails, cancels, timed;
};

static void
drop_payload(void *payload)
{
    atomic_fetch_add((_Atomic int *)payload, 1);
}

static int
fail_finally(void *arg, int outcome)
{
    struct child *c = arg;
    uint64_t prng = c->seed ^ (uint64_t)outcome;
    need(dawdle(&prng) == 0);
    c->finalizer_failed = true;
    c->failures++;
    return -ENOSPC;
}

static int
fail_with_payload(struct child *c, uint64_t *prng)
{
    struct family *f = c->family;
    atomic_fetch_add(&f->made, 1);
    int code =
        rn_fail(-1000 - below(prng, 9), (void *)&f->dropped, drop_payload);
    if (below(prng, 4) == 0)
        return below(prng, 2); /* after all it has not */
    c->failures++;
    return code;
}

static int
live(struct child *c, uint64_t *prng)
{
    for (int k = below(prng, 4); k > 0; k--) {
        int error = dawdle(prng);
        if (error < 0)
            return error;
    }
    if (!c->family->fails)
        return 0;
    switch (below(prng, 12)) {
    case 0:
        return fail_with_payload(c, prng);
    case 1:
        need(rn_defer(fail_finally, c) == 0);
        return 0;
    case 2:
        return below(prng, 3) ? 1 : -ECANCELED;
    default:
        return 0;
    }
}

static int
child(void *arg)
{
    struct child *c = arg;
    uint64_t prng = c->seed;
    c->begun = true;
    c->result = live(c, &prng);
    tick();
    return c->result;
}

static rn_outcome
outcome_of(const struct child *c)
{
    if (!c->begun)
        return RN_OUTCOME_CANCELLED;
    if (c->finalizer_failed || (c->result < 0 && c->result != -ECANCELED))
        return RN_OUTCOME_ERR;
    return c->result < 0 ? RN_OUTCOME_CANCELLED : RN_OUTCOME_OK;
}

static void
check_family(struct family *f, const rn_report *report, int body, int e)
{
    size_t count[4] = {0}, failures = body < 0;
    for (size_t i = 0; i < f->count; i++) {
        need(f->outcomes[i] == outcome_of(&f->children[i]));
        count[f->outcomes[i]]++;
        failures += (size_t)f->children[i].failures;
    }
    need(e == report->status);
    need(report->ok == count[RN_OUTCOME_OK]);
    need(report->cancelled == count[RN_OUTCOME_CANCELLED]);
    need(report->count + report->more == failures);
    need(failures == 0 || e == report->failures[0].code);
    for (size_t i = 2; i < report->count; i++)
        need(report->failures[i - 1].index <= report->failures[i].index);
    if (failures)
        return;
    need(e >= 0 || e == -ECANCELED || (e == -ETIMEDOUT && f->timed));
    need(e < 0 || count[RN_OUTCOME_CANCELLED] == 0);
    need(e == body || f->timed || count[RN_OUTCOME_CANCELLED] > 0);
}

static void
spawn_family(struct family *f, rn_scope *scope, uint64_t *prng)
{
    for (int i = below(prng, CHILDREN + 1); i > 0; i--) {
        struct child *c = &f->children[f->count];
        *c = (struct child){.family = f, .seed = rn__prng_next(prng)};
        int e = rn_go(scope, child, c);
        need(e == 0 ||
             (e == -ECANCELED && (f->fails || f->cancels || f->timed)));
        f->count += e == 0;
    }
}

static void
one_family(rn_scope *outside, uint64_t *prng)
{
    struct family f = {.fails = below(prng, 3)};
    struct canceller c = {.seed = rn__prng_next(prng)};
    rn_report report = RN_REPORT_INIT;
    rn_scope_options options = {
        .report = &report, .outcomes = f.outcomes, .outcome_room = CHILDREN};
    rn_task task;
    f.cancels = below(prng, 4) == 0;
    f.timed = below(prng, 4) == 0;
    options.flags = below(prng, 2) ? RN_SCOPE_COLLECT : 0;
    if (f.timed)
        options.deadline = rn_after(below(prng, 300) * RN_US);
    if (below(prng, 2))
        report.failures = f.room, report.capacity = 4;
    need(rn_scope_open_with(&options, &c.scope) == 0);
    if (f.cancels)
        need(!rn_task_spawn(outside, cancel_later, &c, NULL, &task));
    spawn_family(&f, c.scope, prng);
    rn_shield shield = rn_shield_push();
    if (f.cancels) /* it uses the scope */
        need(rn_task_join(task, RN_NEVER, NULL) == 0);
    rn_shield_restore(shield);
    int body = below(prng, 5) ? below(prng, 3) : -EPROTO;
    int e = rn_scope_close_with(c.scope, body);
    check_family(&f, &report, body, e);
    rn_report_fini(&report);
    need(atomic_load(&f.made) == atomic_load(&f.dropped));
    tick();
}

int
work_report(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *outside;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    for (int i = 0; i < 15; i++)
        one_family(outside, &prng);
    return rn_scope_close(outside);
}

/* ---- shields, finalizers, brackets -------------------------------------- */

struct knight {
    uint64_t seed;
    int on_error, on_cancel;
    int acquired, released;
    bool ended;
};

static int
run_on_error(void *arg, int outcome)
{
    need(outcome < 0 && outcome != -ECANCELED);
    ((struct knight *)arg)->on_error++;
    return 0;
}

static int
run_on_cancel(void *arg, int outcome)
{
    need(outcome == -ECANCELED);
    ((struct knight *)arg)->on_cancel++;
    return 0;
}

static int
acquire(void *arg)
{
    struct knight *k = arg;
    uint64_t prng = k->seed + 1;
    need(rn_cancel_requested() == 0);
    need(dawdle(&prng) == 0);
    if (below(&prng, 4) == 0)
        return -EBUSY;
    k->acquired++;
    return 0;
}

static int
use(void *arg)
{
    struct knight *k = arg;
    uint64_t prng = k->seed + 2;
    return dawdle(&prng);
}

static int
release(void *arg, int outcome)
{
    struct knight *k = arg;
    uint64_t prng = k->seed + 3;
    need(outcome == 0 || outcome == -ECANCELED);
    need(rn_cancel_requested() == 0);
    need(dawdle(&prng) == 0);
    k->released++;
    return 0;
}

/* As under no shield: 1 if it is cancelled. */
static int
look(void *arg)
{
    int error = rn_yield();
    (void)arg;
    need(error == 0 || error == -ECANCELED);
    need(error == 0 || rn_cancel_requested());
    return error < 0;
}

/* Returns whether a cancel has been seen through the innermost shield. */
static bool
shielded(uint64_t *prng, int depth, bool seen)
{
    rn_shield shield = rn_shield_push();
    need(rn_cancel_requested() == 0 && dawdle(prng) == 0);
    if (depth > 0 && below(prng, 2))
        need(!shielded(prng, depth - 1, false));
    need(rn_yield() == 0);
    bool now = rn_unshield(shield, look, NULL);
    need(now || !seen || depth < 2);
    need(rn_yield() == 0);
    rn_shield_restore(shield);
    return now;
}

static int
knight(void *arg)
{
    struct knight *k = arg;
    uint64_t prng = k->seed;
    bool seen = false;
    need(rn_defer_on_error(run_on_error, k) == 0);
    need(rn_defer_on_cancel(run_on_cancel, k) == 0);
    for (int i = 2 + below(&prng, 6); i > 0; i--) {
        bool before = rn_cancel_requested();
        seen = shielded(&prng, 2, before);
        need(!before || seen); /* once seen, seen for good */
        int e = rn_bracket(acquire, use, release, k);
        need(e == 0 || e == -EBUSY || e == -ECANCELED);
        need(k->acquired == k->released);
        need(!seen || e == -ECANCELED);
        tick();
    }
    int end = below(&prng, 3);
    k->ended = true;
    return end == 0 ? -1234 : rn_cancel_requested() ? -ECANCELED : end;
}

static void
check_knight(const struct knight *k, int e)
{
    need(k->acquired == k->released);
    need(!k->ended ? !k->on_error && !k->on_cancel
                   : k->on_error + k->on_cancel <= 1);
    need(e == 0 || k->on_error || k->on_cancel || !k->ended);
}

int
work_shield(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *outside;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    for (int round = 0; round < 15; round++) {
        struct knight knights[6] = {{0}};
        struct canceller c = {.seed = rn__prng_next(&prng)};
        int count = 1 + below(&prng, 6);
        rn_task tasks[6], canceller;
        rn_scope_options options = {.flags = RN_SCOPE_COLLECT};
        need(rn_scope_open_with(&options, &c.scope) == 0);
        rn_shield shield = rn_shield_push();
        for (int i = 0; i < count; i++) {
            knights[i].seed = rn__prng_next(&prng);
            need(!rn_task_spawn(c.scope, knight, &knights[i], NULL, &tasks[i]));
        }
        need(!rn_task_spawn(outside, cancel_later, &c, NULL, &canceller));
        for (int i = 0; i < count; i++) {
            int result = 0;
            need(rn_task_join(tasks[i], RN_NEVER, &result) == 0);
            check_knight(&knights[i], result < 0 ? result : 0);
        }
        need(rn_task_join(canceller, RN_NEVER, NULL) == 0);
        rn_shield_restore(shield);
        need(rn_yield() == -ECANCELED);
        int e = rn_scope_close(c.scope);
        need(e == 0 || e == -1234 || e == -ECANCELED);
    }
    return rn_scope_close(outside);
}

/* ---- finalizers in their order ------------------------------------------ */

struct stack {
    uint64_t seed;
    int order[16];
    int top; /* how many wait to be run */
};

struct entry {
    struct stack *stack;
    int number;
};

static int
pop_entry(void *arg, int outcome)
{
    struct entry *entry = arg;
    struct stack *s = entry->stack;
    uint64_t prng = s->seed + (uint64_t)entry->number;
    need(outcome == 5 || outcome == -ECANCELED);
    need(rn_cancel_requested() == 0 && dawdle(&prng) == 0);
    need(s->top > 0 && s->order[--s->top] == entry->number);
    return 0;
}

static int
push_entries(void *arg)
{
    struct stack *s = arg;
    struct entry *entries = (struct entry *)(void *)(s + 1);
    uint64_t prng = s->seed;
    int count = below(&prng, 16), error = 0;
    for (int i = 0; i < count && error == 0; i++) {
        entries[i] = (struct entry){s, i};
        s->order[s->top++] = i;
        need(rn_defer(pop_entry, &entries[i]) == 0);
        error = dawdle(&prng);
    }
    tick();
    return error < 0 ? error : 5;
}

int
work_defer(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    struct {
        struct stack stack;
        struct entry entries[16];
    } all[8];
    rn_scope *outside;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    for (int round = 0; round < 15; round++) {
        struct canceller c = {.seed = rn__prng_next(&prng)};
        int count = 0;
        rn_task canceller;
        need(rn_scope_open(RN_NEVER, &c.scope) == 0);
        need(!rn_task_spawn(outside, cancel_later, &c, NULL, &canceller));
        for (; count < 8; count++) {
            all[count].stack = (struct stack){.seed = rn__prng_next(&prng)};
            if (rn_go(c.scope, push_entries, &all[count]) < 0)
                break;
        }
        rn_shield shield = rn_shield_push();
        need(rn_task_join(canceller, RN_NEVER, NULL) == 0);
        rn_shield_restore(shield);
        int e = rn_scope_close(c.scope);
        need(e == 0 || e == -ECANCELED);
        for (int i = 0; i < count; i++)
            need(all[i].stack.top == 0);
    }
    return rn_scope_close(outside);
}

/* ---- calls by a clock that are stopped ---------------------------------- */

enum { STOPPERS = 3 };

struct alarm_call {
    uint64_t seed;
    rn_task task;
    rn_time when;      /* not before; written by the one who resets */
    rn_time called_at; /* written by the call */
    _Atomic int called, stopped;
};

static int
ring(void *arg)
{
    struct alarm_call *a = arg;
    a->called_at = rn_now();
    atomic_fetch_add(&a->called, 1);
    tick();
    return 0;
}

static int
stop_call(void *arg)
{
    struct alarm_call *a = arg;
    uint64_t prng = a->seed;
    int error = dawdle(&prng);
    need(error == 0);
    if (rn_after_stop(a->task) == 1)
        atomic_fetch_add(&a->stopped, 1);
    return 0;
}

static int
move_call(void *arg)
{
    struct alarm_call *a = arg;
    uint64_t prng = ~a->seed;
    for (int i = below(&prng, 5); i > 0; i--) {
        rn_time when = rn_after(below(&prng, 200) * RN_US);
        need(dawdle(&prng) == 0);
        if (rn_after_reset(a->task, when) == 0)
            break;
        a->when = when;
    }
    return 0;
}

static void
some_calls(uint64_t *prng, bool cancels)
{
    enum { CALLS = 12 };
    struct alarm_call calls[CALLS] = {{0}};
    rn_scope *outer, *scope;
    int count = 0;
    need(rn_scope_open(RN_NEVER, &outer) == 0);
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (; count < CALLS; count++) {
        struct alarm_call *a = &calls[count];
        a->seed = rn__prng_next(prng);
        a->when = rn_after(below(prng, 200) * RN_US);
        need(!rn_after_func(scope, a->when, ring, a, &a->task));
        for (int i = below(prng, STOPPERS); i > 0; i--)
            need(rn_go(outer, stop_call, a) == 0);
        if (below(prng, 2))
            need(rn_go(outer, move_call, a) == 0);
    }
    if (cancels)
        rn_scope_cancel(scope);
    int e = rn_scope_close(scope);
    need(e == 0 || (cancels && e == -ECANCELED));
    need(rn_scope_close(outer) == 0);
    for (int i = 0; i < count; i++) {
        struct alarm_call *a = &calls[i];
        int called = atomic_load(&a->called);
        int all = called + atomic_load(&a->stopped);
        need(cancels ? all <= 1 : all == 1);
        need(!called || a->called_at >= a->when);
    }
}

int
work_after(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 15; i++)
        some_calls(&prng, i % 5 == 4);
    return 0;
}
