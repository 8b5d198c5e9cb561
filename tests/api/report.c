/* report.c - tests of runnel/report.h and of scopes with a report: triggers,
 * precedence, all failures, supervision. Rn is the rule a test is about: R1
 * fail fast, R2 join all, R3 no impossible wait, R4 precedence, R5 all errors,
 * R15 the body is a child, R16 spawn, R18 supervision. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static rn_scope *
open_reported(rn_report *report, unsigned flags)
{
    rn_scope_options options = {.report = report, .flags = flags};
    rn_scope *scope = NULL;
    CHECK_EQ(rn_scope_open_with(&options, &scope), 0);
    return scope;
}

static int
wait_for_reason(void *arg)
{
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    if (arg)
        CHECK_EQ(rn_cancel_reason(NULL), *(rn_reason *)arg);
    return e;
}

/* Fails, or gives up, with what it receives. */
static int
end_with(void *chan)
{
    int code = recv_int(chan);
    return code;
}

static int
end_with_when_cancelled(void *code)
{
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return *(int *)code;
}

static int
end_at_once(void *code)
{
    return *(int *)code;
}

/* ---- R1, R3: the first one ends it -------------------------------------- */

RULE_TEST(report_R1_tells_who_failed_first)
{
    for (size_t i = 0; i < 3; i++) {
        rn_report r = RN_REPORT_INIT;
        rn_reason sibling = RN_REASON_SIBLING;
        rn_chan *chan = new_chan(sizeof(int), 0);
        rn_scope *s = open_reported(&r, 0);
        for (size_t k = 0; k < 3; k++)
            go(k == i ? end_with : wait_for_reason,
               k == i ? (void *)chan : &sibling);
        send_int(chan, -EIO);
        CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
        int code = 0;
        CHECK_EQ(rn_cancel_reason(&code), RN_REASON_SIBLING);
        CHECK_EQ(code, -EIO);
        CHECK_EQ(rn_scope_close(s), -EIO);
        CHECK_EQ(r.status, -EIO);
        CHECK_EQ(r.count, 1);
        CHECK_EQ(r.failures[0].index, i);
        CHECK_EQ(r.failures[0].code, -EIO);
        CHECK_EQ(r.failures[0].phase, RN_PHASE_TASK);
        CHECK(r.failures[0].site != NULL);
        CHECK_EQ(r.trigger, RN_REASON_SIBLING);
        CHECK_EQ(r.trigger_index, i);
        CHECK_EQ(r.trigger_code, -EIO);
        CHECK_EQ(r.ok, 0);
        CHECK_EQ(r.cancelled, 2);
        rn_report_fini(&r);
        rn_chan_unref(chan);
    }
}

RULE_TEST(report_R3_tells_who_gave_up_unasked)
{
    for (size_t i = 0; i < 2; i++) {
        rn_report r = RN_REPORT_INIT;
        rn_chan *chan = new_chan(sizeof(int), 0);
        rn_shield shield = rn_shield_push(); /* a shielded caller, too */
        rn_scope *s = open_reported(&r, 0);
        for (size_t k = 0; k < 2; k++)
            go(k == i ? end_with : wait_for_reason,
               k == i ? (void *)chan : NULL);
        send_int(chan, -ECANCELED);
        CHECK_EQ(rn_scope_close(s), -ECANCELED);
        rn_shield_restore(shield);
        CHECK_EQ(r.trigger, RN_REASON_SELF);
        CHECK_EQ(r.trigger_index, i);
        CHECK_EQ(r.count, 0);
        CHECK_EQ(r.cancelled, 2);
        rn_report_fini(&r);
        rn_chan_unref(chan);
    }
}

RULE_TEST(report_R3_all_give_up)
{
    int code = -ECANCELED;
    rn_report r = RN_REPORT_INIT;
    rn_scope *s = open_reported(&r, 0);
    int e = rn_go(s, end_at_once, &code), f = rn_go(s, end_at_once, &code);
    CHECK_EQ(e, 0);
    CHECK(f == 0 || f == -ECANCELED);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(r.trigger, RN_REASON_SELF);
    CHECK_EQ(r.cancelled, f == 0 ? 2 : 1);
    CHECK_EQ(r.count, 0);
    rn_report_fini(&r);
}

