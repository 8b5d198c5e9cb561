/* select.c - tests of runnel/select.h: what one select does. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* ---- nothing ready ------------------------------------------------------ */

API_TEST(select_try_fails_with_nothing_ready)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    int v = 42;
    rn_arm arms[] = {RN_ARM_RECV(c, &v), RN_ARM_SEND(c, &v), RN_ARM_NONE,
                     RN_ARM_RECV(NULL, &v),
                     RN_ARM_AT(rn_now() + 3600 * RN_SEC)};
    for (int i = 0; i < 5; i++)
        arms[i].result = 1234;
    CHECK_EQ(rn_select(arms, 5, 0, RN_NOW), -EAGAIN);
    CHECK_EQ(v, 42);
    for (int i = 0; i < 5; i++)
        CHECK_EQ(arms[i].result, 1234);
    rn_chan_unref(c);
}

API_TEST(select_without_arms_waits_for_the_deadline)
{
    rn_arm none[] = {RN_ARM_NONE, RN_ARM_RECV(NULL, NULL)};
    CHECK_EQ(rn_select(NULL, 0, 0, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_select(NULL, 0, 0, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_select(none, 2, 0, rn_now()), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_select(NULL, 0, 0, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    when = rn_now() + RN_MS;
    CHECK_EQ(rn_select(none, 2, 0, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), when);
}

SIM_FINDS_TEXT(select_without_arms_is_a_deadlock, RN_SIM_DEADLOCK, "main")
{
    rn_select(NULL, 0, 0, RN_NEVER);
}

API_TEST(select_past_deadline_times_out)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    int v = 42;
    rn_arm arms[] = {RN_ARM_RECV(c, &v), RN_ARM_SEND(c, &v)};
    CHECK_EQ(rn_select(arms, 2, 0, -1), -ETIMEDOUT);
    CHECK_EQ(rn_select(arms, 2, 0, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_select(arms, 1, 0, RN_NOW + 1), -ETIMEDOUT);
    CHECK_EQ(v, 42);
    rn_chan_unref(c);
}

static int
select_never(void *arg)
{
    rn_chan *c = arg;
    int v = 42;
    rn_arm arms[] = {RN_ARM_RECV(c, &v), RN_ARM_RECV(NULL, &v), RN_ARM_NONE};
    CHECK_EQ(rn_select(arms, 3, 0, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_select(NULL, 0, 0, RN_NEVER), -ECANCELED);
    CHECK_EQ(v, 42);
    return 0;
}

API_TEST(select_is_cancelled)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(select_never, c);
    settle();
    rn_scope_cancel(s);
    int v = 1;
    rn_arm arms[] = {RN_ARM_RECV(c, &v)};
    CHECK_EQ(rn_select(arms, 1, 0, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_select(arms, 1, 0, RN_NOW), -EAGAIN); /* no cancel point */
    close_cancelled(s);
    rn_chan_unref(c);
}

/* ---- one arm ready ------------------------------------------------------ */

API_TEST(select_does_the_ready_arm)
{
    for (int at = 0; at < 4; at++) {
        rn_chan *ready = new_chan(sizeof(int), 1);
        rn_chan *empty = new_chan(sizeof(int), 0);
        int v = 5, other = 42;
        rn_arm arms[4];
        for (int i = 0; i < 4; i++)
            arms[i] = (rn_arm)RN_ARM_RECV(empty, &other);
        arms[at] = (rn_arm)RN_ARM_SEND(ready, &v);
        arms[at].result = -1;
        CHECK_EQ(rn_select(arms, 4, 0, RN_NEVER), at);
        CHECK_EQ(arms[at].result, 0);
        CHECK_EQ(rn_chan_len(ready), 1);
        v = 0;
        arms[at] = (rn_arm)RN_ARM_RECV(ready, &v);
        arms[at].result = -1;
        CHECK_EQ(rn_select(arms, 4, 0, RN_NOW), at);
        CHECK_EQ(arms[at].result, 0);
        CHECK_EQ(v, 5);
        CHECK_EQ(other, 42);
        CHECK_EQ(rn_chan_len(ready), 0);
        rn_chan_unref(ready);
        rn_chan_unref(empty);
    }
}

API_TEST(select_drops_into_null)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    send_int(c, 3);
    rn_arm arms[] = {RN_ARM_RECV(c, NULL)};
    CHECK_EQ(rn_select(arms, 1, 0, RN_NEVER), 0);
    CHECK_EQ(rn_chan_len(c), 0);
    rn_chan_unref(c);
}

API_TEST(select_closed_arms_are_ready)
{
    rn_chan *c = new_chan(sizeof(int), 2), *empty = new_chan(sizeof(int), 0);
    int v = 42;
    rn_chan_close(c);
    rn_arm recv[] = {RN_ARM_RECV(empty, &v), RN_ARM_RECV(c, &v)};
    CHECK_EQ(rn_select(recv, 2, 0, RN_NEVER), 1);
    CHECK_EQ(recv[1].result, -EPIPE);
    CHECK_EQ(v, 0);
    rn_arm send[] = {RN_ARM_SEND(empty, &v), RN_ARM_SEND(c, &v)};
    CHECK_EQ(rn_select(send, 2, 0, RN_NOW), 1);
    CHECK_EQ(send[1].result, -EPIPE);
    rn_chan_unref(c);
    rn_chan_unref(empty);
}

static int
close_it(void *arg)
{
    rn_chan_close(arg);
    return 0;
}

API_TEST(select_is_woken_by_close)
{
    for (int sending = 0; sending < 2; sending++) {
        rn_chan *a = new_chan(sizeof(int), 0), *b = new_chan(sizeof(int), 0);
        int v = 42;
        rn_arm arms[] = {RN_ARM_RECV(a, &v), RN_ARM_RECV(b, &v)};
        if (sending)
            arms[1] = (rn_arm)RN_ARM_SEND(b, &v);
        rn_scope *s = open_scope(RN_NEVER);
        go(close_it, b);
        CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1);
        CHECK_EQ(arms[1].result, -EPIPE);
        CHECK_EQ(v, sending ? 42 : 0);
        CHECK_EQ(rn_scope_close(s), 0);
        /* it is on no queue any more */
        CHECK_EQ(rn_chan_send(a, &v, RN_NOW), -EAGAIN);
        rn_chan_unref(a);
        rn_chan_unref(b);
    }
}

/* ---- every position empty, ready, nil or closed; with default or not ---- */

enum state { EMPTY, READY, NIL, CLOSED, STATES };

static rn_chan *
chan_in(enum state state)
{
    if (state == NIL)
        return NULL;
    rn_chan *c = new_chan(sizeof(int), 1);
    if (state == READY)
        send_int(c, 1);
    if (state == CLOSED)
        rn_chan_close(c);
    return c;
}

/* As a number in base STATES, combination says the state of each arm. */
static void
try_combination(int arms_count, int combination, rn_time deadline)
{
    rn_arm arms[3];
    int values[3] = {42, 42, 42}, ready = 0;
    enum state states[3];
    for (int i = 0; i < arms_count; i++, combination /= STATES) {
        states[i] = (enum state)(combination % STATES);
        arms[i] = (rn_arm)RN_ARM_RECV(chan_in(states[i]), &values[i]);
        ready += states[i] == READY || states[i] == CLOSED;
    }
    int got = rn_select(arms, (size_t)arms_count, 0, deadline);
    if (!ready)
        CHECK_EQ(got, deadline == RN_NOW ? -EAGAIN : -ETIMEDOUT);
    else
        CHECK(got >= 0 && got < arms_count);
    for (int i = 0; i < arms_count; i++) {
        if (i != got) {
            CHECK_EQ(values[i], 42);
        } else {
            CHECK(states[i] == READY || states[i] == CLOSED);
            CHECK_EQ(arms[i].result, states[i] == READY ? 0 : -EPIPE);
            CHECK_EQ(values[i], states[i] == READY);
        }
        CHECK_EQ(rn_chan_len(arms[i].chan), states[i] == READY && i != got);
        rn_chan_unref(arms[i].chan);
    }
}

API_TEST_SCHEDULES(select_full_matrix_of_states, 20)
{
    for (int n = 1, all = STATES; n <= 3; n++, all *= STATES)
        for (int k = 0; k < all; k++) {
            try_combination(n, k, RN_NOW);
            try_combination(n, k, rn_now());
        }
}

/* ---- choice ------------------------------------------------------------- */

API_TEST(select_ordered_takes_the_first_ready)
{
    rn_chan *a = new_chan(sizeof(int), 50), *b = new_chan(sizeof(int), 50);
    for (int i = 0; i < 50; i++) {
        send_int(a, i);
        send_int(b, i);
    }
    int v;
    for (int i = 0; i < 100; i++) {
        rn_arm arms[] = {RN_ARM_NONE, RN_ARM_RECV(a, &v), RN_ARM_RECV(b, &v)};
        CHECK_EQ(rn_select(arms, 3, RN_SELECT_ORDERED, RN_NEVER),
                 i < 50 ? 1 : 2);
        CHECK_EQ(v, i % 50);
    }
    rn_chan_unref(a);
    rn_chan_unref(b);
}

/* n trials of probability 1/2: six standard deviations are 3 sqrt(n). */
API_TEST_SCHEDULES(select_is_fair, 3)
{
    enum { TRIALS = 10000, BOUND = 300 };
    rn_chan *a = new_chan(0, TRIALS), *b = new_chan(0, TRIALS);
    rn_chan *idle = new_chan(0, 0);
    for (int i = 0; i < TRIALS; i++) {
        CHECK_EQ(rn_chan_send(a, NULL, RN_NOW), 0);
        CHECK_EQ(rn_chan_send(b, NULL, RN_NOW), 0);
    }
    int count[5] = {0};
    for (int i = 0; i < TRIALS; i++) {
        rn_arm arms[] = {RN_ARM_RECV(NULL, NULL), RN_ARM_RECV(a, NULL),
                         RN_ARM_RECV(idle, NULL), RN_ARM_RECV(b, NULL),
                         RN_ARM_SEND(idle, NULL)};
        int got = rn_select(arms, 5, 0, RN_NEVER);
        CHECK(got == 1 || got == 3);
        count[got]++;
    }
    CHECK_LT(abs(count[1] - count[3]), 2 * BOUND);
    rn_chan_unref(a);
    rn_chan_unref(b);
    rn_chan_unref(idle);
}

API_TEST_SCHEDULES(select_is_fair_among_copies_of_an_arm, 3)
{
    enum { TRIALS = 9000, BOUND = 269 }; /* 6 sqrt(n/3 * 2/3) */
    rn_chan *c = new_chan(0, TRIALS);
    for (int i = 0; i < TRIALS; i++)
        CHECK_EQ(rn_chan_send(c, NULL, RN_NOW), 0);
    int count[3] = {0};
    for (int i = 0; i < TRIALS; i++) {
        rn_arm arms[] = {RN_ARM_RECV(c, NULL), RN_ARM_RECV(c, NULL),
                         RN_ARM_RECV(c, NULL)};
        int got = rn_select(arms, 3, 0, RN_NEVER);
        CHECK(got >= 0 && got < 3);
        count[got]++;
    }
    for (int i = 0; i < 3; i++)
        CHECK_LT(abs(count[i] - TRIALS / 3), BOUND);
    rn_chan_unref(c);
}

/* ---- arms on time and tasks --------------------------------------------- */

API_TEST(select_at_fires_at_its_time)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_time when = rn_now() + RN_MS;
    rn_arm arms[] = {RN_ARM_RECV(c, NULL), RN_ARM_AT(when),
                     RN_ARM_AT(when + 3600 * RN_SEC), RN_ARM_AT(RN_NEVER)};
    arms[1].result = -1;
    CHECK_EQ(rn_select(arms, 4, 0, RN_NEVER), 1);
    CHECK_EQ(arms[1].result, 0);
    CHECK_GE(rn_now(), when);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), when);
    arms[1] = (rn_arm)RN_ARM_AT(when);
    CHECK_EQ(rn_select(arms, 4, 0, RN_NOW), 1); /* passed: ready */
    rn_chan_unref(c);
}

