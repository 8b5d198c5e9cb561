/* after.c - tests of rn_after_func in runnel/time.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

#define HOUR (3600 * RN_SEC)

struct call {
    atomic_int runs;
    rn_time at; /* when it ran */
};

static int
note_time(void *arg)
{
    struct call *c = arg;
    c->at = rn_now();
    return atomic_fetch_add(&c->runs, 1);
}

static rn_task
after(rn_time when, rn_task_fn *fn, void *arg)
{
    rn_task t = {0};
    CHECK_EQ(rn_after_func(NULL, when, fn, arg, &t), 0);
    CHECK(t.id != 0);
    return t;
}

/* ---- when --------------------------------------------------------------- */

API_TEST(after_runs_at_its_time)
{
    struct call c = {.runs = 0}, now = {.runs = 0}, past = {.runs = 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_time when = rn_now() + RN_MS;
    after(when, note_time, &c);
    after(RN_NOW, note_time, &now);
    CHECK_EQ(rn_after_func(s, -1, note_time, &past, NULL), 0);
    CHECK_EQ(rn_scope_close(s), 0); /* waits for all three */
    CHECK_EQ(c.runs + now.runs + past.runs, 3);
    CHECK_GE(c.at, when);
    if (rn_sim_active())
        CHECK_EQ(c.at, when);
}

SIM_TEST(after_functions_of_one_time_run_at_it)
{
    struct call c[10] = {{.runs = 0}};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 10; i++)
        after(1000 * (i / 2), note_time, &c[i]);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(c[i].at, 1000 * (i / 2));
}

