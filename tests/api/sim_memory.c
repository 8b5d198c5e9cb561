/* sim_memory.c - what the simulator keeps of a run, and between searches. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static rn_sim_report
run_once(const rn_sim_options *options, rn_task_fn *fn, void *arg)
{
    rn_sim_report r;
    int error = rn_sim_run(options, fn, arg, &r);
    if (error)
        fprintf(stderr, "%s\n", r.text);
    CHECK_EQ(error, 0);
    return r;
}

static void
check_same(const rn_sim_report *a, const rn_sim_report *b)
{
    CHECK_EQ(a->verdict, b->verdict);
    CHECK_EQ(a->steps, b->steps);
    CHECK_EQ(a->digest, b->digest);
    CHECK_EQ(a->time, b->time);
}

/* ---- a long run --------------------------------------------------------- */

/* Events of more than one buffer, and then a finding. */
enum { LONG = 100000 };

static int
run_long(void *arg)
{
    (void)arg;
    for (int i = 0; i < LONG; i++)
        if (rn_yield() < 0)
            return -1;
    rn_mutex m = RN_MUTEX_INIT;
    CHECK_EQ(rn_mutex_lock(&m, RN_NEVER), 0);
    rn_mutex_unlock(&m);
    rn_sim_assert(0, "here it ends");
    return 0;
}

/* Without a trace the older events are dropped; nothing else differs. */
TEST(sim_long_run_is_the_same_with_a_trace)
{
    char path[] = "/tmp/runnel-test-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    rn_sim_options o = {.max_steps = 2 * LONG, .max_instant_steps = 2 * LONG};
    rn_sim_report without = run_once(&o, run_long, NULL);
    o.trace_path = path;
    rn_sim_report with = run_once(&o, run_long, NULL);
    check_same(&without, &with);
    CHECK_EQ(without.verdict, RN_SIM_ASSERT);
    CHECK_STR(without.text, with.text);
    CHECK(strstr(without.text, "unlock mutex#"));

    char *json = NULL;
    size_t bytes = 0, lines = 0;
    FILE *out = open_memstream(&json, &bytes);
    CHECK_EQ(rn_trace_print_json(path, out, stderr), 0);
    fclose(out);
    for (char *at = json; (at = strchr(at, '\n')); at++)
        lines++;
    CHECK_GE(lines, LONG);
    free(json);
    unlink(path);
    rn_sim_report_fini(&without);
    rn_sim_report_fini(&with);
}

/* ---- more events than there is room for --------------------------------- */

enum { ARMS = 60 };

/* A select notes each of its arms. */
static int
note_much(void *arg)
{
    int value;
    rn_arm arms[ARMS];
    rn_chan *chan = new_chan(sizeof value, 0);
    (void)arg;
    for (;;) {
        for (int i = 0; i < ARMS; i++)
            arms[i] = (rn_arm)RN_ARM_RECV(chan, &value);
        CHECK_EQ(rn_select(arms, ARMS, 0, RN_NOW), -EAGAIN);
    }
}

TEST(sim_events_are_limited_with_a_trace_and_without)
{
    rn_sim_options o = {.max_steps = 20000};
    rn_sim_report without = run_once(&o, note_much, NULL);
    o.trace_path = "/dev/null";
    rn_sim_report with = run_once(&o, note_much, NULL);
    check_same(&without, &with);
    CHECK_EQ(without.verdict, RN_SIM_STEP_LIMIT);
    CHECK(strstr(without.text, "more than 120000 events"));
    rn_sim_report_fini(&without);
    rn_sim_report_fini(&with);
}

/* ---- one search after another ------------------------------------------- */

static int
lock_twice(void *arg)
{
    rn_mutex *m = arg;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rn_mutex_lock(m, RN_NEVER), 0);
        rn_mutex_unlock(m);
    }
    return 0;
}

/* Tasks, a timer, memory of the library: some of everything a world keeps. */
static int
some_work(void *arg)
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_scope *s = open_scope(RN_NEVER);
    (void)arg;
    for (int i = 0; i < 5; i++)
        go(lock_twice, &m);
    rn_chan *chan = new_chan(8, 100);
    CHECK_EQ(rn_sleep(RN_MS), 0);
    rn_chan_unref(chan);
    return rn_scope_close(s);
}

static void *
some_search(void *arg)
{
    rn_sim_options o = {.seed = 7, .schedules = 5, .max_steps = 1000};
    CHECK_EQ(rn_sim_explore(&o, some_work, NULL, arg), 0);
    return NULL;
}

/* What an earlier search has left is not seen by the next: after a finding,
 * with other limits, in another thread, or two at once. */
TEST(sim_search_does_not_see_the_one_before)
{
    rn_sim_options other = {.max_steps = 3 * LONG,
                            .max_instant_steps = 3 * LONG};
    rn_sim_report first, again, there;
    pthread_t thread;
    some_search(&first);
    CHECK_EQ(first.verdict, RN_SIM_PASS);
    some_search(&again);
    check_same(&first, &again);
    rn_sim_report_fini(&again);
    rn_sim_report found = run_once(&other, run_long, NULL);
    CHECK_EQ(found.verdict, RN_SIM_ASSERT);
    rn_sim_report_fini(&found);
    some_search(&again);
    check_same(&first, &again);
    rn_sim_report_fini(&again);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(pthread_create(&thread, NULL, some_search, &there), 0);
        some_search(&again);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        check_same(&first, &again);
        check_same(&first, &there);
        rn_sim_report_fini(&again);
        rn_sim_report_fini(&there);
    }
    rn_sim_report_fini(&first);
}
