/* Timers: the heap under a made-up clock, tickers in virtual time, and stops
 * that race with expiries; against naive twins.
 */
#include "core_run.h"

enum { TIMERS = 50 };

/* ---- a made-up clock ---------------------------------------------------- */

static struct {
    struct rn__rt rt; /* nothing runs in it */
    struct rn__worker worker;
    struct rn__timer timers[TIMERS];
    rn_time when[TIMERS];
    uint64_t came[TIMERS]; /* 0: does not run */
    uint64_t clock;        /* of came */
    rn_time now;
    size_t expired; /* in this round */
} made_up;

static size_t
twin_first(void)
{
    size_t first = TIMERS;
    for (size_t i = 0; i < TIMERS; i++) {
        if (!made_up.came[i])
            continue;
        if (first == TIMERS || made_up.when[i] < made_up.when[first] ||
            (made_up.when[i] == made_up.when[first] &&
             made_up.came[i] < made_up.came[first]))
            first = i;
    }
    return first;
}

/* Must be the one that is next; some start again at once. */
static void
expire(struct rn__timer *timer, struct rn__expired *out)
{
    (void)out;
    size_t i = (size_t)(timer - made_up.timers);
    CHECK_EQ(i, twin_first());
    CHECK_EQ(timer->node.key, made_up.when[i]);
    CHECK_LE(made_up.when[i], made_up.now);
    CHECK(!rn__heap_has(&timer->node));
    made_up.came[i] = 0;
    made_up.expired++;
    if (timer->period == 0)
        return;
    made_up.when[i] += timer->period;
    made_up.came[i] = ++made_up.clock;
    rn__timer_again(timer, made_up.when[i]);
}

static void
restart(size_t i, rn_time when, rn_time period)
{
    bool was = made_up.came[i] != 0;
    made_up.when[i] = when;
    made_up.came[i] = ++made_up.clock;
    CHECK_EQ(rn__timer_restart(&made_up.worker.timers, &made_up.timers[i], when,
                               period),
             was);
}

static void
stop(size_t i)
{
    bool was = made_up.came[i] != 0;
    made_up.came[i] = 0;
    CHECK_EQ(rn__timer_stop(&made_up.timers[i]), was);
}

static void
advance(rn_time by)
{
    made_up.now += by;
    made_up.expired = 0;
    made_up.worker.clock = made_up.now;
    CHECK_EQ(
        rn__timers_run(&made_up.worker, &made_up.worker.timers, made_up.now),
        made_up.expired);
    size_t first = twin_first();
    CHECK(first == TIMERS || made_up.when[first] > made_up.now);
}

static void
check_heap(void)
{
    size_t first = twin_first(), count, running = 0;
    for (size_t i = 0; i < TIMERS; i++)
        running += made_up.came[i] != 0;
    CHECK(rn__wheel_valid(&made_up.worker.timers.wheel, &count));
    CHECK_EQ(count, running);
    CHECK_EQ(rn__timers_next(&made_up.rt),
             first == TIMERS ? RN_NEVER : made_up.when[first]);
}

static void
make_up(void)
{
    made_up.rt.worker_count = 1;
    made_up.rt.workers = &made_up.worker;
    made_up.worker.rt = &made_up.rt;
    rn__timers_init(&made_up.worker.timers, 0);
    for (size_t i = 0; i < TIMERS; i++)
        rn__timer_init(&made_up.timers[i], expire);
}

TEST(timers_do_what_an_array_does)
{
    uint64_t random = 3;
    make_up();
    for (long step = test_count(100000); step > 0; step--) {
        size_t i = rn__prng_below(&random, TIMERS);
        uint32_t op = rn__prng_below(&random, 10);
        if (op < 2)
            stop(i);
        else if (op < 3)
            advance(rn__prng_below(&random, 60));
        else /* ties are frequent, and some are due already */
            restart(i, made_up.now - 5 + rn__prng_below(&random, 50),
                    op == 4 ? 1 + rn__prng_below(&random, 20) : 0);
        check_heap();
    }
    for (size_t i = 0; i < TIMERS; i++) {
        stop(i);
        check_heap();
    }
}