API_TEST(after_stop_keeps_it_from_running)
{
    struct call c = {.runs = 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = after(rn_now() + HOUR, note_time, &c);
    rn_task never = after(RN_NEVER, note_time, &c);
    CHECK_EQ(rn_after_stop(t), 1);
    CHECK_EQ(rn_after_stop(t), 0);
    CHECK_EQ(rn_after_reset(t, RN_NOW), 0);
    CHECK_EQ(rn_after_stop(never), 1);
    CHECK_EQ(rn_scope_close(s), 0); /* does not wait for an hour */
    CHECK_EQ(c.runs, 0);
    CHECK_EQ(rn_after_stop(t), 0); /* gone */
    CHECK_EQ(rn_after_stop((rn_task){0}), 0);
}

API_TEST(after_reset_moves_it)
{
    struct call c = {.runs = 0}, d = {.runs = 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = after(rn_now() + HOUR, note_time, &c);
    rn_task never = after(RN_NEVER, note_time, &d);
    rn_time soon = rn_now() + RN_MS;
    CHECK_EQ(rn_after_reset(t, RN_NEVER), 1);
    CHECK_EQ(rn_after_reset(t, soon), 1);
    CHECK_EQ(rn_after_reset(never, RN_NOW), 1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(c.runs + d.runs, 2);
    CHECK_GE(c.at, soon);
    CHECK_EQ(rn_after_reset(t, RN_NOW), 0);
}

SIM_TEST(after_reset_later_wins)
{
    struct call c = {.runs = 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = after(1000, note_time, &c);
    CHECK_EQ(rn_sleep_until(999), 0);
    CHECK_EQ(rn_after_reset(t, 2000), 1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(c.at, 2000);
}

/* ---- it is a task ------------------------------------------------------- */

API_TEST(after_can_be_joined)
{
    struct call c = {.runs = 7};
    int result = 0;
    rn_time when = rn_now() + RN_MS;
    rn_task t = after(when, note_time, &c);
    int e = rn_task_join(t, RN_NEVER, &result);
    CHECK(e == 0 || e == -ESRCH); /* it may have ended already */
    CHECK_EQ(result, e == 0 ? 7 : 0);
    t = after(rn_now() + HOUR, note_time, &c);
    CHECK_EQ(rn_task_join(t, RN_NOW, &result), -EAGAIN);
    CHECK_EQ(rn_after_stop(t), 1);
}

static int
wait_for_both(void *arg)
{
    CHECK_EQ(rn_chan_recv(arg, NULL, RN_NEVER), 0);
    return 0;
}

/* A slow function delays no other: this one waits for what comes after it. */
static int
release_other(void *arg)
{
    CHECK_EQ(rn_chan_send(arg, NULL, RN_NEVER), 0);
    return 0;
}

API_TEST_SCHEDULES(after_slow_function_delays_no_other, 1000)
{
    rn_chan *c = new_chan(0, 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_time when = rn_now() + 1000;
    after(when, wait_for_both, c);
    after(when + 1000, release_other, c);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c);
}

static int
chain(void *arg)
{
    int *left = arg;
    if (--*left > 0)
        after(rn_now() + 10, chain, left);
    return 0;
}

API_TEST(after_functions_start_others)
{
    int left = 20;
    rn_scope *s = open_scope(RN_NEVER);
    after(RN_NOW, chain, &left);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(left, 0);
}

static int
fail(void *arg)
{
    (void)arg;
    return -EIO;
}

/* R1: its failure cancels the others, those that wait to begin, too. */
API_TEST_SCHEDULES(after_failure_cancels_the_scope, 1000)
{
    struct call c = {.runs = 0};
    rn_scope *s = open_scope(RN_NEVER);
    after(rn_now() + HOUR, note_time, &c);
    after(rn_now() + 1000, fail, NULL);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(c.runs, 0);
}

API_TEST_SCHEDULES(after_cancel_ends_it, 1000)
{
    struct call c = {.runs = 0};
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    rn_task t = after(rn_now() + HOUR, note_time, &c);
    rn_task u = after(RN_NEVER, note_time, &c);
    rn_scope_cancel(outer);
    CHECK_EQ(rn_after_stop(t), 0);
    CHECK_EQ(rn_after_reset(u, RN_NOW), 0);
    CHECK_EQ(rn_after_func(NULL, RN_NOW, note_time, &c, NULL), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    close_cancelled(outer);
    CHECK_EQ(c.runs, 0);
}

static int
sleep_on(void *arg)
{
    (void)arg;
    CHECK_EQ(rn_sleep(HOUR), -ECANCELED);
    return -ECANCELED;
}

/* R17: of one that has not begun: it does not. */
API_TEST_SCHEDULES(after_cancel_of_the_task_ends_it, 1000)
{
    struct call c = {.runs = 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = after(rn_now() + HOUR, note_time, &c);
    rn_task u = after(RN_NEVER, note_time, &c);
    rn_task_cancel(t);
    CHECK_EQ(rn_task_cancel_join(u, RN_NEVER), 0);
    CHECK_EQ(rn_after_stop(t), 0);
    CHECK_EQ(rn_scope_close(s), 0); /* does not wait for an hour */
    CHECK_EQ(c.runs, 0);
}

/* R17: that another task of the scope was cancelled alone changes nothing. */
API_TEST_SCHEDULES(after_cancel_of_another_task_is_not_its_time, 1000)
{
    struct call c = {.runs = 0}, never = {.runs = 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_task_cancel(go_joinable(sleep_on, NULL));
    rn_time when = rn_now() + RN_MS;
    after(when, note_time, &c);
    rn_task t = after(rn_now() + HOUR, note_time, &never);
    CHECK_EQ(rn_after_reset(t, RN_NEVER), 1);
    CHECK_EQ(rn_after_stop(t), 1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(c.runs, 1);
    CHECK_GE(c.at, when);
    CHECK_EQ(never.runs, 0);
}

API_TEST(after_takes_no_stack_before_its_time)
{
    struct call c = {.runs = 0};
    rn_stats before, then;
    rn_scope *s = open_scope(RN_NEVER);
    rn_stats_get(&before);
    for (int i = 0; i < 500; i++)
        after(rn_now() + HOUR, note_time, &c);
    rn_stats_get(&then);
    CHECK_EQ(then.stacks, before.stacks);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(c.runs, 0);
}

/* ---- races -------------------------------------------------------------- */

struct race {
    struct call call;
    rn_task task;
    atomic_int stopped, moved;
    rn_time when;
};

static int
stop_it(void *arg)
{
    struct race *r = arg;
    atomic_fetch_add(&r->stopped, rn_after_stop(r->task));
    return 0;
}

static int
move_it(void *arg)
{
    struct race *r = arg;
    atomic_fetch_add(&r->moved, rn_after_reset(r->task, r->when));
    return 0;
}

/* Two stops and a reset at the time it is due: it runs, or one stop says that
 * it has kept it from running. */
API_TEST_SCHEDULES(after_stop_races_with_its_time, 2000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(2000)); i++) {
        struct race r = {.when = rn_now() + 500 + 100 * (i % 16)};
        rn_scope *s = open_scope(RN_NEVER);
        r.task = after(r.when, note_time, &r.call);
        CHECK_EQ(rn_sleep_until(r.when - 300), 0);
        if (rn_sim_active())
            CHECK_EQ(rn_sleep_until(r.when), 0);
        go(stop_it, &r);
        go(move_it, &r);
        go(stop_it, &r);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(atomic_load(&r.call.runs) + atomic_load(&r.stopped), 1);
        CHECK_LE(atomic_load(&r.moved), 1);
    }
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

/* With a cancel as well: it runs at most once, and never if it was stopped. */
API_TEST_SCHEDULES(after_cancel_races_with_its_time, 2000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(2000)); i++) {
        struct race r = {.when = rn_now() + 500 + 100 * (i % 16)};
        rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        r.task = after(r.when, note_time, &r.call);
        if (rn_sim_active())
            CHECK_EQ(rn_sleep_until(r.when), 0);
        go(cancel_it, s); /* inside: so it is still open */
        CHECK_EQ(rn_go(outer, i % 2 ? stop_it : move_it, &r), 0);
        int e = rn_scope_close(s);
        CHECK(e == 0 || e == -ECANCELED);
        CHECK_EQ(rn_scope_close(outer), 0);
        CHECK_LE(atomic_load(&r.call.runs) + atomic_load(&r.stopped), 1);
    }
}

/* Created while it is cancelled. */
static int
start_one(void *arg)
{
    struct call *c = arg;
    int e = rn_after_func(NULL, rn_now() + HOUR, note_time, c, NULL);
    CHECK(e == 0 || e == -ECANCELED);
    return 0;
}

API_TEST_SCHEDULES(after_cancel_races_with_the_start, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(2000)); i++) {
        struct call c = {.runs = 0};
        rn_scope *s = open_scope(RN_NEVER);
        go(start_one, &c);
        go(start_one, &c);
        go(cancel_it, s);
        close_cancelled(s);
        CHECK_EQ(c.runs, 0);
    }
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(after_func_of_nothing_panics, "fn is NULL")
{
    rn_after_func(NULL, RN_NOW, NULL, NULL, NULL);
}

TEST_DIES_WITH(after_func_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_after_func(NULL, RN_NOW, fail, NULL, NULL);
}

TEST_DIES_WITH(after_stop_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_after_stop((rn_task){0});
}
