/* chan.c - tests of runnel/chan.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- sizes -------------------------------------------------------------- */

API_TEST(chan_len_and_cap_count)
{
    for (size_t cap = 0; cap <= 3; cap++) {
        rn_chan *c = new_chan(sizeof(int), cap);
        CHECK_EQ(rn_chan_cap(c), cap);
        for (size_t i = 0; i < cap; i++) {
            CHECK_EQ(rn_chan_len(c), i);
            send_int(c, (int)i);
        }
        CHECK_EQ(rn_chan_len(c), cap);
        for (size_t i = 0; i < cap; i++) {
            CHECK_EQ(recv_int(c), i);
            CHECK_EQ(rn_chan_len(c), cap - 1 - i);
        }
        rn_chan_unref(c);
    }
    CHECK_EQ(rn_chan_len(NULL), 0);
    CHECK_EQ(rn_chan_cap(NULL), 0);
}

TEST(chan_new_refuses_absurd_sizes)
{
    static const struct {
        size_t elem, cap;
    } absurd[] = {
        {SIZE_MAX, 1},
        {1, SIZE_MAX},
        {(size_t)-8, 2},
        {8, (size_t)-1},
        {0, (size_t)-1},
        {(size_t)-1, 0},
        {8, SIZE_MAX / 8},
        {8, SIZE_MAX / 8 + 1},
        {SIZE_MAX / 2 + 2, 2},
        {(size_t)1 << (sizeof(size_t) * 4), (size_t)1 << (sizeof(size_t) * 4)},
        {3, SIZE_MAX / 3 + 1},
    };
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) {
        rn_chan *c = (rn_chan *)&c;
        CHECK_EQ(rn_chan_new(absurd[i].elem, absurd[i].cap, &c), -EINVAL);
        CHECK(c == (rn_chan *)&c); /* untouched */
    }
}

TEST(chan_new_without_memory_fails)
{
    if (TEST_SANITIZED)
        test_skip("the sanitizer ends programs that ask for so much");
    /* more than the address space has, yet the product does not wrap */
    rn_chan *c = NULL;
    int e = rn_chan_new((size_t)1 << 30, (size_t)1 << 20, &c);
    CHECK(e == -ENOMEM || e == -EINVAL);
    CHECK(c == NULL);
}

API_TEST(chan_zero_size_elements_are_counted)
{
    rn_chan *c = new_chan(0, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_chan_send(c, NULL, RN_NOW), 0);
    CHECK_EQ(rn_chan_send(c, NULL, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_chan_len(c), 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_chan_recv(c, NULL, RN_NOW), 0);
    CHECK_EQ(rn_chan_recv(c, NULL, RN_NOW), -EAGAIN);
    rn_chan_unref(c);
    c = new_chan(0, (size_t)1 << 30); /* takes no storage */
    CHECK_EQ(rn_chan_send(c, "", RN_NEVER), 0);
    CHECK_EQ(rn_chan_len(c), 1);
    rn_chan_unref(c);
}

enum { HUGE_BYTES = 1 << 20 };

static int
send_huge(void *arg)
{
    unsigned char *block = malloc(HUGE_BYTES);
    CHECK(block != NULL);
    for (int i = 0; i < 3; i++) {
        memset(block, i + 1, HUGE_BYTES);
        CHECK_EQ(rn_chan_send(arg, block, RN_NEVER), 0);
    }
    free(block);
    return 0;
}

API_TEST_SCHEDULES(chan_huge_elements_arrive_whole, 20)
{
    for (size_t cap = 0; cap < 3; cap++) {
        rn_chan *c = new_chan(HUGE_BYTES, cap);
        unsigned char *block = malloc(HUGE_BYTES);
        CHECK(block != NULL);
        rn_task t = go_joinable(send_huge, c);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(rn_chan_recv(c, block, RN_NEVER), 0);
            for (size_t k = 0; k < HUGE_BYTES; k += 511)
                CHECK_EQ(block[k], i + 1);
        }
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
        free(block);
        rn_chan_unref(c);
    }
}

API_TEST(chan_odd_element_sizes_arrive_whole)
{
    for (size_t size = 1; size < 40; size += 3) {
        rn_chan *c = new_chan(size, 2);
        unsigned char in[40], out[40];
        memset(in, 0xa5, sizeof in);
        memset(out, 0x5a, sizeof out);
        CHECK_EQ(rn_chan_send(c, in, RN_NEVER), 0);
        CHECK_EQ(rn_chan_recv(c, out, RN_NEVER), 0);
        CHECK_MEM(in, out, size);
        CHECK_EQ(out[size], 0x5a); /* nothing beyond it */
        rn_chan_unref(c);
    }
}