/* ---- R2: finalizers have run -------------------------------------------- */

static int
finalize_slowly(void *count, int outcome)
{
    (void)outcome;
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_sleep(1000), 0);
    atomic_fetch_add((atomic_int *)count, 1);
    return 0;
}

struct ending {
    atomic_int *count;
    int code; /* how it ends; 1: it waits for a cancel */
};

static int
defer_and_end(void *arg)
{
    struct ending *ending = arg;
    CHECK_EQ(rn_defer(finalize_slowly, ending->count), 0);
    return ending->code <= 0 ? ending->code : wait_for_reason(NULL);
}

/* Ends that need no outside, then those that do. */
RULE_TEST(report_R2_finalizers_have_run_in_all_endings)
{
    static const int codes[][2] = {{0, 0},         {-EIO, 1},       {1, -EIO},
                                   {-EIO, -EPIPE}, {-ECANCELED, 1}, {1, 0}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        atomic_int count = 0;
        struct ending left = {&count, codes[i][0]},
                      right = {&count, codes[i][1]};
        rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        rn_shield shield = rn_shield_push(); /* this body is told, too */
        int begun = rn_go(s, defer_and_end, &left) == 0;
        begun += rn_go(s, defer_and_end, &right) == 0;
        rn_shield_restore(shield);
        CHECK_GE(begun, 1);
        if (codes[i][0] == 1 && codes[i][1] == 0)
            rn_scope_cancel(outer);
        rn_scope_close(s);
        /* one that was told before it began has deferred nothing */
        CHECK_LE(atomic_load(&count), begun);
        CHECK(atomic_load(&count) >= 1 || codes[i][0] == 1);
        close_cancelled(outer);
    }
}

/* An outer cancel reaches both, and both clean up before the close returns. */
RULE_TEST(report_R2_an_outer_cancel_reaches_all)
{
    atomic_int count = 0;
    struct ending e = {&count, 1};
    rn_report r = RN_REPORT_INIT;
    rn_scope *outer = open_scope(RN_NEVER), *s = open_reported(&r, 0);
    go(defer_and_end, &e);
    go(defer_and_end, &e);
    settle();
    rn_scope_cancel_with(outer, 9);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    CHECK_EQ(r.trigger, RN_REASON_PARENT);
    CHECK_EQ(r.trigger_code, 9);
    CHECK_EQ(r.cancelled, 2);
    CHECK_LE(atomic_load(&count), 2);
    if (rn_sim_active())
        CHECK_EQ(atomic_load(&count), 2);
    close_cancelled(outer);
    rn_report_fini(&r);
}

static int
shield_and_send(void *chan)
{
    rn_shield shield = rn_shield_push();
    send_int(chan, 1);
    CHECK_EQ(recv_int(chan), 2);
    rn_shield_restore(shield);
    CHECK_EQ(rn_yield(), -ECANCELED);
    return -ECANCELED;
}

/* R2: an error while a sibling is shielded waits for it. */
RULE_TEST(report_R2_waits_for_a_shielded_sibling)
{
    rn_chan *chan = new_chan(sizeof(int), 0);
    int eio = -EIO;
    rn_scope *s = open_scope(RN_NEVER);
    go(shield_and_send, chan);
    CHECK_EQ(recv_int(chan), 1);
    go(end_at_once, &eio);
    while (rn_yield() == 0) /* until it has failed */
        continue;
    rn_shield shield = rn_shield_push();
    send_int(chan, 2);
    rn_shield_restore(shield);
    CHECK_EQ(rn_scope_close(s), -EIO);
    rn_chan_unref(chan);
}

/* R3: a time-out around one that gives up is not waited for. */
RULE_TEST(report_R3_a_deadline_is_not_waited_for)
{
    int code = -ECANCELED;
    rn_time start = rn_now();
    rn_scope *s = open_scope(start + 24 * 3600 * RN_SEC);
    go(wait_for_reason, NULL);
    go(end_at_once, &code);
    CHECK_EQ(rn_scope_close(s), -ECANCELED);
    if (rn_sim_active())
        CHECK_EQ(rn_now(), start);
}

