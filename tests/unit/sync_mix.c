/* Everything at once: tasks that send, select, lock, wait, join, open scopes,
 * move deadlines while they expire, cancel, and run timers, all at random, on
 * objects that are gone as soon as the round is over. Whatever happens, each
 * value arrives once, the mutex excludes, and no task is left.
 */
#include "core_run.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CHANS = 3, /* of capacity 0, 1, 2 */
    KIDS = 6,  /* tasks to join */
    BODIES = 8,
    LANES = 4, /* rounds that run at once */
    ACTIONS = 30
};

/* Count and sum of some values. */
struct tally {
    _Atomic uint64_t count, sum;
};

/* A round: one scope and what its tasks share. */
struct round {
    rn_chan *chans[CHANS];
    struct tally sent, received;
    rn_mutex mutex;
    rn_cond cond;
    long inside; /* guarded by mutex */
    rn_waitgroup group;
    rn_scope *scope;
    rn_task kids[KIDS];
    _Atomic uint64_t next_value;
};

/* A task of a round. */
struct body {
    struct round *round;
    uint64_t random;
};

static uint32_t
below(struct body *b, uint32_t n)
{
    return rn__prng_below(&b->random, n);
}

/* Up to so many microseconds from now. */
static rn_time
soon(struct body *b, uint32_t us)
{
    return rn_after(below(b, us * 1000));
}

/* A deadline for a wait: soon, or a try. */
static rn_time
draw_deadline(struct body *b)
{
    return below(b, 3) ? soon(b, 60) : RN_NOW;
}

static void
count_in(struct tally *tally, uint64_t value)
{
    atomic_fetch_add(&tally->count, 1);
    atomic_fetch_add(&tally->sum, value);
}

static bool
gave_up(int result)
{
    return result == -EAGAIN || result == -ETIMEDOUT || result == -ECANCELED;
}

/* ---- actions: each returns what its wait returned ------------------------ */

static uint64_t
new_value(struct body *b)
{
    return rn__mix64(atomic_fetch_add(&b->round->next_value, 1));
}

static int
act_send(struct body *b)
{
    struct round *r = b->round;
    uint64_t value = new_value(b);
    int e = rn_chan_send(r->chans[below(b, CHANS)], &value, draw_deadline(b));
    if (e == 0)
        count_in(&r->sent, value);
    CHECK(e == 0 || e == -EPIPE || gave_up(e));
    return e;
}

static int
act_recv(struct body *b)
{
    struct round *r = b->round;
    uint64_t value = 1;
    int e = rn_chan_recv(r->chans[below(b, CHANS)], &value, draw_deadline(b));
    if (e == 0)
        count_in(&r->received, value);
    CHECK(e == 0 || (e == -EPIPE && value == 0) || (gave_up(e) && value == 1));
    return e;
}

static void
check_arm(struct round *r, const rn_arm *arm)
{
    int e = arm->result;
    if (arm->kind == RN_ARM_KIND_SEND && e == 0)
        count_in(&r->sent, *(uint64_t *)arm->data);
    if (arm->kind == RN_ARM_KIND_RECV && e == 0)
        count_in(&r->received, *(uint64_t *)arm->data);
    if (arm->kind == RN_ARM_KIND_JOIN)
        CHECK(e == 0 || e == -ESRCH);
    else
        CHECK(e == 0 || (e == -EPIPE && arm->chan));
}

