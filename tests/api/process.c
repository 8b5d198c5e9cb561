/* process.c - the library in odd processes: forked, poor, under signals. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static int
echo(void *arg)
{
    rn_chan **c = arg;
    int v;
    while (rn_chan_recv(c[0], &v, RN_NEVER) == 0)
        send_int(c[1], v + 1);
    return 0;
}

/* Some of everything; returns 0. */
static int
workout(void *arg)
{
    rn_chan *c[] = {new_chan(sizeof(int), 0), new_chan(sizeof(int), 2)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(echo, c);
    for (int i = 0; i < 50; i++) {
        send_int(c[0], i);
        CHECK_EQ(recv_int(c[1]), i + 1);
        CHECK_EQ(rn_yield(), 0);
    }
    CHECK_EQ(rn_sleep(RN_US), 0);
    rn_chan_close(c[0]);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c[0]);
    rn_chan_unref(c[1]);
    if (arg)
        ++*(int *)arg;
    return 0;
}

/* Also the program for tests that start another process. */
REAL_TEST(process_workout)
{
    CHECK_EQ(workout(NULL), 0);
}

/* ---- fork --------------------------------------------------------------- */

static void
child_yields(void *arg)
{
    (void)arg;
    rn_yield();
    _exit(0);
}

static void
child_sends(void *arg)
{
    rn_chan_send(arg, NULL, RN_NOW);
    _exit(0);
}

static void
child_runs_anew(void *arg)
{
    int done = 0;
    (void)arg;
    for (int workers = 1; workers < 4; workers++) {
        rn_options options = {.workers = workers};
        CHECK_EQ(rn_run(&options, workout, &done), 0);
    }
    CHECK_EQ(done, 3);
    _exit(0);
}

static void
fork_and_die(void (*fn)(void *), void *arg)
{
    struct test_child child = test_fork(fn, arg, 20);
    CHECK_HAS(child.text, "fork");
    CHECK_EQ(child.status, -SIGABRT);
    free(child.text);
}

REAL_TEST(process_forked_child_cannot_go_on)
{
    rn_chan *c = new_chan(0, 1);
    fork_and_die(child_yields, NULL);
    fork_and_die(child_sends, c);
    rn_chan_unref(c);
    CHECK_EQ(workout(NULL), 0); /* the parent can */
}

REAL_TEST(process_forked_child_may_run_anew)
{
    if (TEST_SANITIZED == TEST_SANITIZE_THREAD)
        test_skip("the sanitizer allows no threads after a fork");
    if (test_env("TEST_EMULATOR", 0))
        test_skip("runs under an emulator");
    struct test_child child = test_fork(child_runs_anew, NULL, 20);
    if (child.status)
        FAIL("status %d: %s", child.status, child.text);
    free(child.text);
    CHECK_EQ(workout(NULL), 0);
}

TEST(process_forked_between_runs)
{
    int done = 0;
    CHECK_EQ(rn_run(NULL, workout, &done), 0);
    struct test_child child = test_fork(child_runs_anew, NULL, 20);
    if (child.status)
        FAIL("status %d: %s", child.status, child.text);
    free(child.text);
    CHECK_EQ(rn_run(NULL, workout, &done), 0);
    CHECK_EQ(done, 2);
}

/* ---- poor machines ------------------------------------------------------ */

TEST(process_without_file_descriptors)
{
    struct rlimit before;
    int done = 0;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit three = {3, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &three), 0);
    for (int workers = 1; workers <= 4; workers++) {
        rn_options options = {.workers = workers};
        int e = rn_run(&options, workout, &done);
        CHECK(e == 0 || e == -EMFILE || e == -EAGAIN);
        CHECK_EQ(done, e == 0 ? workers : 0);
    }
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static int
report_workers(void *arg)
{
    rn_stats stats;
    rn_stats_get(&stats);
    *(int *)arg = stats.workers;
    return workout(NULL);
}

TEST(process_on_one_core)
{
    cpu_set_t all, one;
    int workers = 0;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    unsetenv("RUNNEL_WORKERS");
    CHECK_EQ(rn_run(NULL, report_workers, &workers), 0);
    CHECK_EQ(workers, 1);
    rn_options options = {.workers = 4};
    CHECK_EQ(rn_run(&options, report_workers, &workers), 0);
    CHECK_EQ(workers, 4);
}

