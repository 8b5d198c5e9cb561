/* more_run.c - what went wrong once in whole programs: no memory for stacks,
 * forks, dumps under way, holders that ended, NULL where outputs go. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- no memory for stacks ------------------------------------------------ */

/* From here on the process gets this much more address space. */
static void
limit_memory(size_t bytes)
{
    long pages;
    if (TEST_SANITIZED)
        test_skip("sanitizers need the address space");
    if (test_env("TEST_EMULATOR", 0))
        test_skip("runs under an emulator");
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL);
    CHECK_EQ(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    rlim_t all = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    CHECK_EQ(setrlimit(RLIMIT_AS, &(struct rlimit){all, all}), 0);
}

static int
never_begins(void *arg)
{
    printf("it has begun\n");
    return arg ? 0 : 1;
}

static rn_options
large_stacks(int workers, size_t bytes)
{
    return (rn_options){
        .workers = workers, .stack_bytes = bytes, .backend = rn_backend_best()};
}

/* Not even main gets one. */
static void
starve_main(int workers)
{
    rn_options options = large_stacks(workers, (size_t)1 << 30);
    limit_memory((size_t)700 << 20);
    FAIL("rn_run: %d", rn_run(&options, never_begins, NULL));
}

TEST_DIES_WITH(run_without_memory_for_main_is_a_deadlock_one,
               "deadlock|no memory for their stacks|main", RN_EXIT_DEADLOCK)
{
    starve_main(1);
}

TEST_DIES_WITH(run_without_memory_for_main_is_a_deadlock_many,
               "deadlock|no memory for their stacks|main", RN_EXIT_DEADLOCK)
{
    starve_main(3);
}

static void
count_call(void *arg)
{
    ++*(int *)arg;
}

TEST(run_without_memory_for_main_calls_the_hook)
{
    for (int workers = 1; workers < 4; workers++) {
        int calls = 0;
        rn_options options = large_stacks(workers, (size_t)1 << 30);
        options.deadlock = RN_DEADLOCK_CALL;
        options.on_deadlock = count_call;
        options.on_deadlock_arg = &calls;
        if (workers == 1)
            limit_memory((size_t)700 << 20);
        CHECK_EQ(rn_run(&options, never_begins, NULL), -EDEADLK);
        CHECK_EQ(calls, 1);
    }
}

enum { CROWD = 100 };

/* All must have come before one goes on: those without a stack never come. */
static int
meet_crowd(void *arg)
{
    rn_waitgroup_done(arg);
    return rn_waitgroup_wait(arg, RN_NEVER);
}

static int
spawn_crowd(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_waitgroup_add(arg, CROWD);
    for (int i = 0; i < CROWD; i++)
        go_named("one of the crowd", meet_crowd, arg);
    return rn_scope_close(s);
}

static void
starve_crowd(int workers)
{
    rn_waitgroup group = RN_WAITGROUP_INIT;
    rn_options options = large_stacks(workers, (size_t)64 << 20);
    limit_memory((size_t)1200 << 20);
    FAIL("rn_run: %d", rn_run(&options, spawn_crowd, &group));
}

TEST_DIES_WITH(run_without_memory_for_some_is_a_deadlock_one,
               "deadlock|no memory for their stacks|one of the crowd",
               RN_EXIT_DEADLOCK)
{
    starve_crowd(1);
}

TEST_DIES_WITH(run_without_memory_for_some_is_a_deadlock_many,
               "deadlock|no memory for their stacks|one of the crowd",
               RN_EXIT_DEADLOCK)
{
    starve_crowd(2);
}

/* Those that come later use the stacks of those that ended. */
static int
pass_by(void *arg)
{
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_yield(), 0);
    rn_waitgroup_done(arg);
    return 0;
}

static int
spawn_passers(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_waitgroup_add(arg, CROWD);
    for (int i = 0; i < CROWD; i++)
        go(pass_by, arg);
    CHECK_EQ(rn_waitgroup_wait(arg, RN_NEVER), 0);
    return rn_scope_close(s);
}

TEST(run_without_memory_for_all_at_once_goes_on)
{
    for (int workers = 1; workers < 4; workers++) {
        rn_waitgroup group = RN_WAITGROUP_INIT;
        rn_options options = large_stacks(workers, (size_t)64 << 20);
        if (workers == 1)
            limit_memory((size_t)1200 << 20);
        CHECK_EQ(rn_run(&options, spawn_passers, &group), 0);
    }
}

/* ---- deadlocks ----------------------------------------------------------- */

static int
wait_for_ever(void *arg)
{
    return rn_chan_recv(arg, NULL, RN_NEVER);
}

static int
return_five(void *arg)
{
    return arg ? -EIO : 5;
}

/* The tasks of the deadlock stay behind; the next run, on any contexts, must
 * not find anything of them in use. */
