/* context_call.c - tests of runnel/context.h: calls when a context ends. */
#include "world.h"

#include <errno.h>

static rn_context *
child(rn_context *parent)
{
    rn_context *ctx;
    CHECK_EQ(rn_context_new(parent, RN_NEVER, &ctx), 0);
    return ctx;
}

static rn_context_call *
after(rn_context *ctx, rn_scope *scope, rn_task_fn *fn, void *arg)
{
    rn_context_call *call;
    CHECK_EQ(rn_context_after(ctx, scope, fn, arg, &call), 0);
    return call;
}

/* What a call saw. */
struct seen {
    rn_context *ctx;
    int runs, cause, yield;
};

static int
note(void *arg)
{
    struct seen *seen = arg;
    seen->runs++;
    seen->cause = rn_context_cause(seen->ctx);
    seen->yield = rn_yield();
    return 0;
}

API_TEST(context_call_comes_at_a_cancel)
{
    struct seen seen = {child(NULL), 0, 0, 0};
    rn_context *below = child(seen.ctx);
    rn_scope *s = open_scope(RN_NEVER);
    rn_context_call *call = after(below, NULL, note, &seen);
    settle();
    CHECK_EQ(seen.runs, 0);
    rn_context_cancel(seen.ctx, -EIO);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(seen.runs, 1);
    CHECK_EQ(seen.cause, -EIO);
    CHECK_EQ(seen.yield, 0);
    CHECK_EQ(rn_context_call_stop(call), 0);
    rn_context_unref(below);
    rn_context_unref(seen.ctx);
}

