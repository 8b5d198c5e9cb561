/* task_cancel.c - tests of rn_task_cancel and rn_task_cancel_join in
 * runnel/task.h, and of a cancel of many. R17: join and cancel; R7: each waiter
 * in constant time. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

static int
touch(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

/* ---- R17: one task ------------------------------------------------------- */

static int
outlive(void *arg)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_yield(), 0);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

RULE_TEST(task_cancel_R17_of_a_task_leaves_the_others)
{
    struct why why = {.ready = new_chan(sizeof(int), 0)};
    atomic_int count = 0;
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {.report = &r};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    rn_task t = go_joinable(ask_why, &why);
    go(outlive, &count);
    CHECK_EQ(recv_int(why.ready), 1);
    rn_task_cancel(t);
    rn_task_cancel(t);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(why.reason, RN_REASON_USER);
    CHECK_EQ(why.code, 0);
    CHECK_EQ(atomic_load(&count), 1);
    CHECK_EQ(r.cancelled, 1);
    CHECK_EQ(r.ok, 1);
    CHECK_EQ(r.trigger, RN_REASON_NONE);
    rn_task_cancel(t); /* it is gone */
    rn_report_fini(&r);
    rn_chan_unref(why.ready);
}

struct nest {
    struct why child, below, later;
    rn_chan *ready;
};

static int
nest(void *arg)
{
    struct nest *n = arg;
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(s, ask_why, &n->child), 0);
    CHECK_EQ(rn_go(s, ask_why_in_a_scope, &n->below), 0);
    CHECK_EQ(recv_int(n->child.ready) + recv_int(n->child.ready), 2);
    send_int(n->ready, 1);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(rn_cancel_reason(NULL), RN_REASON_USER);
    s = open_scope(RN_NEVER); /* one it opens later is cancelled, too */
    CHECK_EQ(rn_cancel_reason(NULL), RN_REASON_PARENT);
    CHECK_EQ(rn_go(s, ask_why, &n->later), -ECANCELED);
    return rn_scope_close_with(s, rn_yield());
}

RULE_TEST(task_cancel_R17_of_a_task_reaches_its_scopes)
{
    rn_chan *inner = new_chan(sizeof(int), 0);
    struct nest n = {.child.ready = inner,
                     .below.ready = inner,
                     .ready = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = go_joinable(nest, &n);
    CHECK_EQ(recv_int(n.ready), 1);
    CHECK_EQ(rn_task_cancel_join(t, RN_NEVER), 0);
    CHECK_EQ(n.child.reason, RN_REASON_PARENT);
    CHECK_EQ(n.below.reason, RN_REASON_PARENT);
    CHECK_EQ(n.later.reason, RN_REASON_NONE);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(inner);
    rn_chan_unref(n.ready);
}

/* The cancel may come while it opens and closes scopes. */
static int
open_and_close(void *arg)
{
    rn_chan *ready = arg;
    bool told = false;
    if (ready)
        send_int(ready, 1);
    /* For real the one that cancels may be late by any number of these. */
    for (int i = 0; !told && (!rn_sim_active() || i < 1000); i++) {
        rn_scope *s = open_scope(RN_NEVER);
        told = rn_sleep(1) == -ECANCELED;
        close_cancelled(s);
    }
    CHECK(told);
    CHECK_EQ(rn_yield(), -ECANCELED);
    return 0;
}

RULE_TEST(task_cancel_R17_of_a_task_that_opens_scopes)
{
    rn_chan *ready = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = go_joinable(open_and_close, ready);
    CHECK_EQ(recv_int(ready), 1);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_task_cancel_join(t, RN_NEVER), 0);
    int result = 42;
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0); /* is left to us */
    CHECK_EQ(result, 0);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(ready);
}