/* The same channels many times and in both directions, joins, times. */
static int
act_select(struct body *b)
{
    struct round *r = b->round;
    uint64_t out[3], in[4];
    for (int i = 0; i < 3; i++)
        out[i] = new_value(b);
    rn_arm arms[] = {RN_ARM_SEND(r->chans[0], &out[0]),
                     RN_ARM_RECV(r->chans[0], &in[0]),
                     RN_ARM_RECV(r->chans[1], &in[1]),
                     RN_ARM_SEND(r->chans[2], &out[1]),
                     RN_ARM_RECV(r->chans[2], &in[2]),
                     RN_ARM_SEND(r->chans[0], &out[2]),
                     RN_ARM_RECV(r->chans[1], &in[3]),
                     RN_ARM_JOIN(r->kids[below(b, KIDS)], NULL),
                     RN_ARM_AT(soon(b, 60))};
    size_t from = below(b, 4), count = 3 + below(b, 7 - (uint32_t)from);
    unsigned flags = below(b, 2) ? RN_SELECT_ORDERED : 0;
    int e = rn_select(arms + from, count, flags, draw_deadline(b));
    CHECK((e >= 0 && (size_t)e < count) || gave_up(e));
    if (e >= 0)
        check_arm(r, &arms[from + (size_t)e]);
    return e;
}

static void
leave_and_enter(struct body *b)
{
    struct round *r = b->round;
    r->inside--;
    int e = rn_cond_wait(&r->cond, &r->mutex, soon(b, 40));
    CHECK_EQ(r->inside, 0); /* locked again, whatever happened */
    CHECK(e == 0 || gave_up(e));
    r->inside++;
}

static int
act_lock(struct body *b)
{
    struct round *r = b->round;
    int e = rn_mutex_lock(&r->mutex, draw_deadline(b));
    CHECK(e == 0 || gave_up(e));
    if (e < 0)
        return e;
    CHECK_EQ(r->inside, 0);
    r->inside++;
    if (below(b, 2))
        rn_yield();
    CHECK_EQ(r->inside, 1);
    if (below(b, 3) == 0)
        leave_and_enter(b);
    r->inside--;
    rn_mutex_unlock(&r->mutex);
    return 0;
}

static int
act_signal(struct body *b)
{
    if (below(b, 2))
        rn_cond_signal(&b->round->cond);
    else
        rn_cond_broadcast(&b->round->cond);
    return 0;
}

static int
act_join(struct body *b)
{
    int result = 3;
    rn_task kid = b->round->kids[below(b, KIDS)];
    int e = rn_task_join(kid, draw_deadline(b), &result);
    CHECK(result == 3 || (e == 0 && result == -ECANCELED));
    CHECK(e == 0 || e == -ESRCH || gave_up(e));
    return e;
}

static int
nap(void *arg)
{
    int e = rn_sleep(20 * RN_US);
    CHECK(e == 0 || e == -ECANCELED);
    (void)arg;
    return e == 0 ? 7 : e;
}

static int
move_deadline(void *arg)
{
    for (int i = 0; i < 4; i++)
        if (rn_scope_set_deadline(arg, rn_after(i * 3 * RN_US)) < 0)
            return 0;
    return 0;
}

static int
act_scope(struct body *b)
{
    rn_scope *inner;
    rn_task task = {0};
    rn_time deadline = below(b, 2) ? soon(b, 30) : RN_NEVER;
    CHECK_EQ(rn_scope_open(deadline, &inner), 0);
    int e = rn_task_spawn(inner, nap, NULL, NULL, &task);
    CHECK(e == 0 || e == -ECANCELED);
    (void)!rn_go(inner, below(b, 2) ? nap : move_deadline, inner);
    if (below(b, 2))
        rn_task_join(task, soon(b, 20), NULL);
    if (below(b, 4) == 0)
        (void)!rn_go(b->round->scope, nap, NULL); /* outlives the inner one */
    if (below(b, 3) == 0)
        rn_scope_cancel(inner);
    if (below(b, 3) == 0)
        move_deadline(inner);
    e = rn_scope_close(inner);
    CHECK(e == 0 || e == -ECANCELED || e == -ETIMEDOUT);
    return 0;
}