/* The limit counts when a program starts, hence another one. */
static void
run_with_unlimited_stack(void *arg)
{
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_STACK, &none) != 0)
        _exit(77);
    execl("/proc/self/exe", "tests", "--in-place", (char *)arg, NULL);
    _exit(1);
}

TEST(process_with_unlimited_stack)
{
    char name[] = "process_workout/many";
    if (test_env("TEST_EMULATOR", 0))
        test_skip("runs under an emulator");
    struct test_child child = test_fork(run_with_unlimited_stack, name, 20);
    if (child.status == 77)
        test_skip("the limit cannot be raised");
    if (child.status)
        FAIL("status %d: %s", child.status, child.text);
    free(child.text);
}

static int
spawn_until_full(void *arg)
{
    int *got = arg;
    rn_chan *c = new_chan(0, 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_chan *pair[] = {c, c};
    *got = 0;
    for (int i = 0; i < 100000 && *got == 0; i++)
        *got = rn_go(NULL, echo, pair);
    rn_chan_close(c);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c);
    return 0;
}

/* Address space for a few hundred stacks: an error, not a crash. A task that
 * got no stack at its first run has to be refused at the spawn or to wait. */
TEST(process_without_address_space)
{
    if (TEST_SANITIZED)
        test_skip("sanitizers need the address space");
    for (int mebibytes = 1; mebibytes <= 64; mebibytes *= 2) {
        long total;
        int e = 0;
        FILE *f = fopen("/proc/self/statm", "r");
        CHECK(f != NULL);
        CHECK_EQ(fscanf(f, "%ld", &total), 1);
        fclose(f);
        rlim_t bytes = (rlim_t)(total * sysconf(_SC_PAGESIZE));
        struct rlimit limit = {bytes + ((rlim_t)mebibytes << 20),
                               RLIM_INFINITY};
        CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
        rn_options options = {.workers = 2};
        int run = rn_run(&options, spawn_until_full, &e);
        CHECK(run == 0 || run == -ENOMEM || run == -EAGAIN);
        CHECK(e == 0 || e == -ENOMEM);
    }
}

/* ---- signals ------------------------------------------------------------ */

static atomic_int alarms;

static void
count_alarm(int number)
{
    (void)number;
    atomic_fetch_add(&alarms, 1);
}

REAL_TEST(process_under_a_storm_of_signals)
{
    struct sigaction action = {.sa_handler = count_alarm,
                               .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}}, off = {0};
    sigemptyset(&action.sa_mask);
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
    int wanted = (int)test_count(2000);
    while (atomic_load(&alarms) < wanted)
        CHECK_EQ(workout(NULL), 0);
    CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
}

/* ---- debuggers ---------------------------------------------------------- */

__attribute__((noinline)) static int
traced_inner(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}

__attribute__((noinline)) static int
traced_middle(int n)
{
    return traced_inner(n + 1) + 1;
}

static int
traced_task(void *arg)
{
    CHECK_EQ(rn_yield(), 0); /* has been switched away and back */
    CHECK_EQ(traced_middle(*(int *)arg), 7);
    return 0;
}

REAL_TEST(process_traced)
{
    int five = 5;
    rn_task t = go_joinable(traced_task, &five);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
}

static void
run_gdb(void *arg)
{
    execlp("gdb", "gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off",
           "-ex", "break traced_inner", "-ex", "run", "-ex", "bt", "-ex",
           "kill", "--args", (char *)arg, "--in-place", "process_traced/one",
           NULL);
    printf("\nno gdb here\n");
    exit(0);
}

TEST(process_backtrace_in_gdb_is_right)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK_GT(n, 0);
    self[n] = 0;
    if (test_env("TEST_EMULATOR", 0))
        test_skip("runs under an emulator");
    struct test_child child = test_fork(run_gdb, self, 50);
    if (strstr(child.text, "\nno gdb here"))
        test_skip("gdb is not installed");
    if (strstr(child.text, "ptrace") || strstr(child.text, "not permitted"))
        test_skip("gdb may not trace here");
    CHECK_HAS(child.text, "#0  traced_inner");
    CHECK_HAS(child.text, "traced_middle");
    CHECK_HAS(child.text, "traced_task");
    if (strstr(child.text, "corrupt stack") || strstr(child.text, "#20 ") ||
        strstr(child.text, "Cannot access memory") ||
        strstr(child.text, "Backtrace stopped"))
        FAIL("the backtrace does not end well:\n%s", child.text);
    free(child.text);
}