RULE_TEST(report_R2_finalizers_have_run_after_a_deadline)
{
    atomic_int count = 0;
    struct ending e = {&count, 1};
    rn_chan *chan = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(defer_and_end, &e);
    settle();
    CHECK_EQ(rn_scope_set_deadline(s, rn_now() + RN_MS), 0);
    CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
    CHECK_LE(atomic_load(&count), 1);
    if (rn_sim_active())
        CHECK_EQ(atomic_load(&count), 1);
    rn_chan_unref(chan);
}

/* ---- R4: precedence ----------------------------------------------------- */

RULE_TEST(report_R4_error_beats_deadline_beats_cancel)
{
    int eio = -EIO;
    for (int i = 0; i < 3; i++) {
        rn_report r = RN_REPORT_INIT;
        rn_scope *s = open_reported(&r, 0);
        go(wait_for_reason, NULL);
        if (i == 2)
            go(end_with_when_cancelled, &eio);
        settle(); /* for real the last may not have begun */
        if (i >= 1)
            CHECK_EQ(rn_scope_set_deadline(s, rn_now()), 0);
        else
            rn_scope_cancel_with(s, 33);
        int e = rn_scope_close(s);
        CHECK_EQ(e, r.status);
        CHECK(e == (i == 0 ? -ECANCELED : -ETIMEDOUT) || (i == 2 && e == -EIO));
        if (i == 2 && rn_sim_active())
            CHECK_EQ(e, -EIO);
        CHECK_EQ(r.trigger, i == 0 ? RN_REASON_USER : RN_REASON_DEADLINE);
        CHECK_EQ(r.trigger_code, i == 0 ? 33 : -ETIMEDOUT);
        CHECK_EQ(r.trigger_index, RN_INDEX_NONE);
        rn_report_fini(&r);
    }
}

/* A cancel that comes after all have succeeded stays for the next point. */
RULE_TEST(report_R4_success_beats_a_later_cancel)
{
    int zero = 0;
    rn_report r = RN_REPORT_INIT;
    rn_scope *outer = open_scope(RN_NEVER), *s = open_reported(&r, 0);
    rn_task_options none = {NULL};
    rn_task t;
    CHECK_EQ(rn_task_spawn(s, end_at_once, &zero, &none, &t), 0);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_scope_cancel(outer);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(r.status, 0);
    CHECK_EQ(r.ok, 1);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_scope_close(outer), 0);
    CHECK_EQ(rn_yield(), 0);
    rn_report_fini(&r);
}

/* ---- R5: all errors ----------------------------------------------------- */

static int
fail_with_payload(void *drops)
{
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return rn_fail(-ENOSPC, drops, NULL);
}

static void
count_drop(void *payload)
{
    atomic_fetch_add((atomic_int *)payload, 1);
}

static int
wait_then_fail(void *drops)
{
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return rn_fail(-EPIPE, drops, count_drop);
}

RULE_TEST(report_R5_lists_all_in_order)
{
    atomic_int drops = 0;
    rn_report r = RN_REPORT_INIT;
    rn_chan *chan = new_chan(sizeof(int), 0);
    rn_scope *s = open_reported(&r, 0);
    go(wait_then_fail, &drops);
    go(wait_then_fail, &drops);
    go(end_with, chan);
    go(fail_with_payload, &drops);
    settle();
    if (rn_sim_active()) { /* all have begun */
        send_int(chan, -EIO);
        CHECK_EQ(rn_scope_close(s), -EIO);
        CHECK_EQ(r.count, 4);
        static const size_t index[] = {2, 0, 1, 3};
        static const int code[] = {-EIO, -EPIPE, -EPIPE, -ENOSPC};
        for (size_t i = 0; i < 4; i++) {
            CHECK_EQ(r.failures[i].index, index[i]);
            CHECK_EQ(r.failures[i].code, code[i]);
            CHECK(r.failures[i].payload == (i == 0 ? NULL : (void *)&drops));
        }
    } else {
        send_int(chan, -EIO);
        CHECK_EQ(rn_scope_close(s), -EIO);
        CHECK_EQ(r.failures[0].index, 2);
        for (size_t i = 2; i < r.count; i++)
            CHECK_LT(r.failures[i - 1].index, r.failures[i].index);
    }
    size_t owned = 0;
    for (size_t i = 0; i < r.count; i++)
        owned += r.failures[i].drop != NULL;
    CHECK_EQ(atomic_load(&drops), 0);
    CHECK_EQ(r.more, 0);
    rn_report_fini(&r);
    CHECK_EQ(atomic_load(&drops), owned);
    CHECK_EQ(r.count, 0);
    rn_chan_unref(chan);
}

