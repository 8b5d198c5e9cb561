/* waitgroup.c - tests of runnel/waitgroup.h. */
#include "world.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>

/* ---- wait group --------------------------------------------------------- */

struct work {
    rn_waitgroup group;
    atomic_int over; /* of all but those that wait */
    int plain[8];
};

struct worker {
    struct work *work;
    int number;
};

static int
work_once(void *arg)
{
    struct worker *w = arg;
    CHECK_EQ(rn_yield(), 0);
    w->work->plain[w->number] = 1;
    rn_waitgroup_done(&w->work->group);
    return 0;
}

API_TEST(waitgroup_waits_for_all)
{
    struct work work = {.group = RN_WAITGROUP_INIT};
    struct worker workers[8];
    CHECK_EQ(rn_waitgroup_wait(&work.group, RN_NEVER), 0); /* zero */
    for (int round = 0; round < 3; round++) { /* may be used again */
        rn_scope *s = open_scope(RN_NEVER);
        rn_waitgroup_add(&work.group, 8);
        for (int i = 0; i < 8; i++) {
            work.plain[i] = 0;
            workers[i] = (struct worker){&work, i};
            go(work_once, &workers[i]);
        }
        CHECK_EQ(rn_waitgroup_wait(&work.group, RN_NEVER), 0);
        for (int i = 0; i < 8; i++)
            CHECK_EQ(work.plain[i], 1);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

API_TEST(waitgroup_keeps_its_deadline)
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    CHECK_EQ(rn_waitgroup_wait(&g, RN_NOW), 0);
    CHECK_EQ(rn_waitgroup_wait(&g, -1), 0);
    rn_waitgroup_add(&g, 1);
    CHECK_EQ(rn_waitgroup_wait(&g, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_waitgroup_wait(&g, rn_now()), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_waitgroup_wait(&g, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    rn_waitgroup_add(&g, 2);
    rn_waitgroup_add(&g, -3);
    CHECK_EQ(rn_waitgroup_wait(&g, RN_NOW), 0);
}

API_TEST(waitgroup_counts_to_its_limit)
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_add(&g, INT_MAX);
    CHECK_EQ(rn_waitgroup_wait(&g, RN_NOW), -EAGAIN);
    rn_waitgroup_add(&g, 0);
    rn_waitgroup_add(&g, -INT_MAX);
    CHECK_EQ(rn_waitgroup_wait(&g, RN_NOW), 0);
}

static int
wait_for_group(void *arg)
{
    struct work *w = arg;
    CHECK_EQ(rn_waitgroup_wait(&w->group, RN_NEVER), 0);
    CHECK_EQ(atomic_load(&w->over), 1);
    return 0;
}

API_TEST(waitgroup_wakes_all_that_wait)
{
    struct work w = {.group = RN_WAITGROUP_INIT};
    rn_waitgroup_add(&w.group, 2);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 5; i++)
        go(wait_for_group, &w);
    rn_waitgroup_done(&w.group);
    settle();
    atomic_store(&w.over, 1);
    rn_waitgroup_done(&w.group);
    CHECK_EQ(rn_scope_close(s), 0);
}

/* Adding again at once does not take the wake-up back. */
SIM_TEST(waitgroup_add_after_zero_keeps_the_wake_up)
{
    struct work w = {.group = RN_WAITGROUP_INIT, .over = 1};
    rn_waitgroup_add(&w.group, 1);
    rn_task t = go_joinable(wait_for_group, &w);
    settle();
    rn_waitgroup_done(&w.group);
    rn_waitgroup_add(&w.group, 1);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
}

static int
done_last(void *arg)
{
    rn_waitgroup_done(arg);
    return 0;
}

API_TEST(waitgroup_may_be_unmapped_after_wait)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(5000)); i++) {
        rn_waitgroup *g = page_new();
        rn_scope *s = open_scope(RN_NEVER);
        rn_waitgroup_add(g, 2);
        go(done_last, g);
        go(done_last, g);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        CHECK_EQ(rn_waitgroup_wait(g, RN_NEVER), 0);
        page_free(g);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* On the stack, overwritten at once. */
static void
wait_on_stack(int round)
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_add(&g, 1);
    CHECK_EQ(rn_go(NULL, done_last, &g), 0);
    if (round % 2)
        CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_waitgroup_wait(&g, RN_NEVER), 0);
    memset(&g, 0xdb, sizeof g);
    /* the compiler must not see that nobody reads it */
    __asm__ volatile("" : : "r"(&g) : "memory");
}

API_TEST(waitgroup_on_the_stack_is_not_touched_after_wait)
{
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < (rn_sim_active() ? 3 : (int)test_count(20000)); i++)
        wait_on_stack(i);
    CHECK_EQ(rn_scope_close(s), 0);
}

static int
wait_cancelled(void *arg)
{
    CHECK_EQ(rn_waitgroup_wait(arg, RN_NEVER), -ECANCELED);
    return 0;
}

API_TEST(waitgroup_wait_is_cancelled)
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_add(&g, 1);
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_cancelled, &g);
    go(wait_cancelled, &g);
    rn_scope_cancel(s);
    close_cancelled(s);
    rn_waitgroup_done(&g); /* wakes nobody that has gone */
    CHECK_EQ(rn_waitgroup_wait(&g, RN_NEVER), 0);
}

API_PANICS(waitgroup_below_zero_panics, "group")
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_add(&g, 1);
    rn_waitgroup_add(&g, -2);
}

