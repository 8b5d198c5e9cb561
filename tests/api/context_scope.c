/* context_scope.c - tests of runnel/context.h: scopes are contexts. */
#include "world.h"

#include <errno.h>

static const char key_a, key_b;

static rn_context *
child(rn_context *parent)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_new(parent, RN_NEVER, &ctx), 0);
    return ctx;
}

static rn_context *
valued(rn_context *parent, const void *key, void *value)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_with_value(parent, key, value, NULL, &ctx), 0);
    return ctx;
}

static rn_scope *
open_under(rn_context *ctx)
{
    rn_scope_options options = {.context = ctx};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    return s;
}

static rn_context *
of(rn_scope *scope)
{
    rn_context *ctx, *again;
    CHECK_EQ(rn_scope_context(scope, &ctx), 0);
    CHECK_EQ(rn_scope_context(scope, &again), 0);
    CHECK(ctx == again);
    return ctx;
}

static rn_context *
current(void)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_current(&ctx), 0);
    return ctx;
}

static void
check_ended(rn_context *ctx, int status, int cause)
{
    CHECK_EQ(rn_context_status(ctx), status);
    CHECK_EQ(rn_context_cause(ctx), cause);
}

/* ---- the context of a scope ---------------------------------------------- */

/* R12: it sees all cancels of the scope. */
API_TEST(context_of_a_scope_ends_with_a_cancel)
{
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    rn_context *a = of(outer), *b = of(s), *below = child(b);
    CHECK_EQ(rn_context_status(below), 0);
    rn_scope_cancel_with(outer, -EIO);
    check_ended(a, -ECANCELED, -EIO);
    check_ended(b, -ECANCELED, -EIO);
    check_ended(below, -ECANCELED, -EIO);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_scope *late = open_scope(RN_NEVER);
    check_ended(of(late), -ECANCELED, -EIO);
    CHECK_EQ(rn_scope_close(late), 0);
    CHECK_EQ(rn_scope_close(outer), 0);
    check_ended(below, -ECANCELED, -EIO);
    rn_context_unref(below);
}

API_TEST(context_of_a_scope_outlives_it)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_context *ctx = rn_context_ref(of(s)), *below = child(ctx);
    CHECK_EQ(rn_context_status(ctx), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    check_ended(ctx, -ECANCELED, -EPIPE);
    check_ended(below, -ECANCELED, -EPIPE);
    rn_context_unref(ctx);
    rn_context_cancel(below, 0);
    check_ended(below, -ECANCELED, -EPIPE);
    rn_context_unref(below);
}

static int
fail(void *arg)
{
    (void)arg;
    return -EIO;
}

/* R1 */
API_TEST(context_of_a_scope_tells_what_failed)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_context *ctx = rn_context_ref(of(s));
    go(fail, NULL);
    CHECK_EQ(rn_scope_close(s), -EIO);
    check_ended(ctx, -ECANCELED, -EIO);
    rn_context_unref(ctx);
}

/* R10: to contexts a deadline above is a deadline. */
API_TEST(context_of_a_scope_has_its_deadline)
{
    rn_time hour = rn_now() + 3600 * RN_SEC, soon = rn_now() + RN_MS;
    rn_scope *outer = open_scope(hour), *mid = open_scope(soon),
             *s = open_scope(RN_NEVER);
    rn_context *a = rn_context_ref(of(outer)), *b = rn_context_ref(of(s));
    CHECK_EQ(rn_context_deadline(a), hour);
    CHECK_EQ(rn_context_deadline(b), soon);
    CHECK_EQ(rn_context_wait(b, RN_NEVER), -ECANCELED); /* its own */
    /* a cancel comes to one after the other */
    rn_shield shield = rn_shield_push();
    CHECK_EQ(rn_context_wait(b, RN_NEVER), 0);
    rn_shield_restore(shield);
    check_ended(b, -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_scope *late = open_scope(RN_NEVER);
    check_ended(of(late), -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_scope_close(late), 0);
    CHECK_EQ(rn_scope_close(mid), -ETIMEDOUT);
    CHECK_EQ(rn_context_status(a), 0);
    CHECK_EQ(rn_scope_close(outer), 0);
    check_ended(a, -ECANCELED, -EPIPE);
    rn_context_unref(a);
    rn_context_unref(b);
}

/* R10: a deadline that was moved does not take a context's own away. */
API_TEST(context_keeps_its_deadline_when_a_scope_moves)
{
    rn_time hour = rn_now() + 3600 * RN_SEC;
    rn_scope *s = open_scope(rn_now() + 1800 * RN_SEC);
    rn_context *ctx;
    CHECK_EQ(rn_context_new(of(s), rn_now() + 1900 * RN_SEC, &ctx), 0);
    CHECK_LT(rn_context_deadline(ctx), rn_now() + 1850 * RN_SEC);
    CHECK_EQ(rn_scope_set_deadline(s, RN_NEVER), 0);
    if (rn_sim_active()) {
        CHECK_EQ(rn_context_wait(ctx, RN_NEVER), 0);
        check_ended(ctx, -ETIMEDOUT, -ETIMEDOUT);
        CHECK_LT(rn_now(), hour);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    rn_context_unref(ctx);
}

/* R11: what does not reach the scope does not reach its context. */
API_TEST(context_of_a_shielded_scope)
{
    int one;
    rn_context *v = valued(NULL, &key_a, &one);
    rn_scope *hour = open_scope(rn_now() + 3600 * RN_SEC),
             *outer = open_under(v);
    rn_shield shield = rn_shield_push();
    rn_scope *s = open_scope(RN_NEVER);
    rn_context *ctx = of(s);
    CHECK_LT(rn_context_deadline(of(outer)), RN_NEVER);
    CHECK_EQ(rn_context_deadline(ctx), RN_NEVER);
    rn_scope_cancel(outer);
    CHECK_EQ(rn_context_status(of(outer)), -ECANCELED);
    CHECK_EQ(rn_context_status(ctx), 0);
    CHECK(rn_context_value(ctx, &key_a) == &one);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_shield_restore(shield);
    CHECK_EQ(rn_scope_close(outer), 0);
    CHECK_EQ(rn_scope_close(hour), 0);
    rn_context_unref(v);
}

API_TEST(context_cancel_of_a_scopes_cancels_the_scope)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_context *ctx = rn_context_ref(of(s));
    int code = 0;
    rn_context_cancel(ctx, -EIO);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_cancel_reason(&code), RN_REASON_USER);
    CHECK_EQ(code, -EIO);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_context_cancel(ctx, -EBADF); /* nothing more happens */
    CHECK_EQ(rn_yield(), 0);
    check_ended(ctx, -ECANCELED, -EIO);
    rn_context_unref(ctx);
}