static uint64_t
unheard(void)
{
    rn_stats stats;
    rn_stats_get(&stats);
    return stats.unheard;
}

/* There is room for three; the rest is counted, and dropped once. */
RULE_TEST(report_R5_overflow_is_counted)
{
    enum { TASKS = 7, ROOM = 3 };
    atomic_int drops = 0;
    rn_failure room[ROOM];
    rn_report r = RN_REPORT_INIT;
    r.failures = room;
    r.capacity = ROOM;
    rn_scope *s = open_reported(&r, RN_SCOPE_COLLECT);
    for (int i = 0; i < TASKS; i++)
        go(wait_then_fail, &drops);
    settle();
    rn_scope_cancel(s);
    int e = rn_scope_close(s);
    CHECK_EQ(r.count + r.more + r.cancelled, TASKS);
    CHECK_EQ(unheard(), r.more);
    CHECK_EQ(atomic_load(&drops), (int)r.more);
    if (rn_sim_active()) {
        CHECK_EQ(e, -EPIPE);
        CHECK_EQ(r.count, ROOM);
        CHECK_EQ(r.more, TASKS - ROOM);
    }
    int listed = (int)r.count;
    int before = atomic_load(&drops);
    rn_report_fini(&r);
    CHECK_EQ(atomic_load(&drops), before + listed);
}

/* Without a report: one error is what close returns, all others are told. */
RULE_TEST(report_R5_without_one_the_others_are_told)
{
    int codes[3] = {-EIO, -EPIPE, -ENOSPC};
    rn_scope_options options = {.flags = RN_SCOPE_COLLECT};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    go(end_at_once, &codes[0]);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(unheard(), 0);
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    for (int i = 0; i < 3; i++)
        go(end_at_once, &codes[i]);
    CHECK_LT(rn_scope_close(s), 0);
    CHECK_EQ(unheard(), 2);
}

struct told {
    atomic_int count, sum, drops;
};

static void
tell(const rn_failure *failure, void *arg)
{
    struct told *told = arg;
    atomic_fetch_add(&told->count, 1);
    atomic_fetch_add(&told->sum, failure->code);
    CHECK_EQ(atomic_load(&told->drops), 0); /* its payload is whole */
    CHECK(failure->payload == told);
}

static void
drop_told(void *arg)
{
    atomic_fetch_add(&((struct told *)arg)->drops, 1);
}

static int
fail_last(void *arg)
{
    return rn_fail(-ENOSPC, arg, drop_told);
}

static int
fail_twice(void *arg)
{
    int eio = -EIO;
    rn_scope_options options = {.flags = RN_SCOPE_COLLECT};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    rn_task first;
    CHECK_EQ(rn_task_spawn(s, end_at_once, &eio, NULL, &first), 0);
    CHECK_EQ(rn_task_join(first, RN_NEVER, NULL), 0);
    go(fail_last, arg);
    CHECK_EQ(rn_scope_close(s), -EIO);
    return 0;
}

TEST(report_R5_the_hook_is_told)
{
    struct told told = {0};
    rn_options options = {.on_error = tell, .on_error_arg = &told};
    CHECK_EQ(rn_run(&options, fail_twice, &told), 0);
    CHECK_EQ(atomic_load(&told.count), 1);
    CHECK_EQ(atomic_load(&told.sum), -ENOSPC);
    CHECK_EQ(atomic_load(&told.drops), 1);
}

static int
fail_twice_silently(void *arg)
{
    struct told told = {0};
    (void)arg;
    return fail_twice(&told);
}

static void
run_silently(void *arg)
{
    CHECK_EQ(rn_run(NULL, fail_twice_silently, arg), 0);
}

