/* task.c - tests of runnel/task.h. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- spawn and join ----------------------------------------------------- */

static int
return_number(void *arg)
{
    return *(int *)arg;
}

API_TEST(task_join_gives_the_result)
{
    int numbers[] = {0, 1, 42, 0x7fffffff};
    for (int i = 0; i < 4; i++) {
        int result = -1;
        rn_task t = go_joinable(return_number, &numbers[i]);
        CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
        CHECK_EQ(result, numbers[i]);
    }
}

API_TEST(task_join_again_finds_nobody)
{
    int number = 3, result = 42;
    rn_task t = go_joinable(return_number, &number);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), -ESRCH);
    CHECK_EQ(rn_task_join(t, rn_now(), &result), -ESRCH);
    CHECK_EQ(rn_task_join((rn_task){0}, RN_NEVER, &result), -ESRCH);
    CHECK_EQ(rn_task_join((rn_task){UINT64_MAX}, RN_NEVER, &result), -ESRCH);
    CHECK_EQ(result, 42);
}

API_TEST(task_handle_is_stale_after_its_scope)
{
    int number = 3, result = 42;
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = go_joinable(return_number, &number);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), -ESRCH);
    CHECK_EQ(result, 42);
}

/* Names are not used again soon, so a stale one does not meet another task. */
API_TEST_SCHEDULES(task_stale_handle_meets_no_later_task, 5)
{
    int number = 3, n = rn_sim_active() ? 50 : 5000;
    rn_task stale = go_joinable(return_number, &number);
    CHECK_EQ(rn_task_join(stale, RN_NEVER, NULL), 0);
    for (int i = 0; i < n; i++) {
        rn_task t = go_joinable(return_number, &number);
        CHECK_NE(t.id, stale.id);
        CHECK_EQ(rn_task_join(stale, RN_NEVER, NULL), -ESRCH);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    }
}

static int
publish_self(void *arg)
{
    *(rn_task *)arg = rn_task_self();
    return 0;
}

API_TEST(task_without_handle_leaves_no_record)
{
    rn_task t = {0};
    rn_scope *s = open_scope(RN_NEVER);
    go(publish_self, &t);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK(t.id != 0);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), -ESRCH);
}

API_TEST(task_join_of_oneself_is_refused)
{
    int result = 42;
    CHECK_EQ(rn_task_join(rn_task_self(), RN_NEVER, &result), -EDEADLK);
    CHECK_EQ(rn_task_join(rn_task_self(), RN_NOW, &result), -EDEADLK);
    CHECK_EQ(result, 42);
}

static int
wait_for_close(void *arg)
{
    CHECK_EQ(rn_chan_recv(arg, NULL, RN_NEVER), -EPIPE);
    return 5;
}

API_TEST(task_join_keeps_its_deadline)
{
    rn_chan *c = new_chan(0, 0);
    int result = 42;
    rn_task t = go_joinable(wait_for_close, c);
    CHECK_EQ(rn_task_join(t, RN_NOW, &result), -EAGAIN);
    CHECK_EQ(rn_task_join(t, rn_now(), &result), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_task_join(t, when, &result), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    CHECK_EQ(result, 42);
    rn_chan_close(c);
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
    CHECK_EQ(result, 5);
    rn_chan_unref(c);
}

struct joiner {
    rn_task task;
    atomic_int *joined;
};

static int
join_it(void *arg)
{
    struct joiner *j = arg;
    int result = 42, e = rn_task_join(j->task, RN_NEVER, &result);
    CHECK(e == 0 || e == -ESRCH);
    CHECK_EQ(result, e == 0 ? 5 : 42);
    atomic_fetch_add(j->joined, e == 0);
    return 0;
}

API_TEST(task_joined_by_many_gives_each_an_answer)
{
    rn_chan *c = new_chan(0, 0);
    atomic_int joined = 0;
    struct joiner j = {go_joinable(wait_for_close, c), &joined};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 5; i++)
        go(join_it, &j);
    settle();
    rn_chan_close(c);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_GE(atomic_load(&joined), 1);
    CHECK_EQ(rn_task_join(j.task, RN_NEVER, NULL), -ESRCH);
    rn_chan_unref(c);
}

struct plain {
    int in, out;
};

static int
double_it(void *arg)
{
    struct plain *p = arg;
    p->out = 2 * p->in;
    return 0;
}

API_TEST(task_spawn_and_join_publish_memory)
{
    for (int i = 0; i < 20; i++) {
        struct plain p = {i, -1};
        rn_task t = go_joinable(double_it, &p);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
        CHECK_EQ(p.out, 2 * i);
        memset(&p, 0xdb, sizeof p); /* the record holds nothing of ours */
    }
}

/* ---- names -------------------------------------------------------------- */