static int
act_timer(struct body *b)
{
    rn_timer *timer;
    rn_time period = below(b, 2) ? 0 : 7 * RN_US, got;
    rn_time when = below(b, 4) ? soon(b, 40) : RN_NOW;
    CHECK_EQ(rn_timer_new(when, period, &timer), 0);
    int e = rn_chan_recv(rn_timer_chan(timer), &got, soon(b, 30));
    CHECK(e == 0 || gave_up(e));
    if (e == 0)
        CHECK_LE(got, rn_now());
    if (below(b, 2))
        CHECK_GE(rn_timer_reset(timer, rn_after(3000), period), 0);
    rn_timer_free(timer);
    return e;
}

static int
act_sleep(struct body *b)
{
    return below(b, 2) ? rn_yield() : rn_sleep(below(b, 20000));
}

/* To the round's own scope. */
static int
act_end(struct body *b)
{
    uint32_t what = below(b, 200);
    if (what == 0)
        rn_scope_cancel(b->round->scope);
    else if (what < 7)
        move_deadline(b->round->scope);
    return 0;
}

/* ---- a round ------------------------------------------------------------- */

static int
run_body(void *arg)
{
    static int (*const actions[])(struct body *) = {
        act_send,   act_recv, act_select, act_select, act_lock,  act_lock,
        act_signal, act_join, act_scope,  act_timer,  act_sleep, act_end};
    struct body *b = arg;
    int e = 0;
    for (int i = 0; i < ACTIONS && e != -ECANCELED; i++)
        e = actions[below(b, sizeof actions / sizeof actions[0])](b);
    rn_waitgroup_done(&b->round->group);
    return 0;
}

static int
run_kid(void *arg)
{
    struct body *b = arg;
    int e = rn_sleep(below(b, 100000));
    CHECK(e == 0 || e == -ECANCELED);
    return 3;
}

/* Nobody waits for long, so this ends. */
static int
watch(void *arg)
{
    struct round *r = arg;
    int e;
    while ((e = rn_waitgroup_wait(&r->group, rn_after(50 * RN_US))) ==
           -ETIMEDOUT)
        rn_cond_broadcast(&r->cond);
    CHECK(e == 0 || e == -ECANCELED);
    return 0;
}

static void
start_all(struct round *r, struct body *bodies, uint64_t *random)
{
    for (int i = 0; i < KIDS + BODIES; i++) {
        bodies[i] = (struct body){r, rn__prng_next(random)};
        int e = 0;
        if (i < KIDS)
            e = rn_task_spawn(r->scope, run_kid, &bodies[i], NULL, &r->kids[i]);
        else
            rn_waitgroup_add(&r->group, 1);
        if (i >= KIDS && (e = rn_go(r->scope, run_body, &bodies[i])) < 0)
            rn_waitgroup_done(&r->group);
        CHECK(e == 0 || e == -ECANCELED);
    }
    int e = rn_go(r->scope, watch, r);
    CHECK(e == 0 || e == -ECANCELED);
}

/* What was sent was received, or is still there. */
static void
check_values(struct round *r)
{
    uint64_t value;
    for (int i = 0; i < CHANS; i++) {
        size_t left = rn_chan_len(r->chans[i]);
        CHECK_LE(left, rn_chan_cap(r->chans[i]));
        for (; left > 0; left--) {
            CHECK_EQ(rn_chan_recv(r->chans[i], &value, RN_NOW), 0);
            count_in(&r->received, value);
        }
        CHECK(rn_chan_recv(r->chans[i], NULL, RN_NOW) < 0);
    }
    CHECK_EQ(r->sent.count, r->received.count);
    CHECK_EQ(r->sent.sum, r->received.sum);
}

