/* context.c - tests of runnel/context.h: one context after the other. */
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
timed(rn_context *parent, rn_time deadline)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_new(parent, deadline, &ctx), 0);
    return ctx;
}

static rn_context *
valued(rn_context *parent, const void *key, void *value)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_with_value(parent, key, value, NULL, &ctx), 0);
    return ctx;
}

static void
check_live(const rn_context *ctx)
{
    CHECK_EQ(rn_context_status(ctx), 0);
    CHECK_EQ(rn_context_cause(ctx), 0);
}

static void
check_ended(rn_context *ctx, int status, int cause)
{
    CHECK_EQ(rn_context_status(ctx), status);
    CHECK_EQ(rn_context_cause(ctx), cause);
    CHECK_EQ(rn_context_wait(ctx, RN_NOW), 0);
}

API_TEST_SCHEDULES(context_background_is_null, 50)
{
    rn_context *none = RN_CONTEXT_BACKGROUND;
    check_live(none);
    CHECK_EQ(rn_context_deadline(none), RN_NEVER);
    CHECK(rn_context_value(none, &key_a) == NULL);
    CHECK_EQ(rn_context_wait(none, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_context_wait(none, rn_now()), -ETIMEDOUT);
    CHECK(rn_context_ref(none) == NULL);
    rn_context_unref(none);
    rn_arm arm = RN_ARM_CONTEXT(none);
    CHECK_EQ(rn_select(&arm, 1, 0, rn_now()), -ETIMEDOUT);
}

API_TEST(context_cancel_reaches_children_and_no_other)
{
    rn_context *top = child(NULL), *a = child(top), *b = child(top),
               *aa = child(a), *other = child(NULL);
    rn_context_cancel(a, 0);
    check_live(top);
    check_ended(a, -ECANCELED, -ECANCELED);
    check_ended(aa, -ECANCELED, -ECANCELED);
    check_live(b);
    rn_context_cancel(top, -EIO);
    check_ended(a, -ECANCELED, -ECANCELED); /* the first cause stays */
    check_ended(b, -ECANCELED, -EIO);
    check_live(other);
    rn_context *late = child(b);
    check_ended(late, -ECANCELED, -EIO);
    rn_context_unref(top);
    rn_context_unref(late);
    rn_context_unref(other);
    rn_context_unref(aa);
    rn_context_unref(b);
    rn_context_unref(a);
}

/* What was made from it keeps it. */
API_TEST(context_parent_may_be_dropped_first)
{
    rn_context *top = valued(NULL, &key_a, &top), *below = child(top);
    rn_context_unref(top);
    CHECK(rn_context_value(below, &key_a) == &top);
    rn_context_cancel(below, -EIO);
    check_ended(below, -ECANCELED, -EIO);
    rn_context_unref(below);
}

API_TEST(context_child_may_be_dropped_first)
{
    rn_context *top = child(NULL), *below = child(top), *more = child(top);
    rn_context_unref(below);
    rn_context_cancel(top, 0);
    check_ended(more, -ECANCELED, -ECANCELED);
    rn_context_unref(more);
    rn_context_unref(top);
}

API_TEST(context_values_are_found_upwards)
{
    int one, two, three;
    rn_context *a = valued(NULL, &key_a, &one), *mid = child(a),
               *b = valued(mid, &key_b, &two),
               *again = valued(b, &key_a, &three);
    CHECK(rn_context_value(mid, &key_a) == &one);
    CHECK(rn_context_value(mid, &key_b) == NULL);
    CHECK(rn_context_value(b, &key_a) == &one);
    CHECK(rn_context_value(again, &key_a) == &three);
    CHECK(rn_context_value(again, &key_b) == &two);
    rn_context_cancel(a, 0);
    CHECK(rn_context_value(again, &key_b) == &two);
    rn_context_unref(a);
    rn_context_unref(mid);
    rn_context_unref(b);
    CHECK(rn_context_value(again, &key_b) == &two);
    rn_context_unref(again);
}

static void
count_drop(void *value)
{
    ++*(int *)value;
}

API_TEST(context_value_is_dropped_once)
{
    int drops = 0;
    rn_context *ctx, *below;
    CHECK_EQ(rn_context_with_value(NULL, &key_a, &drops, count_drop, &ctx), 0);
    below = child(ctx);
    CHECK(rn_context_ref(ctx) == ctx);
    rn_context_unref(ctx);
    rn_context_cancel(ctx, 0);
    rn_context_unref(ctx);
    CHECK_EQ(drops, 0);
    rn_context_unref(below);
    CHECK_EQ(drops, 1);
}

API_TEST(context_without_cancel_keeps_values_only)
{
    int one;
    rn_context *a = valued(NULL, &key_a, &one), *t = timed(a, rn_now()), *keep;
    check_ended(t, -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_context_without_cancel(t, &keep), 0);
    check_live(keep);
    CHECK_EQ(rn_context_deadline(keep), RN_NEVER);
    CHECK(rn_context_value(keep, &key_a) == &one);
    rn_context *below = child(keep);
    rn_context_cancel(a, 0);
    check_live(keep);
    check_live(below);
    rn_context_cancel(keep, -EIO);
    check_ended(below, -ECANCELED, -EIO);
    rn_context_unref(a);
    rn_context_unref(t);
    rn_context_unref(below);
    rn_context_unref(keep);
}

/* ---- deadlines ---------------------------------------------------------- */

API_TEST(context_deadline_ends_it_and_its_children)
{
    rn_time when = rn_now() + RN_MS;
    rn_context *top = child(NULL), *t = timed(top, when), *below = child(t),
               *later = timed(t, when + 3600 * RN_SEC);
    CHECK_EQ(rn_context_deadline(t), when);
    CHECK_EQ(rn_context_deadline(below), when);
    CHECK_EQ(rn_context_deadline(later), when);
    CHECK_EQ(rn_context_wait(later, RN_NEVER), 0);
    CHECK_GE(rn_now(), when);
    check_ended(t, -ETIMEDOUT, -ETIMEDOUT);
    check_ended(below, -ETIMEDOUT, -ETIMEDOUT);
    check_ended(later, -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_context_deadline(later), when);
    check_live(top);
    rn_context_unref(t);
    rn_context_unref(later);
    rn_context_unref(top);
    rn_context_unref(below);
}

API_TEST(context_deadline_in_the_past_is_kept)
{
    rn_time when = rn_now();
    rn_context *t = timed(NULL, when), *now = timed(NULL, RN_NOW);
    check_ended(t, -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_context_deadline(t), when);
    check_ended(now, -ETIMEDOUT, -ETIMEDOUT);
    rn_context *below = timed(t, RN_NEVER - 1);
    check_ended(below, -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_context_deadline(below), when);
    rn_context_unref(below);
    rn_context_unref(now);
    rn_context_unref(t);
}

API_TEST(context_own_deadline_may_be_the_earlier_one)
{
    rn_time hour = rn_now() + 3600 * RN_SEC;
    rn_context *top = timed(NULL, hour), *t = timed(top, rn_now() + RN_MS);
    CHECK_EQ(rn_context_wait(t, RN_NEVER), 0);
    check_ended(t, -ETIMEDOUT, -ETIMEDOUT);
    check_live(top);
    rn_context_cancel(top, -EIO);
    check_ended(t, -ETIMEDOUT, -ETIMEDOUT); /* that came first */
    rn_context_unref(top);
    rn_context_unref(t);
}

/* A cause that looks like a deadline is none. */
API_TEST(context_cancel_is_no_deadline)
{
    rn_context *t = timed(NULL, rn_now() + 3600 * RN_SEC), *below = child(t);
    rn_context_cancel(t, -ETIMEDOUT);
    check_ended(t, -ECANCELED, -ETIMEDOUT);
    check_ended(below, -ECANCELED, -ETIMEDOUT);
    rn_context_unref(below);
    rn_context_unref(t);
}

/* Time passes from timer to timer: those of cancelled or freed contexts are
 * gone. */
SIM_TEST(context_timer_is_stopped)
{
    rn_time begun = rn_now();
    rn_context *a = timed(NULL, begun + RN_SEC), *b = timed(a, begun + RN_MS),
               *c = timed(NULL, begun + 2 * RN_MS),
               *leaf = timed(NULL, begun + RN_SEC);
    rn_context_cancel(a, 0);
    rn_context_cancel(leaf, 0);
    rn_context_unref(c);
    rn_stats before, after;
    rn_stats_get(&before);
    CHECK_EQ(rn_sleep(10 * RN_SEC), 0);
    rn_stats_get(&after);
    CHECK_EQ(after.timers - before.timers, 1); /* that of the sleep */
    rn_context_unref(leaf);
    rn_context_unref(a);
    rn_context_unref(b);
}

/* ---- merge -------------------------------------------------------------- */

static rn_context *
merge(rn_context *a, rn_context *b, rn_context *c)
{
    rn_context *parents[] = {a, b, c}, *ctx;
    CHECK_EQ(rn_context_merge(parents, 3, &ctx), 0);
    return ctx;
}

API_TEST(context_merge_ends_with_any_of_them)
{
    for (int i = 0; i < 3; i++) {
        rn_context *of[3] = {child(NULL), child(NULL), child(NULL)};
        rn_context *m = merge(of[0], of[1], of[2]), *below = child(m);
        check_live(m);
        rn_context_cancel(of[i], -EIO - i);
        check_ended(m, -ECANCELED, -EIO - i);
        check_ended(below, -ECANCELED, -EIO - i);
        rn_context_cancel(of[(i + 1) % 3], -EBADF);
        check_ended(m, -ECANCELED, -EIO - i);
        check_live(of[(i + 2) % 3]);
        rn_context_unref(m);
        for (int k = 0; k < 3; k++)
            rn_context_unref(of[k]);
        rn_context_unref(below);
    }
}

API_TEST(context_merge_takes_first_values_and_earliest_deadline)
{
    int one, two;
    rn_time hour = rn_now() + 3600 * RN_SEC;
    rn_context *a = valued(NULL, &key_a, &one), *b = valued(NULL, &key_b, &two),
               *t = timed(b, hour), *m = merge(a, t, NULL);
    CHECK(rn_context_value(m, &key_a) == &one);
    CHECK(rn_context_value(m, &key_b) == NULL);
    CHECK_EQ(rn_context_deadline(m), hour);
    rn_context *early = timed(m, rn_now() + RN_MS);
    CHECK_EQ(rn_context_wait(early, RN_NEVER), 0);
    check_live(m);
    rn_context_unref(a);
    rn_context_unref(b);
    rn_context_unref(t);
    rn_context_unref(m);
    rn_context_unref(early);
}

API_TEST(context_merge_of_ended_and_of_none)
{
    rn_context *live = child(NULL), *ended = timed(NULL, rn_now()),
               *m = merge(live, NULL, ended), *none;
    check_ended(m, -ETIMEDOUT, -ETIMEDOUT);
    CHECK_EQ(rn_context_merge(NULL, 0, &none), 0);
    check_live(none);
    rn_context_cancel(none, 0);
    check_ended(none, -ECANCELED, -ECANCELED);
    rn_context *same = merge(live, live, live);
    rn_context_cancel(live, -EIO);
    check_ended(same, -ECANCELED, -EIO);
    rn_context_unref(none);
    rn_context_unref(m);
    rn_context_unref(same);
    rn_context_unref(live);
    rn_context_unref(ended);
}

/* ---- waits -------------------------------------------------------------- */

static int
cancel_it(void *arg)
{
    rn_context_cancel(arg, -EIO);
    return 0;
}

API_TEST_SCHEDULES(context_wait_and_select_see_a_cancel, 1000)
{
    rn_context *top = child(NULL), *ctx = child(top);
    rn_scope *s = open_scope(RN_NEVER);
    go(cancel_it, top);
    CHECK_EQ(rn_context_wait(ctx, RN_NEVER), 0);
    check_ended(ctx, -ECANCELED, -EIO);
    rn_arm arms[] = {RN_ARM_NONE, RN_ARM_CONTEXT(ctx), RN_ARM_CONTEXT(NULL)};
    CHECK_EQ(rn_select(arms, 3, 0, RN_NEVER), 1);
    CHECK_EQ(arms[1].result, 0);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_context_unref(top);
    rn_context_unref(ctx);
}

/* Woken, it may free what it waited for at once. */
static int
select_and_drop(void *arg)
{
    rn_arm arms[] = {RN_ARM_CONTEXT(arg), RN_ARM_RECV(NULL, NULL),
                     RN_ARM_CONTEXT(arg)};
    int i = rn_select(arms, 3, 0, RN_NEVER);
    CHECK(i == 0 || i == 2);
    rn_context_unref(arg);
    return 0;
}

static int
wait_and_drop(void *arg)
{
    CHECK_EQ(rn_context_wait(arg, RN_NEVER), 0);
    rn_context_unref(arg);
    return 0;
}

API_TEST_SCHEDULES(context_waiters_may_free_it_at_once, 1000)
{
    for (int round = 0; round < 3; round++) {
        rn_context *top = child(NULL);
        rn_scope *s = open_scope(RN_NEVER);
        for (int i = 0; i < 2; i++) {
            go(select_and_drop, child(top));
            go(wait_and_drop, rn_context_ref(top));
        }
        rn_context_cancel(top, 0);
        rn_context_unref(top);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* R13: a cancelled wait. */
static int
wait_cancelled(void *arg)
{
    CHECK_EQ(rn_context_wait(arg, RN_NEVER), -ECANCELED);
    return 0;
}

API_TEST(context_wait_is_a_cancellation_point)
{
    rn_context *ctx = child(NULL);
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_cancelled, ctx);
    rn_scope_cancel(s);
    CHECK_EQ(rn_context_wait(ctx, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_context_wait(ctx, RN_NOW), -EAGAIN);
    close_cancelled(s);
    CHECK_EQ(rn_context_wait(ctx, rn_now()), -ETIMEDOUT);
    check_live(ctx);
    rn_context_unref(ctx);
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(context_cancel_of_the_background, "rn_context_cancel|NULL")
{
    rn_context_cancel(NULL, 0);
}

API_PANICS(context_cause_that_is_positive, "rn_context_cancel|negative")
{
    rn_context_cancel(child(NULL), 5);
}

API_PANICS(context_value_without_key, "rn_context_value|key")
{
    rn_context_value(NULL, NULL);
}

static int
wait_for_it(void *arg)
{
    return rn_context_wait(arg, RN_NEVER);
}

static int
free_under_a_wait(void *arg)
{
    (void)arg;
    rn_context *ctx = child(NULL);
    go(wait_for_it, ctx);
    CHECK_EQ(rn_yield(), 0); /* the other task runs until it waits */
    rn_context_unref(ctx);
    return 0;
}

TEST_DIES_WITH(context_freed_under_a_wait_panics, "rn_context_unref|waits",
               -SIGABRT)
{
    rn_options options = {.workers = 1};
    rn_run(&options, free_under_a_wait, NULL);
}

SIM_FINDS_TEXT(context_wait_for_ever_is_named, RN_SIM_DEADLOCK,
               "for the cancel of context#")
{
    rn_context *ctx = child(NULL);
    rn_context_wait(ctx, RN_NEVER);
}

SIM_FINDS_TEXT(context_select_for_ever_is_named, RN_SIM_DEADLOCK,
               "in select: the cancel of context#")
{
    rn_arm arms[] = {RN_ARM_CONTEXT(child(NULL)), RN_ARM_NONE};
    rn_select(arms, 2, 0, RN_NEVER);
}
