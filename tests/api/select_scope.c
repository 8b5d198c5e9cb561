/* select_scope.c - tests of runnel/select.h: arms on scopes. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

enum how { BY_CALL, BY_DEADLINE, FROM_ABOVE };

struct watched {
    enum how how;
    rn_scope *above, *scope;
    rn_chan *open, *release;
    int closed; /* as rn_scope_close returned */
};

static int
wait_for_release(void *arg, int outcome)
{
    (void)outcome;
    CHECK_EQ(rn_chan_recv(arg, NULL, RN_NEVER), 0); /* deferred: not cut */
    return 0;
}

/* Cancels its scope once the watcher knows it, and keeps it open until the
 * watcher is done. */
static int
cancel_and_hold(void *arg)
{
    struct watched *w = arg;
    CHECK_EQ(rn_defer(wait_for_release, w->release), 0);
    CHECK_EQ(rn_chan_send(w->open, NULL, RN_NEVER), 0);
    if (w->how == BY_DEADLINE)
        CHECK_EQ(rn_scope_set_deadline(w->scope, rn_now() + RN_MS), 0);
    else
        rn_scope_cancel(w->how == BY_CALL ? w->scope : w->above);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return 0;
}

static int
own_the_scope(void *arg)
{
    struct watched *w = arg;
    w->above = open_scope(RN_NEVER);
    w->scope = open_scope(RN_NEVER);
    go(cancel_and_hold, w);
    w->closed = rn_scope_close(w->scope);
    CHECK_EQ(rn_scope_close(w->above), 0);
    return 0;
}

static void
watch(enum how how, int closed)
{
    struct watched w = {
        .how = how, .open = new_chan(0, 0), .release = new_chan(0, 0)};
    rn_scope *all = open_scope(RN_NEVER);
    go(own_the_scope, &w);
    CHECK_EQ(rn_chan_recv(w.open, NULL, RN_NEVER), 0);
    rn_arm arms[] = {RN_ARM_RECV(NULL, NULL), RN_ARM_SCOPE(w.scope)};
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1);
    CHECK_EQ(arms[1].result, 0);
    CHECK_EQ(rn_chan_send(w.release, NULL, RN_NEVER), 0);
    CHECK_EQ(rn_scope_close(all), 0);
    CHECK_EQ(w.closed, closed);
    rn_chan_unref(w.open);
    rn_chan_unref(w.release);
}

API_TEST(select_scope_fires_at_a_cancel)
{
    watch(BY_CALL, 0);
}

API_TEST(select_scope_fires_at_a_deadline)
{
    watch(BY_DEADLINE, -ETIMEDOUT);
}

API_TEST(select_scope_fires_at_a_cancel_from_above)
{
    watch(FROM_ABOVE, 0);
}

static int
send_nothing(void *arg)
{
    return rn_chan_send(arg, NULL, RN_NEVER);
}

/* The arm that was not done has left the scope: it may be closed. */
API_TEST(select_scope_is_left_when_another_arm_is_done)
{
    rn_chan *c = new_chan(0, 0);
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(outer, send_nothing, c), 0);
    rn_arm arms[] = {RN_ARM_SCOPE(s), RN_ARM_RECV(c, NULL), RN_ARM_SCOPE(s)};
    CHECK_EQ(rn_select(arms, 3, 0, RN_NEVER), 1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_scope_close(outer), 0);
    rn_chan_unref(c);
}

API_TEST(select_scope_is_ready_once_cancelled)
{
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    rn_arm arm = RN_ARM_SCOPE(s);
    CHECK_EQ(rn_select(&arm, 1, 0, RN_NOW), -EAGAIN);
    rn_scope_cancel(s);
    CHECK_EQ(rn_select(&arm, 1, 0, RN_NOW), 0);
    CHECK_EQ(rn_select(&arm, 1, 0, RN_NEVER), -ECANCELED); /* its own */
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_scope_close(outer), 0);
}