SIM_TEST(select_at_and_deadline_in_one_instant)
{
    rn_arm arms[] = {RN_ARM_AT(1000)};
    int got = rn_select(arms, 1, 0, 1000);
    CHECK(got == 0 || got == -ETIMEDOUT);
    CHECK_EQ(rn_now(), 1000);
}

static int
return_number(void *arg)
{
    return *(int *)arg;
}

API_TEST(select_joins_a_task)
{
    int number = 17, result = -1;
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_task t = go_joinable(return_number, &number);
    rn_arm arms[] = {RN_ARM_RECV(c, NULL), RN_ARM_JOIN(t, &result)};
    arms[1].result = -1;
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1);
    CHECK_EQ(arms[1].result, 0);
    CHECK_EQ(result, 17);
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), -ESRCH);
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1); /* gone is ready */
    CHECK_EQ(arms[1].result, -ESRCH);
    CHECK_EQ(result, 17);
    rn_chan_unref(c);
}

API_TEST(select_join_of_two_takes_one)
{
    int one = 1, two = 2, r1 = -1, r2 = -1;
    rn_task t1 = go_joinable(return_number, &one);
    rn_task t2 = go_joinable(return_number, &two);
    rn_arm arms[] = {RN_ARM_JOIN(t1, &r1), RN_ARM_JOIN(t2, &r2)};
    int first = rn_select(arms, 2, 0, RN_NEVER);
    CHECK(first == 0 || first == 1);
    CHECK_EQ(first == 0 ? r1 : r2, first + 1);
    CHECK_EQ(first == 0 ? r2 : r1, -1); /* the other is not joined */
    CHECK_EQ(rn_task_join(first == 0 ? t2 : t1, RN_NEVER, &r1), 0);
    CHECK_EQ(r1, 2 - first);
}