API_TEST(chan_references_keep_it)
{
    CHECK(rn_chan_ref(NULL) == NULL);
    rn_chan_unref(NULL);
    rn_chan *c = new_chan(sizeof(int), 1);
    CHECK(rn_chan_ref(c) == c);
    rn_chan_unref(c);
    send_int(c, 7);
    CHECK_EQ(recv_int(c), 7);
    send_int(c, 8); /* freed with what it holds */
    rn_chan_unref(c);
}

/* ---- blocking and not --------------------------------------------------- */

API_TEST(chan_try_fails_where_it_would_wait)
{
    for (size_t cap = 0; cap <= 2; cap++) {
        rn_chan *c = new_chan(sizeof(int), cap);
        int v = 42;
        CHECK_EQ(rn_chan_recv(c, &v, RN_NOW), -EAGAIN);
        CHECK_EQ(v, 42); /* untouched */
        for (size_t i = 0; i < cap; i++)
            CHECK_EQ(rn_chan_send(c, &v, RN_NOW), 0);
        CHECK_EQ(rn_chan_send(c, &v, RN_NOW), -EAGAIN);
        CHECK_EQ(rn_chan_len(c), cap);
        rn_chan_unref(c);
    }
}

API_TEST(chan_past_deadline_times_out)
{
    rn_time past[] = {RN_NOW + 1, -1, 0, rn_now()};
    for (size_t i = 0; i < sizeof past / sizeof past[0]; i++) {
        rn_chan *c = new_chan(sizeof(int), 0);
        int v = 42;
        CHECK_EQ(rn_chan_recv(c, &v, past[i]), -ETIMEDOUT);
        CHECK_EQ(rn_chan_send(c, &v, past[i]), -ETIMEDOUT);
        CHECK_EQ(rn_chan_recv(NULL, &v, past[i]), -ETIMEDOUT);
        CHECK_EQ(rn_chan_send(NULL, &v, past[i]), -ETIMEDOUT);
        CHECK_EQ(v, 42);
        rn_chan_unref(c);
    }
}

API_TEST(chan_past_deadline_does_what_is_ready)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    int v = 5;
    CHECK_EQ(rn_chan_send(c, &v, rn_now() - 1), 0);
    v = 0;
    CHECK_EQ(rn_chan_recv(c, &v, rn_now() - 1), 0);
    CHECK_EQ(v, 5);
    rn_chan_unref(c);
}

