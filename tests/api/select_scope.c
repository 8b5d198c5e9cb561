/* select_scope.c - tests of runnel/select.h: arms on scopes. */
#include "world.h"

#include <errno.h>

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
