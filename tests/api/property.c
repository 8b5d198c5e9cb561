/* property.c - tests of runnel/property.h: properties, invariants, the fair
 * tail, harness tasks.
 */
#include "world.h"

#include <errno.h>
#include <stdio.h>

static rn_sim_report
search(rn_sim_options options, rn_task_fn *fn, void *arg)
{
    rn_sim_report report;
    CHECK_EQ(rn_sim_explore(&options, fn, arg, &report), 0);
    fprintf(stderr, "%s: %s\n", rn_sim_verdict_name(report.verdict),
            report.text ? report.text : "");
    return report;
}

/* ---- always, unreachable ------------------------------------------------- */

SIM_FINDS_TEXT(property_always_fails_the_schedule, RN_SIM_ASSERT,
               "does not always hold|less than seven|property.c")
{
    rn_sim_always(rn_sim_choose(10) < 7, "less than seven");
}

SIM_FINDS_TEXT(property_unreachable_fails_the_schedule, RN_SIM_ASSERT,
               "was reached|number seven|property.c")
{
    if (rn_sim_choose(10) == 7)
        rn_sim_unreachable("number seven");
}

API_TEST(property_that_holds_is_silent)
{
    uint32_t n = rn_sim_choose(10);
    rn_sim_always(n < 10, "in range");
    rn_sim_sometimes(n < 10, "also in range");
    rn_sim_reachable("here");
    rn_sim_expect("here");
    if (n > 9)
        rn_sim_unreachable("out of range");
}

static int
break_a_property(void *arg)
{
    rn_sim_always(arg != NULL, "there is an argument");
    return 0;
}

TEST_DIES_WITH(property_always_panics_for_real, "there is an argument",
               -SIGABRT)
{
    rn_run(NULL, break_a_property, NULL);
}

static int
reach(void *arg)
{
    (void)arg;
    rn_sim_unreachable("this line");
    return 0;
}

TEST_DIES_WITH(property_unreachable_panics_for_real, "this line", -SIGABRT)
{
    rn_run(NULL, reach, NULL);
}

/* ---- over the whole search ----------------------------------------------- */

static int
want_the_number(void *arg)
{
    uint32_t n = rn_sim_choose(10);
    rn_sim_expect("a number was drawn");
    rn_sim_reachable("a number was drawn");
    rn_sim_sometimes(n == *(uint32_t *)arg, "the wanted number");
    return 0;
}

TEST(property_never_seen_is_told_at_the_end)
{
    uint32_t wanted = 10;
    rn_sim_report r =
        search((rn_sim_options){.schedules = 50}, want_the_number, &wanted);
    CHECK_EQ(r.verdict, RN_SIM_UNSEEN);
    CHECK_EQ(r.schedules, 50);
    CHECK(r.token == NULL);
    CHECK_HAS(r.text, "\"the wanted number\": asked 50 times");
    CHECK_HAS(r.text, "1 property");
    rn_sim_report_fini(&r);
}

/* What one schedule has seen counts for all. */
TEST(property_seen_once_is_enough)
{
    for (uint32_t wanted = 0; wanted < 10; wanted++) {
        rn_sim_report r = search((rn_sim_options){.schedules = 200},
                                 want_the_number, &wanted);
        CHECK_EQ(r.verdict, RN_SIM_PASS);
        CHECK_EQ(r.schedules, 200);
        CHECK(r.text == NULL);
        rn_sim_report_fini(&r);
    }
}

static int
expect_more_than_happens(void *arg)
{
    rn_sim_expect("main has an argument");
    rn_sim_expect("main runs");
    rn_sim_always(1, "main runs");
    if (arg)
        rn_sim_reachable("main has an argument");
    return 0;
}

