/* run.c - tests of runnel/run.h: results, options, deadlock, stacks. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- results ------------------------------------------------------------ */

static int
return_number(void *arg)
{
    return *(int *)arg;
}

TEST(run_returns_what_main_returns)
{
    int numbers[] = {0, 1, 7, -EIO, -1};
    for (size_t i = 0; i < 5; i++)
        CHECK_EQ(rn_run(NULL, return_number, &numbers[i]), numbers[i]);
}

struct root {
    int child, main;
    atomic_int ended;
};

static int
root_child(void *arg)
{
    struct root *r = arg;
    int e = 0;
    /* if main fails, it does so first */
    for (int i = 0; r->main < 0 ? e == 0 : i < 5; i++)
        e = rn_yield();
    atomic_fetch_add(&r->ended, 1);
    return r->child;
}

static int
root_main(void *arg)
{
    struct root *r = arg;
    CHECK_EQ(rn_go(NULL, root_child, r), 0);
    return r->main;
}

TEST(run_waits_for_tasks_of_the_root_scope)
{
    for (int workers = 1; workers <= 4; workers++) {
        rn_options options = {.workers = workers};
        struct root fine = {0, 5, 0}, child = {-EIO, 5, 0};
        struct root both = {-EIO, -ENOSPC, 0};
        CHECK_EQ(rn_run(&options, root_main, &fine), 5);
        CHECK_EQ(fine.ended, 1);
        CHECK_EQ(rn_run(&options, root_main, &child), -EIO);
        CHECK_EQ(child.ended, 1);
        CHECK_EQ(rn_run(&options, root_main, &both), -ENOSPC);
    }
}

static int
root_waiter(void *arg)
{
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static int
root_fails(void *arg)
{
    CHECK_EQ(rn_go(NULL, root_waiter, arg), 0);
    settle();
    return -EIO;
}

TEST(run_failure_of_main_cancels_the_rest)
{
    atomic_int ended = 0;
    CHECK_EQ(rn_run(NULL, root_fails, &ended), -EIO);
}

TEST(run_may_be_repeated)
{
    int number = 3;
    for (int i = 0; i < (int)test_count(200); i++) {
        rn_options options = {.workers = 1 + i % 5};
        CHECK_EQ(rn_run(&options, return_number, &number), 3);
    }
}

static void *
run_in_thread(void *arg)
{
    struct root r = {0, 5, 0};
    rn_options options = {.workers = 2};
    for (int i = 0; i < 20; i++)
        CHECK_EQ(rn_run(&options, root_main, &r), 5);
    CHECK_EQ(r.ended, 20);
    return arg;
}

TEST(run_two_runtimes_at_once)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, run_in_thread, NULL), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static int
run_again(void *arg)
{
    return rn_run(NULL, root_main, arg);
}

TEST_DIES_WITH(run_inside_a_task_panics, "rn_run", -SIGABRT)
{
    struct root r = {0, 0, 0};
    rn_run(NULL, run_again, &r);
}

/* ---- options ------------------------------------------------------------ */

TEST(run_refuses_options_out_of_range)
{
    static const rn_options wrong[] = {
        {.workers = -1},
        {.workers = INT32_MIN},
        {.workers = 1 << 30},
        {.stack_bytes = 1},
        {.stack_bytes = 1024},
        {.stack_bytes = SIZE_MAX},
        {.stack_bytes = (size_t)-65536},
        {.backend = (rn_backend_kind)99},
        {.guard = (rn_guard_kind)99},
        {.deadlock = (rn_deadlock_policy)99},
    };
    int number = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_EQ(rn_run(&wrong[i], return_number, &number), -EINVAL);
}

static int
get_stats(void *arg)
{
    rn_stats *stats = arg;
    struct root r = {.child = 0};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 10; i++)
        go(root_child, &r);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_stats_get(stats);
    return 0;
}

TEST(run_counts)
{
    rn_stats stats = {0};
    rn_options options = {.workers = 3};
    CHECK_EQ(rn_run(&options, get_stats, &stats), 0);
    CHECK_EQ(stats.workers, 3);
    CHECK(stats.tasks == 10 || stats.tasks == 11); /* with or without main */
    CHECK_GE(stats.tasks_peak, 2);
    CHECK_LE(stats.tasks_peak, 11);
    CHECK_GE(stats.switches, 10);
    CHECK_GE(stats.stacks, 2);
    CHECK_GE(stats.elapsed, 0);
}

TEST(run_reads_the_number_of_workers_from_the_environment)
{
    rn_stats stats = {0};
    rn_options options = {.workers = 2};
    CHECK_EQ(setenv("RUNNEL_WORKERS", "3", 1), 0);
    CHECK_EQ(rn_run(NULL, get_stats, &stats), 0);
    CHECK_EQ(stats.workers, 3);
    CHECK_EQ(rn_run(&options, get_stats, &stats), 0);
    CHECK_EQ(stats.workers, 2); /* the option is stronger */
}

