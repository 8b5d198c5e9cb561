/* alloc.c - every allocation fails once: an error code, and all stays whole.
 *
 * A sweep runs the body with the n-th allocation failing, for n = 1, 2, ..
 * until it has come through without one for a while.
 */
#include "world.h"

#include <errno.h>

static int entered;  /* the body has run */
static int failures; /* -ENOMEM results of this run; of one task at a time */

/* Whether the call was done; only lack of memory may stop it. */
static int
worked(int e)
{
    CHECK(e >= 0 || e == -ENOMEM);
    failures += e < 0;
    return e >= 0;
}

static int
send_five(void *arg)
{
    int e = 0;
    for (int i = 0; i < 5 && e == 0; i++)
        e = rn_chan_send(arg, &i, RN_NEVER);
    rn_chan_close(arg);
    CHECK_EQ(e, 0);
    return 5;
}

static int
count_deferred(void *arg, int outcome)
{
    (void)outcome;
    ++*(int *)arg;
    return 0;
}

static int
defer_two(void *arg)
{
    int e = 0;
    for (int i = 0; i < 2 && e == 0; i++)
        e = rn_defer(count_deferred, arg);
    CHECK(e == 0 || e == -ENOMEM);
    return 0;
}

/* Spawning, joining and channels. */
static void
part_channels(size_t capacity)
{
    rn_chan *c = NULL;
    rn_task t;
    int e = rn_chan_new(sizeof(int), capacity, &c);
    if (!worked(e)) {
        CHECK(c == NULL);
        return;
    }
    if (worked(rn_task_spawn(NULL, send_five, c, NULL, &t))) {
        int v, sum = 0, result = 0;
        while (rn_chan_recv(c, &v, RN_NEVER) == 0)
            sum += v;
        CHECK_EQ(sum, 10);
        CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
        CHECK_EQ(result, 5);
    }
    rn_chan_unref(c);
}

static void
part_select(void)
{
    rn_chan *c[12] = {NULL};
    rn_arm arms[12];
    int v = 0, all = 1;
    for (int i = 0; i < 12; i++) {
        all = worked(rn_chan_new(sizeof(int), 0, &c[i])) && all;
        arms[i] = (rn_arm)RN_ARM_RECV(c[i], &v);
    }
    rn_task t;
    if (all && worked(rn_task_spawn(NULL, send_five, c[7], NULL, &t))) {
        for (int i = 0; i < 6; i++) {
            CHECK_EQ(rn_select(arms, 12, 0, RN_NEVER), 7);
            CHECK_EQ(arms[7].result, i < 5 ? 0 : -EPIPE);
        }
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    }
    for (int i = 0; i < 12; i++)
        rn_chan_unref(c[i]);
}

static void
part_scopes(void)
{
    rn_scope *s;
    int counts[20] = {0};
    size_t before = rn_task_count();
    if (!worked(rn_scope_open(rn_now() + 3600 * RN_SEC, &s)))
        return;
    for (int i = 0; i < 20; i++)
        worked(rn_go(NULL, defer_two, &counts[i]));
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < 20; i++)
        CHECK_LE(counts[i], 2);
    CHECK_EQ(rn_task_count(), before);
}

/* A failure and a handle: what there is no memory for is dropped, or
 * refused. */
static void
count_drop(void *arg)
{
    ++*(int *)arg;
}

static int
fail_with(void *drops)
{
    return rn_fail(-EIO, drops, count_drop);
}

static void
part_failures(void)
{
    int drops = 0;
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {.report = &r};
    rn_scope_handle *handle = NULL;
    rn_scope *s;
    if (!worked(rn_scope_open_with(&options, &s)))
        return;
    int e = rn_scope_hold(s, &handle);
    CHECK_EQ(worked(e), handle != NULL);
    bool spawned =
        handle && worked(rn_scope_handle_go(handle, fail_with, &drops));
    rn_scope_handle_release(handle);
    CHECK_EQ(rn_scope_close(s), spawned ? -EIO : 0);
    CHECK_EQ(r.count, spawned);
    if (spawned)
        CHECK_EQ(drops, r.failures[0].payload == NULL);
    rn_report_fini(&r);
    CHECK_EQ(drops, spawned);
}

static void
part_timers(void)
{
    rn_timer *t = NULL;
    if (!worked(rn_timer_new(rn_now(), RN_US, &t))) {
        CHECK(t == NULL);
        return;
    }
    CHECK_EQ(rn_chan_recv(rn_timer_chan(t), NULL, RN_NEVER), 0);
    rn_timer_free(t);
}

static int
add_one(void *arg)
{
    return ++*(int *)arg;
}