TEST(property_expected_and_not_reached_is_told)
{
    rn_sim_report r = search((rn_sim_options){.schedules = 10},
                             expect_more_than_happens, NULL);
    CHECK_EQ(r.verdict, RN_SIM_UNSEEN);
    CHECK_HAS(r.text, "\"main has an argument\": expected, and no schedule");
    CHECK(!strstr(r.text, "main runs"));
    rn_sim_report_fini(&r);
    r = search((rn_sim_options){.schedules = 10}, expect_more_than_happens,
               (void *)want_the_number);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

/* One schedule is not a search; a finding comes first. */
TEST(property_unseen_is_for_whole_searches)
{
    rn_sim_report r;
    uint32_t wanted = 10;
    CHECK_EQ(rn_sim_run(NULL, want_the_number, &wanted, &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
    r = search((rn_sim_options){.token = "s-7"}, want_the_number, &wanted);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

static int
use_many_names(void *arg)
{
    char name[16];
    for (int i = 0; i < *(int *)arg; i++) {
        snprintf(name, sizeof name, "p%d", i);
        rn_sim_reachable(name);
    }
    return 0;
}

TEST(property_names_have_a_limit)
{
    int n = 256;
    rn_sim_report r =
        search((rn_sim_options){.schedules = 2}, use_many_names, &n);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
    n = 257;
    r = search((rn_sim_options){.schedules = 2}, use_many_names, &n);
    CHECK_EQ(r.verdict, RN_SIM_PANIC);
    CHECK_HAS(r.text, "256 names");
    rn_sim_report_fini(&r);
}

/* Of a program: the state is kept over its processes. */
static int
program_main(void *arg)
{
    uint32_t wanted = arg ? 10 : 3;
    return want_the_number(&wanted);
}

TEST(property_program_sees_three)
{
    CHECK_EQ(rn_run(NULL, program_main, NULL), 0);
}

TEST(property_program_never_sees_ten)
{
    CHECK_EQ(rn_run(NULL, program_main, (void *)program_main), 0);
}

static rn_sim_report
search_program(const char *test, int jobs)
{
    rn_sim_options options = {.schedules = 60, .jobs = jobs};
    rn_sim_report r;
    char *argv[] = {(char *)"/proc/self/exe", (char *)"--in-place",
                    (char *)test, NULL};
    if (test_env("TEST_EMULATOR", 0))
        test_skip("runs under an emulator");
    CHECK_EQ(rn_sim_program(&options, argv, &r), 0);
    return r;
}

TEST(property_of_a_program_is_kept_over_processes)
{
    for (int jobs = 1; jobs <= 3; jobs++) {
        rn_sim_report r = search_program("property_program_sees_three", jobs);
        CHECK_EQ(r.verdict, RN_SIM_PASS);
        rn_sim_report_fini(&r);
        r = search_program("property_program_never_sees_ten", jobs);
        CHECK_EQ(r.verdict, RN_SIM_UNSEEN);
        CHECK_HAS(r.text, "asked 60 times"); /* by all of them together */
        CHECK(r.token == NULL);
        rn_sim_report_fini(&r);
    }
}

/* ---- invariants ---------------------------------------------------------- */

struct account {
    rn_mutex lock;
    int balance[2];
    bool careful;
};

static int
balanced(void *arg)
{
    struct account *a = arg;
    return a->balance[0] + a->balance[1] == 100;
}

static int
move_money(void *arg)
{
    struct account *a = arg;
    CHECK_EQ(rn_mutex_lock(&a->lock, RN_NEVER), 0);
    a->balance[0] -= 10;
    if (!a->careful)
        CHECK_EQ(rn_yield(), 0); /* a step in between */
    a->balance[1] += 10;
    rn_mutex_unlock(&a->lock);
    return 0;
}

static void
bank(bool careful)
{
    struct account a = {RN_MUTEX_INIT, {50, 50}, careful};
    rn_sim_invariant("the sum is 100", balanced, &a);
    rn_scope *s = open_scope(RN_NEVER);
    go_named("alice", move_money, &a);
    go_named("bob", move_money, &a);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_sim_invariant_end(balanced, &a);
}

/* The lock was taken, then the sum was wrong. */
SIM_FINDS_TEXT(invariant_failure_names_the_step, RN_SIM_ASSERT,
               "invariant \"the sum is 100\" does not hold after step|"
               "lock mutex#|property.c|last steps")
{
    bank(false);
}

API_TEST(invariant_that_holds_is_silent)
{
    bank(true);
}

static int
look_by_calls(void *arg)
{
    return rn_chan_len(arg) <= 1;
}

static int
send_two(void *arg)
{
    send_int(arg, 1);
    send_int(arg, 2);
    return 0;
}

/* What an invariant calls is no step, so it changes no schedule. */
static int
look_while_sending(void *arg)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    if (arg)
        rn_sim_invariant("there is room for one", look_by_calls, c);
    rn_task t = go_joinable(send_two, c);
    CHECK_EQ(recv_int(c), 1);
    CHECK_EQ(recv_int(c), 2);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    if (arg)
        rn_sim_invariant_end(look_by_calls, c);
    rn_chan_unref(c);
    return 0;
}

TEST(invariant_changes_no_schedule)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        rn_sim_options options = {.seed = seed};
        rn_sim_report with, without;
        CHECK_EQ(rn_sim_run(&options, look_while_sending, NULL, &without), 0);
        CHECK_EQ(rn_sim_run(&options, look_while_sending,
                            (void *)look_while_sending, &with),
                 0);
        CHECK_EQ(with.verdict, RN_SIM_PASS);
        CHECK_EQ(with.digest, without.digest);
        rn_sim_report_fini(&with);
        rn_sim_report_fini(&without);
    }
}

SIM_FINDS_TEXT(invariant_too_many_panic, RN_SIM_PANIC, "32 invariants")
{
    for (int i = 0; i < 33; i++)
        rn_sim_invariant("yes", look_by_calls, NULL);
}

/* ---- the fair tail ------------------------------------------------------- */

/* Each steps back when it sees the other: in a fair schedule both do, again
 * and again, for ever. */
struct side {
    rn_atomic *mine, *other;
    rn_chan *start; /* closed when both have come */
    bool stubborn;
};

static int
pass_the_corridor(void *arg)
{
    struct side *s = arg;
    CHECK_EQ(rn_chan_recv(s->start, NULL, RN_NEVER), -EPIPE);
    for (;;) {
        rn_atomic_store(s->mine, 1);
        if (s->stubborn || !rn_atomic_load(s->other))
            break;
        rn_atomic_store(s->mine, 0);
    }
    rn_sim_progressed();
    rn_atomic_store(s->mine, 0);
    return 0;
}

static void
corridor(bool stubborn)
{
    rn_atomic a = RN_ATOMIC_INIT(0), b = RN_ATOMIC_INIT(0);
    rn_chan *start = new_chan(0, 0);
    struct side left = {&a, &b, start, false};
    struct side right = {&b, &a, start, stubborn};
    rn_scope *s = open_scope(RN_NEVER);
    go_named("left", pass_the_corridor, &left);
    go_named("right", pass_the_corridor, &right);
    settle();
    rn_sim_fair_begin(500);
    rn_chan_close(start);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_sim_fair_end();
    rn_chan_unref(start);
}

SIM_FINDS_TEXT(fair_livelock_is_found, RN_SIM_NO_PROGRESS,
               "nothing got done in 500 steps|left|right|who made the last")
{
    corridor(false);
}

API_TEST(fair_schedule_with_progress_is_silent)
{
    corridor(true);
}

struct shop {
    rn_atomic open;
    bool fair;
};

static int
be_served(void *arg)
{
    struct shop *shop = arg;
    while (rn_atomic_load(&shop->open)) {
        CHECK_EQ(rn_yield(), 0);
        rn_sim_progressed();
    }
    return 0;
}

static int
be_passed_over(void *arg)
{
    struct shop *shop = arg;
    rn_sim_progressed();
    while (rn_atomic_load(&shop->open)) {
        CHECK_EQ(rn_yield(), 0);
        if (shop->fair)
            rn_sim_progressed();
    }
    return 0;
}

static void
serve(bool fair)
{
    struct shop shop = {RN_ATOMIC_INIT(1), fair};
    rn_scope *s = open_scope(RN_NEVER);
    go_named("regular", be_served, &shop);
    go_named("stranger", be_passed_over, &shop);
    rn_sim_fair_begin(300);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(rn_yield(), 0);
    rn_sim_fair_end();
    rn_atomic_store(&shop.open, 0);
    CHECK_EQ(rn_scope_close(s), 0);
}

SIM_FINDS_TEXT(fair_starved_task_is_found, RN_SIM_STARVATION,
               "has got nothing done in 300 steps|stranger")
{
    serve(false);
}

SIM_TEST(fair_served_tasks_are_silent)
{
    serve(true);
}

/* Turns of one step each: nothing is left to choose. */
static int
count_turns(void *arg)
{
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rn_yield(), 0);
        ++*(int *)arg;
    }
    return 0;
}

