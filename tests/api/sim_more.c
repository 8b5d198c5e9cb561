/* sim_more.c - tests of runnel/sim.h: what one schedule leaves to the next, and
 * what is counted, who holds what.
 */
#include "world.h"

#include <errno.h>

static int
wait_for_ever(void *arg)
{
    return rn_chan_recv(arg, NULL, RN_NEVER);
}

static int
leak_and_fail(void *arg)
{
    (void)arg;
    go(wait_for_ever, NULL);
    rn_yield();
    return -EIO;
}

/* Once read the stacks of tasks that had been given up. */
TEST(sim_result_of_main_counts_beside_a_leak)
{
    rn_sim_report r;
    rn_sim_options options = {.schedules = 50, .flags = RN_SIM_LEAKS_OK};
    CHECK_EQ(rn_sim_explore(&options, leak_and_fail, NULL, &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_FAILED);
    CHECK(test_has(r.text, "main returned -5"));
    rn_sim_report_fini(&r);
}

static int
leak_only(void *arg)
{
    go(wait_for_ever, arg);
    return 0;
}

TEST(sim_leak_that_is_allowed_is_counted)
{
    rn_sim_report r;
    rn_sim_options options = {.schedules = 50, .flags = RN_SIM_LEAKS_OK};
    CHECK_EQ(rn_sim_explore(&options, leak_only, NULL, &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.waiting, 1);
    rn_sim_report_fini(&r);
}

static int
poll_for_ever(void *arg)
{
    (void)arg;
    while (!rn_cancel_requested())
        ;
    return 0;
}

static int
measure_for_ever(void *arg)
{
    rn_chan *c;
    (void)arg;
    CHECK_EQ(rn_chan_new(0, 0, &c), 0);
    while (rn_chan_len(c) == 0)
        ;
    return 0;
}

/* What a task can see of others is a step, so such a loop cannot hang. */
TEST(sim_loop_that_only_looks_is_no_progress)
{
    rn_task_fn *const loops[] = {poll_for_ever, measure_for_ever};
    for (int i = 0; i < 2; i++) {
        rn_sim_report r;
        CHECK_EQ(rn_sim_run(NULL, loops[i], NULL, &r), 0);
        CHECK_EQ(r.verdict, RN_SIM_NO_PROGRESS);
        rn_sim_report_fini(&r);
    }
}

static int
choose_of(void *arg)
{
    for (int i = 0; i < 4; i++)
        rn_sim_choose(*(uint32_t *)arg);
    return *(uint32_t *)arg == 100 ? -EIO : 0;
}

TEST(sim_token_of_another_program_says_so)
{
    uint32_t n = 100;
    rn_sim_report r, again;
    CHECK_EQ(rn_sim_run(NULL, choose_of, &n, &r), 0);
    CHECK_EQ(r.diverged, 0);
    rn_sim_options options = {.token = r.token};
    n = 2;
    CHECK_EQ(rn_sim_run(&options, choose_of, &n, &again), 0);
    CHECK_GT(again.diverged, 0);
    rn_sim_report_fini(&again);
    rn_sim_report_fini(&r);
}

/* Main's record is free once main has ended; who gets it is not main. */
static int
return_seven(void *arg)
{
    (void)arg;
    return 7;
}

static int
spawn_after_main(void *arg)
{
    (void)arg;
    for (int i = 0; i < 4; i++)
        CHECK_EQ(rn_yield(), 0);
    go(return_seven, NULL);
    return 0;
}

static int
return_one(void *arg)
{
    go(spawn_after_main, arg);
    return 1;
}

TEST(run_result_is_mains_own)
{
    rn_options options = {.workers = 1};
    CHECK_EQ(rn_run(&options, return_one, NULL), 1);
    options.workers = 4;
    for (int i = 0; i < 200; i++)
        CHECK_EQ(rn_run(&options, return_one, NULL), 1);
}

static int
open_and_forget(void *arg, int outcome)
{
    (void)arg;
    (void)outcome;
    open_scope(RN_NEVER);
    return 0;
}

API_PANICS(task_scope_left_open_by_a_deferred_call_panics, "scope|open")
{
    CHECK_EQ(rn_defer(open_and_forget, NULL), 0);
}

/* ---- two locks ----------------------------------------------------------- */

struct locks {
    rn_mutex a, b;
};

static int
lock_a_b(void *arg)
{
    struct locks *l = arg;
    CHECK_EQ(rn_mutex_lock(&l->a, RN_NEVER), 0);
    CHECK_EQ(rn_mutex_lock(&l->b, RN_NEVER), 0);
    rn_mutex_unlock(&l->b);
    rn_mutex_unlock(&l->a);
    return 0;
}

static int
lock_b_a(void *arg)
{
    struct locks *l = arg;
    CHECK_EQ(rn_mutex_lock(&l->b, RN_NEVER), 0);
    CHECK_EQ(rn_mutex_lock(&l->a, RN_NEVER), 0);
    rn_mutex_unlock(&l->a);
    rn_mutex_unlock(&l->b);
    return 0;
}

SIM_FINDS_TEXT(sim_finds_a_deadlock_with_its_cycle, RN_SIM_DEADLOCK,
               "cycle|alice|bob|mutex")
{
    struct locks l = {RN_MUTEX_INIT, RN_MUTEX_INIT};
    rn_scope *s = open_scope(RN_NEVER);
    go_named("alice", lock_a_b, &l);
    go_named("bob", lock_b_a, &l);
    rn_scope_close(s);
}

API_TEST(sim_lock_order_kept_is_clean)
{
    struct locks l = {RN_MUTEX_INIT, RN_MUTEX_INIT};
    rn_scope *s = open_scope(RN_NEVER);
    go_named("alice", lock_a_b, &l);
    go_named("bob", lock_a_b, &l);
    CHECK_EQ(rn_scope_close(s), 0);
}

/* Tasks without handles are told of, too. */
SIM_FINDS_TEXT(sim_finds_a_cycle_of_tasks_without_handles, RN_SIM_DEADLOCK,
               "wait-for cycle|held by task 2|held by task 3")
{
    struct locks l = {RN_MUTEX_INIT, RN_MUTEX_INIT};
    rn_scope *s = open_scope(RN_NEVER);
    go(lock_a_b, &l);
    go(lock_b_a, &l);
    rn_scope_close(s);
}
