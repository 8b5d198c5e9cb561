/* barrier.c - tests of runnel/barrier.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

enum { PARTIES = 4 };

struct steps {
    rn_barrier barrier;
    int plain[PARTIES]; /* the step each party is at; no other order */
    atomic_int last;    /* waits that have returned 1 */
    int count;
};

struct party {
    struct steps *steps;
    int number;
};

static int
walk(void *arg)
{
    struct party *p = arg;
    struct steps *st = p->steps;
    for (int step = 1; step <= st->count; step++) {
        st->plain[p->number] = step;
        if ((p->number + step) % 3 == 0)
            CHECK_EQ(rn_yield(), 0);
        int e = rn_barrier_wait(&st->barrier, RN_NEVER);
        CHECK(e == 0 || e == 1);
        atomic_fetch_add(&st->last, e);
        for (int i = 0; i < PARTIES; i++)
            CHECK_EQ(st->plain[i], step);
        CHECK_GE(rn_barrier_wait(&st->barrier, RN_NEVER), 0);
    }
    return 0;
}

API_TEST_SCHEDULES(barrier_all_go_on_when_all_have_come, 1000)
{
    struct steps st = {.barrier = RN_BARRIER_INIT(PARTIES),
                       .count = rn_sim_active() ? 3 : (int)test_count(2000)};
    struct party parties[PARTIES];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < PARTIES; i++) {
        parties[i] = (struct party){&st, i};
        go(walk, &parties[i]);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(st.last, st.count); /* one of them each time */
}

API_TEST(barrier_of_one_never_waits)
{
    rn_barrier b = RN_BARRIER_INIT(1);
    CHECK_EQ(rn_barrier_wait(&b, RN_NEVER), 1);
    CHECK_EQ(rn_barrier_wait(&b, RN_NOW), 1);
    CHECK_EQ(rn_barrier_wait(&b, -1), 1);
}

static int
come_once(void *arg)
{
    int e = rn_barrier_wait(arg, RN_NEVER);
    CHECK(e == 0 || e == 1);
    return 0;
}

/* A wait that ends otherwise has not come. */
API_TEST(barrier_wait_keeps_its_deadline)
{
    rn_barrier b = RN_BARRIER_INIT(2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rn_barrier_wait(&b, RN_NOW), -EAGAIN);
        CHECK_EQ(rn_barrier_wait(&b, rn_now()), -ETIMEDOUT);
        CHECK_EQ(rn_barrier_wait(&b, -1), -ETIMEDOUT);
        rn_time when = rn_now() + RN_MS;
        CHECK_EQ(rn_barrier_wait(&b, when), -ETIMEDOUT);
        CHECK_GE(rn_now(), when);
        rn_scope *s = open_scope(RN_NEVER);
        go(come_once, &b);
        CHECK_GE(rn_barrier_wait(&b, rn_now() + 3600 * RN_SEC), 0);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* More tasks than parties: they go on by twos. */
API_TEST_SCHEDULES(barrier_may_have_more_tasks_than_parties, 1000)
{
    rn_barrier b = RN_BARRIER_INIT(2);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 6; i++)
        go(come_once, &b);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_barrier_wait(&b, RN_NOW), -EAGAIN);
}

/* ---- cancel ------------------------------------------------------------- */

struct cancelled {
    rn_barrier barrier;
    atomic_int passed, out;
};

static int
come_or_not(void *arg)
{
    struct cancelled *c = arg;
    int e = rn_barrier_wait(&c->barrier, RN_NEVER);
    CHECK(e == 0 || e == 1 || e == -ECANCELED);
    atomic_fetch_add(e < 0 ? &c->out : &c->passed, 1);
    return 0;
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

/* R13: one of three is cancelled, maybe while the last one comes. Either all
 * three pass, or it is out and the other two wait for another. */
API_TEST_SCHEDULES(barrier_cancelled_wait_is_out, 2000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 1000); i++) {
        struct cancelled c = {.barrier = RN_BARRIER_INIT(3)};
        rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        go(come_or_not, &c);
        CHECK_EQ(rn_go(outer, come_or_not, &c), 0);
        if (i % 2)
            rn_yield();
        go(cancel_it, s);
        CHECK_EQ(rn_go(outer, come_or_not, &c), 0);
        close_cancelled(s);
        if (atomic_load(&c.passed) == 0)
            CHECK_GE(rn_barrier_wait(&c.barrier, RN_NEVER), 0);
        CHECK_EQ(rn_scope_close(outer), 0);
        CHECK(atomic_load(&c.passed) == 2 || atomic_load(&c.passed) == 3);
        CHECK_EQ(rn_barrier_wait(&c.barrier, RN_NOW), -EAGAIN);
    }
}

/* ---- lifetime ----------------------------------------------------------- */

struct guest {
    rn_barrier *barrier;
    rn_time deadline;
    atomic_int *passed;
};

static int
visit(void *arg)
{
    struct guest *g = arg;
    for (;;) {
        int e = rn_barrier_wait(g->barrier, g->deadline);
        if (e >= 0)
            break;
        CHECK_EQ(e, -ETIMEDOUT); /* come again, and stay */
        g->deadline = RN_NEVER;
    }
    atomic_fetch_add(g->passed, 1);
    return 0;
}

/* Who goes on frees it at once, while others are still on their way out: woken,
 * or with their time up at the moment the last one came. */
API_TEST_SCHEDULES(barrier_may_be_unmapped_after_wait, 2000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(3000)); i++) {
        rn_barrier *b = page_new();
        atomic_int passed = 0;
        struct guest guests[3];
        *b = (rn_barrier)RN_BARRIER_INIT(4);
        rn_scope *s = open_scope(RN_NEVER);
        rn_time when = rn_now() + 1000;
        for (int k = 0; k < 3; k++) {
            guests[k] = (struct guest){b, k == 0 ? RN_NEVER : when, &passed};
            go(visit, &guests[k]);
        }
        CHECK_EQ(rn_sleep_until(when), 0);
        CHECK_GE(rn_barrier_wait(b, RN_NEVER), 0);
        page_free(b);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(atomic_load(&passed), 3);
    }
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(barrier_for_nobody_panics, "barrier")
{
    rn_barrier b = RN_BARRIER_INIT(0);
    rn_barrier_wait(&b, RN_NOW);
}

SIM_FINDS_TEXT(barrier_one_too_few_is_a_deadlock, RN_SIM_DEADLOCK,
               "main|for the others at barrier")
{
    rn_barrier b = RN_BARRIER_INIT(2);
    rn_barrier_wait(&b, RN_NEVER);
}

TEST_DIES_WITH(barrier_wait_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_barrier b = RN_BARRIER_INIT(1);
    rn_barrier_wait(&b, RN_NOW);
}
