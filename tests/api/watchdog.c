/* watchdog.c - tests of runnel/run.h: tasks that do not yield. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Short, where a report is waited for. */
#define SHORT (20 * RN_MS)

__attribute__((noinline)) static void
spin(void)
{
    static atomic_int turns;
    for (int i = 0; i < 100; i++)
        atomic_fetch_add(&turns, 1);
}

/* How often each of these was reported. */
static atomic_int hog_reports, again_reports, other_reports;

static void
count_report(const char *task, void *arg)
{
    (void)arg;
    if (strcmp(task, "hog") == 0)
        atomic_fetch_add(&hog_reports, 1);
    else if (strcmp(task, "again") == 0)
        atomic_fetch_add(&again_reports, 1);
    else
        atomic_fetch_add(&other_reports, 1);
}

static rn_options
options_of(int workers, rn_time limit)
{
    return (rn_options){
        .workers = workers, .watchdog = limit, .on_slow = count_report};
}

/* ---- what is reported ---------------------------------------------------- */

__attribute__((noinline)) static void
burn_until_reported(int times)
{
    while (atomic_load(&hog_reports) < times)
        spin();
}

/* Two stretches: if the machine stands still at the start of the first, that is
 * where it is reported. Throughout the second it is in this function. */
__attribute__((noinline)) static void
burn_twice(void)
{
    burn_until_reported(1);
    CHECK_EQ(rn_yield(), 0);
    burn_until_reported(2);
    CHECK_GE(atomic_load(&hog_reports), 2); /* no tail call */
}

static int
hog(void *arg)
{
    burn_twice();
    return arg ? 1 : 0;
}

static int
spawn_hog(void *arg)
{
    go_named("hog", hog, arg);
    return 0;
}

static void
run_hog(void *arg)
{
    rn_options options = *(rn_options *)arg;
    int e = rn_run(&options, spawn_hog, NULL);
    if (e == -EINVAL)
        test_skip("that context does not work here");
    CHECK_EQ(e, 0);
    CHECK_EQ(hog_reports, 2);
}

static char *
output_of(rn_options options)
{
    struct test_child child = test_fork(run_hog, &options, 20);
    if (child.status != 0)
        FAIL("ended with %d: %s", child.status, child.text);
    return child.text;
}

static void
check_report(rn_options options)
{
    static const char start[] = "runnel: task \"hog\" (#2, spawned at ";
    char *text = output_of(options);
    double seconds = 0;
    char colon = 0;
    CHECK_HAS(text, start);
    const char *second = strstr(strstr(text, start) + 1, start);
    CHECK_HAS(second, "has not yielded");
    CHECK_EQ(sscanf(strstr(second, "has not yielded"),
                    "has not yielded for %lf s; it is at%c", &seconds, &colon),
             2);
    CHECK_EQ(colon, ':');
    CHECK_GE(seconds * 100, 2); /* ticks; a slow machine may take more */
    CHECK_HAS(second, "burn_twice");
    CHECK_HAS(second, "      hog");
    CHECK_HAS(second, "rn_yield");
    CHECK(!strstr(second, "rn__task_run"));
    CHECK(!strstr(second + 1, start)); /* once a stretch */
    free(text);
}

TEST(watchdog_reports_a_hog)
{
    for (int workers = 1; workers <= 3; workers++)
        check_report(options_of(workers, SHORT));
}

TEST(watchdog_reports_a_hog_on_ucontext)
{
    rn_options options = options_of(2, SHORT);
    options.backend = RN_BACKEND_UCONTEXT;
    check_report(options);
}

TEST(watchdog_reports_a_hog_on_threads)
{
    rn_options options = options_of(2, SHORT);
    options.backend = RN_BACKEND_THREAD;
    check_report(options);
}

static int
burn_main(void *arg)
{
    while (atomic_load(&other_reports) == 0)
        spin();
    return arg ? 1 : 0;
}

/* It never looks around: nothing but the monitor can see it. */
TEST(watchdog_reports_main)
{
    rn_options options = options_of(1, SHORT);
    CHECK_EQ(rn_run(&options, burn_main, NULL), 0);
    CHECK_EQ(other_reports, 1);
}

