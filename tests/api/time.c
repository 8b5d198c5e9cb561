/* time.c - tests of runnel/time.h. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <time.h>

static rn_timer *
new_timer(rn_time when, rn_time period)
{
    rn_timer *t = NULL;
    CHECK_EQ(rn_timer_new(when, period, &t), 0);
    CHECK(t != NULL);
    return t;
}

static rn_time
recv_from(rn_chan *c)
{
    rn_time v = -1;
    CHECK_EQ(rn_chan_recv(c, &v, RN_NEVER), 0);
    return v;
}

static rn_time
recv_time(rn_timer *t)
{
    return recv_from(rn_timer_chan(t));
}

/* ---- the clock ---------------------------------------------------------- */

API_TEST(time_never_goes_back)
{
    rn_time last = rn_now();
    CHECK_GE(last, 0);
    for (int i = 0; i < 1000; i++) {
        rn_time now = rn_now();
        CHECK_GE(now, last);
        last = now;
        if (i % 100 == 0)
            CHECK_EQ(rn_yield(), 0);
    }
}

/* Between two reads of the system's monotonic clock, so it is that clock. */
REAL_TEST(time_is_the_monotonic_clock)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    rn_time now = rn_now();
    clock_gettime(CLOCK_MONOTONIC, &b);
    CHECK_GE(now, (rn_time)a.tv_sec * RN_SEC + a.tv_nsec);
    CHECK_LE(now, (rn_time)b.tv_sec * RN_SEC + b.tv_nsec);
}

SIM_TEST(time_starts_at_zero_and_is_exact)
{
    CHECK_EQ(rn_now(), 0);
    CHECK_EQ(rn_sleep(3600 * RN_SEC), 0); /* costs nothing */
    CHECK_EQ(rn_now(), 3600 * RN_SEC);
    CHECK_EQ(rn_sleep(1), 0);
    CHECK_EQ(rn_now(), 3600 * RN_SEC + 1);
}

API_TEST(time_after_does_not_wrap)
{
    rn_time now = rn_now();
    CHECK_GE(rn_after(0), now);
    CHECK_GE(rn_after(-1), now);
    CHECK_GE(rn_after(INT64_MIN), now);
    CHECK_LT(rn_after(INT64_MIN), now + 3600 * RN_SEC);
    CHECK_GE(rn_after(RN_SEC), now + RN_SEC);
    CHECK_LT(rn_after(RN_SEC), now + 3600 * RN_SEC);
    CHECK_EQ(rn_after(INT64_MAX), RN_NEVER);
    if (rn_sim_active()) {
        CHECK_EQ(rn_sleep(5), 0);
        CHECK_EQ(rn_after(INT64_MAX - 4), RN_NEVER);
        CHECK_EQ(rn_after(7), 12);
        CHECK_EQ(rn_after(-7), 5);
    }
}

TEST(time_needs_no_task)
{
    rn_time now = rn_now();
    CHECK_GT(now, 0);
    CHECK_GE(rn_after(1), now + 1);
}

/* ---- timers ------------------------------------------------------------- */

API_TEST(timer_sends_the_time)
{
    rn_time when = rn_now() + RN_MS;
    rn_timer *t = new_timer(when, 0);
    rn_chan *c = rn_timer_chan(t);
    CHECK_EQ(rn_chan_cap(c), 1);
    rn_time v = recv_time(t);
    CHECK_GE(v, when);
    CHECK_GE(rn_now(), v);
    if (rn_sim_active())
        CHECK_EQ(v, when);
    CHECK_EQ(rn_timer_stop(t), 0);                  /* has fired */
    CHECK_EQ(rn_chan_recv(c, &v, RN_NOW), -EAGAIN); /* once */
    rn_timer_free(t);
    rn_timer_free(NULL);
}

API_TEST(timer_of_the_past_fires_at_once)
{
    rn_time past[] = {rn_now(), 0, -1, RN_NOW};
    for (size_t i = 0; i < 4; i++) {
        rn_timer *t = new_timer(past[i], 0);
        recv_time(t);
        rn_timer_free(t);
    }
}

API_TEST(timer_stopped_does_not_fire)
{
    rn_timer *t = new_timer(rn_now() + 3600 * RN_SEC, 0);
    CHECK_EQ(rn_timer_stop(t), 1);
    CHECK_EQ(rn_timer_stop(t), 0);
    CHECK_EQ(rn_chan_recv(rn_timer_chan(t), NULL, RN_NOW), -EAGAIN);
    if (rn_sim_active()) {
        CHECK_EQ(rn_sleep(4000 * RN_SEC), 0);
        CHECK_EQ(rn_chan_len(rn_timer_chan(t)), 0);
    }
    rn_timer_free(t);
}

