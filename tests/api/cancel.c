/* cancel.c - tests of cancellation. R10: deadlines and reasons; R12: a cancel
 * stays visible; R13: a cancelled call did not happen; R17: cancel of one task,
 * and joins. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#define RULE_TEST(id) API_TEST_SCHEDULES(id, 1000)

static int
wait_for_cancel(void *arg)
{
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    if (arg)
        atomic_fetch_add((atomic_int *)arg, 1);
    return e;
}

/* ---- R10: reasons ------------------------------------------------------- */

struct why {
    rn_reason reason;
    int code;
    rn_chan *ready; /* NULL: nobody waits for it */
};

static int
ask_why(void *arg)
{
    struct why *why = arg;
    CHECK_EQ(rn_cancel_reason(NULL), RN_REASON_NONE);
    if (why->ready)
        send_int(why->ready, 1);
    int e = wait_for_cancel(NULL);
    why->reason = rn_cancel_reason(&why->code);
    return e;
}

static int
ask_why_in_a_scope(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    return rn_scope_close_with(s, ask_why(arg));
}

static int
fail_eio(void *arg)
{
    (void)arg;
    return -EIO;
}

RULE_TEST(cancel_R10_reasons)
{
    for (int i = 0; i < 3; i++) {
        rn_chan *ready = new_chan(sizeof(int), 0);
        struct why near = {.ready = ready}, below = {.ready = ready};
        rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        CHECK_EQ(rn_go(s, ask_why, &near), 0);
        CHECK_EQ(rn_go(s, ask_why_in_a_scope, &below), 0);
        CHECK_EQ(recv_int(ready) + recv_int(ready), 2);
        if (i == 0)
            rn_scope_cancel_with(s, -77);
        else if (i == 1)
            CHECK_EQ(rn_go(s, fail_eio, NULL), 0);
        else
            CHECK_EQ(rn_scope_set_deadline(s, rn_now() + RN_MS), 0);
        CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
        static const rn_reason reasons[] = {RN_REASON_USER, RN_REASON_SIBLING,
                                            RN_REASON_DEADLINE};
        static const int codes[] = {-77, -EIO, -ETIMEDOUT};
        int code = 1;
        CHECK_EQ(rn_cancel_reason(&code), reasons[i]); /* the opener's */
        CHECK_EQ(code, codes[i]);
        rn_scope_cancel_with(s, 5); /* the first code stays */
        rn_scope *inner = open_scope(RN_NEVER);
        CHECK_EQ(rn_cancel_reason(&code), RN_REASON_PARENT);
        CHECK_EQ(code, codes[i]);
        close_cancelled(inner);
        int e = rn_scope_close(s);
        CHECK_EQ(e, i == 0 ? -ECANCELED : codes[i]);
        CHECK_EQ(near.reason, reasons[i]);
        CHECK_EQ(near.code, codes[i]);
        CHECK_EQ(below.reason, RN_REASON_PARENT);
        CHECK_EQ(below.code, codes[i]);
        CHECK_EQ(rn_cancel_reason(&code), RN_REASON_NONE);
        CHECK_EQ(code, 0);
        CHECK_EQ(rn_scope_close(outer), 0);
        rn_chan_unref(ready);
    }
}

/* Whoever gives up unasked is a sibling to the others. */
static int
give_up(void *arg)
{
    (void)arg;
    return -ECANCELED;
}