static int
has_default_name(void *arg)
{
    (void)arg;
    CHECK_STR(rn_task_name(), "task");
    rn_task_set_name("renamed");
    CHECK_STR(rn_task_name(), "renamed");
    return 0;
}

static int
is_alice(void *arg)
{
    CHECK_STR(rn_task_name(), "alice");
    *(rn_task *)arg = rn_task_self();
    return 0;
}

API_TEST(task_names)
{
    rn_task self = {0};
    CHECK_STR(rn_task_name(), "main");
    CHECK(rn_task_self().id != 0);
    rn_task t = go_joinable(has_default_name, NULL);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    t = go_named("alice", is_alice, &self);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(self.id, t.id);
    CHECK_STR(rn_task_name(), "main");
}

TEST(task_self_outside_is_nobody)
{
    CHECK_EQ(rn_task_self().id, 0);
    CHECK_STR(rn_task_name(), "");
    CHECK_EQ(rn_sim_active(), 0);
}

API_TEST(task_count_returns_to_the_base)
{
    CHECK_EQ(rn_task_count(), 1);
    for (int round = 0; round < 3; round++) {
        rn_chan *c = new_chan(0, 0);
        rn_scope *s = open_scope(RN_NEVER);
        for (int i = 0; i < 10; i++) {
            CHECK_EQ(rn_task_count(), 1 + i);
            go(wait_for_close, c);
        }
        rn_chan_close(c);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(rn_task_count(), 1);
        rn_chan_unref(c);
    }
}

API_TEST(task_dump_lists_each)
{
    rn_chan *c = new_chan(0, 0);
    rn_scope *s = open_scope(RN_NEVER);
    go_named("alice", wait_for_close, c);
    go_named("bob", wait_for_close, c);
    settle();
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    CHECK(f != NULL);
    rn_task_dump(f);
    CHECK_EQ(fclose(f), 0);
    CHECK_HAS(text, "main");
    CHECK_HAS(text, "alice");
    CHECK_HAS(text, "bob");
    if (rn_sim_active())
        CHECK_HAS(strstr(text, "alice"), "receive"); /* what it waits for */
    free(text);
    rn_chan_close(c);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c);
}

/* ---- progress ----------------------------------------------------------- */

static int
yield_until_set(void *arg)
{
    atomic_int *pair = arg;
    for (int i = 1; i <= 10; i++) {
        while (atomic_load(&pair[0]) != i)
            CHECK_EQ(rn_yield(), 0);
        atomic_store(&pair[1], i);
    }
    return 0;
}

API_TEST_SCHEDULES(task_yield_makes_progress, 20)
{
    atomic_int pair[2] = {0, 0};
    rn_task t = go_joinable(yield_until_set, pair);
    for (int i = 1; i <= 10; i++) {
        atomic_store(&pair[0], i);
        while (atomic_load(&pair[1]) != i)
            CHECK_EQ(rn_yield(), 0);
    }
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
}

static int
meet_all(void *arg)
{
    atomic_int *here = arg;
    atomic_fetch_add(here, 1);
    while (atomic_load(here) < 4)
        ; /* holds its worker: only real parallelism ends this */
    return 0;
}

static int
meet_main(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(meet_all, arg);
    meet_all(arg);
    CHECK_EQ(rn_scope_close(s), 0);
    return 0;
}

TEST(task_workers_run_in_parallel)
{
    for (int i = 0; i < 20; i++) {
        atomic_int here = 0;
        rn_options options = {.workers = 4};
        CHECK_EQ(rn_run(&options, meet_main, &here), 0);
    }
}

struct rally {
    rn_chan *there, *back;
    atomic_int over;
};

static int
hog(void *arg)
{
    struct rally *r = arg;
    while (!atomic_load(&r->over))
        ; /* neither yields nor waits */
    return 0;
}

static int
rally_back(void *arg)
{
    struct rally *r = arg;
    int v;
    while (rn_chan_recv(r->there, &v, RN_NEVER) == 0)
        send_int(r->back, v);
    return 0;
}

static int
rally_main(void *arg)
{
    struct rally *r = arg;
    r->there = new_chan(sizeof(int), 0);
    r->back = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(rally_back, r);
    go(hog, r);
    for (int i = 0; i < 1000; i++) {
        send_int(r->there, i);
        CHECK_EQ(recv_int(r->back), i);
    }
    atomic_store(&r->over, 1);
    rn_chan_close(r->there);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(r->there);
    rn_chan_unref(r->back);
    return 0;
}

TEST(task_hog_does_not_starve_others)
{
    for (int i = 0; i < 5; i++) {
        struct rally r = {.over = 0};
        rn_options options = {.workers = 2};
        CHECK_EQ(rn_run(&options, rally_main, &r), 0);
    }
}

