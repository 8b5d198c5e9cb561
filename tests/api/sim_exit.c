/* sim_exit.c - tests of runnel/sim.h: programs that end in their own way, and
 * what is kept of their schedules.
 */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- programs ----------------------------------------------------------- */

static int
exit_in_a_task(void *arg)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_yield(), 0);
    exit(*(int *)arg);
}

TEST(program_exits_in_a_task)
{
    int status = rn_sim_active() || getenv("RUNNEL_TEST_EXIT") ? 5 : 0;
    rn_run(NULL, exit_in_a_task, &status);
}

static int
yield_some(void *arg)
{
    for (int i = 0; i < *(int *)arg; i++)
        CHECK_EQ(rn_yield(), 0);
    return 0;
}

TEST(program_runs_two_mains)
{
    int n = 2;
    CHECK_EQ(rn_run(NULL, yield_some, &n), 0);
    n = 3;
    CHECK_EQ(rn_run(NULL, yield_some, &n), 0);
}

/* Yields once more each time it is run: a file remembers. */
TEST(program_remembers)
{
    struct stat status = {.st_size = 1};
    const char *path = getenv("RUNNEL_TEST_FILE");
    int fd = path ? open(path, O_WRONLY | O_APPEND) : -1;
    int n = 1;
    if (path) {
        CHECK_EQ(write(fd, "x", 1), 1);
        CHECK_EQ(fstat(fd, &status), 0);
    }
    n = (int)status.st_size;
    CHECK_EQ(rn_run(NULL, yield_some, &n), 0);
}

/* The same, but it looks at the file inside: before rn_run it is one program
 * whose children all start alike. */
static int
remember(void *arg)
{
    struct stat status = {.st_size = 1};
    int fd = open(arg, O_WRONLY | O_APPEND);
    CHECK_EQ(write(fd, "x", 1), 1);
    CHECK_EQ(fstat(fd, &status), 0);
    close(fd);
    int n = (int)status.st_size;
    return yield_some(&n);
}

TEST(program_remembers_inside)
{
    char *path = getenv("RUNNEL_TEST_FILE");
    if (!path)
        test_skip("a program for sim_program_verify_finds_what_is_outside");
    CHECK_EQ(rn_run(NULL, remember, path), 0);
}

/* ---- searches ----------------------------------------------------------- */

static const char *
own_path(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK_GT(n, 0);
    path[n] = 0;
    return path;
}

static rn_sim_report
search(rn_sim_options options, const char *test)
{
    rn_sim_report report;
    char *argv[] = {(char *)own_path(), (char *)"--in-place", (char *)test,
                    NULL};
    if (test_env("TEST_EMULATOR", 0))
        test_skip("runs under an emulator");
    CHECK_EQ(rn_sim_program(&options, argv, &report), 0);
    fprintf(stderr, "%s: %s\n%s\n", test, rn_sim_verdict_name(report.verdict),
            report.text ? report.text : "");
    return report;
}

TEST(sim_program_that_exits_in_a_task_is_told)
{
    CHECK_EQ(setenv("RUNNEL_TEST_EXIT", "1", 1), 0);
    rn_sim_report r = search((rn_sim_options){0}, "program_exits_in_a_task");
    CHECK_EQ(r.verdict, RN_SIM_FAILED);
    CHECK(test_has(r.text, "exit status is 5|yield|main"));
    CHECK_EQ(r.steps, 3);
    rn_sim_report again =
        search((rn_sim_options){.token = r.token}, "program_exits_in_a_task");
    CHECK_EQ(again.digest, r.digest);
    CHECK_EQ(again.verdict, RN_SIM_FAILED);
    rn_sim_report_fini(&again);
    rn_sim_report_fini(&r);
}

TEST(sim_program_with_two_mains_is_verified)
{
    rn_sim_options options = {.schedules = 10, .flags = RN_SIM_VERIFY};
    rn_sim_report r = search(options, "program_runs_two_mains");
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.schedules, 10);
    rn_sim_report_fini(&r);
}

static void
make_file(char *path)
{
    int fd = mkstemp(path);
    CHECK_GE(fd, 0);
    close(fd);
}

TEST(sim_program_that_passes_leaves_a_trace_and_no_text)
{
    char path[] = "/tmp/test-trace-XXXXXX";
    struct stat status;
    make_file(path);
    rn_sim_options options = {.schedules = 3, .trace_path = path};
    rn_sim_report r = search(options, "program_runs_two_mains");
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK(r.text == NULL);
    CHECK(r.token == NULL);
    CHECK_EQ(stat(path, &status), 0);
    CHECK_GT(status.st_size, 100);
    rn_sim_report_fini(&r);
    unlink(path);
}

/* A server is one process, so what it did before rn_run is the same in all of
 * its children; what they do inside is not. */
TEST(sim_program_verify_finds_what_is_outside_the_schedule)
{
    char path[] = "/tmp/test-file-XXXXXX";
    make_file(path);
    CHECK_EQ(setenv("RUNNEL_TEST_FILE", path, 1), 0);
    rn_sim_options options = {.flags = RN_SIM_VERIFY};
    rn_sim_report r = search(options, "program_remembers_inside");
    CHECK_EQ(r.verdict, RN_SIM_NONDETERMINISM);
    CHECK(test_has(r.text, "first run|second run"));
    options.token = r.token;
    rn_sim_report again = search(options, "program_remembers_inside");
    CHECK_EQ(again.verdict, RN_SIM_NONDETERMINISM);
    rn_sim_report_fini(&again);
    rn_sim_report_fini(&r);
    r = search((rn_sim_options){.schedules = 5, .flags = RN_SIM_VERIFY},
               "program_remembers");
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
    unlink(path);
}

/* ---- graphs ------------------------------------------------------------- */

static int
wait_for_ever(void *arg)
{
    return rn_chan_recv(arg, NULL, RN_NEVER);
}

static int
lock_both(void *arg)
{
    rn_mutex **m = arg;
    CHECK_EQ(rn_mutex_lock(m[0], RN_NEVER), 0);
    CHECK_EQ(rn_yield(), 0);
    return rn_mutex_lock(m[1], RN_NEVER);
}

static int
lock_in_a_crowd(void *arg)
{
    (void)arg;
    rn_mutex a = RN_MUTEX_INIT, b = RN_MUTEX_INIT;
    rn_mutex *ab[] = {&a, &b}, *ba[] = {&b, &a};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 800; i++)
        go(wait_for_ever, NULL);
    go_named("alice", lock_both, ab);
    go_named("bob", lock_both, ba);
    return rn_scope_close(s);
}

/* The circle is found among however many that just wait. */
TEST(sim_cycle_is_shown_in_a_crowd)
{
    rn_sim_report r;
    rn_sim_options options = {.schedules = 50};
    CHECK_EQ(rn_sim_explore(&options, lock_in_a_crowd, NULL, &r), 0);
    while (!test_has(r.text, "alice\" waits to lock")) {
        rn_sim_report_fini(&r); /* one of them had both */
        options.seed++;
        CHECK_EQ(rn_sim_explore(&options, lock_in_a_crowd, NULL, &r), 0);
    }
    CHECK(test_has(r.text, "wait-for cycle|alice\" waits to lock|bob\" waits"));
    rn_sim_report_fini(&r);
}