API_TEST(chan_deadline_is_kept)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_time when = rn_now() + RN_MS;
    int v = 1;
    CHECK_EQ(rn_chan_recv(c, &v, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), when);
    when = rn_now() + RN_MS;
    CHECK_EQ(rn_chan_send(NULL, &v, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    /* nothing of the wait is left behind */
    CHECK_EQ(rn_chan_send(c, &v, RN_NOW), -EAGAIN);
    rn_chan_unref(c);
}

struct flagged {
    rn_chan *chan;
    atomic_int done;
};

static int
recv_then_flag(void *arg)
{
    struct flagged *f = arg;
    CHECK_EQ(recv_int(f->chan), 9);
    atomic_store(&f->done, 1);
    return 0;
}

API_TEST(chan_empty_receive_waits_for_a_send)
{
    struct flagged f = {new_chan(sizeof(int), 1), 0};
    rn_task t = go_joinable(recv_then_flag, &f);
    settle();
    CHECK_EQ(atomic_load(&f.done), 0);
    send_int(f.chan, 9);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(atomic_load(&f.done), 1);
    rn_chan_unref(f.chan);
}

static int
send_then_flag(void *arg)
{
    struct flagged *f = arg;
    send_int(f->chan, 9);
    atomic_store(&f->done, 1);
    return 0;
}

API_TEST(chan_full_send_waits_for_a_receive)
{
    for (size_t cap = 0; cap <= 2; cap++) {
        struct flagged f = {new_chan(sizeof(int), cap), 0};
        for (size_t i = 0; i < cap; i++)
            send_int(f.chan, (int)i);
        rn_task t = go_joinable(send_then_flag, &f);
        settle();
        CHECK_EQ(atomic_load(&f.done), 0);
        CHECK_EQ(rn_chan_len(f.chan), cap);
        for (size_t i = 0; i < cap; i++)
            CHECK_EQ(recv_int(f.chan), i);
        CHECK_EQ(recv_int(f.chan), 9);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
        rn_chan_unref(f.chan);
    }
}

/* ---- order -------------------------------------------------------------- */

static int
send_hundred(void *arg)
{
    for (int i = 0; i < 100; i++)
        send_int(arg, i);
    rn_chan_close(arg);
    return 0;
}

API_TEST_SCHEDULES(chan_keeps_order, 50)
{
    size_t caps[] = {0, 1, 10, 100};
    for (size_t i = 0; i < 4; i++) {
        rn_chan *c = new_chan(sizeof(int), caps[i]);
        rn_task t = go_joinable(send_hundred, c);
        for (int k = 0; k < 100; k++)
            CHECK_EQ(recv_int(c), k);
        int v = 1;
        CHECK_EQ(rn_chan_recv(c, &v, RN_NEVER), -EPIPE);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
        rn_chan_unref(c);
    }
}

struct seat {
    rn_chan *chan;
    int number;
};

static int
recv_and_log(void *arg)
{
    struct seat *s = arg;
    int order = recv_int(s->chan);
    CHECK_EQ(order, s->number);
    return 0;
}

static int
send_number(void *arg)
{
    struct seat *s = arg;
    send_int(s->chan, s->number);
    return 0;
}

/* Virtual time moves only when all wait, so they queue in this order. */
SIM_TEST(chan_serves_receivers_in_order)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    struct seat seats[8];
    for (int i = 0; i < 8; i++) {
        seats[i] = (struct seat){c, i};
        go(recv_and_log, &seats[i]);
        settle();
    }
    for (int i = 0; i < 8; i++)
        send_int(c, i);
    settle();
    rn_chan_unref(c);
}

SIM_TEST(chan_serves_senders_in_order)
{
    for (size_t cap = 0; cap < 3; cap++) {
        rn_chan *c = new_chan(sizeof(int), cap);
        struct seat seats[8];
        for (int i = 0; i < 8; i++) {
            seats[i] = (struct seat){c, i};
            go(send_number, &seats[i]);
            settle();
        }
        for (int i = 0; i < 8; i++)
            CHECK_EQ(recv_int(c), i);
        settle();
        rn_chan_unref(c);
    }
}

/* A newcomer must not overtake: the free place belongs to the first waiter. */
SIM_TEST(chan_newcomer_does_not_overtake)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    struct seat first = {c, 1};
    int newcomer = 2;
    send_int(c, 0);
    go(send_number, &first);
    settle();
    CHECK_EQ(recv_int(c), 0);
    CHECK_EQ(rn_chan_send(c, &newcomer, RN_NOW), -EAGAIN);
    CHECK_EQ(recv_int(c), 1);
    CHECK_EQ(rn_chan_recv(c, NULL, RN_NOW), -EAGAIN);
    rn_chan_unref(c);
}

/* ---- close -------------------------------------------------------------- */

API_TEST(chan_close_drains_then_zero)
{
    for (size_t cap = 0; cap <= 3; cap++) {
        rn_chan *c = new_chan(sizeof(int), cap);
        for (size_t i = 0; i < cap; i++)
            send_int(c, (int)i + 1);
        rn_chan_close(c);
        int v = 99;
        CHECK_EQ(rn_chan_send(c, &v, RN_NEVER), -EPIPE);
        for (size_t i = 0; i < cap; i++)
            CHECK_EQ(recv_int(c), i + 1);
        rn_time deadlines[] = {RN_NEVER, RN_NOW, rn_now(),
                               rn_now() + 3600 * RN_SEC};
        for (size_t i = 0; i < 4; i++) {
            v = 99;
            CHECK_EQ(rn_chan_recv(c, &v, deadlines[i]), -EPIPE);
            CHECK_EQ(v, 0);
            CHECK_EQ(rn_chan_recv(c, NULL, deadlines[i]), -EPIPE);
            CHECK_EQ(rn_chan_send(c, &v, deadlines[i]), -EPIPE);
        }
        CHECK_EQ(rn_chan_cap(c), cap);
        CHECK_EQ(rn_chan_len(c), 0);
        rn_chan_unref(c);
    }
}