static int
cancel_and_drop(void *arg)
{
    rn_context_cancel(arg, -EIO);
    rn_context_unref(arg);
    return 0;
}

/* From outside, against the close: the scope may be freed at any moment. */
API_TEST_SCHEDULES(context_cancel_against_the_close_of_its_scope, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(300);
    for (long round = 0; round < rounds; round++) {
        rn_scope *all = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        rn_context *ctx = rn_context_ref(of(s));
        CHECK_EQ(rn_go(all, cancel_and_drop, rn_context_ref(ctx)), 0);
        CHECK_EQ(rn_go(all, cancel_and_drop, child(ctx)), 0);
        int e = rn_yield();
        CHECK(e == 0 || e == -ECANCELED);
        CHECK_EQ(rn_scope_close(s), 0);
        int cause = rn_context_cause(ctx);
        CHECK(cause == -EIO || (cause == -EPIPE && e == 0));
        rn_context_unref(ctx);
        CHECK_EQ(rn_scope_close(all), 0);
    }
}

static int
wait_and_drop(void *arg)
{
    CHECK_EQ(rn_context_wait(arg, RN_NEVER), 0);
    CHECK_EQ(rn_context_cause(arg), -EPIPE);
    rn_context_unref(arg);
    return 0;
}

API_TEST_SCHEDULES(context_waiters_see_the_close_of_a_scope, 1000)
{
    rn_scope *all = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(all, wait_and_drop, rn_context_ref(of(s))), 0);
    CHECK_EQ(rn_go(all, wait_and_drop, child(of(s))), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_scope_close(all), 0);
}

static int
ask_and_drop(void *arg)
{
    rn_context *ctx = of(arg), *below = child(ctx);
    int under = rn_context_status(below);
    int above = rn_context_status(ctx); /* it is marked first */
    CHECK(under == 0 || under == above);
    rn_shield shield = rn_shield_push();
    if (above)
        CHECK_EQ(rn_context_wait(below, RN_NEVER), 0);
    rn_shield_restore(shield);
    CHECK(above == 0 || rn_context_status(below) == above);
    rn_context_unref(below);
    return 0;
}

static int
cancel_scope(void *arg)
{
    rn_scope_cancel_with(arg, -EIO);
    return 0;
}

/* Several ask first at once, while it is cancelled. */
API_TEST_SCHEDULES(context_of_a_scope_is_made_once, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(300);
    for (long round = 0; round < rounds; round++) {
        rn_scope *s = open_scope(RN_NEVER), *in = open_scope(RN_NEVER);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(rn_go(in, ask_and_drop, s), 0);
        CHECK_EQ(rn_go(s, cancel_scope, s), 0);
        close_cancelled(in);
        close_cancelled(s);
    }
}

/* ---- a scope under a context -------------------------------------------- */

static int
wait_for_ever(void *arg)
{
    int code;
    (void)arg;
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_cancel_reason(&code), RN_REASON_PARENT);
    CHECK_EQ(code, -EIO);
    return -ECANCELED;
}