API_TEST(timer_never_does_not_fire)
{
    rn_timer *t = new_timer(RN_NEVER, 0);
    CHECK_EQ(rn_chan_recv(rn_timer_chan(t), NULL, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_timer_reset(t, rn_now(), 0), 0);
    recv_time(t);
    rn_timer_free(t);
}

API_TEST(timer_can_be_reset)
{
    rn_timer *t = new_timer(rn_now() + 3600 * RN_SEC, 0);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_timer_reset(t, when, 0), 1); /* earlier */
    CHECK_GE(recv_time(t), when);
    CHECK_EQ(rn_timer_reset(t, when, 0), 0); /* again, in the past */
    recv_time(t);
    CHECK_EQ(rn_timer_reset(t, rn_now() + 3600 * RN_SEC, 0), 0);
    CHECK_EQ(rn_timer_reset(t, rn_now() + 7200 * RN_SEC, 0), 1); /* later */
    CHECK_EQ(rn_timer_stop(t), 1);
    CHECK_EQ(rn_timer_reset(t, rn_now(), -1), -EINVAL);
    CHECK_EQ(rn_timer_stop(t), 0); /* nothing happened */
    rn_timer_free(t);
}

SIM_TEST(timer_reset_earlier_and_later_is_exact)
{
    rn_timer *t = new_timer(1000, 0);
    CHECK_EQ(rn_timer_reset(t, 500, 0), 1);
    CHECK_EQ(recv_time(t), 500);
    CHECK_EQ(rn_now(), 500);
    CHECK_EQ(rn_timer_reset(t, 2000, 0), 0);
    CHECK_EQ(rn_sleep_until(1999), 0);
    CHECK_EQ(rn_timer_reset(t, 3000, 0), 1);
    CHECK_EQ(recv_time(t), 3000);
    CHECK_EQ(rn_now(), 3000);
    rn_timer_free(t);
}

API_TEST(timer_refuses_a_negative_period)
{
    rn_timer *t = (rn_timer *)&t;
    CHECK_EQ(rn_timer_new(0, -1, &t), -EINVAL);
    CHECK_EQ(rn_timer_new(RN_NEVER, INT64_MIN, &t), -EINVAL);
    CHECK(t == (rn_timer *)&t); /* untouched */
}

/* What it sent stays there, and nothing follows; who has a reference may send
 * and close as in any channel. */
API_TEST(timer_channel_outlives_it)
{
    for (int i = 0; i < 3; i++) {
        rn_time now = rn_now(), v = -1;
        rn_timer *t = new_timer(i == 0 ? now + 3600 * RN_SEC : now, i * RN_US);
        rn_chan *c = rn_chan_ref(rn_timer_chan(t));
        if (i > 0) {
            while (rn_chan_len(c) == 0)
                CHECK_EQ(rn_sleep(1), 0);
        }
        rn_timer_free(t);
        rn_timer *other = new_timer(RN_NEVER, 0); /* not in its memory */
        CHECK(rn_timer_chan(other) != c);
        CHECK_EQ(rn_chan_len(c), i > 0);
        if (i > 0)
            CHECK_EQ(recv_from(c), now);
        CHECK_EQ(rn_chan_recv(c, &v, RN_NOW), -EAGAIN);
        CHECK_EQ(rn_chan_send(c, &now, RN_NOW), 0);
        rn_chan_close(c);
        CHECK_EQ(recv_from(c), now);
        CHECK_EQ(rn_chan_recv(c, &v, RN_NOW), -EPIPE);
        rn_chan_unref(c);
        rn_timer_free(other);
    }
}

/* Memory that is used again must not tell what its last timer left there. */
API_TEST(timer_is_new_in_used_memory)
{
    for (int i = 0; i < 3; i++) {
        rn_timer *t = new_timer(rn_now(), i == 1 ? RN_US : 0);
        recv_time(t);
        CHECK_EQ(rn_timer_reset(t, rn_now() + 3600 * RN_SEC, 5), i == 1);
        int e = rn_chan_send(rn_timer_chan(t), &(rn_time){7}, RN_NOW);
        CHECK(e == 0 || (i == 1 && e == -EAGAIN)); /* there may be a tick */
        rn_chan_close(rn_timer_chan(t));
        rn_timer_free(t);
        t = new_timer(RN_NEVER, 0);
        CHECK_EQ(rn_chan_recv(rn_timer_chan(t), NULL, RN_NOW), -EAGAIN);
        CHECK_EQ(rn_timer_stop(t), 0);
        CHECK_EQ(rn_timer_reset(t, rn_now(), 0), 0);
        recv_time(t);
        rn_timer_free(t);
    }
}

/* ---- tickers ------------------------------------------------------------ */