/* R17: cancelled before the first run, the body is not entered. */
RULE_TEST(task_cancel_R17_before_it_begins)
{
    atomic_int count = 0;
    rn_outcome outcome = RN_OUTCOME_OK;
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {
        .report = &r, .outcomes = &outcome, .outcome_room = 1};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    rn_task t = go_joinable(touch, &count);
    rn_task_cancel(t);
    int result = 42;
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    bool ran = atomic_load(&count) == 1;
    CHECK_EQ(result, ran ? 0 : -ECANCELED);
    CHECK_EQ(outcome, ran ? RN_OUTCOME_OK : RN_OUTCOME_CANCELLED);
    CHECK_EQ(r.cancelled, !ran);
    rn_report_fini(&r);
}

/* R17: it waits for the finalizers, and so does a second canceller. */
struct slow {
    rn_chan *ready, *go_on;
    atomic_int done, joined;
    rn_task task;
};

static int
finalize(void *arg, int outcome)
{
    struct slow *slow = arg;
    CHECK_EQ(outcome, -ECANCELED);
    CHECK_EQ(recv_int(slow->go_on), 1);
    CHECK_EQ(rn_sleep(10), 0);
    atomic_store(&slow->done, 1);
    return 0;
}

static int
be_slow(void *arg)
{
    struct slow *slow = arg;
    CHECK_EQ(rn_defer(finalize, slow), 0);
    send_int(slow->ready, 1);
    return wait_for_cancel(NULL);
}

static int
cancel_and_join(void *arg)
{
    struct slow *slow = arg;
    CHECK_EQ(rn_task_cancel_join(slow->task, RN_NEVER), 0);
    CHECK_EQ(atomic_load(&slow->done), 1);
    atomic_fetch_add(&slow->joined, 1);
    return 0;
}

RULE_TEST(task_cancel_R17_joins_wait_for_finalizers)
{
    struct slow slow = {
        new_chan(sizeof(int), 0), new_chan(sizeof(int), 0), 0, 0, {0}};
    rn_scope *s = open_scope(RN_NEVER);
    slow.task = go_joinable(be_slow, &slow);
    CHECK_EQ(recv_int(slow.ready), 1);
    for (int i = 0; i < 3; i++)
        go(cancel_and_join, &slow);
    CHECK_EQ(rn_task_cancel_join(slow.task, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_task_cancel_join(slow.task, rn_now() + 10), -ETIMEDOUT);
    CHECK_EQ(atomic_load(&slow.joined), 0);
    send_int(slow.go_on, 1);
    CHECK_EQ(cancel_and_join(&slow), 0);
    int result = 0;
    CHECK_EQ(rn_task_join(slow.task, RN_NEVER, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    CHECK_EQ(rn_task_cancel_join(slow.task, RN_NEVER), 0); /* gone */
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&slow.joined), 4);
    rn_chan_unref(slow.ready);
    rn_chan_unref(slow.go_on);
}

/* R17: cancel waits for the shielded. */
static int
end_shielded(void *arg)
{
    struct slow *slow = arg;
    rn_shield shield = rn_shield_push();
    send_int(slow->ready, 1);
    CHECK_EQ(recv_int(slow->go_on), 1);
    atomic_store(&slow->done, 1);
    rn_shield_restore(shield);
    CHECK_EQ(rn_yield(), -ECANCELED);
    return 0;
}

static int
let_go_on(void *arg)
{
    send_int(arg, 1);
    return 0;
}

RULE_TEST(task_cancel_R17_waits_for_the_shielded)
{
    struct slow slow = {
        new_chan(sizeof(int), 0), new_chan(sizeof(int), 0), 0, 0, {0}};
    rn_scope *s = open_scope(RN_NEVER);
    slow.task = go_joinable(end_shielded, &slow);
    CHECK_EQ(recv_int(slow.ready), 1);
    rn_task_cancel(slow.task);
    go(let_go_on, slow.go_on);
    CHECK_EQ(cancel_and_join(&slow), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(slow.ready);
    rn_chan_unref(slow.go_on);
}

/* R17: oneself, and a task around. */
struct family {
    rn_task parent, grandparent;
    atomic_int refused;
};

static int
join_ancestors(void *arg)
{
    struct family *f = arg;
    rn_task ancestors[] = {rn_task_self(), f->parent, f->grandparent};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rn_task_join(ancestors[i], RN_NEVER, NULL), -EDEADLK);
        CHECK_EQ(rn_task_cancel_join(ancestors[i], RN_NEVER), -EDEADLK);
        rn_arm arms[] = {RN_ARM_RECV(NULL, NULL),
                         RN_ARM_JOIN(ancestors[i], NULL)};
        CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1);
        CHECK_EQ(arms[1].result, -EDEADLK);
        atomic_fetch_add(&f->refused, 1);
    }
    CHECK_EQ(rn_yield(), 0); /* and nobody is cancelled */
    return 0;
}