TEST_DIES_WITH(run_stats_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_stats stats;
    rn_stats_get(&stats);
}

static int
echo(void *arg)
{
    rn_chan **c = arg;
    for (int i = 0; i < 10; i++)
        send_int(c[1], recv_int(c[0]) + 1);
    return 0;
}

static int
ping_pong(void *arg)
{
    rn_chan *c[] = {new_chan(sizeof(int), 0), new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    go(echo, c);
    for (int i = 0; i < 10; i++) {
        send_int(c[0], i);
        CHECK_EQ(recv_int(c[1]), i + 1);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c[0]);
    rn_chan_unref(c[1]);
    ++*(int *)arg;
    return 0;
}

static void
try_option(rn_options options, const char *what)
{
    int number = 0;
    for (int workers = 1; workers <= 4; workers += 3) {
        options.workers = workers;
        int e = rn_run(&options, ping_pong, &number);
        if (e == -EINVAL)
            test_skip("%s does not work here", what);
        CHECK_EQ(e, 0);
    }
    CHECK_EQ(number, 2);
}

TEST(run_on_context_asm)
{
    try_option((rn_options){.backend = RN_BACKEND_ASM}, "asm");
}

TEST(run_on_context_ucontext)
{
    try_option((rn_options){.backend = RN_BACKEND_UCONTEXT}, "ucontext");
}

TEST(run_on_context_thread)
{
    try_option((rn_options){.backend = RN_BACKEND_THREAD}, "thread");
}

TEST(run_with_guard_madvise)
{
    try_option((rn_options){.guard = RN_GUARD_MADVISE}, "madvise");
}

TEST(run_with_guard_mprotect)
{
    try_option((rn_options){.guard = RN_GUARD_MPROTECT}, "mprotect");
}

TEST(run_with_guard_canary)
{
    try_option((rn_options){.guard = RN_GUARD_CANARY}, "canary");
}

/* ---- deadlock ----------------------------------------------------------- */

static int
wait_for_ever(void *arg)
{
    (void)arg;
    return rn_chan_recv(NULL, NULL, RN_NEVER);
}

static int
deadlocked(void *arg)
{
    go_named("alice", wait_for_ever, NULL);
    rn_sleep(RN_MS); /* a timer is a hope: no deadlock yet */
    rn_mutex *m = arg;
    CHECK_EQ(rn_mutex_lock(m, RN_NEVER), 0);
    return rn_mutex_lock(m, RN_NEVER);
}

static void
run_deadlocked(int workers, rn_deadlock_policy policy)
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_options options = {.workers = workers, .deadlock = policy};
    rn_run(&options, deadlocked, &m);
}

TEST_DIES_WITH(run_deadlock_exits_one, "deadlock|main|alice", RN_EXIT_DEADLOCK)
{
    run_deadlocked(1, RN_DEADLOCK_EXIT);
}

TEST_DIES_WITH(run_deadlock_exits_many, "deadlock|main|alice", RN_EXIT_DEADLOCK)
{
    run_deadlocked(4, RN_DEADLOCK_EXIT);
}

TEST_DIES_WITH(run_deadlock_aborts, "deadlock|main|alice", -SIGABRT)
{
    run_deadlocked(4, RN_DEADLOCK_ABORT);
}

static int
leave_waiting(void *arg)
{
    go_named("alice", wait_for_ever, arg);
    return 0;
}

TEST_DIES_WITH(run_task_left_waiting_is_a_deadlock, "deadlock|alice",
               RN_EXIT_DEADLOCK)
{
    rn_run(NULL, leave_waiting, NULL);
}

static void
count_call(void *arg)
{
    ++*(int *)arg;
}

TEST(run_deadlock_calls_the_hook)
{
    int calls = 0, number = 5;
    for (int i = 0; i < 10; i++) {
        rn_mutex m = RN_MUTEX_INIT;
        rn_options options = {.workers = 1 + i % 4,
                              .deadlock = RN_DEADLOCK_CALL,
                              .on_deadlock = count_call,
                              .on_deadlock_arg = &calls};
        CHECK_EQ(rn_run(&options, deadlocked, &m), -EDEADLK);
        CHECK_EQ(calls, i + 1);
        CHECK_EQ(rn_run(NULL, return_number, &number), 5); /* goes on */
    }
}

/* ---- stacks ------------------------------------------------------------- */

__attribute__((noinline)) static int
use_stack(size_t bytes)
{
    volatile char block[1024];
    memset((char *)block, (int)bytes, sizeof block);
    if (bytes <= sizeof block)
        return block[17] & 1;
    return use_stack(bytes - sizeof block) + (block[5] & 1);
}

static int
use_bytes(void *arg)
{
    return use_stack(*(size_t *)arg) < 0 ? -EIO : 0;
}

static int
spawn_deep(void *arg)
{
    for (int i = 0; i < 4; i++)
        go_named("deep", use_bytes, arg);
    return 0;
}

