/* sim_program.c - tests of runnel/sim.h: whole programs, and traces.
 *
 * The programs are other tests of this binary, run in place: they call rn_run
 * and know nothing of the simulator.
 */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what the programs do ----------------------------------------------- */

static int
return_seven_at_times(void *arg)
{
    (void)arg;
    return rn_sim_active() && rn_sim_choose(10) == 7;
}

/* Exit status 3 in one schedule of ten. */
TEST(program_fails_at_times)
{
    if (rn_run(NULL, return_seven_at_times, NULL))
        exit(3);
}

static int
crash(void *arg)
{
    return *(volatile int *)arg;
}

TEST_DIES(program_crashes, "")
{
    rn_run(NULL, crash, NULL);
}

static int
spin(void *arg)
{
    for (volatile int on = 1; on;)
        ;
    (void)arg;
    return 0;
}

/* Never ends; run only by the search below, which names it. */
TEST(program_spins)
{
    if (!getenv("RUNNEL_TEST_SPIN"))
        test_skip("a program for sim_program_finds_a_hang");
    rn_run(NULL, spin, NULL);
}

static int
lock_both(void *arg)
{
    rn_mutex **m = arg;
    for (int i = 0; i < 2; i++)
        CHECK_EQ(rn_mutex_lock(m[i], RN_NEVER), 0);
    rn_mutex_unlock(m[1]);
    rn_mutex_unlock(m[0]);
    return 0;
}

static int
dine(void *arg)
{
    (void)arg;
    rn_mutex a = RN_MUTEX_INIT, b = RN_MUTEX_INIT;
    rn_mutex *ab[] = {&a, &b}, *ba[] = {&b, &a};
    rn_scope *s = open_scope(RN_NEVER);
    go_named("alice", lock_both, ab);
    go_named("bob", lock_both, ba);
    return rn_scope_close(s);
}

/* Alone or by luck it ends well. */
TEST(program_deadlocks_at_times)
{
    rn_options options = {.workers = 1};
    int e = rn_run(&options, dine, NULL);
    CHECK_EQ(e, 0);
}

static rn_chan *kept; /* from the first run to the second */

static int
fill_a_channel(void *arg)
{
    kept = arg;
    CHECK_EQ(rn_chan_new(sizeof(int), 1, &kept), 0);
    return rn_chan_send(kept, &(int){42}, RN_NOW);
}

static int
empty_it(void *arg)
{
    int value = 0;
    rn_chan *other;
    (void)arg;
    CHECK_EQ(rn_chan_new(sizeof(int), 4, &other), 0);
    CHECK_EQ(rn_chan_recv(kept, &value, RN_NOW), 0);
    CHECK_EQ(value, 42);
    rn_chan_unref(other);
    return 0;
}

/* What the first run made is there in the second, and can be freed after. */
TEST(program_runs_twice)
{
    CHECK_EQ(rn_run(NULL, fill_a_channel, NULL), 0);
    CHECK_EQ(rn_run(NULL, empty_it, NULL), 0);
    rn_chan_unref(kept);
}

/* Starts this binary once more, as a program of its own. */
TEST(program_starts_another)
{
    static const char name[] = "process_workout/one";
    rn_run(NULL, return_seven_at_times, NULL);
    execl("/proc/self/exe", "test_api", "--in-place", name, (char *)NULL);
    _exit(9);
}

/* ---- searches ----------------------------------------------------------- */

static int
search(rn_sim_options options, const char *program, const char *test,
       rn_sim_report *report)
{
    if (test_env("TEST_EMULATOR", 0))
        test_skip("runs under an emulator");
    char *argv[] = {(char *)program, (char *)"--in-place", (char *)test, NULL};
    int e = rn_sim_program(&options, argv, report);
    fprintf(stderr, "%s %s: %d, %s\n%s\n", program, test ? test : "", e,
            e ? "" : rn_sim_verdict_name(report->verdict),
            report->text ? report->text : "");
    return e;
}

static const char self[] = "/proc/self/exe";

/* The path of this binary: a child's /proc/self/exe may be another. */
static const char *
own_path(void)
{
    static char path[4096];
    ssize_t n = readlink(self, path, sizeof path - 1);
    CHECK_GT(n, 0);
    path[n] = 0;
    return path;
}

static void
must_find(const char *test, rn_sim_options options, rn_sim_verdict verdict,
          const char *text)
{
    rn_sim_report found, again;
    CHECK_EQ(search(options, own_path(), test, &found), 0);
    CHECK_EQ(found.verdict, verdict);
    CHECK(test_has(found.text, text));
    CHECK(found.token != NULL);
    options.token = found.token;
    CHECK_EQ(search(options, own_path(), test, &again), 0);
    CHECK_EQ(again.verdict, verdict);
    if (verdict != RN_SIM_HANG) /* how far it came is a matter of real time */
        CHECK_EQ(again.digest, found.digest);
    rn_sim_report_fini(&found);
    rn_sim_report_fini(&again);
}