static int
be_parent(void *arg)
{
    struct family *f = arg;
    f->parent = rn_task_self();
    rn_scope *s = open_scope(RN_NEVER), *deeper = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(s, join_ancestors, f), 0);
    CHECK_EQ(rn_scope_close(deeper), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_yield(), 0);
    return 0;
}

RULE_TEST(task_cancel_R17_joining_an_ancestor_is_refused)
{
    struct family f = {.grandparent = rn_task_self()};
    rn_scope *s = open_scope(RN_NEVER);
    go(be_parent, &f);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&f.refused), 3);
}

/* A sibling, a child, and a sibling of the parent are none. */
static int
join_relatives(void *arg)
{
    rn_task *uncle = arg;
    rn_scope *s = open_scope(RN_NEVER);
    rn_task child = go_joinable(wait_for_cancel, NULL);
    CHECK_EQ(rn_task_cancel_join(child, RN_NEVER), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_task_cancel_join(*uncle, RN_NEVER), 0);
    return 0;
}

RULE_TEST(task_cancel_R17_joining_a_relative_is_fine)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_task uncle = go_joinable(wait_for_cancel, NULL);
    go(join_relatives, &uncle);
    CHECK_EQ(rn_scope_close(s), 0);
}

/* A task may cancel itself. */
static int
cancel_oneself(void *arg)
{
    rn_task_cancel(rn_task_self());
    CHECK_EQ(rn_yield(), -ECANCELED);
    atomic_fetch_add((atomic_int *)arg, 1);
    return -ECANCELED;
}

RULE_TEST(task_cancel_R17_of_oneself)
{
    atomic_int count = 0;
    rn_scope *s = open_scope(RN_NEVER);
    go(cancel_oneself, &count);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&count), 1);
}

/* R15: a scope one of whose tasks was cancelled alone is cancelled with the one
 * around it, all the same. */
RULE_TEST(task_cancel_R15_of_one_hides_no_cancel_around)
{
    rn_scope *outer = open_scope(RN_NEVER), *inner = open_scope(RN_NEVER);
    rn_task t = go_joinable(wait_for_cancel, NULL);
    go(wait_for_cancel, NULL);
    rn_task_cancel(t);
    CHECK_EQ(rn_yield(), 0);
    rn_scope_cancel(outer);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_cancel_reason(NULL), RN_REASON_PARENT);
    CHECK_EQ(rn_scope_close(inner), -ECANCELED);
    close_cancelled(outer);
}

/* ---- many ---------------------------------------------------------------- */

API_TEST_SCHEDULES(task_cancel_R7_of_many_waiting_tasks, 2)
{
    atomic_int cancelled = 0;
    int n = many_tasks(100000);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < n; i++)
        go(wait_for_cancel, &cancelled);
    settle();
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_LE(atomic_load(&cancelled), n);
    if (rn_sim_active())
        CHECK_EQ(atomic_load(&cancelled), n);
    CHECK_EQ(rn_task_count(), 1);
}