TEST(run_after_a_deadlock_on_another_context)
{
    static const rn_backend_kind kinds[] = {
        RN_BACKEND_UCONTEXT, RN_BACKEND_UCONTEXT, RN_BACKEND_THREAD,
        RN_BACKEND_ASM,      RN_BACKEND_UCONTEXT, RN_BACKEND_DEFAULT};
    int calls = 0, deadlocks = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        rn_options options = {.workers = 1 + (int)i % 2,
                              .backend = kinds[i],
                              .deadlock = RN_DEADLOCK_CALL,
                              .on_deadlock = count_call,
                              .on_deadlock_arg = &calls};
        int e = rn_run(&options, wait_for_ever, NULL);
        if (e == -EINVAL)
            continue; /* this machine has no such context */
        CHECK_EQ(e, -EDEADLK);
        CHECK_EQ(calls, ++deadlocks);
        CHECK_EQ(rn_run(NULL, return_five, NULL), 5);
    }
    CHECK_GE(deadlocks, 2);
}

/* Standard output is no terminal here, so it is buffered. */
static int
print_and_wait(void *arg)
{
    printf("progress line\n");
    return rn_chan_recv(arg, NULL, RN_NEVER);
}

TEST_DIES_WITH(run_deadlock_exit_keeps_what_was_printed,
               "deadlock|progress line", RN_EXIT_DEADLOCK)
{
    rn_run(NULL, print_and_wait, NULL);
}

TEST_DIES_WITH(run_deadlock_abort_keeps_what_was_printed,
               "deadlock|progress line", -SIGABRT)
{
    rn_options options = {.deadlock = RN_DEADLOCK_ABORT};
    rn_run(&options, print_and_wait, NULL);
}

static void
run_into_pipe(void *arg)
{
    CHECK_EQ(dup2(*(int *)arg, 1), 1);
    rn_run(NULL, print_and_wait, NULL);
}

TEST(run_deadlock_exit_keeps_what_was_printed_to_a_pipe)
{
    int ends[2];
    char text[100] = "";
    CHECK_EQ(pipe(ends), 0);
    struct test_child child = test_fork(run_into_pipe, &ends[1], 20);
    CHECK_EQ(child.status, RN_EXIT_DEADLOCK);
    CHECK_HAS(child.text, "deadlock");
    close(ends[1]);
    CHECK_GE(read(ends[0], text, sizeof text - 1), 0);
    CHECK_STR(text, "progress line\n");
    close(ends[0]);
    free(child.text);
}

static int
lock_and_end(void *arg)
{
    return rn_mutex_lock(arg, RN_NEVER);
}

static int
lock_after_the_end(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    go(lock_and_end, arg);
    CHECK_EQ(rn_scope_close(s), 0);
    return rn_mutex_lock(arg, RN_NEVER);
}

TEST_DIES_WITH(run_deadlock_tells_of_a_holder_that_has_ended,
               "deadlock|main|held by a task that has ended", RN_EXIT_DEADLOCK)
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_run(NULL, lock_after_the_end, &m);
}

SIM_FINDS_TEXT(mutex_of_a_task_that_has_ended_is_a_deadlock, RN_SIM_DEADLOCK,
               "main|held by a task that has ended")
{
    rn_mutex m = RN_MUTEX_INIT;
    lock_after_the_end(&m);
}

static int
unlock(void *arg)
{
    rn_mutex_unlock(arg);
    return 0;
}

/* The second task gets what the first had: its record, its stack. */
API_PANICS(mutex_of_a_task_that_has_ended_is_not_the_next_ones,
           "unlock|does not hold|bob")
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_scope *s = open_scope(RN_NEVER);
    go(lock_and_end, &m);
    CHECK_EQ(rn_scope_close(s), 0);
    s = open_scope(RN_NEVER);
    go_named("bob", unlock, &m);
    rn_scope_close(s);
    FAIL("an unlock by another task was not seen");
}

/* ---- forks --------------------------------------------------------------- */

/* The child goes on as the task and returns from it. */
static int
fork_and_return(void *arg)
{
    int status = 0;
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0)
        return 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGABRT);
    ++*(int *)arg;
    return 0;
}

static void
run_and_fork(void *arg)
{
    int forks = 0;
    rn_options options = {.workers = *(int *)arg};
    CHECK_EQ(rn_run(&options, fork_and_return, &forks), 0);
    CHECK_EQ(forks, 1);
}

TEST(process_forked_child_cannot_return_from_a_task)
{
    for (int workers = 1; workers < 4; workers++) {
        struct test_child child = test_fork(run_and_fork, &workers, 20);
        if (child.status)
            FAIL("status %d: %s", child.status, child.text);
        CHECK_HAS(child.text, "the end of a task");
        CHECK_HAS(child.text, "forked child");
        free(child.text);
    }
}

/* ---- dumps --------------------------------------------------------------- */

#define LONG_NAME "a task whose name is gone soon after its end"

static int
yield_once(void *arg)
{
    (void)arg;
    return rn_yield();
}

static int
rename_oneself(void *arg)
{
    char name[] = LONG_NAME; /* until it has another one */
    (void)arg;
    rn_task_set_name(name);
    int e = rn_yield();
    rn_task_set_name(LONG_NAME);
    memset(name, '#', sizeof name - 1);
    return e;
}

