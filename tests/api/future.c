/* future.c - tests of runnel/future.h, and of select's arms on futures. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct both {
    rn_promise *promise;
    rn_future *future;
};

static struct both
new_both(size_t bytes)
{
    struct both b = {NULL, NULL};
    CHECK_EQ(rn_future_new(bytes, &b.promise, &b.future), 0);
    CHECK(b.promise && b.future);
    return b;
}

static void
free_both(struct both b)
{
    rn_promise_free(b.promise);
    rn_future_unref(b.future);
}

static struct both
new_int(void)
{
    return new_both(sizeof(int));
}

static int
get_int(rn_future *future)
{
    int value = -1;
    CHECK_EQ(rn_future_wait(future, &value, RN_NEVER), 0);
    return value;
}

/* ---- one value for all -------------------------------------------------- */

struct reader {
    rn_future *future;
    int wanted;
};

static int
read_it(void *arg)
{
    struct reader *r = arg;
    CHECK_EQ(get_int(r->future), r->wanted);
    return 0;
}

static int
set_seven(void *arg)
{
    int seven = 7;
    CHECK_EQ(rn_promise_set(arg, &seven), 0);
    return 0;
}

API_TEST_SCHEDULES(future_all_get_the_value, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 1000); i++) {
        struct both b = new_int();
        struct reader r = {b.future, 7};
        rn_scope *s = open_scope(RN_NEVER);
        for (int k = 0; k < 4; k++)
            go(read_it, &r);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        go(set_seven, b.promise);
        CHECK_EQ(get_int(b.future), 7);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(get_int(b.future), 7); /* it stays */
        free_both(b);
    }
}

API_TEST(future_of_any_size)
{
    enum { LARGE = 100000 };
    struct both none = new_both(0), large = new_both(LARGE);
    CHECK_EQ(rn_promise_set(none.promise, NULL), 0);
    CHECK_EQ(rn_future_wait(none.future, NULL, RN_NEVER), 0);
    free_both(none);
    char *in = malloc(LARGE), *out = calloc(1, LARGE);
    CHECK(in && out);
    memset(in, 'x', LARGE);
    CHECK_EQ(rn_promise_set(large.promise, in), 0);
    CHECK_EQ(rn_future_wait(large.future, NULL, RN_NEVER), 0);
    CHECK_EQ(rn_future_wait(large.future, out, RN_NEVER), 0);
    CHECK_MEM(in, out, LARGE);
    free(in);
    free(out);
    free_both(large);
    struct both b = {NULL, NULL};
    CHECK_EQ(rn_future_new((size_t)-1, &b.promise, &b.future), -EINVAL);
    CHECK_EQ(rn_future_new(PTRDIFF_MAX, &b.promise, &b.future), -EINVAL);
    CHECK(!b.promise && !b.future);
    rn_promise_free(NULL);
    rn_future_unref(NULL);
    CHECK(rn_future_ref(NULL) == NULL);
}

API_TEST(future_is_completed_once)
{
    int one = 1, two = 2, value = 0;
    struct both b = new_int(), c = new_int();
    CHECK_EQ(rn_promise_set(b.promise, &one), 0);
    CHECK_EQ(rn_promise_set(b.promise, &two), -EBUSY);
    CHECK_EQ(rn_promise_fail(b.promise, -EIO), -EBUSY);
    CHECK_EQ(get_int(b.future), 1);
    CHECK_EQ(rn_promise_fail(c.promise, -EIO), 0);
    CHECK_EQ(rn_promise_fail(c.promise, -ENOENT), -EBUSY);
    CHECK_EQ(rn_promise_set(c.promise, &two), -EBUSY);
    CHECK_EQ(rn_future_wait(c.future, &value, RN_NEVER), -EIO);
    CHECK_EQ(value, 0);
    free_both(b);
    free_both(c);
}

struct race {
    struct both both;
    atomic_int won;
};

