/* oracle.c - what the simulator finds by itself: tasks that are stuck while
 * others go on, locks of tasks that have ended, objects used after their end.
 */
#include "world.h"

#include <errno.h>
#include <stdio.h>

/* ---- stuck beside others ------------------------------------------------- */

struct locks {
    rn_mutex a, b;
};

static int
lock_two(rn_mutex *first, rn_mutex *second)
{
    int e = rn_mutex_lock(first, RN_NEVER);
    if (e < 0)
        return e;
    CHECK_EQ(rn_yield(), 0);
    e = rn_mutex_lock(second, RN_NEVER);
    if (e == 0)
        rn_mutex_unlock(second);
    rn_mutex_unlock(first);
    return e;
}

static int
lock_a_b(void *arg)
{
    struct locks *l = arg;
    return lock_two(&l->a, &l->b);
}

static int
lock_b_a(void *arg)
{
    struct locks *l = arg;
    return lock_two(&l->b, &l->a);
}

/* Main never waits for the two: it goes on by the clock. */
static void
work_by_the_clock(rn_task_fn *other)
{
    struct locks l = {RN_MUTEX_INIT, RN_MUTEX_INIT};
    rn_scope *s = open_scope(RN_NEVER);
    go_named("alice", lock_a_b, &l);
    go_named("bob", other, &l);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
    CHECK_EQ(rn_scope_close(s), 0);
}

SIM_FINDS_TEXT(oracle_two_wait_for_each_other_beside_others, RN_SIM_DEADLOCK,
               "2 tasks wait for ever, while others go on|wait-for cycle|"
               "alice|bob|oracle.c|\"main\" waits for time to pass")
{
    work_by_the_clock(lock_b_a);
}

SIM_TEST(oracle_locks_in_one_order_are_silent)
{
    work_by_the_clock(lock_a_b);
}

/* Others that never sleep are others, too. */
static int
spin(void *arg)
{
    rn_atomic *on = arg;
    while (rn_atomic_load(on))
        if (rn_yield() < 0)
            return 0;
    return 0;
}

SIM_FINDS_TEXT(oracle_two_wait_beside_one_that_spins, RN_SIM_DEADLOCK,
               "2 tasks wait for ever, while others go on")
{
    struct locks l = {RN_MUTEX_INIT, RN_MUTEX_INIT};
    rn_atomic on = RN_ATOMIC_INIT(1);
    rn_scope *all = open_scope(RN_NEVER);
    go_named("spinner", spin, &on);
    rn_scope *s = open_scope(RN_NEVER);
    go(lock_a_b, &l);
    go(lock_b_a, &l);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_atomic_store(&on, 0);
    CHECK_EQ(rn_scope_close(all), 0);
}

static int
lock_twice(void *arg)
{
    rn_mutex *m = arg;
    int e = rn_mutex_lock(m, RN_NEVER);
    if (e < 0)
        return e;
    e = rn_mutex_lock(m, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    rn_mutex_unlock(m);
    return 0;
}

SIM_FINDS_TEXT(oracle_one_waits_for_itself_beside_others, RN_SIM_DEADLOCK,
               "1 task waits for ever, while others go on|held by task 2")
{
    rn_mutex m = RN_MUTEX_INIT;
    go_named("alice", lock_twice, &m);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
}

/* A parent that holds what its child wants, and waits for the child. */
static int
lock_once(void *arg)
{
    int e = rn_mutex_lock(arg, RN_NEVER);
    if (e == 0)
        rn_mutex_unlock(arg);
    return e == -ECANCELED ? 0 : e;
}

static int
hold_and_wait(void *arg)
{
    CHECK_EQ(rn_mutex_lock(arg, RN_NEVER), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go_named("child", lock_once, arg);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_mutex_unlock(arg);
    return 0;
}

SIM_FINDS_TEXT(oracle_parent_and_child_beside_others, RN_SIM_DEADLOCK,
               "2 tasks wait for ever, while others go on|child|parent")
{
    rn_mutex m = RN_MUTEX_INIT;
    go_named("parent", hold_and_wait, &m);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
}

/* A deadline, of the wait or of a scope around it, ends it. */
static int
lock_for_a_while(void *arg)
{
    struct locks *l = arg;
    CHECK_EQ(rn_mutex_lock(&l->b, RN_NEVER), 0);
    CHECK_EQ(rn_sleep(RN_US), 0);
    int e = rn_mutex_lock(&l->a, rn_after(RN_SEC));
    if (e == 0)
        rn_mutex_unlock(&l->a);
    rn_mutex_unlock(&l->b);
    CHECK(e == 0 || e == -ETIMEDOUT);
    return 0;
}

SIM_TEST(oracle_wait_with_a_deadline_is_silent)
{
    work_by_the_clock(lock_for_a_while);
}

SIM_TEST(oracle_scope_with_a_deadline_is_silent)
{
    struct locks l = {RN_MUTEX_INIT, RN_MUTEX_INIT};
    rn_scope *s = open_scope(rn_after(10 * RN_MS));
    go(lock_a_b, &l);
    go(lock_b_a, &l);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
    int e = rn_scope_close(s);
    CHECK(e == 0 || e == -ECANCELED || e == -ETIMEDOUT);
}

/* Who waits for a task inside that goes on is not stuck. */
static int
sleep_and_unlock(void *arg)
{
    rn_mutex *m = arg;
    CHECK_EQ(rn_mutex_lock(m, RN_NEVER), 0);
    CHECK_EQ(rn_sleep(RN_SEC), 0);
    rn_mutex_unlock(m);
    return 0;
}

SIM_TEST(oracle_wait_for_a_lock_that_is_given_back_is_silent)
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_scope *s = open_scope(RN_NEVER);
    go(sleep_and_unlock, &m);
    go(lock_once, &m);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
    CHECK_EQ(rn_scope_close(s), 0);
}

/* ---- locks of the dead --------------------------------------------------- */

static int
lock_and_end(void *arg)
{
    CHECK_EQ(rn_mutex_lock(arg, RN_NEVER), 0);
    return 0;
}

SIM_FINDS_TEXT(oracle_lock_of_a_task_that_has_ended, RN_SIM_DEADLOCK,
               "mutex#|is held by task 2 \"alice\", which has ended")
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_task t = go_named("alice", lock_and_end, &m);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_mutex_lock(&m, RN_NEVER), 0);
}