RULE_TEST(cancel_R10_reason_of_a_sibling_that_gave_up)
{
    struct why why = {.ready = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    go(ask_why, &why);
    CHECK_EQ(recv_int(why.ready), 1);
    go(give_up, NULL);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(why.reason, RN_REASON_SIBLING);
    CHECK_EQ(why.code, -ECANCELED);
    rn_chan_unref(why.ready);
}

/* ---- R10: deadlines in a tree ------------------------------------------- */

/* The earliest of three wins, and only its owner times out. */
SIM_TEST(cancel_R10_the_earliest_deadline_wins)
{
    for (int first = 0; first < 3; first++) {
        rn_time start = rn_now();
        rn_scope *scopes[3];
        for (int i = 0; i < 3; i++)
            scopes[i] = open_scope(start + (i == first ? 100 : 200 + i));
        go(wait_for_cancel, NULL);
        CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
        CHECK_EQ(rn_now(), start + 100);
        for (int i = 2; i > first; i--) {
            int e = rn_scope_close(scopes[i]);
            CHECK_EQ(e, i == 2 ? -ECANCELED : 0);
        }
        CHECK_EQ(rn_scope_close(scopes[first]), -ETIMEDOUT);
        CHECK_EQ(rn_yield(), 0);
        for (int i = first - 1; i >= 0; i--)
            CHECK_EQ(rn_scope_close(scopes[i]), 0);
    }
}

/* The same instant: either may win, but the outer's owner times out if it was
 * cut, and nothing of it stays. */
SIM_TEST(cancel_R10_two_deadlines_in_one_instant)
{
    rn_scope *outer = open_scope(100), *inner = open_scope(100);
    go(wait_for_cancel, NULL);
    int e = rn_scope_close(inner);
    CHECK(e == -ETIMEDOUT || e == -ECANCELED);
    CHECK_EQ(rn_scope_close(outer) == -ETIMEDOUT || e == -ETIMEDOUT, true);
    CHECK_EQ(rn_yield(), 0);
}

static int
touch(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

RULE_TEST(cancel_R10_already_expired_nothing_starts)
{
    atomic_int count = 0;
    rn_time past[] = {rn_now(), rn_now() - 5, RN_NOW};
    for (int i = 0; i < 3; i++) {
        rn_scope_options options = {.deadline = past[i] ? past[i] : -1};
        rn_scope *s;
        int code;
        CHECK_EQ(rn_scope_open_with(&options, &s), 0);
        CHECK_EQ(rn_cancel_reason(&code), RN_REASON_DEADLINE);
        CHECK_EQ(code, -ETIMEDOUT);
        CHECK_EQ(rn_go(NULL, touch, &count), -ECANCELED);
        CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
    }
    CHECK_EQ(atomic_load(&count), 0);
}

struct moving {
    rn_scope *scope;
    int moved; /* what set_deadline returned */
};

static int
put_off(void *arg)
{
    struct moving *m = arg;
    m->moved = rn_scope_set_deadline(m->scope, RN_NEVER);
    return m->moved;
}

/* R10: it may be moved while it runs out: either it has been moved, and then
 * nothing is cancelled, or it had passed. */
SIM_TEST(cancel_R10_moved_in_the_instant_it_passes)
{
    struct moving m = {.moved = 42};
    m.scope = open_scope(100);
    (void)rn_sleep_until(100);
    int e = put_off(&m);
    if (e == 0) {
        CHECK_EQ(rn_sleep_until(200), 0);
        CHECK_EQ(rn_scope_close(m.scope), 0);
    } else {
        CHECK_EQ(e, -ECANCELED);
        CHECK_EQ(rn_sleep_until(200), -ECANCELED);
        CHECK_EQ(rn_scope_close(m.scope), -ETIMEDOUT);
    }
}

static int
move_it(void *arg)
{
    CHECK_EQ(rn_scope_set_deadline(arg, rn_now()), 0);
    return wait_for_cancel(NULL);
}

RULE_TEST(cancel_R10_moved_to_now_by_a_task)
{
    rn_scope *s = open_scope(rn_now() + 3600 * RN_SEC);
    go(move_it, s);
    CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
}

/* ---- R12, R13: each point, cancelled, did not happen --------------------- */

struct things {
    rn_chan *full, *empty, *ready;
    rn_mutex held, free;
    rn_cond cond;
    rn_waitgroup group;
    rn_task task;
    int value;
};

static int
try_send(struct things *t)
{
    return rn_chan_send(t->full, &t->value, RN_NEVER);
}

static int
try_recv(struct things *t)
{
    return rn_chan_recv(t->empty, &t->value, RN_NEVER);
}

static int
try_select(struct things *t)
{
    rn_arm arms[] = {RN_ARM_SEND(t->full, &t->value),
                     RN_ARM_RECV(t->empty, &t->value)};
    return rn_select(arms, 2, 0, RN_NEVER);
}

static int
try_lock(struct things *t)
{
    return rn_mutex_lock(&t->held, RN_NEVER);
}

static int
try_cond(struct things *t)
{
    CHECK_EQ(rn_mutex_lock(&t->free, RN_NOW), 0);
    int e = rn_cond_wait(&t->cond, &t->free, RN_NEVER);
    rn_mutex_unlock(&t->free); /* it is held again in any case */
    return e;
}

static int
try_group(struct things *t)
{
    return rn_waitgroup_wait(&t->group, RN_NEVER);
}

static int
try_join(struct things *t)
{
    return rn_task_join(t->task, RN_NEVER, &t->value);
}

static int
try_timed_join(struct things *t)
{
    return rn_task_join(t->task, rn_now() + 3600 * RN_SEC, &t->value);
}

static int
try_sleep(struct things *t)
{
    (void)t;
    return rn_sleep(3600 * RN_SEC);
}

static int
nothing(void *arg)
{
    return *(int *)arg;
}

static int
try_blocking(struct things *t)
{
    int e;
    while ((e = rn_blocking(nothing, &t->value, RN_NEVER, NULL)) != -ECANCELED)
        CHECK(e >= 0); /* it was there too late for this one */
    return e;
}

static int
try_yield(struct things *t)
{
    (void)t;
    int e;
    while ((e = rn_yield()) == 0)
        continue;
    return e;
}

static int
poll_busily(struct things *t)
{
    (void)t;
    while (!rn_cancel_requested())
        (void)rn_yield(); /* there may be one worker only */
    return -ECANCELED;
}

static int (*const points[])(struct things *) = {
    try_send, try_recv,       try_select, try_lock,     try_cond,  try_group,
    try_join, try_timed_join, try_sleep,  try_blocking, try_yield, poll_busily,
};
enum { POINTS = sizeof points / sizeof points[0] };

struct point {
    int (*call)(struct things *);
    struct things *things;
    bool waits; /* first, so that it is cut; else the cancel is there before */
};

static int
reach(void *arg)
{
    struct point *p = arg;
    if (p->waits)
        send_int(p->things->ready, 1);
    else
        while (!rn_cancel_requested())
            CHECK(rn_yield() <= 0);
    for (int i = 0; i < 3; i++) /* R12: again and again */
        CHECK_EQ(p->call(p->things), -ECANCELED);
    rn_scope *s = open_scope(RN_NEVER); /* and inside a scope */
    CHECK_EQ(p->call(p->things), -ECANCELED);
    close_cancelled(s);
    CHECK_EQ(p->call(p->things), -ECANCELED);
    return -ECANCELED;
}

static int
wait_to_end(void *chan)
{
    int code;
    return rn_chan_recv(chan, &code, RN_NEVER) == 0 ? code : 0;
}

/* alone: the task is cancelled, not its scope. */
static void
cancel_at(int (*call)(struct things *), bool waits, bool alone)
{
    rn_chan *end = new_chan(sizeof(int), 0);
    struct things t = {.full = new_chan(sizeof(int), 1),
                       .empty = new_chan(sizeof(int), 1),
                       .ready = new_chan(sizeof(int), 0),
                       .held = RN_MUTEX_INIT,
                       .free = RN_MUTEX_INIT,
                       .cond = RN_COND_INIT,
                       .group = RN_WAITGROUP_INIT};
    struct point p = {call, &t, waits};
    send_int(t.full, 5);
    CHECK_EQ(rn_mutex_lock(&t.held, RN_NEVER), 0);
    rn_waitgroup_add(&t.group, 1);
    t.task = go_joinable(wait_to_end, end); /* outside the scope */
    rn_scope *s = open_scope(RN_NEVER);
    rn_task task = go_joinable(reach, &p);
    if (waits)
        CHECK_EQ(recv_int(t.ready), 1);
    if (alone)
        rn_task_cancel(task);
    else
        rn_scope_cancel(s);
    rn_shield shield = rn_shield_push();
    int result = 0;
    CHECK_EQ(rn_task_join(task, RN_NEVER, &result), 0);
    CHECK_EQ(result, -ECANCELED);
    rn_shield_restore(shield);
    CHECK_EQ(rn_yield(), alone ? 0 : -ECANCELED);
    CHECK_EQ(rn_scope_close(s), alone ? 0 : -ECANCELED);
    /* R13: nothing was taken, sent, locked or joined */
    CHECK_EQ(rn_chan_len(t.full), 1);
    CHECK_EQ(recv_int(t.full), 5);
    CHECK_EQ(rn_chan_len(t.empty), 0);
    rn_mutex_unlock(&t.held);
    CHECK_EQ(rn_mutex_lock(&t.held, RN_NOW), 0);
    rn_mutex_unlock(&t.held);
    CHECK_EQ(rn_mutex_lock(&t.free, RN_NOW), 0);
    rn_mutex_unlock(&t.free);
    rn_waitgroup_done(&t.group);
    send_int(end, 6);
    CHECK_EQ(rn_task_join(t.task, RN_NEVER, &result), 0);
    CHECK_EQ(result, 6);
    rn_chan_unref(end);
    rn_chan_unref(t.full);
    rn_chan_unref(t.empty);
    rn_chan_unref(t.ready);
}

RULE_TEST(cancel_R12_R13_of_a_scope_at_every_point)
{
    int from = rn_sim_active() ? (int)rn_sim_choose(POINTS) : 0;
    int to = rn_sim_active() ? from + 1 : POINTS;
    for (int i = from; i < to; i++) {
        cancel_at(points[i], true, false);
        cancel_at(points[i], false, false);
    }
}

RULE_TEST(cancel_R12_R13_of_a_task_at_every_point)
{
    int from = rn_sim_active() ? (int)rn_sim_choose(POINTS) : 0;
    int to = rn_sim_active() ? from + 1 : POINTS;
    for (int i = from; i < to; i++) {
        cancel_at(points[i], true, true);
        if (points[i] != try_yield)
            cancel_at(points[i], false, true);
    }
}

/* R13: what was completed is a success even if a cancel is pending: the value
 * is with exactly one side. */
struct handing {
    rn_chan *chan;
    int sent, received;
};

static int
hand_over(void *arg)
{
    struct handing *h = arg;
    int v = 1;
    h->sent = rn_chan_send(h->chan, &v, RN_NEVER);
    return 0;
}

static int
take_over(void *arg)
{
    struct handing *h = arg;
    int v = 0;
    h->received = rn_chan_recv(h->chan, &v, RN_NEVER);
    return 0;
}

RULE_TEST(cancel_R13_no_value_is_lost_or_doubled)
{
    struct handing h = {new_chan(sizeof(int), 0), 42, 42};
    rn_scope *s = open_scope(RN_NEVER);
    go(hand_over, &h);
    rn_task t = go_joinable(take_over, &h);
    (void)rn_yield();
    rn_task_cancel(t);
    settle();
    rn_scope_cancel(s);
    close_cancelled(s);
    if (h.received != 42 && h.sent != 42)
        CHECK_EQ(h.sent == 0, h.received == 0);
    rn_chan_unref(h.chan);
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

RULE_TEST(cancel_R17_of_a_task_leaves_the_others)
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

RULE_TEST(cancel_R17_of_a_task_reaches_its_scopes)
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
    for (int i = 0; !told && i < 1000; i++) {
        rn_scope *s = open_scope(RN_NEVER);
        told = rn_sleep(1) == -ECANCELED;
        close_cancelled(s);
    }
    CHECK(told);
    CHECK_EQ(rn_yield(), -ECANCELED);
    return 0;
}

RULE_TEST(cancel_R17_of_a_task_that_opens_scopes)
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
RULE_TEST(cancel_R17_before_it_begins)
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

RULE_TEST(cancel_R17_joins_wait_for_finalizers)
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

RULE_TEST(cancel_R17_waits_for_the_shielded)
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

RULE_TEST(cancel_R17_joining_an_ancestor_is_refused)
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

RULE_TEST(cancel_R17_joining_a_relative_is_fine)
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

RULE_TEST(cancel_R17_of_oneself)
{
    atomic_int count = 0;
    rn_scope *s = open_scope(RN_NEVER);
    go(cancel_oneself, &count);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&count), 1);
}

/* ---- many ---------------------------------------------------------------- */

API_TEST_SCHEDULES(cancel_R7_of_many_waiting_tasks, 2)
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
