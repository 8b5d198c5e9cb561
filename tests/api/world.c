/* world.c - the worlds API tests run in, and what their bodies share. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int
main_task(void *arg)
{
    const struct test *test = arg;
    test->body();
    return 0;
}

/* ---- for real ----------------------------------------------------------- */

static void
run_real(const struct test *test, int workers)
{
    rn_options options = {.workers = workers};
    CHECK_EQ(rn_run(&options, main_task, (void *)test), 0);
}

void
world_one(const struct test *test)
{
    run_real(test, 1);
}

void
world_many(const struct test *test)
{
    run_real(test, 4);
}

/* ---- simulated ---------------------------------------------------------- */

/* A failed check becomes the verdict of the schedule. */
static void
fail_schedule(const char *message)
{
    if (rn_sim_active())
        rn_sim_assert(0, message);
}

static rn_sim_options
sim_options(long schedules)
{
    rn_sim_options options = {.seed = (uint64_t)test_env("TEST_SEED", 1),
                              .schedules = (uint64_t)test_count(schedules),
                              .max_steps = 100000000,
                              .max_instant_steps = 100000000};
    return options;
}

static void
print_report(const rn_sim_report *report)
{
    fprintf(stderr, "verdict %s after %llu schedules\n%s\n",
            rn_sim_verdict_name(report->verdict),
            (unsigned long long)report->schedules,
            report->text ? report->text : "(no text)");
}

void
world_sim(const struct test *test)
{
    rn_sim_options options =
        sim_options(test->param * test_env("TEST_SEEDS", 200) / 200);
    rn_sim_report report;
    test_on_fail = fail_schedule;
    int e = rn_sim_explore(&options, main_task, (void *)test, &report);
    test_on_fail = NULL;
    if (report.verdict != RN_SIM_PASS)
        print_report(&report);
    CHECK_EQ(e, 0);
    CHECK_EQ(report.verdict, RN_SIM_PASS);
    CHECK_EQ(report.schedules, options.schedules);
    CHECK(report.token == NULL);
    rn_sim_report_fini(&report);
}

void
world_finds(const struct test *test)
{
    rn_sim_options options = sim_options(2000);
    options.max_steps = options.max_instant_steps = 0;
    rn_sim_report found, again;
    CHECK_EQ(rn_sim_explore(&options, main_task, (void *)test, &found), 0);
    print_report(&found);
    CHECK_EQ(found.verdict, test->param);
    CHECK(test_has(found.text, test->text));
    CHECK(found.token != NULL);
    options.token = found.token;
    CHECK_EQ(rn_sim_run(&options, main_task, (void *)test, &again), 0);
    print_report(&again);
    CHECK_EQ(again.verdict, found.verdict);
    CHECK_EQ(again.digest, found.digest);
    CHECK_EQ(again.steps, found.steps);
    CHECK_EQ(again.time, found.time);
    rn_sim_report_fini(&again);
    rn_sim_report_fini(&found);
}

/* ---- helpers ------------------------------------------------------------ */

void
go(rn_task_fn *fn, void *arg)
{
    CHECK_EQ(rn_go(NULL, fn, arg), 0);
}

rn_task
go_joinable(rn_task_fn *fn, void *arg)
{
    return go_named(NULL, fn, arg);
}

rn_task
go_named(const char *name, rn_task_fn *fn, void *arg)
{
    rn_task_options options = {.name = name};
    rn_task task = {0};
    CHECK_EQ(rn_task_spawn(NULL, fn, arg, &options, &task), 0);
    CHECK(task.id != 0);
    return task;
}

void
settle(void)
{
    if (rn_sim_active()) {
        CHECK_EQ(rn_sleep(1), 0);
        return;
    }
    for (int i = 0; i < 100; i++)
        CHECK_EQ(rn_yield(), 0);
}

rn_chan *
new_chan(size_t elem_bytes, size_t capacity)
{
    rn_chan *chan = NULL;
    CHECK_EQ(rn_chan_new(elem_bytes, capacity, &chan), 0);
    CHECK(chan != NULL);
    return chan;
}

void
send_int(rn_chan *chan, int value)
{
    CHECK_EQ(rn_chan_send(chan, &value, RN_NEVER), 0);
}

int
recv_int(rn_chan *chan)
{
    int value = -1;
    CHECK_EQ(rn_chan_recv(chan, &value, RN_NEVER), 0);
    return value;
}

rn_scope *
open_scope(rn_time deadline)
{
    rn_scope *scope = NULL;
    CHECK_EQ(rn_scope_open(deadline, &scope), 0);
    CHECK(scope != NULL);
    return scope;
}

void
close_cancelled(rn_scope *scope)
{
    int e = rn_scope_close(scope);
    CHECK(e == 0 || e == -ECANCELED);
}

int
wait_for_cancel(void *arg)
{
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    if (arg)
        atomic_fetch_add((atomic_int *)arg, 1);
    return e;
}

int
ask_why(void *arg)
{
    struct why *why = arg;
    CHECK_EQ(rn_cancel_reason(NULL), RN_REASON_NONE);
    if (why->ready)
        send_int(why->ready, 1);
    int e = wait_for_cancel(NULL);
    why->reason = rn_cancel_reason(&why->code);
    return e;
}

int
ask_why_in_a_scope(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    return rn_scope_close_with(s, ask_why(arg));
}

int
many_tasks(int n)
{
    const char *context = getenv("RUNNEL_BACKEND");
    int most = rn_sim_active() ? 1000 : (int)test_count(n);
    if (context && !strcmp(context, "thread"))
        most = 300;
    else if (TEST_SANITIZED == TEST_SANITIZE_THREAD && most > 5000)
        most = 5000; /* it has room for 8,128 */
    return n < most ? n : most;
}

long
resident_bytes(void)
{
    long total, resident;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%ld %ld", &total, &resident), 2);
    fclose(f);
    return TEST_SANITIZED ? 0 : resident * sysconf(_SC_PAGESIZE);
}

void *
page_new(void)
{
    void *page =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

void
page_free(void *page)
{
    CHECK_EQ(munmap(page, (size_t)sysconf(_SC_PAGESIZE)), 0);
}
