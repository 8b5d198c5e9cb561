/* finalizer.c - tests of runnel/finalizer.h beyond rn_defer. R14: finalizers;
 * R2: they have run before the scope ends. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

struct log {
    char text[32];
    size_t length;
    int result;     /* of the body */
    int fails;      /* how many finalizers fail */
    rn_chan *ready; /* told before it waits */
};

static void
put(struct log *log, char c)
{
    log->text[log->length++] = c;
}

static int
always(void *arg, int outcome)
{
    struct log *log = arg;
    CHECK_EQ(outcome, log->result);
    put(log, 'a');
    return 0;
}

static int
on_error(void *arg, int outcome)
{
    CHECK_EQ(outcome, -EIO);
    put(arg, 'e');
    return 0;
}

static int
on_cancel(void *arg, int outcome)
{
    CHECK_EQ(outcome, -ECANCELED);
    put(arg, 'c');
    return 0;
}

static int
defer_each_kind(void *arg)
{
    struct log *log = arg;
    CHECK_EQ(rn_defer(always, log), 0);
    CHECK_EQ(rn_defer_on_error(on_error, log), 0);
    CHECK_EQ(rn_defer_on_cancel(on_cancel, log), 0);
    CHECK_EQ(rn_defer(always, log), 0);
    return log->result;
}

RULE_TEST(finalizer_R14_runs_by_outcome)
{
    static const struct {
        int result;
        const char *text;
    } cases[] = {{7, "aa"}, {-EIO, "aea"}, {-ECANCELED, "aca"}};
    for (size_t i = 0; i < 3; i++) {
        struct log log = {.result = cases[i].result};
        int result = 42;
        rn_scope *s = open_scope(RN_NEVER);
        rn_shield shield = rn_shield_push();
        rn_task t = go_joinable(defer_each_kind, &log);
        CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
        CHECK_EQ(result, log.result);
        CHECK_STR(log.text, cases[i].text);
        rn_shield_restore(shield);
        CHECK_EQ(rn_scope_close(s), result < 0 ? result : 0);
    }
}

static int
fail_each(void *arg, int outcome)
{
    struct log *log = arg;
    CHECK_EQ(outcome, log->result);
    put(log, 'f');
    return log->fails-- > 0 ? -ENOSPC + log->fails : 0;
}

static int
defer_failing(void *arg)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_defer(fail_each, arg), 0);
    return ((struct log *)arg)->result;
}

/* An error of one is listed, the rest still run; the body's comes first. */
RULE_TEST(finalizer_R14_errors_are_listed_and_the_rest_runs)
{
    static const int results[] = {3, -EIO, -ECANCELED};
    for (size_t i = 0; i < 3; i++) {
        struct log log = {.result = results[i], .fails = 2};
        bool error = results[i] == -EIO;
        int first = -ENOSPC + 1, result;
        rn_report r = RN_REPORT_INIT;
        rn_scope_options options = {.report = &r};
        rn_scope *s;
        CHECK_EQ(rn_scope_open_with(&options, &s), 0);
        rn_shield shield = rn_shield_push();
        rn_task t = go_joinable(defer_failing, &log);
        CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
        rn_shield_restore(shield);
        CHECK_EQ(result, error ? -EIO : first);
        CHECK_EQ(rn_scope_close(s), result);
        CHECK_STR(log.text, "fff");
        CHECK_EQ(r.count, error ? 3 : 2);
        size_t at = 0;
        if (error)
            CHECK_EQ(r.failures[at++].phase, RN_PHASE_TASK);
        for (int k = 1; k >= 0; k--, at++) {
            CHECK_EQ(r.failures[at].phase, RN_PHASE_FINALIZER);
            CHECK_EQ(r.failures[at].code, -ENOSPC + k);
            CHECK_EQ(r.failures[at].index, 0);
            CHECK(r.failures[at].site != NULL);
        }
        CHECK_EQ(r.trigger, RN_REASON_SIBLING);
        CHECK_EQ(r.trigger_index, 0);
        rn_report_fini(&r);
    }
}

/* A finalizer that fails cancels the siblings like any failure. */
RULE_TEST(finalizer_R14_a_failure_cancels_the_siblings)
{
    struct log log = {.result = 0, .fails = 1};
    rn_scope *s = open_scope(RN_NEVER);
    go(wait_for_cancel, NULL);
    CHECK_EQ(rn_go(s, defer_failing, &log), 0);
    CHECK_EQ(rn_scope_close(s), -ENOSPC);
    CHECK_STR(log.text, "fff");
}

/* The finalizer of one side runs although the other is done. */
static int
defer_and_wait(void *arg)
{
    struct log *log = arg;
    CHECK_EQ(rn_defer(always, log), 0);
    send_int(log->ready, 1);
    return wait_for_cancel(NULL);
}