API_TEST(ticker_ticks)
{
    rn_time start = rn_now();
    rn_timer *t = new_timer(start + RN_US, RN_US);
    rn_time last = start;
    for (int i = 1; i <= 20; i++) {
        rn_time v = recv_time(t);
        CHECK_GE(v, start + i * RN_US);
        CHECK_GE(v, last);
        last = v;
    }
    CHECK_EQ(rn_timer_stop(t), 1);
    CHECK_EQ(rn_timer_stop(t), 0);
    rn_timer_free(t);
}

SIM_TEST(ticker_does_not_drift)
{
    rn_timer *t = new_timer(1000, 333);
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(recv_time(t), 1000 + i * 333);
        CHECK_EQ(rn_now(), 1000 + i * 333);
        CHECK_EQ(rn_sleep(i % 300), 0); /* work of varying length */
    }
    rn_timer_free(t);
}

/* A tick nobody takes is dropped, the rest stay where they were. */
SIM_TEST(ticker_drops_what_a_slow_reader_misses)
{
    rn_timer *t = new_timer(100, 100);
    CHECK_EQ(rn_sleep_until(450), 0);
    CHECK_EQ(rn_chan_len(rn_timer_chan(t)), 1);
    CHECK_EQ(recv_time(t), 100);
    CHECK_EQ(recv_time(t), 500);
    CHECK_EQ(rn_now(), 500);
    CHECK_EQ(rn_timer_reset(t, 1000, 10), 1);
    CHECK_EQ(recv_time(t), 1000);
    CHECK_EQ(recv_time(t), 1010);
    CHECK_EQ(rn_timer_reset(t, 2000, 0), 1); /* no ticker any more */
    CHECK_EQ(recv_time(t), 2000);
    CHECK_EQ(rn_sleep(1000), 0);
    CHECK_EQ(rn_chan_len(rn_timer_chan(t)), 0);
    rn_timer_free(t);
}

SIM_TEST(ticker_of_huge_period_does_not_wrap)
{
    rn_timer *t = new_timer(10, INT64_MAX);
    CHECK_EQ(recv_time(t), 10);
    CHECK_EQ(rn_sleep(3600 * RN_SEC), 0);
    CHECK_EQ(rn_chan_len(rn_timer_chan(t)), 0);
    rn_timer_free(t);
}

/* ---- slow readers delay nobody ------------------------------------------ */

SIM_TEST(timer_unread_does_not_delay_others)
{
    rn_timer *unread[4], *read = new_timer(2000, 0);
    for (int i = 0; i < 4; i++)
        unread[i] = new_timer(1000 + i % 2, i < 2 ? 10 : 0);
    CHECK_EQ(recv_time(read), 2000);
    CHECK_EQ(rn_now(), 2000);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(recv_time(unread[i]), 1000 + i % 2);
        rn_timer_free(unread[i]);
    }
    rn_timer_free(read);
}

API_TEST(timer_unread_does_not_stop_others)
{
    rn_timer *unread = new_timer(rn_now(), RN_US);
    for (int i = 0; i < 5; i++) {
        rn_timer *t = new_timer(rn_now() + 50 * RN_US, 0);
        recv_time(t);
        rn_timer_free(t);
    }
    rn_timer_free(unread);
}

/* ---- equal times -------------------------------------------------------- */

struct pair {
    rn_timer *timer;
    int *order, *count, number;
};

static int
recv_and_log(void *arg)
{
    struct pair *p = arg;
    recv_time(p->timer);
    p->order[(*p->count)++] = p->number;
    return 0;
}

/* Main fails if the second came first: the search must find that it can. */
SIM_FINDS(timer_equal_times_come_in_any_order, RN_SIM_ASSERT)
{
    rn_timer *a = new_timer(1000, 0), *b = new_timer(1000, 0);
    int order[2], count = 0;
    struct pair pa = {a, order, &count, 0}, pb = {b, order, &count, 1};
    rn_scope *s = open_scope(RN_NEVER);
    go(recv_and_log, &pa);
    go(recv_and_log, &pb);
    rn_scope_close(s);
    rn_sim_assert(order[0] == 0, "first is first");
}

SIM_FINDS(timer_equal_times_may_come_in_creation_order, RN_SIM_ASSERT)
{
    rn_timer *a = new_timer(1000, 0), *b = new_timer(1000, 0);
    int order[2], count = 0;
    struct pair pa = {a, order, &count, 0}, pb = {b, order, &count, 1};
    rn_scope *s = open_scope(RN_NEVER);
    go(recv_and_log, &pa);
    go(recv_and_log, &pb);
    rn_scope_close(s);
    rn_sim_assert(order[0] == 1, "second is first");
}