static void
part_futures(void)
{
    rn_promise *promise = NULL;
    rn_future *future = NULL;
    if (!worked(rn_future_new(100, &promise, &future))) {
        CHECK(!promise && !future);
        return;
    }
    rn_promise_free(promise);
    CHECK_EQ(rn_future_wait(future, NULL, RN_NEVER), -EPIPE);
    rn_future_unref(future);
}

static void
part_groups(void)
{
    rn_workgroup g;
    int counts[40] = {0}, added = 0, sum = 0;
    if (!worked(rn_workgroup_open(&g, 2, NULL)))
        return;
    for (int i = 0; i < 20; i++)
        added += worked(rn_workgroup_go(&g, add_one, &counts[i], RN_NEVER));
    for (int i = 20; i < 40; i++)
        added += worked(rn_after_func(NULL, RN_NOW, add_one, &counts[i], NULL));
    CHECK_EQ(rn_workgroup_wait(&g, 0), 0);
    for (int i = 0; i < 40; i++)
        sum += counts[i];
    CHECK_EQ(sum, added);
}

static void
part_blocking(void)
{
    int value = 0, result = 0;
    int done = worked(rn_blocking(add_one, &value, RN_NEVER, &result));
    done += worked(rn_blocking(add_one, &value, RN_NOW, &result));
    CHECK_EQ(value, done);
    CHECK_EQ(result, done);
}

/* Whatever fails, all of them have been counted as often. */
enum { VARS = 24 };

static int
count_all(rn_tx *tx, void *arg)
{
    rn_tvar **vars = arg;
    char value[64];
    int e = 0;
    for (int i = 0; i < VARS && e == 0; i++)
        if ((e = rn_tvar_read(vars[i], tx, value)) == 0) {
            value[0]++;
            e = rn_tvar_write(vars[i], tx, value);
        }
    return e;
}

static int
count_nested(rn_tx *tx, void *arg)
{
    int e = count_all(tx, arg);
    return e < 0 ? e : rn_atomically(count_all, arg, RN_NOW);
}

static int
count_and_retry(rn_tx *tx, void *arg)
{
    int e = count_all(tx, arg);
    return e < 0 ? e : rn_tx_retry(tx);
}

struct counted {
    rn_tvar **vars;
    char first;
};

static int
all_equal(rn_tx *tx, void *arg)
{
    struct counted *c = arg;
    char value[64];
    for (int i = 0; i < VARS; i++) {
        int e = rn_tvar_read(c->vars[i], tx, value);
        if (e < 0)
            return e;
        if (i == 0)
            c->first = value[0];
        CHECK_EQ(value[0], c->first);
    }
    return 0;
}

static void
part_stm(void)
{
    rn_tvar *vars[VARS] = {NULL};
    struct counted counted = {vars, 0};
    int all = 1, done = 0;
    for (int i = 0; i < VARS; i++)
        all = worked(rn_tvar_new(64, NULL, &vars[i])) && all;
    if (all) {
        done += worked(rn_atomically(count_all, vars, RN_NEVER));
        done += 2 * worked(rn_atomically(count_nested, vars, RN_NEVER));
        int e = rn_atomically(count_and_retry, vars, rn_now());
        CHECK(e == -ETIMEDOUT || e == -ENOMEM);
        failures += e == -ENOMEM;
        if (worked(rn_atomically(all_equal, &counted, RN_NEVER)))
            CHECK_EQ(counted.first, done);
    }
    for (int i = 0; i < VARS; i++)
        rn_tvar_free(vars[i]);
}

static void
part_tqueue(void)
{
    rn_tqueue *q = NULL;
    rn_tmvar *m = NULL;
    if (!worked(rn_tqueue_new(8, 3, &q)))
        CHECK(q == NULL);
    if (!worked(rn_tmvar_new(8, NULL, &m)))
        CHECK(m == NULL);
    rn_tqueue_free(q);
    rn_tmvar_free(m);
}

static int
count_call(void *arg)
{
    ++*(int *)arg;
    return 0;
}

/* All that can be made from a context; made or not, all is freed. */
static void
make_contexts(rn_context *top, int *drops, int *dropped)
{
    rn_context *more[4] = {top, NULL, NULL, NULL};
    rn_time hour = rn_now() + 3600 * RN_SEC;
    worked(rn_context_new(top, hour, &more[1]));
    *drops += worked(
        rn_context_with_value(more[1], drops, dropped, count_drop, &more[2]));
    worked(rn_context_merge(more, 3, &more[3]));
    if (more[3]) {
        rn_context *keep = NULL;
        CHECK_EQ(rn_context_deadline(more[3]), more[1] ? hour : RN_NEVER);
        worked(rn_context_without_cancel(more[3], &keep));
        rn_context_unref(keep);
    }
    for (int i = 1; i < 4; i++)
        rn_context_unref(more[i]);
}