SIM_FINDS_TEXT(oracle_lock_of_an_ended_task_beside_others, RN_SIM_DEADLOCK,
               "1 task waits for ever, while others go on|"
               "is held by task 2 \"alice\", which has ended")
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_scope *s = open_scope(RN_NEVER);
    go_named("alice", lock_and_end, &m);
    CHECK_EQ(rn_sleep(RN_MS), 0);
    go_named("bob", lock_once, &m);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
    CHECK_EQ(rn_scope_close(s), 0);
}

static int
write_and_end(void *arg)
{
    CHECK_EQ(rn_rwmutex_lock(arg, RN_NEVER), 0);
    return 0;
}

SIM_FINDS_TEXT(oracle_rwmutex_of_a_task_that_has_ended, RN_SIM_DEADLOCK,
               "rwmutex#|is held by task 2 \"alice\", which has ended")
{
    rn_rwmutex m = RN_RWMUTEX_INIT;
    rn_task t = go_named("alice", write_and_end, &m);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_rwmutex_read_lock(&m, RN_NEVER), 0);
}

/* Kept for a join or not: it has ended. */
SIM_FINDS_TEXT(oracle_lock_of_a_task_kept_for_a_join, RN_SIM_DEADLOCK,
               "is held by task 2 \"alice\", which has ended")
{
    rn_mutex m = RN_MUTEX_INIT;
    go_named("alice", lock_and_end, &m);
    CHECK_EQ(rn_sleep(RN_MS), 0);
    CHECK_EQ(rn_mutex_lock(&m, RN_NEVER), 0);
}

/* ---- use after the end --------------------------------------------------- */

static int
close_it(void *arg)
{
    rn_chan_close(arg);
    return 0;
}

/* The free and the close are not ordered. */
SIM_FINDS_TEXT(oracle_channel_used_after_its_free, RN_SIM_PANIC,
               "close: the chan has been freed|in task 2 \"alice\"|"
               "freed by task 1 \"main\"|frees|oracle.c")
{
    rn_chan *c = new_chan(1, 1);
    rn_task t = go_named("alice", close_it, c);
    rn_chan_unref(c);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
}

SIM_TEST(oracle_channel_with_a_reference_each_is_silent)
{
    rn_chan *c = new_chan(1, 1);
    rn_task t = go_named("alice", close_it, rn_chan_ref(c));
    rn_chan_unref(c);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_chan_unref(c);
}

SIM_FINDS_TEXT(oracle_channel_freed_twice, RN_SIM_PANIC,
               "channel freed before|freed by task 1 \"main\"|oracle.c")
{
    rn_chan *c = new_chan(1, 1);
    rn_chan_unref(c);
    rn_chan_unref(c);
}

SIM_FINDS_TEXT(oracle_reference_to_a_freed_channel, RN_SIM_PANIC,
               "channel freed before|oracle.c")
{
    rn_chan *c = new_chan(1, 1);
    rn_chan_unref(c);
    rn_chan_ref(c);
}

/* Also when others have been made and freed since. */
SIM_FINDS_TEXT(oracle_freed_channel_is_not_another_one, RN_SIM_PANIC,
               "send: the chan has been freed")
{
    rn_chan *c = new_chan(1, 1);
    rn_chan_unref(c);
    for (int i = 0; i < 100; i++)
        rn_chan_unref(new_chan(1, 1));
    rn_chan *other = new_chan(1, 1);
    CHECK_EQ(rn_chan_send(c, "x", RN_NOW), 0);
    rn_chan_unref(other);
}

static int
stop_it(void *arg)
{
    rn_timer_stop(arg);
    return 0;
}

SIM_FINDS_TEXT(oracle_timer_used_after_its_free, RN_SIM_PANIC,
               "stop: the timer has been freed|freed by task 1 \"main\"")
{
    rn_timer *timer = NULL;
    CHECK_EQ(rn_timer_new(RN_SEC, 0, &timer), 0);
    rn_task t = go_joinable(stop_it, timer);
    rn_timer_free(timer);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
}

static int
set_it(void *arg)
{
    return rn_promise_set(arg, NULL);
}

SIM_FINDS_TEXT(oracle_future_used_after_its_free, RN_SIM_PANIC,
               "complete: the future has been freed|frees")
{
    rn_promise *promise;
    rn_future *future;
    CHECK_EQ(rn_future_new(0, &promise, &future), 0);
    rn_task t = go_joinable(set_it, promise);
    rn_promise_free(promise);
    rn_future_unref(future);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

SIM_FINDS_TEXT(oracle_scope_used_after_its_close, RN_SIM_PANIC,
               "cancel: the scope has been freed|freed by task 1 \"main\"")
{
    rn_scope *s = NULL;
    CHECK_EQ(rn_scope_open(RN_NEVER, &s), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_task t = go_joinable(cancel_it, s);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
}

/* A handle of a task may be stale: that is no misuse. */
SIM_TEST(oracle_stale_handles_are_silent)
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_task t = go_joinable(lock_once, &m);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), -ESRCH);
    rn_task_cancel(t);
}