API_TEST(select_join_of_oneself_is_refused)
{
    int result = 42;
    rn_arm arms[] = {RN_ARM_JOIN(rn_task_self(), &result)};
    CHECK_EQ(rn_select(arms, 1, 0, RN_NEVER), 0);
    CHECK_EQ(arms[0].result, -EDEADLK);
    CHECK_EQ(result, 42);
}

static int
wait_for_close(void *arg)
{
    CHECK_EQ(rn_chan_recv(arg, NULL, RN_NEVER), -EPIPE);
    return 5;
}

API_TEST(select_join_not_taken_leaves_the_task_joinable)
{
    rn_chan *c = new_chan(0, 0), *ready = new_chan(0, 1);
    int result = 42;
    CHECK_EQ(rn_chan_send(ready, NULL, RN_NEVER), 0);
    rn_task t = go_joinable(wait_for_close, c);
    rn_arm arms[] = {RN_ARM_JOIN(t, &result), RN_ARM_RECV(ready, NULL)};
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1);
    CHECK_EQ(rn_select(arms, 1, 0, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_select(arms, 1, 0, rn_now()), -ETIMEDOUT);
    rn_chan_close(c);
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
    CHECK_EQ(result, 5);
    rn_chan_unref(c);
    rn_chan_unref(ready);
}