/* After all have slept for so long that the monitor does, too. */
static int
sleep_and_burn(void *arg)
{
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rn_sleep(150 * RN_MS), 0);
        while (atomic_load(&other_reports) <= i)
            spin();
    }
    return arg ? 1 : 0;
}

TEST(watchdog_wakes_with_the_workers)
{
    for (int workers = 1; workers <= 4; workers += 3) {
        rn_options options = options_of(workers, SHORT);
        atomic_store(&other_reports, 0);
        CHECK_EQ(rn_run(&options, sleep_and_burn, NULL), 0);
        CHECK_EQ(other_reports, 3);
    }
}

static int pipe_ends[2];

static void
write_to_pipe(const char *task, void *arg)
{
    CHECK_STR(task, "main");
    CHECK_EQ(write(pipe_ends[1], arg, 1), 1);
}

static int
read_from_pipe(void *arg)
{
    char byte = 0;
    CHECK_EQ(read(pipe_ends[0], &byte, 1), 1);
    CHECK_EQ(byte, *(char *)arg);
    return 0;
}

/* A system call is reported, and goes on. */
TEST(watchdog_leaves_a_system_call)
{
    char byte = 'x';
    rn_options options = {.workers = 2,
                          .watchdog = SHORT,
                          .on_slow = write_to_pipe,
                          .on_slow_arg = &byte};
    if (TEST_SANITIZED == TEST_SANITIZE_THREAD)
        test_skip("ThreadSanitizer keeps a signal until the call is over");
    CHECK_EQ(pipe(pipe_ends), 0);
    CHECK_EQ(rn_run(&options, read_from_pipe, &byte), 0);
}

static int
burn_without_signals(void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    while (atomic_load(&other_reports) == 0)
        spin();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return arg ? 1 : 0;
}

/* The late signal does no harm. */
TEST(watchdog_reports_who_blocks_signals)
{
    rn_options options = options_of(1, SHORT);
    CHECK_EQ(rn_run(&options, burn_without_signals, NULL), 0);
    CHECK_EQ(other_reports, 1);
}

/* ---- what is not --------------------------------------------------------- */

/* Hogs three times, with a yield in between. */
static int
burn_again(void *arg)
{
    for (int i = 0; i < 3; i++) {
        while (atomic_load(&again_reports) <= i)
            spin();
        CHECK_EQ(rn_yield(), 0);
    }
    return arg ? 1 : 0;
}

static int
burn_meanwhile(void *arg)
{
    while (atomic_load(&again_reports) < 3)
        spin();
    return arg ? 1 : 0;
}

/* One stretch that goes on after its report. */
static int
burn_beyond_report(void *arg)
{
    burn_until_reported(1);
    CHECK_EQ(rn_chan_send(arg, NULL, RN_NOW), 0); /* no yield */
    return burn_meanwhile(NULL);
}

static int
spawn_both(void *arg)
{
    rn_chan *reported = new_chan(0, 1);
    rn_scope *s = open_scope(RN_NEVER);
    go_named("hog", burn_beyond_report, reported);
    CHECK_EQ(rn_chan_recv(reported, NULL, RN_NEVER), 0);
    go_named("again", burn_again, arg);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(reported);
    return 0;
}

/* The machine may stand still before or after one of the three. */
TEST(watchdog_reports_each_stretch_once)
{
    rn_options options = options_of(3, SHORT);
    CHECK_EQ(rn_run(&options, spawn_both, NULL), 0);
    CHECK_GE(again_reports, 3);
    CHECK_EQ(hog_reports, 1);
}

static void
count_again(const char *task, void *arg)
{
    (void)task;
    (void)arg;
    atomic_fetch_add(&again_reports, 1);
}

/* Another runtime, whose hog is reported three times meanwhile. */
static void *
run_other(void *arg)
{
    rn_options options = {
        .workers = 1, .watchdog = SHORT, .on_slow = count_again};
    CHECK_EQ(rn_run(&options, burn_again, NULL), 0);
    return arg;
}

