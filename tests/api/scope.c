/* scope.c - tests of runnel/scope.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- joins all ---------------------------------------------------------- */

static int
yield_and_count(void *arg)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_yield(), 0);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

API_TEST(scope_close_joins_all)
{
    atomic_int ended = 0;
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 5; i++)
        go(yield_and_count, &ended);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&ended), 5);
}

API_TEST(scope_close_of_none_is_fine)
{
    CHECK_EQ(rn_scope_close(open_scope(RN_NEVER)), 0);
    CHECK_EQ(rn_scope_close(open_scope(rn_now() + 3600 * RN_SEC)), 0);
}

static int
plain_result(void *arg)
{
    *(int *)arg = 5;
    return 1000000; /* any result of 0 or more is a success */
}

API_TEST(scope_close_publishes_memory)
{
    int plain[3] = {0};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(plain_result, &plain[i]);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(plain[i], 5);
}

struct nested {
    rn_scope *outer;
    atomic_int count;
};

static int
spawn_into_outer(void *arg)
{
    struct nested *n = arg;
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(n->outer, yield_and_count, &n->count), 0);
    CHECK_EQ(rn_go(s, yield_and_count, &n->count), 0);
    return rn_scope_close(s);
}

API_TEST(scope_takes_tasks_from_any_depth)
{
    struct nested n = {open_scope(RN_NEVER), 0};
    rn_scope *inner = open_scope(RN_NEVER);
    rn_task t = go_joinable(spawn_into_outer, &n);
    CHECK_EQ(rn_go(n.outer, yield_and_count, &n.count), 0);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_scope_close(inner), 0);
    CHECK_EQ(rn_scope_close(n.outer), 0);
    CHECK_EQ(atomic_load(&n.count), 3);
}

/* ---- errors ------------------------------------------------------------- */

static int
fail_eio(void *arg)
{
    (void)arg;
    return -EIO;
}

API_TEST(scope_error_cancels_the_siblings)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_for_cancel, NULL);
    CHECK_EQ(rn_go(NULL, wait_for_cancel, NULL), 0);
    CHECK_EQ(rn_go(NULL, fail_eio, NULL), 0);
    /* the body is inside, too */
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(rn_cancel_requested(), 0);
    CHECK_EQ(rn_yield(), 0);
}

/* The classic fault: waiting for the first task, which waits for ever, and so
 * not seeing that the second has failed. */
API_TEST(scope_close_sees_any_failure)
{
    for (int failing = 0; failing < 3; failing++) {
        rn_scope *s = open_scope(RN_NEVER);
        for (int i = 0; i < 3; i++) {
            int e =
                rn_go(NULL, i == failing ? fail_eio : wait_for_cancel, NULL);
            CHECK(e == 0 || e == -ECANCELED); /* one may have failed */
        }
        CHECK_EQ(rn_scope_close(s), -EIO);
    }
}

static int
fail_when_cancelled(void *arg)
{
    (void)arg;
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return -ENOSPC;
}

API_TEST(scope_first_error_wins)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(fail_when_cancelled, NULL); /* can only fail second */
    CHECK_EQ(rn_go(NULL, fail_eio, NULL), 0);
    CHECK_EQ(rn_scope_close(s), -EIO);
}

static int
cancel_oneself(void *arg)
{
    (void)arg;
    return -ECANCELED; /* though nobody asked for it */
}

API_TEST(scope_task_that_cancels_itself_ends_it)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_for_cancel, NULL);
    CHECK_EQ(rn_go(NULL, cancel_oneself, NULL), 0);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(rn_yield(), 0);
}

static int
inner_fails(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(fail_eio, arg);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(rn_yield(), 0);
    return 0; /* swallowed here */
}

API_TEST(scope_error_stays_inside_its_scope)
{
    atomic_int ended = 0;
    rn_scope *s = open_scope(RN_NEVER);
    go(yield_and_count, &ended);
    go(inner_fails, NULL);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&ended), 1);
}

/* ---- cancel ------------------------------------------------------------- */