/* ---- bad input ---------------------------------------------------------- */

API_TEST_SCHEDULES(select_takes_the_most_arms, 2)
{
    rn_arm *arms = calloc(RN_SELECT_MAX + 1, sizeof *arms);
    rn_chan *empty = new_chan(sizeof(int), 0), *c = new_chan(sizeof(int), 1);
    CHECK(arms != NULL);
    int v;
    for (int i = 0; i <= RN_SELECT_MAX; i++)
        arms[i] = (rn_arm)RN_ARM_RECV(empty, &v);
    CHECK_EQ(rn_select(arms, RN_SELECT_MAX + 1, 0, RN_NOW), -EINVAL);
    CHECK_EQ(rn_select(arms, RN_SELECT_MAX + 1, 0, RN_NEVER), -EINVAL);
    CHECK_EQ(rn_select(arms, (size_t)-1, 0, RN_NEVER), -EINVAL);
    CHECK_EQ(rn_select(arms, RN_SELECT_MAX, 0, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_select(arms, RN_SELECT_MAX, 0, rn_now() + 1), -ETIMEDOUT);
    send_int(c, 3);
    arms[RN_SELECT_MAX - 1] = (rn_arm)RN_ARM_RECV(c, &v);
    CHECK_EQ(rn_select(arms, RN_SELECT_MAX, 0, RN_NEVER), RN_SELECT_MAX - 1);
    CHECK_EQ(v, 3);
    rn_chan_unref(empty);
    rn_chan_unref(c);
    free(arms);
}

API_TEST(select_refuses_unknown_kinds_and_flags)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    int v = 1;
    rn_arm arms[] = {RN_ARM_SEND(c, &v), RN_ARM_NONE};
    CHECK_EQ(rn_select(arms, 2, 0x80000000u, RN_NEVER), -EINVAL);
    CHECK_EQ(rn_select(arms, 2, 2, RN_NOW), -EINVAL);
    arms[1].kind = (rn_arm_kind)99;
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), -EINVAL);
    CHECK_EQ(rn_chan_len(c), 0); /* nothing happened */
    rn_chan_unref(c);
}

TEST_DIES_WITH(select_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_select(NULL, 0, 0, RN_NOW);
}