static int
take_turns(void *arg)
{
    int a = 0, b = 0;
    (void)arg;
    rn_sim_fair_begin(0);
    rn_task x = go_joinable(count_turns, &a);
    rn_task y = go_joinable(count_turns, &b);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rn_yield(), 0);
        CHECK_LE(a - b, 1);
        CHECK_LE(b - a, 1);
    }
    CHECK_EQ(rn_task_join(x, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_task_join(y, RN_NEVER, NULL), 0);
    return 0;
}

TEST(fair_schedule_takes_turns)
{
    rn_sim_report r =
        search((rn_sim_options){.schedules = 20}, take_turns, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.distinct, 1);
    rn_sim_report_fini(&r);
}

/* ---- harness tasks ------------------------------------------------------- */

static int
append(void *arg)
{
    rn_chan *c = arg;
    rn_sim_harness();
    for (int i = 0; i < 3; i++)
        send_int(c, i);
    return 0;
}

static int
order_of_a_harness(void *arg)
{
    rn_chan *c = new_chan(sizeof(int), 10);
    (void)arg;
    rn_sim_harness();
    go(append, c);
    go(append, c);
    CHECK_EQ(rn_yield(), 0);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(recv_int(c), i % 3); /* one after the other */
    rn_chan_unref(c);
    return 0;
}