API_TEST(context_call_comes_at_a_deadline)
{
    struct seen seen = {NULL, 0, 0, 0};
    CHECK_EQ(rn_context_new(NULL, rn_now() + RN_MS, &seen.ctx), 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_context_call *call = after(seen.ctx, NULL, note, &seen);
    CHECK_EQ(rn_scope_close(s), 0); /* it waits for the call */
    CHECK_EQ(seen.runs, 1);
    CHECK_EQ(seen.cause, -ETIMEDOUT);
    CHECK_EQ(rn_context_call_stop(call), 0);
    rn_context_unref(seen.ctx);
}

API_TEST(context_call_comes_at_once_if_it_has_ended)
{
    struct seen seen = {child(NULL), 0, 0, 0};
    rn_context_cancel(seen.ctx, 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_context_call *call = after(seen.ctx, s, note, &seen);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(seen.runs, 1);
    CHECK_EQ(rn_context_call_stop(call), 0);
    rn_context_unref(seen.ctx);
}

API_TEST(context_call_stopped_does_not_come)
{
    struct seen seen = {child(NULL), 0, 0, 0};
    size_t tasks = rn_task_count();
    rn_scope *s = open_scope(RN_NEVER);
    rn_context_call *call = after(seen.ctx, NULL, note, &seen),
                    *other = after(seen.ctx, NULL, note, &seen),
                    *never = after(NULL, NULL, note, &seen);
    CHECK_EQ(rn_task_count(), tasks);
    CHECK_EQ(rn_context_call_stop(call), 1);
    CHECK_EQ(rn_context_call_stop(never), 1);
    rn_context_cancel(seen.ctx, 0);
    CHECK_EQ(rn_context_call_stop(other), 0);
    CHECK_EQ(rn_context_call_stop(NULL), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(seen.runs, 1);
    CHECK_EQ(rn_task_count(), tasks);
    rn_context_unref(seen.ctx);
}

/* The call has the reference it needs. */
API_TEST(context_call_keeps_its_context)
{
    rn_context *top = child(NULL), *ctx = child(top);
    struct seen seen = {top, 0, 0, 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_context_call *call = after(ctx, NULL, note, &seen);
    rn_context_unref(ctx);
    rn_context_cancel(top, 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(seen.runs, 1);
    CHECK_EQ(rn_context_call_stop(call), 0);
    rn_context_unref(top);
}

/* R16 */
API_TEST(context_call_is_refused_where_a_task_is)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_context_call *call = NULL;
    rn_scope_cancel(s);
    CHECK_EQ(rn_context_after(NULL, s, note, NULL, &call), -ECANCELED);
    CHECK(call == NULL);
    CHECK_EQ(rn_scope_close(s), 0);
}

/* The very scope that is cancelled: the call is what cleans up. */
API_TEST(context_call_enters_a_cancelled_scope)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_context *ctx;
    CHECK_EQ(rn_scope_context(s, &ctx), 0);
    struct seen seen = {rn_context_ref(ctx), 0, 0, 0};
    rn_context_call *call = after(ctx, s, note, &seen);
    rn_scope_cancel_with(s, -EIO);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(seen.runs, 1);
    CHECK_EQ(seen.cause, -EIO);
    CHECK_EQ(seen.yield, -ECANCELED); /* it pushes no shield */
    CHECK_EQ(rn_context_call_stop(call), 0);
    rn_context_unref(seen.ctx);
}

static int
fail(void *arg)
{
    struct seen *seen = arg;
    seen->runs++;
    return -EBADF;
}

/* R1, R5: it is a task like others. */
API_TEST(context_call_that_fails_cancels_its_scope)
{
    struct seen seen = {child(NULL), 0, 0, 0};
    rn_report report = RN_REPORT_INIT;
    rn_scope_options options = {.report = &report};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    rn_context_call *call = after(seen.ctx, s, fail, &seen);
    rn_context_cancel(seen.ctx, 0);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), -EBADF);
    CHECK_EQ(report.count, 1);
    CHECK_EQ(report.failures[0].code, -EBADF);
    rn_report_fini(&report);
    CHECK_EQ(rn_context_call_stop(call), 0);
    rn_context_unref(seen.ctx);
}

static int
cancel_it(void *arg)
{
    rn_context_cancel(arg, 0);
    rn_context_unref(arg);
    return 0;
}

struct stopper {
    rn_context_call *call;
    int stopped;
};

static int
stop_it(void *arg)
{
    struct stopper *s = arg;
    s->stopped = rn_context_call_stop(s->call);
    return 0;
}

/* Exactly one of both: it runs, or it was stopped. */
API_TEST_SCHEDULES(context_call_stop_against_cancel, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(500);
    for (long round = 0; round < rounds; round++) {
        struct seen seen = {child(NULL), 0, 0, 0}, more = seen;
        rn_scope *all = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        struct stopper stopper = {after(seen.ctx, s, note, &seen), -1};
        rn_context_call *call = after(seen.ctx, all, note, &more);
        CHECK_EQ(rn_go(all, cancel_it, rn_context_ref(seen.ctx)), 0);
        CHECK_EQ(rn_go(all, stop_it, &stopper), 0);
        CHECK_EQ(rn_scope_close(s), 0); /* waits for either */
        int runs = seen.runs;
        CHECK_EQ(rn_scope_close(all), 0);
        CHECK_EQ(stopper.stopped, !runs);
        CHECK_EQ(seen.runs, runs);
        CHECK_EQ(more.runs, 1);
        CHECK_EQ(rn_context_call_stop(call), 0);
        rn_context_unref(seen.ctx);
    }
}

static int
call_again(void *arg)
{
    struct stopper *s = arg;
    rn_context *ctx;
    CHECK_EQ(rn_context_current(&ctx), 0);
    struct seen seen = {ctx, 0, 0, 0};
    rn_shield shield = rn_shield_push();
    rn_scope *in = open_scope(RN_NEVER); /* cut off: never cancelled */
    rn_context_call *call = after(ctx, in, note, &seen);
    s->stopped = rn_context_call_stop(call);
    CHECK_EQ(rn_scope_close(in), 0);
    rn_shield_restore(shield);
    CHECK_EQ(s->stopped, !seen.runs);
    return 0;
}

/* Made while it is being cancelled. */
API_TEST_SCHEDULES(context_call_made_against_cancel, 1000)
{
    long rounds = rn_sim_active() ? 1 : test_count(500);
    for (long round = 0; round < rounds; round++) {
        struct stopper stoppers[2];
        rn_scope *all = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        rn_context *ctx;
        CHECK_EQ(rn_scope_context(s, &ctx), 0);
        for (int i = 0; i < 2; i++)
            CHECK_EQ(rn_go(s, call_again, &stoppers[i]), 0);
        CHECK_EQ(rn_go(all, cancel_it, rn_context_ref(ctx)), 0);
        close_cancelled(s);
        CHECK_EQ(rn_scope_close(all), 0);
    }
}

API_TEST_SCHEDULES(context_calls_all_come, 20)
{
    enum { N = 100 };
    struct seen seen[N];
    rn_context_call *calls[N];
    rn_context *ctx = child(NULL);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < N; i++) {
        seen[i] = (struct seen){ctx, 0, 0, 0};
        calls[i] = after(ctx, s, note, &seen[i]);
    }
    for (int i = 0; i < N; i += 2)
        CHECK_EQ(rn_context_call_stop(calls[i]), 1);
    rn_context_cancel(ctx, 0);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(seen[i].runs, i % 2);
        if (i % 2)
            CHECK_EQ(rn_context_call_stop(calls[i]), 0);
    }
    rn_context_unref(ctx);
}

static int
never(void *arg)
{
    (void)arg;
    return 0;
}

SIM_FINDS_TEXT(context_call_never_stopped_is_named, RN_SIM_DEADLOCK,
               "for all tasks of scope#|and for 1 call at a context,")
{
    rn_scope *s = open_scope(RN_NEVER);
    after(child(NULL), s, never, NULL);
    rn_scope_close(s);
}