static int
succeed(void *arg)
{
    return arg != NULL;
}

RULE_TEST(finalizer_R14_runs_when_the_other_side_is_done)
{
    struct log log = {.result = -ECANCELED, .ready = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = go_joinable(succeed, NULL);
    go(defer_and_wait, &log);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(recv_int(log.ready), 1);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_STR(log.text, "a");
    rn_chan_unref(log.ready);
}

/* Three levels: the innermost have all run before the next. */
struct level {
    int depth;
    struct log *log;
};

static int
put_depth(void *arg, int outcome)
{
    struct level *level = arg;
    CHECK_EQ(outcome, -ECANCELED);
    CHECK_EQ(rn_sleep(10), 0);
    put(level->log, (char)('0' + level->depth));
    return 0;
}

static int
descend(void *arg)
{
    struct level *level = arg, below = {level->depth + 1, level->log};
    CHECK_EQ(rn_defer(put_depth, level), 0);
    if (level->depth == 3) {
        send_int(level->log->ready, 1);
        return wait_for_cancel(NULL);
    }
    rn_scope *s = open_scope(RN_NEVER);
    int e = rn_go(s, descend, &below);
    CHECK_EQ(e, 0);
    return rn_scope_close(s);
}

RULE_TEST(finalizer_R14_order_over_three_levels)
{
    struct log log = {.ready = new_chan(sizeof(int), 0)};
    struct level top = {1, &log};
    rn_scope *s = open_scope(RN_NEVER);
    go(descend, &top);
    CHECK_EQ(recv_int(log.ready), 1);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_STR(log.text, "321");
    rn_chan_unref(log.ready);
}

/* A wait inside a scope that a deferred call has opened is cut by what cancels
 * that scope: an outer cancel never, a failure inside it or its deadline. */
static int
fail_eio(void *arg)
{
    (void)arg;
    return -EIO;
}

static int
wait_in_a_scope(void *arg, int outcome)
{
    struct log *log = arg;
    CHECK_EQ(outcome, -ECANCELED);
    for (int i = 0; i < 2; i++) {
        rn_scope *s = open_scope(RN_NEVER);
        if (i == 0)
            go(fail_eio, NULL);
        else
            CHECK_EQ(rn_scope_set_deadline(s, rn_now() + RN_MS), 0);
        CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
        CHECK_EQ(rn_yield(), -ECANCELED);
        CHECK_EQ(rn_scope_close(s), i == 0 ? -EIO : -ETIMEDOUT);
        CHECK_EQ(rn_yield(), 0);
    }
    put(log, 'w');
    return 0;
}

static int
defer_scoped(void *arg)
{
    struct log *log = arg;
    CHECK_EQ(rn_defer(wait_in_a_scope, log), 0);
    send_int(log->ready, 1);
    return wait_for_cancel(NULL);
}

RULE_TEST(finalizer_R11_a_scope_of_its_own_cuts_its_waits)
{
    struct log log = {.ready = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    go(defer_scoped, &log);
    CHECK_EQ(recv_int(log.ready), 1);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_STR(log.text, "w");
    rn_chan_unref(log.ready);
}

/* ---- bracket ------------------------------------------------------------ */

struct bracket {
    char text[8];
    size_t length;
    int acquired, used, released;
    rn_scope *scope; /* cancelled by acquire, if set */
};

static int
acquire(void *arg)
{
    struct bracket *b = arg;
    b->text[b->length++] = 'a';
    if (b->scope)
        rn_scope_cancel(b->scope);
    CHECK_EQ(rn_yield(), 0);
    return b->acquired;
}

static int
use(void *arg)
{
    struct bracket *b = arg;
    b->text[b->length++] = 'u';
    CHECK_EQ(rn_yield(), b->scope ? -ECANCELED : 0);
    return b->used;
}

static int
release(void *arg, int outcome)
{
    struct bracket *b = arg;
    b->text[b->length++] = 'r';
    CHECK_EQ(outcome, b->used);
    CHECK_EQ(rn_yield(), 0);
    return b->released;
}

static int
bracket_it(void *arg)
{
    return rn_bracket(acquire, use, release, arg);
}

RULE_TEST(finalizer_R14_bracket)
{
    static const struct {
        int acquired, used, released, result;
        bool cancel;
        const char *text;
        size_t failures;
    } cases[] = {
        {0, 5, 0, 5, false, "aur", 0},
        {-EIO, 5, 0, -EIO, false, "a", 1},
        {0, -EIO, 0, -EIO, false, "aur", 1},
        {0, 5, -ENOSPC, -ENOSPC, false, "aur", 1},
        {0, -EIO, -ENOSPC, -EIO, false, "aur", 2},
        {1, -ECANCELED, 0, -ECANCELED, true, "aur", 0},
        {0, -ECANCELED, -ENOSPC, -ENOSPC, true, "aur", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bracket b = {.acquired = cases[i].acquired,
                            .used = cases[i].used,
                            .released = cases[i].released};
        rn_report r = RN_REPORT_INIT;
        rn_scope_options options = {.report = &r};
        rn_scope *s;
        int result;
        CHECK_EQ(rn_scope_open_with(&options, &s), 0);
        rn_shield shield = rn_shield_push();
        b.scope = cases[i].cancel ? s : NULL;
        rn_task t = go_joinable(bracket_it, &b);
        CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
        rn_shield_restore(shield);
        CHECK_EQ(result, cases[i].result);
        CHECK_STR(b.text, cases[i].text);
        rn_scope_close(s);
        CHECK_EQ(r.count, cases[i].failures);
        rn_report_fini(&r);
    }
}

/* Use and release fail: both are told, use first, wherever use's is. */
static int
bracket_and_close(void *arg)
{
    rn_report *r = arg;
    struct bracket b = {.used = -EIO, .released = -ENOSPC};
    rn_scope_options options = {.report = r};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    CHECK_EQ(rn_scope_close_with(s, bracket_it(&b)), -EIO);
    return 0;
}

static int
bracket_item(size_t i, void *ctx)
{
    struct bracket b = {.used = -EIO, .released = -ENOSPC};
    (void)ctx;
    return i == 0 ? bracket_it(&b) : 0;
}

static void
check_both(rn_report *r, rn_phase phase, size_t index)
{
    CHECK_EQ(r->count, 2);
    CHECK_EQ(r->status, -EIO);
    CHECK_EQ(r->failures[0].code, -EIO);
    CHECK_EQ(r->failures[0].phase, phase);
    CHECK_EQ(r->failures[1].code, -ENOSPC);
    CHECK_EQ(r->failures[1].phase, RN_PHASE_FINALIZER);
    for (size_t i = 0; i < 2; i++)
        CHECK_EQ(r->failures[i].index, index);
    rn_report_fini(r);
}

RULE_TEST(finalizer_R5_bracket_tells_use_before_release)
{
    struct bracket b = {.used = -EIO, .released = -ENOSPC};
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {.report = &r};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    go(bracket_it, &b);
    CHECK_EQ(rn_scope_close(s), -EIO);
    check_both(&r, RN_PHASE_TASK, 0);
    s = open_scope(RN_NEVER);
    go(bracket_and_close, &r);
    CHECK_EQ(rn_scope_close(s), 0);
    check_both(&r, RN_PHASE_BODY, RN_INDEX_NONE);
    rn_par_options o = {.report = &r};
    CHECK_EQ(rn_par_for(3, bracket_item, NULL, &o), -EIO);
    check_both(&r, RN_PHASE_TASK, 0);
}

/* Use's failure goes no further: that of release is told all the same. */
static int
bracket_and_forget(void *arg)
{
    CHECK_EQ(bracket_it(arg), -EIO);
    return 0;
}

RULE_TEST(finalizer_R5_bracket_tells_of_release_alone)
{
    struct bracket b = {.used = -EIO, .released = -ENOSPC};
    rn_scope *s = open_scope(RN_NEVER);
    go(bracket_and_forget, &b);
    CHECK_EQ(rn_scope_close(s), -ENOSPC);
    s = open_scope(RN_NEVER);
    b.length = 0;
    CHECK_EQ(bracket_it(&b), -EIO);
    CHECK_EQ(rn_scope_close(s), -ENOSPC);
}

RULE_TEST(finalizer_R14_bracket_is_not_entered_when_cancelled)
{
    struct bracket b = {.acquired = 0};
    rn_scope *s = open_scope(RN_NEVER);
    rn_scope_cancel(s);
    CHECK_EQ(bracket_it(&b), -ECANCELED);
    CHECK_STR(b.text, "");
    close_cancelled(s);
    b.used = 3;
    CHECK_EQ(rn_bracket(NULL, use, release, &b), 3);
    CHECK_STR(b.text, "ur");
}

/* ---- what is said of a failure ------------------------------------------- */

static void
count_drop(void *payload)
{
    atomic_fetch_add((atomic_int *)payload, 1);
}

static int
say_and_fail(void *arg, int outcome)
{
    (void)outcome;
    return rn_fail(-EIO, arg, count_drop);
}

static int
say_only(void *arg, int outcome)
{
    (void)outcome;
    (void)!rn_fail(-EIO, arg, count_drop);
    return 0;
}

static int
fail_silently(void *arg, int outcome)
{
    (void)arg;
    (void)outcome;
    return -EIO;
}

/* Last deferred first: one has a payload, one has said something but succeeds,
 * the last fails with the same code and has none. */
static int
say_at_the_end(void *arg)
{
    CHECK_EQ(rn_defer(fail_silently, arg), 0);
    CHECK_EQ(rn_defer(say_only, arg), 0);
    CHECK_EQ(rn_defer(say_and_fail, arg), 0);
    (void)!rn_fail(-EIO, arg, count_drop); /* and does not */
    return 0;
}

API_TEST_SCHEDULES(finalizer_R5_may_have_a_payload, 1000)
{
    atomic_int drops = 0;
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {.report = &r};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    go(say_at_the_end, &drops);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(r.count, 2);
    CHECK_EQ(r.failures[0].phase, RN_PHASE_FINALIZER);
    CHECK(r.failures[0].payload == &drops);
    CHECK_EQ(r.failures[1].phase, RN_PHASE_FINALIZER);
    CHECK(r.failures[1].payload == NULL);
    CHECK_EQ(atomic_load(&drops), 2);
    rn_report_fini(&r);
    CHECK_EQ(atomic_load(&drops), 3);
}

static int
use_says(void *arg)
{
    return rn_fail(-EIO, arg, count_drop);
}

static int
release_says(void *arg, int outcome)
{
    CHECK_EQ(outcome, -EIO);
    return rn_fail(-ENOSPC, arg, count_drop);
}

static int
bracket_says(void *arg)
{
    return rn_bracket(NULL, use_says, release_says, arg);
}

API_TEST_SCHEDULES(finalizer_R5_bracket_keeps_both_payloads, 1000)
{
    atomic_int drops = 0;
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {.report = &r};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    go(bracket_says, &drops);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(r.count, 2);
    for (size_t i = 0; i < 2; i++)
        CHECK(r.failures[i].payload == &drops);
    CHECK_EQ(atomic_load(&drops), 0);
    rn_report_fini(&r);
    CHECK_EQ(atomic_load(&drops), 2);
}

/* ---- one that gives up --------------------------------------------------- */

static int
cancelled_code(void *arg, int outcome)
{
    (void)arg;
    (void)outcome;
    return -ECANCELED;
}

static int
defer_cancelled_code(void *arg)
{
    CHECK_EQ(rn_defer(cancelled_code, NULL), 0);
    return *(int *)arg;
}

static int
defer_in_item(size_t i, void *ctx)
{
    (void)i;
    return defer_cancelled_code(ctx);
}

static int
fail_with(void *arg)
{
    return *(int *)arg;
}

/* -ECANCELED of a finalizer is no error: the task has given up. */
RULE_TEST(finalizer_R14_may_give_up)
{
    int results[] = {3, -EIO, -ECANCELED};
    for (size_t i = 0; i < 3; i++) {
        rn_report r = RN_REPORT_INIT;
        rn_scope_options options = {.report = &r};
        rn_scope *s;
        bool error = results[i] == -EIO;
        int expected = error ? -EIO : -ECANCELED;
        CHECK_EQ(rn_scope_open_with(&options, &s), 0);
        go(defer_cancelled_code, &results[i]);
        CHECK_EQ(rn_scope_close(s), expected);
        CHECK_EQ(r.count, error);
        CHECK_EQ(r.cancelled, !error);
        CHECK_EQ(r.trigger, error ? RN_REASON_SIBLING : RN_REASON_SELF);
        rn_par_options o = {.report = &r};
        CHECK_EQ(rn_par_for(1, defer_in_item, &results[i], &o), expected);
        CHECK_EQ(r.count, error);
        CHECK_EQ(r.cancelled, !error);
        rn_report_fini(&r);
        int e = rn_bracket(NULL, fail_with, cancelled_code, &results[i]);
        CHECK_EQ(e, expected);
    }
}

/* The failure of an item names the operator's place, whether it has deferred
 * something or not, and whoever runs it. */
static int
fail_both_ways(size_t i, void *ctx)
{
    if (i % 2)
        CHECK_EQ(rn_defer(always, ctx), 0);
    return -EIO;
}

API_TEST_SCHEDULES(finalizer_R5_items_fail_at_one_site, 100)
{
    struct log log = {.result = -EIO};
    rn_report r = RN_REPORT_INIT;
    rn_par_options o = {.report = &r, .flags = RN_PAR_COLLECT, .limit = 1};
    CHECK_EQ(rn_par_for(4, fail_both_ways, &log, &o), -EIO);
    CHECK_EQ(r.count, 4);
    for (size_t i = 1; i < 4; i++)
        CHECK(r.failures[i].site == r.failures[0].site);
    rn_report_fini(&r);
}