API_PANICS(waitgroup_done_of_zero_panics, "group")
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_done(&g);
}

API_PANICS(waitgroup_over_its_limit_panics, "group")
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_add(&g, INT_MAX);
    rn_waitgroup_add(&g, 1);
}

SIM_FINDS_TEXT(waitgroup_never_done_is_a_deadlock, RN_SIM_DEADLOCK, "main")
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_add(&g, 1);
    rn_waitgroup_wait(&g, RN_NEVER);
}

TEST_DIES_WITH(waitgroup_add_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_add(&g, 1);
}

TEST_DIES_WITH(waitgroup_wait_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_waitgroup g = RN_WAITGROUP_INIT;
    rn_waitgroup_wait(&g, RN_NOW);
}

/* ---- once --------------------------------------------------------------- */

struct first {
    rn_once once;
    int runs, plain;
    rn_chan *chan;
};

static void
run_slowly(void *arg)
{
    struct first *f = arg;
    f->runs++;
    CHECK_EQ(rn_yield(), 0); /* others come meanwhile */
    f->plain = 5;
}

static int
do_once(void *arg)
{
    struct first *f = arg;
    CHECK_EQ(rn_once_do(&f->once, run_slowly, f, RN_NEVER), 0);
    CHECK_EQ(f->plain, 5);
    CHECK_EQ(f->runs, 1);
    return 0;
}

API_TEST(once_runs_once_and_all_wait_for_it)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 500); i++) {
        struct first f = {.once = RN_ONCE_INIT};
        rn_scope *s = open_scope(RN_NEVER);
        for (int k = 0; k < 6; k++)
            go(do_once, &f);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(rn_once_do(&f.once, run_slowly, &f, RN_NOW), 0);
        CHECK_EQ(f.runs, 1);
    }
}

static void
run_until_told(void *arg)
{
    struct first *f = arg;
    send_int(f->chan, 1);
    CHECK_EQ(recv_int(f->chan), 2);
    f->runs++;
}

static int
do_until_told(void *arg)
{
    struct first *f = arg;
    CHECK_EQ(rn_once_do(&f->once, run_until_told, f, RN_NEVER), 0);
    return 0;
}

static int
do_cancelled(void *arg)
{
    struct first *f = arg;
    CHECK_EQ(rn_once_do(&f->once, run_until_told, f, RN_NEVER), -ECANCELED);
    return 0;
}

API_TEST(once_keeps_its_deadline)
{
    struct first f = {.once = RN_ONCE_INIT};
    f.chan = new_chan(sizeof(int), 0);
    rn_task t = go_joinable(do_until_told, &f);
    CHECK_EQ(recv_int(f.chan), 1); /* it runs */
    CHECK_EQ(rn_once_do(&f.once, run_until_told, &f, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_once_do(&f.once, run_until_told, &f, rn_now()), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_once_do(&f.once, run_until_told, &f, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    rn_scope *s = open_scope(RN_NEVER);
    go(do_cancelled, &f);
    rn_scope_cancel(s);
    close_cancelled(s);
    send_int(f.chan, 2);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(f.runs, 1);
    CHECK_EQ(rn_once_do(&f.once, run_until_told, &f, RN_NOW), 0);
    CHECK_EQ(f.runs, 1);
    rn_chan_unref(f.chan);
}

static void
run_nothing(void *arg)
{
    (void)arg;
}

static int
do_nothing_once(void *arg)
{
    CHECK_EQ(rn_once_do(arg, run_nothing, NULL, RN_NEVER), 0);
    return 0;
}

/* The one that waited may free it while the runner still returns: it knows
 * that the runner is done only by do having returned to itself. */
API_TEST(once_is_not_touched_after_do)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(5000)); i++) {
        rn_once *once = page_new();
        rn_scope *s = open_scope(RN_NEVER);
        go(do_nothing_once, once);
        go(do_nothing_once, once);
        CHECK_EQ(rn_scope_close(s), 0);
        page_free(once);
    }
}

struct handover {
    rn_once *once;
    rn_chan *chan;
};

static void
announce(void *arg)
{
    struct handover *h = arg;
    send_int(h->chan, 1);
}

static int
do_announce(void *arg)
{
    struct handover *h = arg;
    CHECK_EQ(rn_once_do(h->once, announce, h, RN_NEVER), 0);
    return 0;
}

/* The runner is certainly inside; who waits for it unmaps the object. */
API_TEST(once_may_be_unmapped_by_the_waiter)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(5000)); i++) {
        struct handover h = {page_new(), new_chan(sizeof(int), 0)};
        rn_scope *s = open_scope(RN_NEVER);
        go(do_announce, &h);
        CHECK_EQ(recv_int(h.chan), 1);
        CHECK_EQ(rn_once_do(h.once, announce, &h, RN_NEVER), 0);
        page_free(h.once);
        CHECK_EQ(rn_scope_close(s), 0);
        rn_chan_unref(h.chan);
    }
}

static void
do_again(void *arg)
{
    struct first *f = arg;
    rn_once_do(&f->once, run_slowly, f, RN_NEVER);
}

API_PANICS(once_within_itself_panics, "once")
{
    struct first f = {.once = RN_ONCE_INIT};
    rn_once_do(&f.once, do_again, &f, RN_NEVER);
}

TEST_DIES_WITH(once_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_once once = RN_ONCE_INIT;
    rn_once_do(&once, run_nothing, NULL, RN_NOW);
}