/* ---- several workers ---------------------------------------------------- */

static struct {
    struct rn__rt rt; /* nothing runs in it */
    struct rn__worker workers[3];
    struct rn__timer timer;
    int expired;
} several;

static void
count_expiry(struct rn__timer *timer, struct rn__expired *out)
{
    (void)timer, (void)out;
    several.expired++;
}

static void
make_several(void)
{
    several.rt.worker_count = 3;
    several.rt.workers = several.workers;
    for (int i = 0; i < 3; i++) {
        several.workers[i].rt = &several.rt;
        several.workers[i].index = i;
        rn__timers_init(&several.workers[i].timers, rn__os_now());
    }
    rn__timer_init(&several.timer, count_expiry);
}

/* At home with this one, and with no other. */
static void
check_home(int home, rn_time when)
{
    CHECK(several.timer.home == &several.workers[home].timers);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(atomic_load(&several.workers[i].timers.next),
                 i == home ? when : RN_NEVER);
    CHECK_EQ(rn__timers_next(&several.rt), when);
}

TEST(timers_move_to_who_restarts_them)
{
    struct rn__timers *a, *b;
    rn_time when = rn__os_now() + 3600 * RN_SEC;
    make_several();
    a = &several.workers[0].timers;
    b = &several.workers[1].timers;
    CHECK(!rn__timer_stop(&several.timer)); /* never was anywhere */
    CHECK(!rn__timer_restart(a, &several.timer, when, 0));
    check_home(0, when);
    CHECK(rn__timer_restart(b, &several.timer, when + 1, 0));
    check_home(1, when + 1);
    rn__lock(&a->lock); /* busy: it stays where it is */
    CHECK(rn__timer_restart(a, &several.timer, when + 2, 0));
    rn__unlock(&a->lock);
    check_home(1, when + 2);
    CHECK(rn__timer_stop(&several.timer));
    check_home(1, RN_NEVER);
    CHECK(!rn__timer_restart(a, &several.timer, when, 0));
    check_home(0, when);
    CHECK(rn__timer_restart(a, &several.timer, RN_NEVER, 0));
    check_home(0, RN_NEVER);
}

/* Of a worker that is kept from its timers the others take care in turn, once
 * they are overdue, and at once if they have nothing else to do. */
TEST(timers_of_a_busy_worker_are_looked_after)
{
    make_several();
    struct rn__timers *busy = &several.workers[2].timers;
    rn__timer_start(busy, &several.timer, rn__os_now() - RN_SEC, 0);
    rn__timers_look(&several.workers[0], rn__os_now());
    rn__timers_look(&several.workers[0], rn__os_now());
    CHECK_EQ(several.expired, 1);
    CHECK_EQ(several.workers[0].count.timers, 1);
    CHECK_GE(several.workers[0].count.timers_late_max, RN_SEC);
    rn__timer_start(busy, &several.timer, rn__os_now() + 3600 * RN_SEC, 0);
    for (int i = 0; i < 3; i++)
        rn__timers_look(&several.workers[1], rn__os_now());
    CHECK_EQ(several.expired, 1);
    rn__timer_restart(busy, &several.timer, rn__os_now(), 0);
    rn__timers_look_everywhere(&several.workers[1], rn__os_now());
    CHECK_EQ(several.expired, 2);
    CHECK_EQ(several.workers[1].count.timers, 1);
}

/* ---- virtual time ------------------------------------------------------- */

/* A timer and what it should do. Everything happens at even times and is
 * looked at at odd ones, so that no two things have the same moment. */
struct ticker {
    rn_timer *timer;
    rn_time next; /* RN_NEVER: does not run */
    rn_time period;
    rn_time held; /* in the channel; RN_NEVER: nothing */
};

static void
twin_advance(struct ticker *t, rn_time now)
{
    while (t->next <= now) {
        if (t->held == RN_NEVER)
            t->held = t->next;
        t->next = t->period ? t->next + t->period : RN_NEVER;
    }
}

