/* blocking.c - tests of runnel/blocking.h. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>

static int
add_one(void *arg)
{
    return ++*(int *)arg;
}

/* ---- what a call does --------------------------------------------------- */

API_TEST(blocking_returns_what_the_function_returns)
{
    int value = 6, result = -1;
    CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, &result), 0);
    CHECK_EQ(result, 7);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, NULL), 0);
    value = -6;
    CHECK_EQ(rn_blocking(add_one, &value, rn_now(), &result), 0);
    CHECK_EQ(result, -5);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NOW, &result), 0);
    CHECK_EQ(result, -4);
}

enum { TASKS = 40, CALLS = 5 };

static int
call_some(void *arg)
{
    for (int i = 0; i < CALLS; i++)
        CHECK_EQ(rn_blocking(add_one, arg, RN_NEVER, NULL), 0);
    return 0;
}

API_TEST_SCHEDULES(blocking_calls_each_run_once, 20)
{
    int counts[TASKS] = {0};
    rn_blocking_stats stats;
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < TASKS; i++)
        go(call_some, &counts[i]);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(counts[i], CALLS);
    rn_blocking_stats_get(&stats);
    CHECK_EQ(stats.calls, TASKS * CALLS);
    CHECK_EQ(stats.queued, 0);
    CHECK_EQ(stats.gave_up, 0);
    CHECK_LE(stats.threads_peak, TASKS);
}

API_TEST(blocking_in_a_cancelled_scope_does_not_run)
{
    int value = 0, result = 5;
    rn_scope *s = open_scope(RN_NEVER);
    rn_scope_cancel(s);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, &result), -ECANCELED);
    CHECK_EQ(value, 0);
    CHECK_EQ(result, 5);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NOW, &result), 0); /* a try */
    CHECK_EQ(value, 1);
    close_cancelled(s);
}

static int
call_deferred(void *arg, int outcome)
{
    (void)outcome;
    CHECK_EQ(rn_blocking(add_one, arg, RN_NEVER, NULL), 0);
    return 0;
}

struct deferred {
    rn_waitgroup begun;
    int value;
};

static int
defer_call(void *arg)
{
    struct deferred *d = arg;
    CHECK_EQ(rn_defer(call_deferred, &d->value), 0);
    rn_waitgroup_done(&d->begun);
    CHECK_EQ(rn_sleep(3600 * RN_SEC), -ECANCELED);
    return 0;
}

API_TEST(blocking_in_a_deferred_call_is_not_cancelled)
{
    struct deferred d = {.begun = RN_WAITGROUP_INIT};
    rn_scope *s = open_scope(RN_NEVER);
    rn_waitgroup_add(&d.begun, 1);
    rn_task t = go_joinable(defer_call, &d);
    CHECK_EQ(rn_waitgroup_wait(&d.begun, RN_NEVER), 0);
    rn_scope_cancel(s);
    int e = rn_task_join(t, RN_NOW, NULL);
    CHECK(e == 0 || e == -EAGAIN || e == -ECANCELED);
    close_cancelled(s);
    CHECK_EQ(d.value, 1);
}

API_TEST(blocking_stats_are_zero_before_the_first_call)
{
    static const rn_blocking_stats zero;
    rn_blocking_stats stats;
    memset(&stats, 0xff, sizeof stats);
    rn_blocking_stats_get(&stats);
    CHECK_MEM(&stats, &zero, sizeof zero);
}

/* ---- the function is no task -------------------------------------------- */

static int
yield_in_call(void *arg)
{
    (void)arg;
    return rn_yield();
}

API_PANICS(blocking_function_must_not_yield, "rn_yield called outside a task")
{
    (void)!rn_blocking(yield_in_call, NULL, RN_NEVER, NULL);
}

static int
panic_in_call(void *arg)
{
    rn_panic("no %s", (const char *)arg);
}

API_PANICS(blocking_function_may_panic, "no luck")
{
    (void)!rn_blocking(panic_in_call, "luck", RN_NEVER, NULL);
}

static int
look_around(void *arg)
{
    CHECK_EQ(rn_task_self().id, 0);
    CHECK_STR(rn_task_name(), "");
    CHECK_GE(rn_now(), *(rn_time *)arg);
    return 0;
}

API_TEST(blocking_function_is_no_task)
{
    rn_time before = rn_now();
    CHECK_EQ(rn_blocking(look_around, &before, RN_NEVER, NULL), 0);
    CHECK(rn_task_self().id != 0);
}

static int
call_once(void *arg)
{
    return rn_blocking(add_one, arg, RN_NEVER, NULL);
}

static int
run_inner(void *arg)
{
    return rn_run(NULL, call_once, arg);
}

REAL_TEST(blocking_function_may_start_a_runtime)
{
    int value = 0, result = -1;
    CHECK_EQ(rn_blocking(run_inner, &value, RN_NEVER, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(value, 1);
}

SIM_FINDS_TEXT(blocking_function_simulated_starts_no_runtime, RN_SIM_PANIC,
               "rn_run called by a task")
{
    int value = 0;
    (void)!rn_blocking(run_inner, &value, RN_NEVER, NULL);
}

API_PANICS(blocking_of_no_function_panics, "rn_blocking|NULL")
{
    (void)!rn_blocking(NULL, NULL, RN_NEVER, NULL);
}

API_PANICS(blocking_stats_of_null_panics, "rn_blocking_stats_get|NULL")
{
    rn_blocking_stats_get(NULL);
}

TEST_DIES_WITH(blocking_outside_a_task_panics, "outside a task", -SIGABRT)
{
    int value = 0;
    (void)!rn_blocking(add_one, &value, RN_NEVER, NULL);
}

TEST_DIES_WITH(blocking_stats_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_blocking_stats stats;
    rn_blocking_stats_get(&stats);
}

/* ---- simulated ---------------------------------------------------------- */

static int
assert_in_call(void *arg)
{
    rn_sim_assert(*(int *)arg == 0, "nobody was before me");
    return 0;
}

static int
set(void *arg)
{
    *(int *)arg = 1;
    return 0;
}

/* Another task can come before the function ... */
SIM_FINDS_TEXT(blocking_simulated_another_comes_before, RN_SIM_ASSERT,
               "nobody was before me")
{
    int value = 0;
    rn_scope *s = open_scope(RN_NEVER);
    go(set, &value);
    (void)!rn_blocking(assert_in_call, &value, RN_NEVER, NULL);
    (void)!rn_scope_close(s);
}

static int
clear(void *arg)
{
    CHECK_EQ(rn_yield(), 0);
    *(int *)arg = 0;
    return 0;
}

/* ... and between it and its caller. */
SIM_FINDS(blocking_simulated_another_comes_between, RN_SIM_ASSERT)
{
    int value = 0;
    rn_scope *s = open_scope(RN_NEVER);
    go(clear, &value);
    (void)!rn_blocking(set, &value, RN_NEVER, NULL);
    rn_sim_assert(value == 1, "as the function left it");
    (void)!rn_scope_close(s);
}