static void
every_point_is_cancelled(void)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    rn_mutex m = RN_MUTEX_INIT, held = RN_MUTEX_INIT;
    rn_cond cond = RN_COND_INIT;
    rn_waitgroup group = RN_WAITGROUP_INIT;
    int v = 42;
    rn_arm arms[] = {RN_ARM_SEND(c, &v), RN_ARM_AT(0)};
    CHECK_EQ(rn_cancel_requested(), 1);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_sleep(3600 * RN_SEC), -ECANCELED);
    CHECK_EQ(rn_sleep_until(RN_NEVER), -ECANCELED);
    /* also what could be done at once is not done */
    CHECK_EQ(rn_chan_send(c, &v, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_chan_len(c), 0);
    CHECK_EQ(rn_chan_send(c, &v, RN_NOW), 0);
    CHECK_EQ(rn_chan_recv(c, &v, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_chan_recv(c, &v, RN_NOW), 0);
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_mutex_lock(&m, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_mutex_lock(&held, RN_NOW), 0);
    CHECK_EQ(rn_cond_wait(&cond, &held, RN_NEVER), -ECANCELED);
    rn_mutex_unlock(&held); /* had it again */
    rn_waitgroup_add(&group, 1);
    CHECK_EQ(rn_waitgroup_wait(&group, RN_NEVER), -ECANCELED);
    CHECK_EQ(v, 42);
    rn_chan_unref(c);
}

static int
swallow_cancel(void *arg)
{
    (void)arg;
    every_point_is_cancelled();
    rn_scope *inner = open_scope(RN_NEVER);
    every_point_is_cancelled(); /* swallowing it does not lose it */
    close_cancelled(inner);
    every_point_is_cancelled();
    return 0;
}

static int
wait_then_swallow(void *arg)
{
    wait_for_cancel(NULL);
    return swallow_cancel(arg);
}

API_TEST(scope_cancel_is_level_triggered)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_then_swallow, NULL);
    rn_scope_cancel(s);
    rn_scope_cancel(s);
    swallow_cancel(NULL);
    close_cancelled(s);
    CHECK_EQ(rn_cancel_requested(), 0);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_sleep(1), 0);
}

static int
touch(void *arg)
{
    *(int *)arg = 1;
    return 0;
}

API_TEST(scope_cancelled_takes_no_tasks)
{
    int touched = 0;
    rn_task t = {77};
    rn_scope *s = open_scope(RN_NEVER);
    rn_scope *inner = open_scope(RN_NEVER);
    rn_scope_cancel(s);
    CHECK_EQ(rn_go(NULL, touch, &touched), -ECANCELED);
    CHECK_EQ(rn_go(s, touch, &touched), -ECANCELED);
    CHECK_EQ(rn_task_spawn(inner, touch, &touched, NULL, &t), -ECANCELED);
    CHECK_EQ(t.id, 77);
    close_cancelled(inner);
    rn_scope *born = open_scope(RN_NEVER); /* cancelled from the start */
    CHECK_EQ(rn_go(born, touch, &touched), -ECANCELED);
    close_cancelled(born);
    close_cancelled(s);
    CHECK_EQ(touched, 0);
    CHECK_EQ(rn_task_count(), 1);
}

API_TEST(scope_cancel_after_success_is_no_failure)
{
    int touched = 0;
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = go_joinable(touch, &touched);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(touched, 1);
}

struct layer {
    rn_scope *top;
    int depth;
    atomic_int *cancelled;
};

/* Each layer waits inside a scope of its own; the lowest cancels the top. */
static int
descend(void *arg)
{
    struct layer *l = arg, below = {l->top, l->depth - 1, l->cancelled};
    if (l->depth == 0) {
        rn_scope_cancel(l->top);
        return 0;
    }
    rn_scope *s = open_scope(RN_NEVER);
    go(descend, &below);
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    atomic_fetch_add(l->cancelled, 1);
    close_cancelled(s);
    return e;
}

API_TEST(scope_cancel_from_below_reaches_all)
{
    atomic_int cancelled = 0;
    struct layer l = {open_scope(RN_NEVER), 6, &cancelled};
    go(descend, &l);
    CHECK_EQ(rn_scope_close(l.top), -ECANCELED);
    CHECK_EQ(atomic_load(&cancelled), 6);
}

API_TEST(scope_inner_cancel_leaves_the_outer)
{
    rn_scope *outer = open_scope(RN_NEVER), *inner = open_scope(RN_NEVER);
    atomic_int ended = 0;
    CHECK_EQ(rn_go(outer, yield_and_count, &ended), 0);
    rn_scope_cancel(inner);
    CHECK_EQ(rn_yield(), -ECANCELED);
    close_cancelled(inner);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_scope_close(outer), 0);
    CHECK_EQ(atomic_load(&ended), 1);
}