/* R12, R15: with reason and cause, all below it too. */
API_TEST_SCHEDULES(context_cancels_the_scopes_under_it, 1000)
{
    rn_context *top = child(NULL), *ctx = child(top);
    rn_scope *all = open_scope(RN_NEVER), *s = open_under(ctx),
             *in = open_scope(RN_NEVER);
    go(wait_for_ever, NULL);
    CHECK_EQ(rn_go(all, cancel_and_drop, rn_context_ref(top)), 0);
    CHECK_EQ(wait_for_ever(NULL), -ECANCELED);
    close_cancelled(in);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_scope_close(all), 0);
    rn_context_unref(ctx);
    rn_context_unref(top);
}

/* R16: nothing starts under what is cancelled. */
API_TEST(context_that_has_ended_cancels_at_open)
{
    rn_context *ctx = child(NULL);
    rn_context_cancel(ctx, -EIO);
    rn_scope *s = open_under(ctx);
    CHECK_EQ(rn_go(s, fail, NULL), -ECANCELED);
    check_ended(of(s), -ECANCELED, -EIO);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_context_unref(ctx);
}

/* R10: only the owner of a deadline turns it into -ETIMEDOUT. */
API_TEST(context_deadline_cancels_the_scope)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_new(NULL, rn_now() + RN_MS, &ctx), 0);
    rn_scope *s = open_under(ctx);
    CHECK_EQ(rn_context_deadline(of(s)), rn_context_deadline(ctx));
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    check_ended(of(s), -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_scope_close_with(s, -ECANCELED), -ECANCELED);
    rn_context_unref(ctx);
}

API_TEST(context_may_be_dropped_while_scopes_are_under_it)
{
    int one;
    rn_context *top = child(NULL), *ctx = valued(top, &key_a, &one);
    rn_scope *s = open_under(ctx);
    rn_context_unref(ctx);
    CHECK(rn_context_value(current(), &key_a) == &one);
    rn_context_cancel(top, 0);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_context_unref(top);
}

/* R11: a shield does not keep away what was named inside it. */
API_TEST(context_cancels_a_scope_inside_a_shield)
{
    rn_context *ctx = child(NULL);
    rn_shield shield = rn_shield_push();
    rn_scope *s = open_under(ctx);
    CHECK_EQ(rn_yield(), 0);
    rn_context_cancel(ctx, 0);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_yield(), 0);
    rn_shield_restore(shield);
    rn_context_unref(ctx);
}

static int
open_and_close(void *arg)
{
    for (int i = 0; i < 2; i++) {
        rn_scope *outer = open_under(arg), *s = open_under(arg);
        int e = rn_yield();
        if (e < 0)
            CHECK_EQ(rn_context_cause(of(s)), -EIO);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(rn_scope_close(outer), 0);
    }
    return 0;
}

/* A cancel from two sides against open and close. */
API_TEST_SCHEDULES(context_cancel_against_open_and_close, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(300);
    for (long round = 0; round < rounds; round++) {
        rn_context *ctx = child(NULL);
        rn_scope *all = open_scope(RN_NEVER), *s = open_under(ctx);
        go(open_and_close, ctx); /* may never begin */
        go(open_and_close, ctx);
        CHECK_EQ(rn_go(all, cancel_and_drop, rn_context_ref(ctx)), 0);
        close_cancelled(s);
        CHECK_EQ(rn_scope_close(all), 0);
        rn_context_unref(ctx);
    }
}

/* ---- values -------------------------------------------------------------- */

struct values {
    int *a, *b;
    bool right;
};

static int
look(void *arg)
{
    struct values *v = arg;
    rn_scope *s = open_scope(RN_NEVER);
    v->right = rn_context_value(current(), &key_a) == v->a &&
               rn_context_value(current(), &key_b) == v->b;
    return rn_scope_close(s);
}

static int
look_in_a_task(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(look, arg);
    return rn_scope_close(s);
}

API_TEST(context_values_reach_spawned_tasks)
{
    int one, two, three;
    struct values none = {NULL, NULL, false}, outer = {&one, &two, false},
                  inner = {&three, &two, false};
    rn_context *a = valued(NULL, &key_a, &one), *b = valued(a, &key_b, &two);
    rn_scope *plain = open_scope(RN_NEVER);
    go(look_in_a_task, &none);
    rn_scope *s = open_under(b);
    go(look_in_a_task, &outer);
    rn_context *c = valued(current(), &key_a, &three);
    rn_scope *in = open_under(c);
    go(look_in_a_task, &inner);
    CHECK_EQ(rn_scope_close(in), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_scope_close(plain), 0);
    CHECK(none.right && outer.right && inner.right);
    CHECK(rn_context_value(current(), &key_a) == NULL);
    rn_context_unref(a);
    rn_context_unref(b);
    rn_context_unref(c);
}

API_TEST(context_of_the_root_is_live)
{
    rn_context *below = child(current());
    CHECK_EQ(rn_context_status(current()), 0);
    CHECK_EQ(rn_context_deadline(below), RN_NEVER);
    rn_context_unref(below);
}