static int
recv_closed(void *arg)
{
    int v = 99;
    CHECK_EQ(rn_chan_recv(arg, &v, RN_NEVER), -EPIPE);
    CHECK_EQ(v, 0);
    return 0;
}

static int
send_closed(void *arg)
{
    int v = 99;
    CHECK_EQ(rn_chan_send(arg, &v, RN_NEVER), -EPIPE);
    return 0;
}

API_TEST(chan_close_wakes_all_receivers)
{
    for (int n = 1; n <= 9; n += 4) {
        rn_chan *c = new_chan(sizeof(int), 0);
        rn_scope *s = open_scope(RN_NEVER);
        for (int i = 0; i < n; i++)
            go(recv_closed, c);
        settle();
        rn_chan_close(c);
        CHECK_EQ(rn_scope_close(s), 0);
        rn_chan_unref(c);
    }
}

API_TEST(chan_close_wakes_all_senders)
{
    for (size_t cap = 0; cap < 2; cap++) {
        rn_chan *c = new_chan(sizeof(int), cap);
        if (cap)
            send_int(c, 1);
        rn_scope *s = open_scope(RN_NEVER);
        for (int i = 0; i < 5; i++)
            go(send_closed, c);
        settle();
        rn_chan_close(c);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(rn_chan_len(c), cap); /* nothing of theirs was sent */
        rn_chan_unref(c);
    }
}

/* All waiters are woken in one step: none can see a half closed channel. */
static int
recv_closed_then_send(void *arg)
{
    recv_closed(arg);
    return send_closed(arg);
}

API_TEST(chan_close_is_one_step)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 4; i++)
        go(recv_closed_then_send, c);
    rn_chan_close(c);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c);
}

static int
drain_after_close(void *arg)
{
    CHECK_EQ(recv_int(arg), 1);
    return recv_closed(arg);
}

API_TEST(chan_close_keeps_what_was_sent)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    rn_task t = go_joinable(drain_after_close, c);
    send_int(c, 1);
    rn_chan_close(c);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_chan_unref(c);
}

/* ---- no channel --------------------------------------------------------- */

static int
wait_for_nothing(void *arg)
{
    int v = 42;
    int e = arg ? rn_chan_send(NULL, &v, RN_NEVER)
                : rn_chan_recv(NULL, &v, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    CHECK_EQ(v, 42);
    return 0;
}

API_TEST(chan_null_waits_for_ever)
{
    int v = 1;
    CHECK_EQ(rn_chan_send(NULL, &v, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_chan_recv(NULL, &v, RN_NOW), -EAGAIN);
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_for_nothing, NULL);
    go(wait_for_nothing, &v);
    settle();
    CHECK_EQ(rn_task_count(), 3);
    rn_scope_cancel(s);
    close_cancelled(s);
}

SIM_FINDS_TEXT(chan_null_receive_is_a_deadlock, RN_SIM_DEADLOCK, "main")
{
    rn_chan_recv(NULL, NULL, RN_NEVER);
}

SIM_FINDS_TEXT(chan_null_send_is_a_deadlock, RN_SIM_DEADLOCK, "main")
{
    rn_chan_send(NULL, NULL, RN_NEVER);
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(chan_close_twice_panics, "clos")
{
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_chan_close(c);
    rn_chan_close(c);
}

API_PANICS(chan_close_null_panics, "nil")
{
    rn_chan_close(NULL);
}

API_PANICS(chan_unref_under_a_waiter_panics, "wait")
{
    rn_chan *c = new_chan(sizeof(int), 0);
    go(recv_closed, c);
    settle();
    rn_chan_unref(c);
}

TEST_DIES_WITH(chan_send_outside_a_task_panics, "outside a task", -6)
{
    rn_chan *c = new_chan(0, 1);
    rn_chan_send(c, NULL, RN_NEVER);
}

TEST_DIES_WITH(chan_recv_outside_a_task_panics, "outside a task", -6)
{
    rn_chan *c = new_chan(0, 1);
    rn_chan_recv(c, NULL, RN_NOW);
}

TEST_DIES_WITH(chan_close_outside_a_task_panics, "outside a task", -6)
{
    rn_chan *c = new_chan(0, 1);
    rn_chan_close(c);
}

TEST(chan_new_and_free_need_no_task)
{
    rn_chan *c = new_chan(8, 1);
    CHECK_EQ(rn_chan_cap(rn_chan_ref(c)), 1);
    rn_chan_unref(c);
    rn_chan_unref(c);
}