API_TEST(select_scope_null_is_never_ready)
{
    rn_arm arm = RN_ARM_SCOPE(NULL);
    CHECK_EQ(rn_select(&arm, 1, 0, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_select(&arm, 1, 0, rn_now()), -ETIMEDOUT);
}

static int
wait_for_cancel_of(void *arg)
{
    rn_arm arms[] = {RN_ARM_SCOPE(arg), RN_ARM_NONE};
    return rn_select(arms, 2, 0, RN_NEVER);
}

static int
close_under_a_select(void *arg)
{
    (void)arg;
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(outer, wait_for_cancel_of, s), 0);
    CHECK_EQ(rn_yield(), 0); /* the other task runs until it waits */
    return rn_scope_close(s);
}

TEST_DIES_WITH(select_scope_closed_meanwhile_panics, "rn_scope_close|select",
               -SIGABRT)
{
    rn_options options = {.workers = 1};
    rn_run(&options, close_under_a_select, NULL);
}

/* ---- locks --------------------------------------------------------------- */

struct around {
    rn_chan *ready;
    rn_task task;
    rn_context *scope; /* that the task has opened */
    atomic_int looks;
};

/* Looks at the scope of the task and at the task until it is cancelled. */
static int
look_at_both(void *arg)
{
    struct around *a = arg;
    rn_arm arms[] = {RN_ARM_CONTEXT(a->scope), RN_ARM_JOIN(a->task, NULL)};
    send_int(a->ready, 1);
    int done;
    while ((done = rn_select(arms, 2, 0, RN_NOW)) == -EAGAIN)
        if (atomic_fetch_add(&a->looks, 1) % 256 == 0 || rn_sim_active())
            (void)rn_yield();
    CHECK_GE(done, 0);
    return 0;
}

static int
be_looked_at(void *arg)
{
    struct around *a = arg;
    a->task = rn_task_self();
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_scope_context(s, &a->scope), 0);
    rn_context_ref(a->scope);
    send_int(a->ready, 0);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    close_cancelled(s);
    return 0;
}

static int
wait_for_close(void *arg)
{
    CHECK_EQ(rn_chan_recv(arg, NULL, RN_NEVER), -EPIPE);
    return 0;
}

/* With several workers: return while another looks, mostly. Where the looker
 * is on our own, each try costs as many looks as it takes between yields. */
static void
meet(struct around *a)
{
    for (int tries = 0; tries < 20; tries++) {
        int before = atomic_load(&a->looks);
        for (int i = 0; i < 1000; i++)
            if (atomic_load(&a->looks) != before)
                return;
        CHECK_EQ(rn_yield(), 0);
    }
}

/* A cancel of a task, which goes through the scopes that it has opened, and a
 * select on one of these and on the task do not lock each other. The crowd is
 * there for records at other addresses. */
API_TEST_SCHEDULES(select_scope_and_join_against_a_cancel, 20)
{
    struct around a = {.ready = new_chan(sizeof(int), 0)};
    rn_chan *end = new_chan(0, 0);
    rn_scope *crowd = open_scope(RN_NEVER);
    rn_stats stats;
    rn_stats_get(&stats);
    bool parallel = !rn_sim_active() && stats.workers > 1;
    int rounds = rn_sim_active() ? 2 : parallel ? (int)test_count(1000) : 20;
    for (int i = 0; i < (rn_sim_active() ? 2 : 1500); i++)
        go(wait_for_close, end);
    for (int i = 0; i < rounds; i++) {
        rn_scope *s = open_scope(RN_NEVER);
        go(be_looked_at, &a);
        CHECK_EQ(recv_int(a.ready), 0);
        go(look_at_both, &a);
        CHECK_EQ(recv_int(a.ready), 1);
        if (parallel)
            meet(&a);
        CHECK_EQ(rn_task_cancel_join(a.task, RN_NEVER), 0);
        CHECK_EQ(rn_scope_close(s), 0);
        rn_context_unref(a.scope);
    }
    rn_chan_close(end);
    CHECK_EQ(rn_scope_close(crowd), 0);
    rn_chan_unref(end);
    rn_chan_unref(a.ready);
}