static int
set_own(void *arg)
{
    struct race *r = arg;
    int mine = 1 + atomic_load(&r->won), e;
    e = rn_promise_set(r->both.promise, &mine);
    CHECK(e == 0 || e == -EBUSY);
    if (e == 0)
        CHECK_EQ(atomic_fetch_add(&r->won, 1), 0);
    return 0;
}

API_TEST_SCHEDULES(future_one_of_many_completes_it, 1000)
{
    struct race r = {.both = new_int()};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 4; i++)
        go(set_own, &r);
    CHECK_EQ(get_int(r.both.future), 1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&r.won), 1);
    free_both(r.both);
}

/* ---- broken, cancelled, late -------------------------------------------- */

static int
wait_for_nothing(void *arg)
{
    int value = 3;
    CHECK_EQ(rn_future_wait(arg, &value, RN_NEVER), -EPIPE);
    CHECK_EQ(value, 3);
    return 0;
}

API_TEST_SCHEDULES(future_broken_promise_is_told, 1000)
{
    struct both b = new_int();
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_for_nothing, b.future);
    go(wait_for_nothing, b.future);
    CHECK_EQ(rn_yield(), 0);
    rn_promise_free(b.promise);
    CHECK_EQ(rn_future_wait(b.future, NULL, RN_NOW), -EPIPE);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_future_unref(b.future);
}

API_TEST(future_wait_keeps_its_deadline)
{
    struct both b = new_int();
    int value = 3;
    CHECK_EQ(rn_future_wait(b.future, &value, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_future_wait(b.future, &value, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_future_wait(b.future, &value, -1), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_future_wait(b.future, &value, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    CHECK_EQ(value, 3);
    set_seven(b.promise);
    CHECK_EQ(rn_future_wait(b.future, &value, -1), 0);
    CHECK_EQ(value, 7);
    CHECK_EQ(rn_future_wait(b.future, &value, RN_NOW), 0);
    free_both(b);
}

/* Who gives up first may leave the other side alone with it. */
API_TEST(future_may_be_given_up_before_it_comes)
{
    struct both b = new_int();
    rn_future_unref(b.future);
    set_seven(b.promise);
    rn_promise_free(b.promise);
}

static int
wait_cancelled(void *arg)
{
    int value = 3, e = rn_future_wait(arg, &value, RN_NEVER);
    CHECK(e == 0 || e == -ECANCELED);
    CHECK_EQ(value, e == 0 ? 7 : 3); /* R13 */
    return 0;
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

/* R13: a cancelled wait has taken nothing, one that has says so. */
API_TEST_SCHEDULES(future_cancelled_wait_did_not_happen, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 1000); i++) {
        struct both b = new_int();
        rn_scope *s = open_scope(RN_NEVER);
        go(wait_cancelled, b.future);
        go(wait_cancelled, b.future);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        go(cancel_it, s);
        set_seven(b.promise);
        close_cancelled(s);
        CHECK_EQ(get_int(b.future), 7);
        free_both(b);
    }
}

/* ---- lifetime ----------------------------------------------------------- */

static int
set_and_free(void *arg)
{
    set_seven(arg);
    rn_promise_free(arg);
    return 0;
}

/* The sanitizers tell who touches it too late. */
API_TEST_SCHEDULES(future_may_be_freed_after_wait, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(5000)); i++) {
        struct both b = new_int();
        rn_scope *s = open_scope(RN_NEVER);
        go(set_and_free, b.promise);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        CHECK_EQ(get_int(b.future), 7);
        rn_future_unref(b.future);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* The same for who completes it and no more: the other side frees both. */
API_TEST_SCHEDULES(future_both_may_be_freed_once_completed, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(5000)); i++) {
        struct both b = new_int();
        rn_scope *s = open_scope(RN_NEVER);
        go(set_seven, b.promise);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        int e;
        while ((e = rn_future_wait(b.future, NULL, RN_NOW)) == -EAGAIN)
            CHECK_EQ(rn_yield(), 0);
        CHECK_EQ(e, 0);
        free_both(b);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* ---- select ------------------------------------------------------------- */

static int
select_seven(void *arg)
{
    int value = 0;
    rn_arm arms[] = {RN_ARM_RECV(NULL, NULL), RN_ARM_FUTURE(arg, &value),
                     RN_ARM_FUTURE(NULL, NULL), RN_ARM_FUTURE(arg, &value)};
    int i = rn_select(arms, 4, 0, RN_NEVER);
    CHECK(i == 1 || i == 3);
    CHECK_EQ(arms[i].result, 0);
    CHECK_EQ(value, 7);
    return 0;
}

API_TEST_SCHEDULES(future_arm_gets_the_value, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 500); i++) {
        struct both b = new_int();
        rn_scope *s = open_scope(RN_NEVER);
        go(select_seven, b.future);
        go(select_seven, b.future);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        go(set_seven, b.promise);
        CHECK_EQ(rn_scope_close(s), 0);
        select_seven(b.future); /* ready at once */
        free_both(b);
    }
}

/* An error is the arm's result, whatever it is. */
API_TEST(future_arm_gets_the_error)
{
    struct both b = new_int(), c = new_int();
    rn_arm arms[] = {RN_ARM_FUTURE(b.future, NULL),
                     RN_ARM_FUTURE(c.future, NULL)};
    CHECK_EQ(rn_select(arms, 2, 0, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_select(arms, 2, 0, rn_now() + RN_MS), -ETIMEDOUT);
    CHECK_EQ(rn_promise_fail(c.promise, -EAGAIN), 0);
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1);
    CHECK_EQ(arms[1].result, -EAGAIN);
    rn_promise_free(b.promise);
    CHECK_EQ(rn_select(arms, 2, RN_SELECT_ORDERED, RN_NEVER), 0);
    CHECK_EQ(arms[0].result, -EPIPE);
    rn_future_unref(b.future);
    free_both(c);
}

static int
select_one_of_two(void *arg)
{
    struct both *b = arg;
    int value = 0;
    rn_arm arms[] = {RN_ARM_FUTURE(b[0].future, &value),
                     RN_ARM_FUTURE(b[1].future, &value)};
    CHECK_GE(rn_select(arms, 2, 0, RN_NEVER), 0);
    CHECK_EQ(value, 7);
    return 0;
}

/* The one that was not taken may be freed: it has no arm in its queue. */
API_TEST_SCHEDULES(future_arm_leaves_the_others, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 500); i++) {
        struct both b[2] = {new_int(), new_int()};
        rn_scope *s = open_scope(RN_NEVER);
        go(select_one_of_two, b);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        go(set_seven, b[i % 2].promise);
        CHECK_EQ(rn_scope_close(s), 0);
        free_both(b[0]);
        free_both(b[1]);
    }
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(future_fail_with_no_error_panics, "rn_promise_fail with 0")
{
    struct both b = new_int();
    rn_promise_fail(b.promise, 0);
}