TEST(report_R5_without_a_hook_it_is_printed)
{
    struct test_child child = test_fork(run_silently, NULL, 60);
    CHECK_EQ(child.status, 0);
    CHECK_HAS(child.text, "a task failed with -28 and nobody is told");
    free(child.text);
}

static int
fail_otherwise(void *drops)
{
    CHECK_EQ(rn_fail(-EIO, drops, count_drop), -EIO);
    CHECK_EQ(rn_fail(-EPIPE, drops, count_drop), -EPIPE); /* drops the first */
    CHECK_EQ(atomic_load((atomic_int *)drops), 1);
    return -ENOSPC; /* drops the second */
}

static int
succeed_after_all(void *drops)
{
    CHECK_EQ(rn_fail(-EIO, drops, count_drop), -EIO);
    return 0;
}

RULE_TEST(report_R5_a_payload_is_dropped_once)
{
    atomic_int drops = 0;
    rn_report r = RN_REPORT_INIT;
    rn_scope *s = open_reported(&r, RN_SCOPE_COLLECT);
    go(fail_otherwise, &drops);
    CHECK_EQ(rn_scope_close(s), -ENOSPC);
    CHECK_EQ(r.count, 1);
    CHECK(r.failures[0].payload == NULL);
    CHECK_EQ(atomic_load(&drops), 2);
    s = open_reported(&r, 0); /* begins anew */
    go(succeed_after_all, &drops);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(r.count, 0);
    CHECK_EQ(r.ok, 1);
    CHECK_EQ(atomic_load(&drops), 3);
    s = open_scope(RN_NEVER); /* without a report */
    rn_task t = go_joinable(wait_then_fail, &drops);
    settle();
    rn_scope_cancel(s);
    int e = rn_scope_close(s);
    CHECK_EQ(atomic_load(&drops), e == -EPIPE ? 4 : 3);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), -ESRCH);
    atomic_store(&drops, 0);
    s = open_reported(&r, 0); /* of a body that gives up */
    e = rn_fail(-ECANCELED, &drops, count_drop);
    CHECK_EQ(rn_scope_close_with(s, e), -ECANCELED);
    CHECK_EQ(r.count, 0);
    CHECK_EQ(atomic_load(&drops), 1);
    rn_report_fini(&r);
}

/* Many, so that the sort has work; each index once, in order. */
API_TEST_SCHEDULES(report_R5_sorts_many, 20)
{
    enum { TASKS = 100 };
    static int eio = -EIO;
    rn_failure room[TASKS];
    rn_report r = RN_REPORT_INIT;
    r.failures = room;
    r.capacity = TASKS;
    rn_scope *s = open_reported(&r, RN_SCOPE_COLLECT);
    for (int i = 0; i < TASKS; i++)
        go(end_at_once, &eio);
    CHECK_EQ(rn_scope_close(s), -EIO);
    CHECK_EQ(r.count, TASKS);
    size_t sum = r.failures[0].index;
    for (size_t i = 1; i < TASKS; i++) {
        CHECK(i == 1 || r.failures[i - 1].index < r.failures[i].index);
        sum += r.failures[i].index;
    }
    CHECK_EQ(sum, TASKS * (TASKS - 1) / 2);
    rn_report_fini(&r);
}

/* ---- R15: the body is a child ------------------------------------------- */

RULE_TEST(report_R15_a_body_fails_like_a_child)
{
    rn_reason sibling = RN_REASON_SIBLING;
    rn_report r = RN_REPORT_INIT;
    atomic_int drops = 0;
    rn_scope *s = open_reported(&r, 0);
    go(wait_for_reason, &sibling);
    CHECK_EQ(rn_scope_close_with(s, rn_fail(-EIO, &drops, count_drop)), -EIO);
    CHECK_EQ(r.count, 1);
    CHECK_EQ(r.failures[0].phase, RN_PHASE_BODY);
    CHECK_EQ(r.failures[0].index, RN_INDEX_NONE);
    CHECK(r.failures[0].payload == &drops);
    CHECK_EQ(r.trigger, RN_REASON_SIBLING);
    CHECK_EQ(r.trigger_index, RN_INDEX_NONE);
    CHECK_EQ(r.cancelled, 1);
    s = open_reported(&r, 0);
    CHECK_EQ(atomic_load(&drops), 1);
    go(wait_for_reason, NULL);
    CHECK_EQ(rn_scope_close_with(s, -ECANCELED), -ECANCELED); /* unasked */
    CHECK_EQ(r.trigger, RN_REASON_SELF);
    CHECK_EQ(r.trigger_index, RN_INDEX_NONE);
    rn_report_fini(&r);
}