static void
reset_and_check(struct ticker *t, uint64_t *random)
{
    rn_time when = rn_now() + 1 + 2 * (rn_time)rn__prng_below(random, 40);
    rn_time period =
        rn__prng_below(random, 2) ? 2 + 2 * rn__prng_below(random, 20) : 0;
    CHECK_EQ(rn_timer_reset(t->timer, when, period), t->next != RN_NEVER);
    t->next = when;
    t->period = period;
}

static void
read_and_check(struct ticker *t)
{
    rn_time got = RN_NEVER;
    CHECK_EQ(rn_chan_recv(rn_timer_chan(t->timer), &got, RN_NOW),
             t->held == RN_NEVER ? -EAGAIN : 0);
    CHECK_EQ(got, t->held);
    t->held = RN_NEVER;
}

static void
one_step(struct ticker *all, size_t count, uint64_t *random)
{
    struct ticker *t = &all[rn__prng_below(random, (uint32_t)count)];
    rn_time now = rn_now(), span;
    switch (rn__prng_below(random, 4)) {
    case 0:
        reset_and_check(t, random);
        break;
    case 1:
        CHECK_EQ(rn_timer_stop(t->timer), t->next != RN_NEVER);
        t->next = RN_NEVER;
        break;
    case 2:
        read_and_check(t);
        break;
    default:
        span = 2 * (rn_time)rn__prng_below(random, 30);
        CHECK_EQ(rn_sleep(span), 0);
        CHECK_EQ(rn_now(), now + span);
        for (size_t i = 0; i < count; i++)
            twin_advance(&all[i], rn_now());
    }
}

static int
tick(void *arg)
{
    enum { TICKERS = 12 };
    struct ticker all[TICKERS];
    uint64_t random = *(uint64_t *)arg;
    CHECK_EQ(rn_sleep(1), 0);
    for (int i = 0; i < TICKERS; i++) {
        all[i] = (struct ticker){NULL, rn_now() + 1 + 2 * i, 0, RN_NEVER};
        CHECK_EQ(rn_timer_new(all[i].next, 0, &all[i].timer), 0);
    }
    for (int step = 0; step < 2000; step++)
        one_step(all, TICKERS, &random);
    for (int i = 0; i < TICKERS; i++) {
        read_and_check(&all[i]);
        rn_timer_free(all[i].timer);
    }
    return 0;
}

TEST(timers_tick_in_virtual_time)
{
    for (uint64_t seed = 0; seed < (uint64_t)test_count(20); seed++) {
        rn_sim_options options = {.seed = seed};
        rn_sim_report report;
        CHECK_EQ(rn_sim_run(&options, tick, &seed, &report), 0);
        if (report.verdict != RN_SIM_PASS)
            FAIL("seed %d: %s", (int)seed, report.text);
        rn_sim_report_fini(&report);
    }
}

/* ---- for real ----------------------------------------------------------- */

/* A stopped timer is not in use any more: it is freed while it expires. */
static int
start_and_free(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (long i = test_count(10000); i > 0; i--) {
        rn_timer *timer;
        rn_time value = -1;
        rn_time when = rn_now() - 1000 + rn__prng_below(&random, 5000);
        CHECK_EQ(rn_timer_new(when, rn__prng_below(&random, 2) * 500, &timer),
                 0);
        if (rn__prng_below(&random, 4) == 0) {
            CHECK_EQ(rn_chan_recv(rn_timer_chan(timer), &value, RN_NEVER), 0);
            CHECK_EQ(value, when);
        }
        if (rn__prng_below(&random, 2))
            rn_yield();
        rn_timer_free(timer);
    }
    return 0;
}

RUN_TEST(timers_are_freed_while_they_expire)
{
    rn_scope *scope = open_scope();
    for (intptr_t i = 0; i < 2 * WORKERS; i++)
        go(scope, start_and_free, (void *)i);
    CHECK_EQ(rn_scope_close(scope), 0);
    for (int i = 0; i < WORKERS; i++)
        CHECK(!rn__wheel_first(&rn__rt_self()->workers[i].timers.wheel));
    return 0;
}