static void
check_off(rn_time limit)
{
    pthread_t thread;
    rn_options options = options_of(2, limit);
    atomic_store(&again_reports, 0);
    CHECK_EQ(pthread_create(&thread, NULL, run_other, NULL), 0);
    CHECK_EQ(rn_run(&options, burn_meanwhile, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(other_reports, 0);
}

TEST(watchdog_off_by_option)
{
    check_off(RN_NEVER);
    CHECK_EQ(setenv("RUNNEL_WATCHDOG", "20", 1), 0);
    check_off(RN_NEVER); /* the option is stronger */
}

TEST(watchdog_off_by_environment)
{
    CHECK_EQ(setenv("RUNNEL_WATCHDOG", "0", 1), 0);
    check_off(0);
}

TEST(watchdog_limit_from_the_environment)
{
    CHECK_EQ(setenv("RUNNEL_WATCHDOG", "20", 1), 0);
    check_report(options_of(2, 0));
}

static int
never_called(void *arg)
{
    FAIL("%s", arg ? "argument" : "called");
}

static void
run_refused(void *arg)
{
    CHECK_EQ(rn_run(arg, never_called, NULL), -EINVAL);
}

static void
check_refused(rn_time limit, const char *message)
{
    rn_options options = options_of(1, limit);
    struct test_child child = test_fork(run_refused, &options, 20);
    CHECK_EQ(child.status, 0);
    CHECK_HAS(child.text, message);
    free(child.text);
}

TEST(watchdog_refuses_nonsense)
{
    static const char *const wrong[] = {
        "x", "-1", "20ms", "1e3", "86400001", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQ(setenv("RUNNEL_WATCHDOG", wrong[i], 1), 0);
        check_refused(0, "is not a number of milliseconds from 0 (off) to");
    }
    check_refused(-1, "rn_options.watchdog is -1");
    check_refused(RN_NOW, "rn_options.watchdog is ");
}

/* ---- those behind it ----------------------------------------------------- */

enum { BEHIND = 5 };
static atomic_int have_run;

static int
run_behind(void *arg)
{
    atomic_fetch_add(&have_run, 1);
    return arg ? 1 : 0;
}

static int
sleep_behind(void *arg)
{
    CHECK_EQ(rn_sleep(RN_MS), 0);
    return run_behind(arg);
}

/* All that it spawns, the last one in its slot, runs while it spins. */
static int
hog_others(void *arg)
{
    for (int round = 0; round < 5; round++) {
        atomic_store(&have_run, 0);
        for (int i = 0; i < BEHIND; i++)
            go(i % 2 ? sleep_behind : run_behind, arg);
        while (atomic_load(&have_run) < BEHIND)
            spin();
    }
    return arg ? 1 : 0;
}

TEST(watchdog_lets_others_run_what_a_hog_has_queued)
{
    for (int workers = 2; workers <= 4; workers++) {
        rn_options options = options_of(workers, RN_NEVER);
        CHECK_EQ(rn_run(&options, hog_others, NULL), 0);
    }
}

/* ---- slow finalizers ----------------------------------------------------- */

static int
sleep_for(void *arg, int outcome)
{
    (void)outcome;
    return rn_sleep(*(rn_time *)arg);
}

static int
end_slowly(void *arg)
{
    rn_task_set_name("slow");
    CHECK_EQ(rn_defer(sleep_for, arg), 0);
    return 0;
}

static int
end_some(void *arg)
{
    (void)arg;
    static rn_time shorter = 1, longer = 2 * SHORT;
    rn_scope *s = open_scope(RN_NEVER);
    go(end_slowly, &shorter);
    go(end_slowly, &longer);
    return rn_scope_close(s);
}

static void
run_slow_ends(void *arg)
{
    rn_options options = *(rn_options *)arg;
    CHECK_EQ(rn_run(&options, end_some, NULL), 0);
}

TEST(watchdog_tells_of_a_slow_finalizer)
{
    for (int workers = 1; workers <= 2; workers++) {
        rn_options options = options_of(workers, SHORT);
        struct test_child child = test_fork(run_slow_ends, &options, 20);
        CHECK_EQ(child.status, 0);
        CHECK_HAS(child.text, "runnel: a finalizer of task \"slow\" (#3), "
                              "deferred at end_slowly");
        free(child.text);
        options.watchdog = RN_NEVER;
        child = test_fork(run_slow_ends, &options, 20);
        CHECK_EQ(child.status, 0);
        CHECK_STR(child.text, "");
        free(child.text);
    }
}
