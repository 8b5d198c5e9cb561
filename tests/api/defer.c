/* defer.c - tests of rn_defer in runnel/task.h. */
#include "world.h"

#include <errno.h>

struct deferred {
    char log[16];
    int count, outcome;
    rn_chan *chan, *value;
    rn_task task;
};

static int
log_a(void *arg, int outcome)
{
    struct deferred *d = arg;
    CHECK_EQ(outcome, d->outcome);
    d->log[d->count++] = 'a';
    return 0;
}

static int
log_b(void *arg, int outcome)
{
    struct deferred *d = arg;
    CHECK_EQ(outcome, d->outcome);
    d->log[d->count++] = 'b';
    return 0;
}

static int
defer_more(void *arg, int outcome)
{
    struct deferred *d = arg;
    CHECK_EQ(outcome, d->outcome);
    CHECK_EQ(rn_defer(log_b, d), 0);
    d->log[d->count++] = 'm';
    return 0;
}

static int
defer_three(void *arg)
{
    struct deferred *d = arg;
    CHECK_EQ(rn_defer(log_a, d), 0);
    CHECK_EQ(rn_defer(defer_more, d), 0);
    CHECK_EQ(rn_defer(log_a, d), 0);
    CHECK_EQ(d->count, 0);
    return d->outcome;
}

API_TEST(task_deferred_run_last_first_with_the_outcome)
{
    struct deferred d = {.outcome = 7};
    int result = -1;
    rn_task t = go_joinable(defer_three, &d);
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
    CHECK_EQ(result, 7);
    CHECK_STR(d.log, "amba");
    memset(&d, 0, sizeof d);
    d.outcome = -EIO;
    rn_scope *s = open_scope(RN_NEVER);
    go(defer_three, &d);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_STR(d.log, "amba");
}

static int
wait_shielded(void *arg, int outcome)
{
    struct deferred *d = arg;
    CHECK_EQ(outcome, -ECANCELED);
    CHECK_EQ(rn_cancel_requested(), 0);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_sleep(1000), 0);
    CHECK_EQ(rn_chan_recv(d->value, &d->count, RN_NEVER), 0);
    rn_time when = rn_now() + 10;
    CHECK_EQ(rn_chan_recv(d->value, &d->count, when), -ETIMEDOUT);
    return 0;
}

static int
defer_then_wait(void *arg)
{
    struct deferred *d = arg;
    CHECK_EQ(rn_defer(wait_shielded, d), 0);
    send_int(d->chan, 1); /* has deferred */
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    CHECK_EQ(rn_cancel_requested(), 1);
    return e;
}

static int
send_eight(void *arg)
{
    send_int(arg, 8);
    return 0;
}

API_TEST(task_deferred_are_shielded)
{
    struct deferred d = {.chan = new_chan(sizeof(int), 0)};
    rn_chan *value = new_chan(sizeof(int), 0), *ready = d.chan;
    d.value = value;
    go(send_eight, value); /* not inside the cancelled scope */
    rn_scope *s = open_scope(RN_NEVER);
    go(defer_then_wait, &d);
    CHECK_EQ(recv_int(ready), 1);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(d.count, 8); /* close waited for it */
    rn_chan_unref(ready);
    rn_chan_unref(value);
}

static int
touch(void *arg)
{
    CHECK_EQ(rn_yield(), 0); /* a shield's scope is not cancelled */
    ++*(int *)arg;
    return 0;
}

static int
spawn_shielded(void *arg, int outcome)
{
    struct deferred *d = arg;
    CHECK_EQ(outcome, -ECANCELED);
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(NULL, touch, &d->count), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    return 0;
}

static int
defer_spawn(void *arg)
{
    struct deferred *d = arg;
    CHECK_EQ(rn_defer(spawn_shielded, d), 0);
    send_int(d->chan, 1);
    return rn_chan_recv(NULL, NULL, RN_NEVER);
}

API_TEST(task_deferred_may_open_a_scope)
{
    struct deferred d = {.chan = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    go(defer_spawn, &d);
    CHECK_EQ(recv_int(d.chan), 1);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(d.count, 1);
    rn_chan_unref(d.chan);
}

/* A deferred call may join its failed sibling: the failure is the result. */
static int
join_failed(void *arg, int outcome)
{
    struct deferred *d = arg;
    int result = 42;
    CHECK_EQ(outcome, 0);
    CHECK_EQ(rn_task_join(d->task, RN_NEVER, &result), 0);
    CHECK_EQ(result, -EIO);
    d->count = 1;
    return 0;
}

static int
defer_join(void *arg)
{
    struct deferred *d = arg;
    CHECK_EQ(rn_defer(join_failed, d), 0);
    send_int(d->chan, 1);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return 0;
}

static int
fail_after_start(void *arg)
{
    CHECK_EQ(recv_int(arg), 2);
    return -EIO;
}

API_TEST(task_join_gives_a_failure)
{
    struct deferred d = {.chan = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    rn_chan *start = new_chan(sizeof(int), 0);
    d.task = go_joinable(fail_after_start, start);
    go(defer_join, &d);
    CHECK_EQ(recv_int(d.chan), 1);
    send_int(start, 2);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(d.count, 1);
    rn_chan_unref(d.chan);
    rn_chan_unref(start);
}

static int
defer_nine(void *arg)
{
    struct deferred *d = arg;
    for (int i = 0; i < 9; i++)
        CHECK_EQ(rn_defer(log_a, d), 0);
    return 0;
}

TEST(task_deferred_of_main_run_before_run_returns)
{
    struct deferred d = {.outcome = 0};
    CHECK_EQ(rn_run(NULL, defer_nine, &d), 0);
    CHECK_EQ(d.count, 9);
}

static int
panic_now(void *arg, int outcome)
{
    rn_panic("deferred trouble %s %d", (const char *)arg, outcome);
}

static int
defer_panic(void *arg)
{
    CHECK_EQ(rn_defer(panic_now, arg), 0);
    return 0;
}

API_PANICS(task_panic_in_a_deferred_call_is_reported,
           "deferred trouble here 0|alice")
{
    go_named("alice", defer_panic, (void *)"here");
}