static int
sleep_and_log(void *arg)
{
    struct pair *p = arg;
    CHECK_EQ(rn_sleep_until(1000 * p->number), 0);
    p->order[(*p->count)++] = p->number;
    return 0;
}

SIM_TEST(timer_different_times_come_in_order)
{
    int order[8], count = 0;
    struct pair pairs[8];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 8; i++) {
        pairs[i] = (struct pair){NULL, order, &count, (i * 5) % 8};
        go(sleep_and_log, &pairs[i]);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(order[i], i);
}

/* ---- lateness ----------------------------------------------------------- */

static int
sleep_a_little(void *arg)
{
    (void)arg;
    CHECK_EQ(rn_sleep(RN_MS), 0);
    return 0;
}

/* One sleep whose timer is due while we do not yield: from a moment when it
 * has not expired, in the numbers at *from, until it must have long before. */
static void
sleep_beside_a_hog(rn_stats *from, rn_stats *to)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(sleep_a_little, NULL);
    CHECK_EQ(rn_yield(), 0);
    rn_stats_get(from);
    rn_time end = rn_now() + 2 * RN_MS;
    while (!rn_sim_active() && rn_now() < end)
        continue;
    CHECK_EQ(rn_scope_close(s), 0);
    rn_stats_get(to);
}

/* A task that does not yield keeps its worker from the clock. If the machine
 * stood still meanwhile, the timer has expired within the yield: once more. */
API_TEST(timer_lateness_is_reported)
{
    rn_stats from, to;
    rn_time late = 0;
    uint64_t sleeps = 0;
    do {
        sleep_beside_a_hog(&from, &to);
        CHECK_EQ(to.timers, ++sleeps);
        CHECK_GE(to.timers_late_total, late);
        CHECK_LE(to.timers_late_total - late, to.timers_late_max);
        late = to.timers_late_total;
    } while (from.timers == sleeps);
    if (sleeps == 1)
        CHECK_EQ(to.timers_late_max, late);
    if (rn_sim_active())
        CHECK_EQ(late, 0);
    else if (to.workers == 1)
        CHECK_GE(to.timers_late_max, RN_MS);
}

/* ---- races and size ----------------------------------------------------- */

/* Stopped before it fired: then nothing is in the channel; else one value. */
API_TEST(timer_stop_race_is_decided)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(2000)); i++) {
        rn_timer *t = new_timer(rn_now() + i % 3 * 100, 0);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        int stopped = rn_timer_stop(t);
        CHECK(stopped == 0 || stopped == 1);
        if (!stopped)
            recv_time(t);
        CHECK_EQ(rn_chan_recv(rn_timer_chan(t), NULL, RN_NOW), -EAGAIN);
        rn_timer_free(t);
    }
}

API_TEST(timer_freed_while_it_fires)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(2000)); i++) {
        rn_timer *t = new_timer(rn_now() + i % 3 * 100, i % 2);
        if (i % 5 == 0)
            CHECK_EQ(rn_yield(), 0);
        rn_timer_free(t);
    }
}

static int
sleep_pseudo_random(void *arg)
{
    rn_time span = *(int *)arg * 7919 % 1000 * RN_US;
    rn_time when = rn_now() + span;
    CHECK_EQ(rn_sleep(span), 0);
    CHECK_GE(rn_now(), when);
    return 0;
}

API_TEST_SCHEDULES(timer_many_sleepers_all_wake, 3)
{
    static int numbers[10000];
    int n = many_tasks(10000);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < n; i++) {
        numbers[i] = i;
        go(sleep_pseudo_random, &numbers[i]);
    }
    CHECK_EQ(rn_scope_close(s), 0);
}

static void
make_and_free(int n)
{
    for (int i = 0; i < n; i++)
        rn_timer_free(new_timer(rn_now() + 3600 * RN_SEC, 0));
}

REAL_TEST(timer_freed_leaves_nothing_behind)
{
    make_and_free((int)test_count(5000));
    long before = resident_bytes();
    make_and_free((int)test_count(200000));
    CHECK_LT(resident_bytes() - before, 4 << 20);
}

/* ---- misuse ------------------------------------------------------------- */

static int
wait_for_timer(void *arg)
{
    rn_chan_recv(rn_timer_chan(arg), NULL, RN_NEVER);
    return 0;
}

API_PANICS(timer_freed_under_a_waiter_panics, "wait")
{
    rn_timer *t = new_timer(rn_now() + 3600 * RN_SEC, 0);
    go(wait_for_timer, t);
    settle();
    rn_timer_free(t);
}

TEST_DIES_WITH(timer_new_outside_a_task_panics, "outside a task", -SIGABRT)
{
    new_timer(RN_NEVER, 0);
}