API_PANICS(future_set_without_a_value_panics, "value is NULL")
{
    struct both b = new_int();
    rn_promise_set(b.promise, NULL);
}

/* The scope of a task that waits is never left with the future gone. */
static int
wait_long(void *arg)
{
    rn_future_wait(arg, NULL, RN_NEVER);
    return 0;
}

API_PANICS(future_freed_under_a_waiter_panics, "a task waits")
{
    struct both b = new_int();
    go(wait_long, b.future);
    settle();
    rn_future_unref(b.future); /* not its last: that is the promise's */
    rn_future_unref(b.future);
}

SIM_FINDS_TEXT(future_never_completed_is_a_deadlock, RN_SIM_DEADLOCK,
               "main|for future")
{
    struct both b = new_int();
    rn_future_wait(b.future, NULL, RN_NEVER);
}

TEST_DIES_WITH(future_wait_outside_a_task_panics, "outside a task", -SIGABRT)
{
    struct both b = new_int();
    rn_future_wait(b.future, NULL, RN_NOW);
}

TEST_DIES_WITH(promise_set_outside_a_task_panics, "outside a task", -SIGABRT)
{
    struct both b = new_int();
    set_seven(b.promise);
}

TEST_DIES_WITH(promise_free_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_promise_free(new_int().promise);
}