/* Once they are the harness, which they are from their first step on. */
TEST(harness_tasks_are_not_reordered)
{
    rn_sim_report r =
        search((rn_sim_options){.schedules = 200}, order_of_a_harness, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

struct watched {
    rn_chan *chan;
    int sent;
};

static int
send_and_count(void *arg)
{
    struct watched *w = arg;
    for (int i = 0; i < 3; i++) {
        send_int(w->chan, i);
        w->sent++;
    }
    return 0;
}

/* It goes on as soon as it can: no sender gets two steps ahead of it. */
SIM_TEST(harness_goes_on_at_once)
{
    struct watched w = {new_chan(sizeof(int), 10), 0};
    rn_sim_harness();
    rn_task t = go_joinable(send_and_count, &w);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(recv_int(w.chan), i);
        CHECK_LE(w.sent, i + 1);
    }
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_chan_unref(w.chan);
}

REAL_TEST(property_calls_are_nothing_for_real)
{
    int x = 0;
    rn_sim_harness();
    rn_sim_sometimes(0, "never");
    rn_sim_reachable("here");
    rn_sim_expect("nothing");
    rn_sim_invariant("no", balanced, &x);
    rn_sim_invariant_end(balanced, &x);
    rn_sim_fair_begin(1);
    CHECK_EQ(rn_yield(), 0);
    rn_sim_progressed();
    rn_sim_fair_end();
    rn_sim_always(1, "true");
}