/* Two cancels, of a scope and of the one around it, at the same time. */
static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

API_TEST(scope_cancels_may_cross)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 500); i++) {
        rn_scope *outer = open_scope(RN_NEVER), *inner = open_scope(RN_NEVER);
        go(wait_for_cancel, NULL);
        go(cancel_it, i % 2 ? outer : inner);
        int e = rn_go(NULL, cancel_it, i % 2 ? inner : outer);
        CHECK(e == 0 || e == -ECANCELED);
        CHECK_EQ(rn_scope_close(inner), -ECANCELED);
        close_cancelled(outer);
        CHECK_EQ(rn_yield(), 0);
    }
}

/* ---- deadlines ---------------------------------------------------------- */

API_TEST(scope_deadline_times_out_at_its_owner)
{
    rn_scope *owner = open_scope(RN_NEVER);
    rn_scope *inner = open_scope(RN_NEVER), *later = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(owner, wait_for_cancel, NULL), 0);
    CHECK_EQ(rn_go(inner, wait_for_cancel, NULL), 0);
    go(wait_for_cancel, NULL);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_scope_set_deadline(later, when + 3600 * RN_SEC), 0);
    CHECK_EQ(rn_scope_set_deadline(owner, when), 0);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    CHECK_GE(rn_now(), when);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), when);
    CHECK_EQ(rn_scope_close(later), -ECANCELED);
    CHECK_EQ(rn_scope_close(inner), -ECANCELED);
    CHECK_EQ(rn_scope_close(owner), -ETIMEDOUT);
    CHECK_EQ(rn_yield(), 0);
}

API_TEST(scope_inner_deadline_leaves_the_outer)
{
    rn_scope *outer = open_scope(rn_now() + 3600 * RN_SEC);
    rn_scope *inner = open_scope(RN_NEVER);
    go(wait_for_cancel, NULL);
    CHECK_EQ(rn_scope_set_deadline(inner, rn_now() + RN_MS), 0);
    CHECK_EQ(rn_scope_close(inner), -ETIMEDOUT);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_scope_close(outer), 0);
}

API_TEST(scope_of_the_past_is_opened_cancelled)
{
    rn_time past[] = {rn_now(), rn_now() - 1, -1, RN_NOW + 1, RN_NOW};
    for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
        int touched = 0;
        rn_scope *s = open_scope(past[i]);
        CHECK_EQ(rn_cancel_requested(), 1);
        CHECK_EQ(rn_go(NULL, touch, &touched), -ECANCELED);
        CHECK_EQ(rn_yield(), -ECANCELED);
        CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
        CHECK_EQ(touched, 0);
        CHECK_EQ(rn_yield(), 0);
    }
}

API_TEST(scope_deadline_not_reached_does_nothing)
{
    rn_time start = rn_now();
    for (int i = 0; i < 20; i++) {
        int touched = 0;
        rn_scope *s = open_scope(rn_now() + 3600 * RN_SEC);
        go(touch, &touched);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(touched, 1);
    }
    if (rn_sim_active())
        CHECK_EQ(rn_now(), start);
}

/* Its tasks had succeeded, but the caller itself was cut short: it must learn
 * by what. */
SIM_TEST(scope_deadline_that_cuts_the_caller_is_a_timeout)
{
    int touched = 0;
    rn_scope *s = open_scope(1000);
    rn_task t = go_joinable(touch, &touched);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_sleep_until(2000), -ECANCELED);
    CHECK_EQ(rn_now(), 1000);
    CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
}

static int
sleep_until_1000(void *arg)
{
    int e = rn_sleep_until(1000);
    CHECK(e == 0 || e == -ECANCELED);
    *(int *)arg = e;
    return e;
}

SIM_TEST(scope_deadline_and_success_in_one_instant)
{
    int e = 42;
    rn_scope *s = open_scope(1000);
    go(sleep_until_1000, &e);
    int result = rn_scope_close(s);
    CHECK_EQ(rn_now(), 1000);
    /* it may have succeeded, but ended after the deadline */
    CHECK(result == -ETIMEDOUT || (result == 0 && e == 0));
}