TEST(sim_program_passes_a_clean_one)
{
    rn_sim_report r;
    rn_sim_options options = {.schedules = (uint64_t)test_count(50)};
    CHECK_EQ(search(options, own_path(), "process_workout/many", &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.schedules, options.schedules);
    CHECK_GT(r.distinct, options.schedules / 2);
    rn_sim_report_fini(&r);
}

TEST(sim_program_may_run_twice)
{
    rn_sim_report r;
    CHECK_EQ(search((rn_sim_options){.schedules = 20}, own_path(),
                    "program_runs_twice", &r),
             0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

TEST(sim_program_may_start_another)
{
    rn_sim_report r;
    CHECK_EQ(search((rn_sim_options){.schedules = 5}, own_path(),
                    "program_starts_another", &r),
             0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

TEST(sim_program_finds_the_same_with_any_number_of_jobs)
{
    rn_sim_report one;
    const char *test = "program_fails_at_times";
    CHECK_EQ(search((rn_sim_options){.seed = 3}, own_path(), test, &one), 0);
    CHECK_EQ(one.verdict, RN_SIM_FAILED);
    for (int i = 0; i < 16; i++) {
        rn_sim_report r;
        rn_sim_options options = {.seed = 3, .jobs = 2 + i / 4};
        options.flags = i % 2 ? RN_SIM_VERIFY : 0;
        CHECK_EQ(search(options, own_path(), test, &r), 0);
        CHECK_EQ(r.schedules, one.schedules);
        CHECK_EQ(r.digest, one.digest);
        CHECK_STR(r.token, one.token);
        rn_sim_report_fini(&r);
    }
    rn_sim_report_fini(&one);
}

TEST(sim_program_finds_a_deadlock)
{
    must_find("program_deadlocks_at_times", (rn_sim_options){.seed = 1},
              RN_SIM_DEADLOCK, "alice|bob|mutex");
}

TEST(sim_program_finds_a_deadlock_with_two_jobs)
{
    must_find("program_deadlocks_at_times", (rn_sim_options){.jobs = 2},
              RN_SIM_DEADLOCK, "alice|bob|mutex");
}

TEST(sim_program_finds_a_failed_exit)
{
    must_find("program_fails_at_times", (rn_sim_options){.seed = 1},
              RN_SIM_FAILED, "3");
}

TEST(sim_program_finds_a_crash)
{
    if (TEST_SANITIZED)
        test_skip("the sanitizer makes an exit of it");
    must_find("program_crashes", (rn_sim_options){.seed = 1}, RN_SIM_CRASH,
              "main");
}

TEST(sim_program_finds_a_hang)
{
    CHECK_EQ(setenv("RUNNEL_TEST_SPIN", "1", 1), 0);
    must_find("program_spins", (rn_sim_options){.max_run_time = RN_SEC / 2},
              RN_SIM_HANG, "");
}

TEST(sim_program_refuses_what_is_no_program)
{
    char path[] = "/tmp/test-program-XXXXXX";
    int fd = mkstemp(path);
    rn_sim_report r;
    rn_sim_options options = {.schedules = 3};
    CHECK_GE(fd, 0);
    CHECK_EQ(write(fd, "#!/bin/sh\n", 10), 10);
    close(fd);
    CHECK_EQ(search(options, "/nonexistent/program", NULL, &r), -ENOENT);
    CHECK(r.text != NULL);
    rn_sim_report_fini(&r);
    CHECK_EQ(search(options, path, NULL, &r), -EACCES);
    CHECK(r.text != NULL);
    rn_sim_report_fini(&r);
    CHECK_EQ(search(options, "/bin/true", NULL, &r), -ENOEXEC);
    CHECK(r.text != NULL);
    rn_sim_report_fini(&r);
    CHECK_EQ(search(options, own_path(), "base_version_is_three_numbers", &r),
             -ENODATA);
    CHECK(r.text != NULL);
    rn_sim_report_fini(&r);
    unlink(path);
}

/* ---- traces ------------------------------------------------------------- */

static int
dance(void *arg)
{
    (void)arg;
    dine(arg);
    CHECK_EQ(rn_sleep(RN_SEC), 0);
    return -EIO;
}

/* A trace of a failed schedule, in a new file; its name. */
static const char *
make_trace(void)
{
    static char path[] = "/tmp/test-trace-XXXXXX";
    int fd = mkstemp(path);
    CHECK_GE(fd, 0);
    close(fd);
    rn_sim_options options = {.trace_path = path};
    rn_sim_report r;
    CHECK_EQ(rn_sim_run(&options, dance, NULL, &r), 0);
    CHECK_NE(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
    return path;
}

static char *
print(int (*fn)(const char *, FILE *, FILE *), const char *path, int wanted)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    CHECK(out != NULL);
    CHECK_EQ(fn(path, out, NULL), wanted);
    CHECK_EQ(fclose(out), 0);
    return text;
}

static int
print_text(const char *path, FILE *out, FILE *err)
{
    return rn_trace_print(path, 0, out, err);
}

TEST(sim_trace_can_be_printed)
{
    const char *path = make_trace();
    char *text = print(print_text, path, 0);
    CHECK_HAS(text, "main");
    CHECK_HAS(text, "alice");
    CHECK_HAS(text, "bob");
    CHECK_HAS(text, "lock");
    CHECK_HAS(text, "sim_program.c");
    char *json = print(rn_trace_print_json, path, 0);
    CHECK_HAS(json, "\"");
    CHECK_HAS(json, "alice");
    free(text);
    free(json);
    unlink(path);
}

TEST(sim_trace_damaged_is_refused)
{
    const char *path = make_trace();
    struct stat st;
    char *text = print(print_text, "/nonexistent/trace", -ENOENT);
    free(text);
    CHECK_EQ(stat(path, &st), 0);
    for (off_t size = st.st_size - 1; size >= 0; size -= 1 + size / 20) {
        CHECK_EQ(truncate(path, size), 0);
        text = print(print_text, path, -EINVAL);
        free(text);
        text = print(rn_trace_print_json, path, -EINVAL);
        free(text);
    }
    unlink(path);
}