static int
spawn_named(void *arg)
{
    while (!atomic_load((atomic_bool *)arg)) {
        char *name = strdup(LONG_NAME);
        CHECK(name != NULL);
        rn_scope *s = open_scope(RN_NEVER);
        for (int k = 0; k < 3; k++)
            CHECK(go_named(name, yield_once, NULL).id != 0);
        go(rename_oneself, NULL);
        CHECK_EQ(rn_scope_close(s), 0);
        memset(name, '#', strlen(name));
        free(name);
    }
    return 0;
}

/* A dump while others begin and end: only names of living tasks. */
static void
dump_and_check(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    CHECK(f != NULL);
    rn_task_dump(f);
    CHECK_EQ(fclose(f), 0);
    CHECK_HAS(text, "\"main\"");
    CHECK(!strchr(text, '#'));
    for (char *at = text; (at = strstr(at, "\"a ta")); at++)
        CHECK(!strncmp(at, "\"" LONG_NAME "\"", sizeof LONG_NAME + 1));
    free(text);
}

/* Few, because a dump finds out the source line of each spawn. */
API_TEST_SCHEDULES(task_dump_meets_spawns_and_ends, 5)
{
    atomic_bool over = false;
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(spawn_named, &over);
    for (long i = rn_sim_active() ? 3 : test_count(10); i > 0; i--) {
        dump_and_check();
        CHECK_EQ(rn_yield(), 0);
    }
    atomic_store(&over, true);
    CHECK_EQ(rn_scope_close(s), 0);
    dump_and_check();
}

/* ---- tasks cancelled before they begin ----------------------------------- */

struct unborn {
    rn_task task;
    rn_chan *ready;
    atomic_int began;
    int joined, result;
};

static int
begin(void *arg)
{
    atomic_fetch_add(&((struct unborn *)arg)->began, 1);
    return 5;
}

/* A deferred call sees no cancellation, so it can join. */
static int
join_unborn(void *arg, int outcome)
{
    struct unborn *u = arg;
    u->joined = rn_task_join(u->task, RN_NEVER, &u->result);
    CHECK_EQ(outcome, 0);
    return 0;
}

static int
join_when_cancelled(void *arg)
{
    struct unborn *u = arg;
    CHECK_EQ(rn_defer(join_unborn, u), 0);
    CHECK_EQ(rn_chan_send(u->ready, NULL, RN_NEVER), 0);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return 0;
}

API_TEST(task_cancelled_before_it_began_does_not_begin)
{
    struct unborn u = {.ready = new_chan(0, 0), .joined = 42};
    rn_stats stats;
    rn_scope *s = open_scope(RN_NEVER);
    go(join_when_cancelled, &u);
    CHECK_EQ(rn_chan_recv(u.ready, NULL, RN_NEVER), 0);
    u.task = go_joinable(begin, &u);
    rn_scope_cancel(s);
    int e = rn_scope_close(s), began = atomic_load(&u.began);
    CHECK_EQ(u.joined, 0);
    CHECK_EQ(u.result, began ? 5 : -ECANCELED);
    CHECK_EQ(e, began ? 0 : -ECANCELED);
    rn_stats_get(&stats);
    if (!rn_sim_active() && stats.workers == 1)
        CHECK_EQ(began, 0); /* nobody could have begun it */
    rn_chan_unref(u.ready);
}

/* ---- misuse -------------------------------------------------------------- */

API_PANICS(scope_closed_twice_panics, "rn_scope_close|closed before")
{
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_scope_close(s);
}

#define PANICS_ON_NULL(name, function, call)            \
    API_PANICS(name##_of_null_panics, function "|NULL") \
    {                                                   \
        call;                                           \
    }

PANICS_ON_NULL(chan_new, "rn_chan_new", (void)!rn_chan_new(1, 1, NULL))
PANICS_ON_NULL(scope_open, "rn_scope_open",
               (void)!rn_scope_open(RN_NEVER, NULL))
PANICS_ON_NULL(scope_set_deadline, "rn_scope_set_deadline",
               rn_scope_set_deadline(NULL, RN_NEVER))
PANICS_ON_NULL(timer_new, "rn_timer_new", (void)!rn_timer_new(0, 0, NULL))
PANICS_ON_NULL(timer_chan, "rn_timer_chan", rn_timer_chan(NULL))
PANICS_ON_NULL(stats_get, "rn_stats_get", rn_stats_get(NULL))
PANICS_ON_NULL(task_dump, "rn_task_dump", rn_task_dump(NULL))
PANICS_ON_NULL(select, "rn_select", rn_select(NULL, 1, 0, RN_NOW))
PANICS_ON_NULL(select_two, "rn_select", rn_select(NULL, 2, 0, RN_NEVER))

API_PANICS(select_send_of_no_value_panics, "rn_select|arm 1|NULL")
{
    rn_chan *c = new_chan(8, 1);
    rn_arm arms[] = {RN_ARM_RECV(c, NULL), RN_ARM_SEND(c, NULL)};
    rn_select(arms, 2, 0, RN_NOW);
}

API_PANICS(select_single_send_of_no_value_panics, "NULL")
{
    rn_chan *c = new_chan(8, 1);
    rn_arm arm = RN_ARM_SEND(c, NULL);
    rn_select(&arm, 1, 0, RN_NOW);
}