static void
part_contexts(void)
{
    int drops = 0, dropped = 0, calls = 0, called = 0;
    rn_context *top = NULL, *of_scope = NULL;
    rn_context_call *call = NULL;
    rn_scope *s = NULL;
    worked(rn_context_new(NULL, RN_NEVER, &top));
    make_contexts(top, &drops, &dropped);
    CHECK_EQ(dropped, drops);
    rn_scope_options options = {.context = top};
    if (worked(rn_scope_open_with(&options, &s))) {
        worked(rn_context_current(&of_scope));
        if (of_scope)
            CHECK_EQ(rn_context_status(of_scope), 0);
        calls = worked(rn_context_after(top, s, count_call, &called, &call));
        if (top)
            rn_context_cancel(top, 0);
        else if (calls)
            CHECK_EQ(calls = !rn_context_call_stop(call), 0);
        if (of_scope)
            CHECK_EQ(rn_context_status(of_scope), top ? -ECANCELED : 0);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(called, calls);
        if (top)
            CHECK_EQ(rn_context_call_stop(call), 0);
    }
    rn_context_unref(top);
}

static int
par_value(size_t i, void *out, void *ctx)
{
    *(size_t *)out = i;
    ++*(_Atomic int *)ctx;
    return rn_yield();
}

static void
par_drop(void *value, void *ctx)
{
    (void)value;
    --*(_Atomic int *)ctx;
}

static int
par_sum(size_t i, void *acc, void *ctx)
{
    (void)ctx;
    *(size_t *)acc += i;
    return rn_yield();
}

static void
par_add(void *acc, void *next, void *ctx)
{
    (void)ctx;
    *(size_t *)acc += *(size_t *)next;
}

/* Without memory for tasks the items run all the same. */
static void
part_par(void)
{
    static const rn_par_reducer sum = {sizeof(size_t), NULL, par_sum, par_add};
    size_t out[8], total = 0;
    _Atomic int live = 0;
    rn_par_options o = {.drop = par_drop};
    if (worked(rn_par_map(8, par_value, &live, out, sizeof out[0], &o)))
        CHECK_EQ(live, 8);
    else
        CHECK_EQ(live, 0);
    if (worked(rn_par_reduce(8, &sum, NULL, &total, NULL)))
        CHECK_EQ(total, 28);
    else
        CHECK_EQ(total, 0);
}

static int
body(void *arg)
{
    (void)arg;
    failures = 0;
    entered = 1;
    for (int i = 0; i < 2; i++) {
        part_channels((size_t)i * 3);
        part_select();
        part_scopes();
        part_failures();
        part_timers();
        part_futures();
        part_groups();
        part_blocking();
        part_stm();
        part_tqueue();
        part_contexts();
        part_par();
        CHECK_EQ(rn_sleep(RN_US), 0);
    }
    return 0;
}

enum { CLEAN_RUNS = 30, MOST = 20000 };

static void
sweep_real(int workers)
{
    int clean = 0, failed = 0;
    for (uint64_t n = 1; clean < CLEAN_RUNS; n++) {
        rn_options options = {.workers = workers, .fail_alloc = n};
        CHECK_LT(n, MOST);
        failures = 0;
        int e = rn_run(&options, body, NULL);
        CHECK(e == 0 || e == -ENOMEM || e == -EAGAIN);
        clean = e == 0 && failures == 0 ? clean + 1 : 0;
        failed += e < 0 || failures > 0;
    }
    CHECK_GT(failed, 3); /* some did fail */
}

TEST(alloc_failures_are_reported_one)
{
    sweep_real(1);
}

TEST(alloc_failures_are_reported_many)
{
    sweep_real(4);
}

TEST(alloc_failures_are_reported_sim)
{
    int clean = 0, failed = 0;
    for (uint64_t n = 1; clean < CLEAN_RUNS; n++) {
        rn_sim_options options = {.seed = n, .fail_alloc = n};
        rn_sim_report report;
        CHECK_LT(n, MOST);
        failures = entered = 0;
        int e = rn_sim_run(&options, body, NULL, &report);
        CHECK(e == 0 || e == -ENOMEM);
        /* like rn_run, it may be that main cannot be started */
        if (e == 0 && report.verdict == RN_SIM_FAILED && !entered)
            e = -ENOMEM;
        if (e == 0 && report.verdict != RN_SIM_PASS)
            FAIL("allocation %d: %s", (int)n, report.text);
        clean = e == 0 && failures == 0 ? clean + 1 : 0;
        failed += e < 0 || failures > 0;
        rn_sim_report_fini(&report);
    }
    CHECK_GT(failed, 3);
}