static int
count_up(void *arg)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_yield(), 0);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

RULE_TEST(report_R15_a_good_body_cancels_nothing)
{
    atomic_int count = 0;
    rn_report r = RN_REPORT_INIT;
    rn_scope *s = open_reported(&r, 0);
    go(count_up, &count);
    go(count_up, &count);
    CHECK_EQ(rn_scope_close_with(s, 42), 42);
    CHECK_EQ(r.status, 42);
    CHECK_EQ(atomic_load(&count), 2);
}

/* A body that was told and says so is no error. */
RULE_TEST(report_R15_a_body_may_pass_a_cancel_on)
{
    rn_report r = RN_REPORT_INIT;
    rn_scope *s = open_reported(&r, 0);
    rn_scope_cancel_with(s, 5);
    CHECK_EQ(rn_scope_close_with(s, rn_yield()), -ECANCELED);
    CHECK_EQ(r.trigger, RN_REASON_USER);
    CHECK_EQ(r.trigger_code, 5);
    CHECK_EQ(r.count, 0);
    rn_report_fini(&r);
}

/* ---- R18: supervision, R16: what is refused ------------------------------ */

RULE_TEST(report_R18_collects_every_outcome)
{
    int codes[3] = {-EIO, 7, -ECANCELED};
    atomic_int count = 0;
    rn_outcome outcomes[6];
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {.flags = RN_SCOPE_COLLECT,
                                .report = &r,
                                .outcomes = outcomes,
                                .outcome_room = 6};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    for (int i = 0; i < 3; i++)
        go(end_at_once, &codes[i]);
    go(count_up, &count);
    CHECK_EQ(rn_yield(), 0); /* nothing is cancelled */
    CHECK_EQ(rn_scope_close(s), -EIO);
    static const rn_outcome expected[] = {
        RN_OUTCOME_ERR, RN_OUTCOME_OK,      RN_OUTCOME_CANCELLED,
        RN_OUTCOME_OK,  RN_OUTCOME_NOT_RUN, RN_OUTCOME_NOT_RUN};
    for (int i = 0; i < 6; i++)
        CHECK_EQ(outcomes[i], expected[i]);
    CHECK_EQ(atomic_load(&count), 1);
    CHECK_EQ(r.trigger, RN_REASON_NONE);
    CHECK_EQ(r.ok, 2);
    CHECK_EQ(r.cancelled, 1);
    CHECK_EQ(r.count, 1);
    rn_report_fini(&r);
}

RULE_TEST(report_R16_a_cancelled_scope_takes_none)
{
    int touched = 42;
    rn_outcome outcome = RN_OUTCOME_OK;
    rn_report r = RN_REPORT_INIT;
    rn_scope_options options = {
        .report = &r, .outcomes = &outcome, .outcome_room = 1};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&options, &s), 0);
    rn_scope_cancel(s);
    CHECK_EQ(rn_go(s, end_at_once, &touched), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(outcome, RN_OUTCOME_NOT_RUN);
    CHECK_EQ(r.ok + r.cancelled + r.count, 0);
    options.flags = 1u << 20;
    rn_scope *untouched = s;
    CHECK_EQ(rn_scope_open_with(&options, &s), -EINVAL);
    CHECK(s == untouched);
    rn_report_fini(&r);
}

/* A zeroed struct means no deadline, and no report. */
RULE_TEST(report_zeroed_options_are_the_defaults)
{
    rn_scope_options zero = {0};
    rn_scope *s;
    CHECK_EQ(rn_scope_open_with(&zero, &s), 0);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_scope_open_with(NULL, &s), 0);
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    zero.deadline = -1;
    CHECK_EQ(rn_scope_open_with(&zero, &s), 0);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
}

API_PANICS(report_a_failure_has_a_negative_code, "not negative")
{
    rn_fail(0, NULL, NULL);
}
