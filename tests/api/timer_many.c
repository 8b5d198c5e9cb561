/* timer_many.c - very many timers, and timers that one task starts and others
 * stop, restart and free, on whatever worker these run. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t
draw(uint64_t *random, uint32_t below)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*random >> 33) % below);
}

/* ---- a million ---------------------------------------------------------- */

enum { STOPPERS = 4 };

static struct {
    rn_timer **timers;
    size_t count;
    _Atomic size_t stopped;
} crowd;

/* Every second one of its share is stopped before, all are freed. */
static int
stop_and_free(void *arg)
{
    size_t stopped = 0;
    for (size_t i = (uintptr_t)arg; i < crowd.count; i += STOPPERS) {
        if (i / STOPPERS % 2)
            stopped += (size_t)rn_timer_stop(crowd.timers[i]);
        rn_timer_free(crowd.timers[i]);
        if (i % 1000 < STOPPERS)
            CHECK_EQ(rn_yield(), 0);
    }
    crowd.stopped += stopped;
    return 0;
}

static void
arm_and_stop_all(void)
{
    uint64_t random = 1;
    rn_time now = rn_now();
    crowd.stopped = 0;
    for (size_t i = 0; i < crowd.count; i++) {
        rn_time when = now + 3600 * RN_SEC + draw(&random, 1000000);
        CHECK_EQ(rn_timer_new(when, 0, &crowd.timers[i]), 0);
    }
    rn_scope *s = open_scope(RN_NEVER);
    for (uintptr_t i = 0; i < STOPPERS; i++)
        go(stop_and_free, (void *)i);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(crowd.stopped, crowd.count / 2);
}

API_TEST_SCHEDULES(timer_million_armed_and_stopped, 3)
{
    rn_stats stats;
    crowd.count = rn_sim_active() ? 400 : (size_t)test_count(1000000);
    crowd.count -= crowd.count % (2 * STOPPERS);
    crowd.timers = calloc(crowd.count, sizeof(rn_timer *));
    arm_and_stop_all();
    rn_stats_get(&stats);
    CHECK_EQ(stats.timers, 0);
    if (stats.workers == 1) { /* else malloc has a heap for each thread */
        long before = resident_bytes();
        arm_and_stop_all();
        CHECK_LT(resident_bytes() - before, 16 << 20);
    }
    free(crowd.timers);
}

/* ---- stopped elsewhere while they expire -------------------------------- */

/* Of a timer that was handed over: what was sent and what is said of it must
 * agree. */
static void
judge(rn_timer *t, uint64_t *random)
{
    rn_chan *c = rn_timer_chan(t);
    rn_time v = -1;
    if (draw(random, 3) == 0) {
        rn_time when = rn_now() + draw(random, 20000);
        int running = rn_timer_reset(t, when, 0);
        CHECK_EQ(rn_chan_recv(c, &v, RN_NEVER), 0);
        CHECK(running == 0 || v == when); /* else it had sent one before */
    } else if (draw(random, 3)) {
        int stopped = rn_timer_stop(t);
        CHECK_EQ(rn_chan_recv(c, &v, RN_NOW), stopped ? -EAGAIN : 0);
        CHECK_EQ(rn_timer_stop(t), 0);
    }
    rn_timer_free(t);
}

static int
judge_all(void *arg)
{
    rn_timer *t;
    uint64_t random = (uintptr_t)&t;
    while (rn_chan_recv(arg, &t, RN_NEVER) == 0)
        judge(t, &random);
    return 0;
}

static int
hand_over(void *arg)
{
    rn_timer *t;
    uint64_t random = (uintptr_t)&t;
    for (long i = rn_sim_active() ? 4 : test_count(20000); i > 0; i--) {
        rn_time when = rn_now() - 1000 + draw(&random, 10000);
        CHECK_EQ(rn_timer_new(when, 0, &t), 0);
        CHECK_EQ(rn_chan_send(arg, &t, RN_NEVER), 0);
    }
    return 0;
}

API_TEST(timer_stopped_elsewhere_while_it_expires)
{
    rn_chan *c = new_chan(sizeof(rn_timer *), 4);
    rn_scope *judges = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(judge_all, c);
    rn_scope *makers = open_scope(RN_NEVER);
    for (int i = 0; i < 2; i++)
        go(hand_over, c);
    CHECK_EQ(rn_scope_close(makers), 0);
    rn_chan_close(c);
    CHECK_EQ(rn_scope_close(judges), 0);
    rn_chan_unref(c);
}

/* ---- one timer, many masters -------------------------------------------- */

/* Each start of a timer is ended by exactly one of: an expiry, a stop or a
 * restart that says so. */
enum { SHARED = 3, MASTERS = 5 };

static struct {
    rn_timer *timers[SHARED];
    _Atomic long starts, ends;
} shared;

static int
meddle(void *arg)
{
    (void)arg;
    uint64_t random = (uintptr_t)&random;
    long starts = 0, ends = 0;
    for (long i = rn_sim_active() ? 6 : test_count(30000); i > 0; i--) {
        rn_timer *t = shared.timers[draw(&random, SHARED)];
        uint32_t what = draw(&random, 8);
        if (what < 5) {
            rn_time when = rn_now() + draw(&random, 3000);
            ends += rn_timer_reset(t, when, 0);
            starts++;
        } else if (what < 6) {
            ends += rn_timer_stop(t);
        } else if (what < 7) {
            CHECK_EQ(rn_yield(), 0);
        } else {
            (void)!rn_chan_recv(rn_timer_chan(t), NULL, RN_NOW);
        }
    }
    shared.starts += starts;
    shared.ends += ends;
    return 0;
}

API_TEST(timer_restarted_and_stopped_by_many_at_once)
{
    rn_stats stats;
    shared.starts = shared.ends = 0;
    for (int i = 0; i < SHARED; i++)
        CHECK_EQ(rn_timer_new(RN_NEVER, 0, &shared.timers[i]), 0);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < MASTERS; i++)
        go(meddle, NULL);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < SHARED; i++) {
        shared.ends += rn_timer_stop(shared.timers[i]);
        rn_timer_free(shared.timers[i]);
    }
    rn_stats_get(&stats);
    CHECK_EQ(shared.starts, shared.ends + (long)stats.timers);
}

/* ---- nobody wakes for nothing ------------------------------------------- */

/* Workers that looked every few milliseconds would do so hundreds of times. */
REAL_TEST(timer_lets_idle_workers_sleep)
{
    enum { FEW = 50 };
    rn_stats before, after;
    rn_stats_get(&before);
    CHECK_EQ(rn_sleep(600 * RN_MS), 0);
    rn_stats_get(&after);
    CHECK_LE(after.sleeps - before.sleeps, FEW);
    CHECK_EQ(after.timers - before.timers, 1);
}