TEST(run_stacks_have_the_size_asked_for)
{
    size_t sizes[] = {0, 128 << 10, 1 << 20, 16 << 20};
    for (int i = 0; i < 4; i++) {
        size_t bytes = (sizes[i] ? sizes[i] : 64 << 10) / 4 * 3 - (8 << 10);
        rn_options options = {.stack_bytes = sizes[i]};
        if (TEST_SANITIZED)
            bytes /= 2; /* red zones around each block */
        CHECK_EQ(rn_run(&options, spawn_deep, &bytes), 0);
    }
}

static void
overflow(rn_guard_kind guard)
{
    size_t bytes = 64 << 20; /* also beyond an OS thread's stack */
    rn_options options = {.stack_bytes = 128 << 10, .guard = guard};
    if (rn_run(&options, spawn_deep, &bytes) == -EINVAL)
        test_skip("this guard does not work here");
}

TEST_DIES(run_stack_overflow_is_reported,
          "stack overflow|deep|bytes|stack_bytes")
{
    overflow(RN_GUARD_DEFAULT);
}

TEST_DIES(run_stack_overflow_with_madvise, "stack overflow|deep|bytes")
{
    overflow(RN_GUARD_MADVISE);
}

TEST_DIES(run_stack_overflow_with_mprotect, "stack overflow|deep|bytes")
{
    overflow(RN_GUARD_MPROTECT);
}

/* Goes a little deeper between switches, until one sees the canary gone. */
__attribute__((noinline)) static int
dive(int depth)
{
    volatile char block[256];
    memset((char *)block, depth, sizeof block);
    rn_yield();
    if (depth == 1 << 20) /* never: 256 MiB */
        return 0;
    return dive(depth + 1) + block[7];
}

static int
dive_for_ever(void *arg)
{
    (void)arg;
    return dive(1);
}

static int
yield_for_ever(void *arg)
{
    for (;;)
        if (rn_yield() < 0)
            return arg ? -EIO : 0;
}

static int
spawn_diver(void *arg)
{
    go(yield_for_ever, arg);
    go_named("deep", dive_for_ever, arg);
    return 0;
}

TEST_DIES(run_stack_overflow_with_canary, "stack overflow|deep|bytes")
{
    rn_options options = {
        .workers = 1, .stack_bytes = 128 << 10, .guard = RN_GUARD_CANARY};
    rn_run(&options, spawn_diver, NULL);
}

static int
touch_null(void *arg)
{
    return *(volatile int *)arg;
}

static int
spawn_crash(void *arg)
{
    go_named("wild", touch_null, arg);
    return 0;
}

/* A crash that is not ours to explain stays a crash. */
TEST_DIES(run_crash_ends_the_program, "")
{
    rn_run(NULL, spawn_crash, NULL);
}

/* ---- crashes ------------------------------------------------------------- */

static int
say_finalized(void *arg, int outcome)
{
    (void)arg;
    (void)outcome;
    fprintf(stderr, "finalized\n");
    return 0;
}

static int
crash(void *arg)
{
    CHECK_EQ(rn_defer(say_finalized, NULL), 0);
    raise(*(int *)arg);
    return 0;
}

static int
crash_in_a_scope(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_defer(say_finalized, NULL), 0);
    go(crash, arg);
    return rn_scope_close(s);
}

static void
run_crash(void *arg)
{
    rn_run(NULL, crash_in_a_scope, arg);
}

/* R19: neither caught nor made an error of the task; nothing is run. */
TEST(run_R19_a_crash_ends_the_process)
{
    int signals[] = {SIGABRT, SIGFPE, SIGTERM, SIGKILL};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct test_child child = test_fork(run_crash, &signals[i], 20);
        CHECK_EQ(child.status, -signals[i]);
        CHECK(!strstr(child.text, "finalized"));
        free(child.text);
    }
}

/* ---- shutdown ----------------------------------------------------------- */

static int
see_the_shutdown(void *arg)
{
    int code = 0;
    rn_scope *inner = open_scope(RN_NEVER);
    CHECK_EQ(rn_chan_send(arg, NULL, RN_NEVER), 0);
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_cancel_reason(&code), RN_REASON_PARENT);
    CHECK_EQ(code, 7);
    CHECK_EQ(rn_scope_close(inner), 0);
    CHECK_EQ(rn_cancel_reason(&code), RN_REASON_SHUTDOWN);
    return 0;
}

API_TEST_SCHEDULES(run_shutdown_cancels_all, 1000)
{
    int code = 0;
    rn_chan *begun = new_chan(0, 0);
    rn_task t = go_joinable(see_the_shutdown, begun);
    CHECK_EQ(rn_chan_recv(begun, NULL, RN_NEVER), 0);
    rn_shutdown(7);
    rn_shutdown(8); /* harmless */
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_cancel_reason(&code), RN_REASON_SHUTDOWN);
    CHECK_EQ(code, 7);
    CHECK_EQ(rn_go(NULL, see_the_shutdown, begun), -ECANCELED);
    rn_shield shield = rn_shield_push();
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_shield_restore(shield);
    rn_chan_unref(begun);
}