API_TEST(scope_deadline_can_be_moved)
{
    rn_time start = rn_now();
    rn_scope *s = open_scope(start + 3600 * RN_SEC);
    go(wait_for_cancel, NULL);
    CHECK_EQ(rn_scope_set_deadline(s, start + RN_MS), 0); /* earlier */
    CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
    CHECK_GE(rn_now(), start + RN_MS);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), start + RN_MS);
}

SIM_TEST(scope_deadline_can_be_put_off)
{
    rn_scope *s = open_scope(1000);
    CHECK_EQ(rn_sleep_until(999), 0);
    CHECK_EQ(rn_scope_set_deadline(s, 2000), 0);
    CHECK_EQ(rn_sleep_until(1999), 0);
    CHECK_EQ(rn_scope_set_deadline(s, RN_NEVER), 0);
    CHECK_EQ(rn_sleep_until(9000), 0);
    CHECK_EQ(rn_scope_set_deadline(s, 10000), 0);
    CHECK_EQ(rn_sleep_until(20000), -ECANCELED);
    CHECK_EQ(rn_now(), 10000);
    CHECK_EQ(rn_scope_set_deadline(s, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_yield(), -ECANCELED);
    rn_scope_close(s);
}

API_TEST(scope_deadline_moved_into_the_past_cancels)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_for_cancel, NULL);
    CHECK_EQ(rn_scope_set_deadline(s, rn_now()), 0);
    CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
}

static int
set_deadline_and_fail(void *arg)
{
    CHECK_EQ(rn_scope_set_deadline(arg, rn_now() + RN_MS), 0);
    return fail_when_cancelled(NULL);
}

/* Set by the task: one that has not begun by then would have no error. */
API_TEST(scope_error_beats_its_deadline)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(set_deadline_and_fail, s);
    CHECK_EQ(rn_scope_close(s), -ENOSPC);
}

/* ---- size --------------------------------------------------------------- */

API_TEST_SCHEDULES(scope_cancel_of_a_deep_chain_does_not_recurse, 2)
{
    int n = rn_sim_active() ? 10000 : (int)test_count(100000);
    rn_scope **chain = calloc((size_t)n, sizeof *chain);
    CHECK(chain != NULL);
    for (int i = 0; i < n; i++)
        chain[i] = open_scope(RN_NEVER);
    go(wait_for_cancel, NULL);
    rn_scope_cancel(chain[0]);
    CHECK_EQ(rn_yield(), -ECANCELED);
    for (int i = n - 1; i >= 0; i--) {
        CHECK_EQ(rn_cancel_requested(), 1);
        close_cancelled(chain[i]);
    }
    CHECK_EQ(rn_yield(), 0);
    free(chain);
}

/* The same with a task a level. */
API_TEST_SCHEDULES(scope_cancel_of_a_deep_chain_of_tasks, 2)
{
    atomic_int cancelled = 0;
    int n = many_tasks(10000);
    struct layer l = {open_scope(RN_NEVER), n, &cancelled};
    go(descend, &l);
    CHECK_EQ(rn_scope_close(l.top), -ECANCELED);
    CHECK_EQ(atomic_load(&cancelled), n);
    CHECK_EQ(rn_task_count(), 1);
}

/* Hour-long deadlines: what is not taken back at close stays for an hour. */
static void
timed_scopes(int n)
{
    for (int i = 0; i < n; i++) {
        int touched = 0;
        rn_scope *s = open_scope(rn_now() + 3600 * RN_SEC);
        if (i % 16 == 0)
            go(touch, &touched);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

REAL_TEST(scope_with_a_deadline_leaves_nothing_behind)
{
    timed_scopes((int)test_count(5000));
    long before = resident_bytes();
    timed_scopes((int)test_count(200000));
    CHECK_LT(resident_bytes() - before, 4 << 20);
    CHECK_EQ(rn_task_count(), 1);
}

/* ---- misuse ------------------------------------------------------------- */

static int
close_foreign(void *arg)
{
    rn_scope_close(arg);
    return 0;
}

API_PANICS(scope_close_by_another_task_panics, "scope")
{
    rn_scope *s = open_scope(RN_NEVER);
    go(close_foreign, s);
    settle();
    rn_scope_close(s);
}

API_PANICS(scope_close_out_of_order_panics, "scope")
{
    rn_scope *outer = open_scope(RN_NEVER);
    open_scope(RN_NEVER);
    rn_scope_close(outer);
}

TEST_DIES_WITH(scope_open_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_scope *s;
    (void)!rn_scope_open(RN_NEVER, &s);
}