static int
timed_hog_main(void *arg)
{
    struct rally *r = arg;
    rn_scope *s = open_scope(RN_NEVER);
    go(hog, r);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
    atomic_store(&r->over, 1);
    return rn_scope_close(s);
}

TEST(task_hog_does_not_stop_timers)
{
    for (int i = 0; i < 5; i++) {
        struct rally r = {.over = 0};
        rn_options options = {.workers = 2};
        CHECK_EQ(rn_run(&options, timed_hog_main, &r), 0);
    }
}

static int
add_one(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

API_TEST_SCHEDULES(task_many_run_once_each, 3)
{
    int n = many_tasks(100000);
    atomic_int sum = 0;
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < n; i++)
        go(add_one, &sum);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&sum), n);
    CHECK_EQ(rn_task_count(), 1);
}

struct tree {
    int depth;
    atomic_int *leaves;
};

static int
grow(void *arg)
{
    struct tree *t = arg, child = {t->depth - 1, t->leaves};
    if (t->depth == 0) {
        atomic_fetch_add(t->leaves, 1);
        return 0;
    }
    rn_scope *s = open_scope(RN_NEVER);
    go(grow, &child);
    go(grow, &child);
    return rn_scope_close(s);
}

API_TEST_SCHEDULES(task_tree_of_scopes, 10)
{
    atomic_int leaves = 0;
    struct tree root = {many_tasks(2048) < 2048 ? 6 : 12, &leaves};
    CHECK_EQ(grow(&root), 0);
    CHECK_EQ(atomic_load(&leaves), 1 << root.depth);
}

/* ---- sleep -------------------------------------------------------------- */

API_TEST(task_sleep_of_nothing_does_not_wait)
{
    rn_time before = rn_now();
    CHECK_EQ(rn_sleep(0), 0);
    CHECK_EQ(rn_sleep(-1), 0);
    CHECK_EQ(rn_sleep(INT64_MIN), 0);
    CHECK_EQ(rn_sleep_until(rn_now()), 0);
    CHECK_EQ(rn_sleep_until(-5), 0);
    CHECK_EQ(rn_sleep_until(RN_NOW), 0);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), before);
}

API_TEST(task_sleep_is_not_shorter)
{
    rn_time before = rn_now();
    CHECK_EQ(rn_sleep(RN_MS), 0);
    CHECK_GE(rn_now(), before + RN_MS);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_sleep_until(when), 0);
    CHECK_GE(rn_now(), when);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), before + 2 * RN_MS);
}

static int
sleep_for_ever(void *arg)
{
    (void)arg;
    CHECK_EQ(rn_sleep(INT64_MAX), -ECANCELED);
    CHECK_EQ(rn_sleep_until(RN_NEVER), -ECANCELED);
    return 0;
}

API_TEST(task_sleep_of_all_time_does_not_wrap)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(sleep_for_ever, NULL);
    settle();
    CHECK_EQ(rn_task_count(), 2);
    rn_scope_cancel(s);
    close_cancelled(s);
}

/* ---- outside ------------------------------------------------------------ */

static int
nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int
ignore(void *arg, int outcome)
{
    (void)arg;
    (void)outcome;
    return 0;
}

#define OUTSIDE(name, call)                                               \
    TEST_DIES_WITH(task_##name##_outside_a_task_panics, "outside a task", \
                   -SIGABRT)                                              \
    {                                                                     \
        call;                                                             \
    }

OUTSIDE(go, rn_go(NULL, nothing, NULL))
OUTSIDE(spawn, rn_task_spawn(NULL, nothing, NULL, NULL, NULL))
OUTSIDE(join, rn_task_join((rn_task){1}, RN_NOW, NULL))
OUTSIDE(yield, rn_yield())
OUTSIDE(sleep, rn_sleep(1))
OUTSIDE(sleep_until, rn_sleep_until(1))
OUTSIDE(cancel_requested, rn_cancel_requested())
OUTSIDE(defer, rn_defer(ignore, NULL))
OUTSIDE(defer_on_error, rn_defer_on_error(ignore, NULL))
OUTSIDE(defer_on_cancel, rn_defer_on_cancel(ignore, NULL))
OUTSIDE(bracket, rn_bracket(NULL, nothing, ignore, NULL))
OUTSIDE(fail, rn_fail(-1, NULL, NULL))
OUTSIDE(cancel, rn_task_cancel((rn_task){1}))
OUTSIDE(cancel_join, rn_task_cancel_join((rn_task){1}, RN_NOW))
OUTSIDE(cancel_reason, rn_cancel_reason(NULL))
OUTSIDE(move, rn_task_move(NULL))
OUTSIDE(set_name, rn_task_set_name("x"))
OUTSIDE(count, rn_task_count())
OUTSIDE(dump, rn_task_dump(stderr))