static void
run_round(uint64_t *random)
{
    struct round *r = calloc(1, sizeof *r);
    struct body *bodies = calloc(KIDS + BODIES, sizeof *bodies);
    CHECK(r && bodies);
    for (size_t i = 0; i < CHANS; i++)
        r->chans[i] = new_chan(sizeof(uint64_t), i);
    rn_time span = rn__prng_below(random, 500) * RN_US;
    rn_time deadline = rn__prng_below(random, 3) ? RN_NEVER : rn_after(span);
    CHECK_EQ(rn_scope_open(deadline, &r->scope), 0);
    start_all(r, bodies, random);
    if (rn__prng_below(random, 2))
        rn_chan_close(r->chans[rn__prng_below(random, CHANS)]);
    int e = rn_scope_close(r->scope);
    CHECK(e == 0 || e == -ECANCELED || e == -ETIMEDOUT);
    check_values(r);
    CHECK_EQ(rn_mutex_lock(&r->mutex, RN_NOW), 0); /* nobody has it */
    for (int i = 0; i < CHANS; i++)
        rn_chan_unref(r->chans[i]);
    memset(r, 0xdb, sizeof *r); /* who still uses it, finds nonsense */
    free(bodies);
    free(r);
}

static _Atomic long rounds; /* left to do */

static int
run_lane(void *arg)
{
    uint64_t random = (uint64_t)test_env("TEST_SEED", 1) * 1000;
    random += (uint64_t)(uintptr_t)arg;
    while (atomic_fetch_sub(&rounds, 1) > 0)
        run_round(&random);
    return 0;
}

static int
mix(void *arg)
{
    rn_scope *scope = open_scope();
    for (uintptr_t i = 0; i < LANES; i++)
        go(scope, run_lane, (void *)i);
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(rn_task_count(), 1);
    (void)arg;
    return 0;
}

static void
mix_on(int workers)
{
    rn_options options = {.workers = workers};
    atomic_store(&rounds, test_count(12000));
    CHECK_EQ(rn_run(&options, mix, NULL), 0);
}

TEST(mix_on_two_workers)
{
    mix_on(2);
}

TEST(mix_on_four_workers)
{
    mix_on(4);
}

/* ---- one scope expires twice --------------------------------------------- */

enum { SLEEPERS = 400, CUT = 3 };

static _Atomic rn_time moment; /* near which all expires */

static int
sleep_until_then(void *arg)
{
    (void)arg;
    return rn_sleep_until(atomic_load(&moment) - 1000);
}

/* Its deadline has passed, and who does what is due is still busy: moved to a
 * later time the scope expires again, on another worker. */
static int
move_past(void *arg)
{
    rn_time then = atomic_load(&moment);
    while (rn_now() < then - 200 * RN_US)
        if (rn_yield() < 0)
            return 0;
    while (rn_now() < then)
        ;
    for (int i = 0; i < 200; i++) {
        if (rn_scope_set_deadline(arg, rn_after(500)) < 0)
            return 0;
        for (int k = 0; k < 17; k++)
            if (rn_yield() < 0)
                return 0;
    }
    return 0;
}

static int
be_moved(void *arg)
{
    rn_scope *scope;
    CHECK_EQ(rn_scope_open(atomic_load(&moment), &scope), 0);
    int e = rn_go(scope, move_past, scope);
    CHECK(e == 0 || e == -ECANCELED);
    e = rn_scope_close(scope);
    CHECK(e == 0 || e == -ETIMEDOUT || e == -ECANCELED);
    (void)arg;
    return 0;
}

/* Another scope that expires at that time; forgotten, it would wait for ever:
 * a deadlock. */
static int
be_cut(void *arg)
{
    rn_scope *scope;
    CHECK_EQ(rn_scope_open(atomic_load(&moment) - 1, &scope), 0);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_scope_close(scope), -ETIMEDOUT);
    (void)arg;
    return 0;
}

RUN_TEST(mix_scopes_expire_while_their_deadline_moves)
{
    for (long i = test_count(150); i > 0; i--) {
        rn_scope *scope = open_scope();
        atomic_store(&moment, rn_after(4 * RN_MS));
        for (int k = 0; k < SLEEPERS; k++)
            go(scope, sleep_until_then, NULL);
        for (int k = 0; k < CUT; k++)
            go(scope, be_cut, NULL);
        go(scope, be_moved, NULL);
        CHECK_EQ(rn_scope_close(scope), 0);
    }
    return 0;
}
