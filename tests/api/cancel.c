/* cancel.c - tests of cancellation. R10: deadlines and reasons; R12: a cancel
 * stays visible; R13: a cancelled call did not happen. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- R10: reasons ------------------------------------------------------- */

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
    rn_task task, shielded;
    rn_chan *end; /* of these two, and of what runs once */
    rn_once once;
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

/* It is cancelled all the same, but behind a shield. */
static int
try_cancel_join(struct things *t)
{
    return rn_task_cancel_join(t->shielded, RN_NEVER);
}

static void
never(void *arg)
{
    (void)arg;
    FAIL("it has run twice");
}

static int
try_once(struct things *t)
{
    return rn_once_do(&t->once, never, NULL, RN_NEVER);
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
    try_send,  try_recv,     try_select,     try_lock,        try_cond,
    try_group, try_join,     try_timed_join, try_cancel_join, try_once,
    try_sleep, try_blocking, try_yield,      poll_busily,
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

static int
wait_shielded(void *arg)
{
    struct things *t = arg;
    rn_shield shield = rn_shield_push();
    send_int(t->ready, 2);
    int code = recv_int(t->end);
    rn_shield_restore(shield);
    return code;
}

static void
wait_once(void *arg)
{
    struct things *t = arg;
    send_int(t->ready, 2);
    CHECK_EQ(recv_int(t->end), 6);
}

static int
run_once(void *arg)
{
    struct things *t = arg;
    return rn_once_do(&t->once, wait_once, t, RN_NEVER);
}

/* alone: the task is cancelled, not its scope. */
static void
cancel_at(int (*call)(struct things *), bool waits, bool alone)
{
    struct things t = {.end = new_chan(sizeof(int), 0),
                       .once = RN_ONCE_INIT,
                       .full = new_chan(sizeof(int), 1),
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
    t.task = go_joinable(wait_to_end, t.end); /* outside the scope */
    t.shielded = go_joinable(wait_shielded, &t);
    rn_task once = go_joinable(run_once, &t);
    CHECK_EQ(recv_int(t.ready) + recv_int(t.ready), 4); /* both wait */
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
    for (int i = 0; i < 3; i++)
        send_int(t.end, 6);
    CHECK_EQ(rn_task_join(t.task, RN_NEVER, &result), 0);
    CHECK_EQ(result, 6);
    CHECK_EQ(rn_task_join(t.shielded, RN_NEVER, &result), 0);
    CHECK_EQ(result, 6);
    CHECK_EQ(rn_task_join(once, RN_NEVER, &result), 0);
    CHECK_EQ(result, 0);
    rn_chan_unref(t.end);
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
