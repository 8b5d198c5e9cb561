/* memory.c - tests of runnel/run.h: memory after a burst of tasks. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 20000, TOUCHED_KIB = 12, KEPT = 64 /* by a worker */ };

struct burst {
    rn_chan *gate;
    rn_waitgroup parked;
};

__attribute__((noinline)) static int
touch(int kib)
{
    volatile char block[1024];
    memset((char *)(uintptr_t)block, kib, sizeof block);
    return kib <= 1 ? block[1] : touch(kib - 1) + block[2];
}

static int
touch_and_park(void *arg)
{
    struct burst *b = arg;
    touch(TEST_SANITIZED ? 2 : TOUCHED_KIB);
    rn_yield(); /* a canary is looked at */
    rn_waitgroup_done(&b->parked);
    CHECK_EQ(rn_chan_recv(b->gate, NULL, RN_NEVER), -EPIPE);
    return 0;
}

static int
touch_too_much(void *arg)
{
    return touch(1 << 16) < 0 || arg ? -EIO : 0;
}

/* All parked at once, then all gone. */
static void
burst(int tasks, bool overflow)
{
    struct burst b = {new_chan(0, 0), RN_WAITGROUP_INIT};
    rn_scope *s = open_scope(RN_NEVER);
    rn_waitgroup_add(&b.parked, tasks);
    for (int i = 0; i < tasks; i++)
        go(touch_and_park, &b);
    CHECK_EQ(rn_waitgroup_wait(&b.parked, RN_NEVER), 0);
    if (overflow)
        go_named("deep", touch_too_much, NULL);
    rn_chan_close(b.gate);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(b.gate);
}

static rn_stats
stats_now(void)
{
    rn_stats stats;
    rn_stats_get(&stats);
    return stats;
}

/* Until all free stacks but those of the workers have gone back. */
static void
wait_for_trim(bool busy)
{
    rn_stats s = stats_now();
    while (s.stacks_trimmed + (uint64_t)s.workers * KEPT + 1 < s.stacks) {
        CHECK_EQ(busy ? rn_yield() : rn_sleep(RN_MS), 0);
        s = stats_now();
    }
}

/* Few tasks say nothing of memory, nor where a sanitizer keeps it; and OS
 * threads that wait for the next context keep their own stacks. */
static int
burst_twice(void *arg)
{
    int tasks = *(int *)arg;
    long before = resident_bytes();
    burst(tasks, false);
    long most = resident_bytes();
    wait_for_trim(false);
    if (most - before > tasks * (TOUCHED_KIB << 10L) && tasks >= 1000)
        CHECK_LT(resident_bytes() - before, (most - before) / 4);
    rn_stats s = stats_now();
    burst(tasks, false); /* on the same stacks */
    CHECK_LE(stats_now().stacks, s.stacks + (uint64_t)s.workers * KEPT);
    return 0;
}

static void
run_bursts(rn_options options, int most)
{
    for (int workers = 1; workers <= 4; workers += 3) {
        int tasks = many_tasks(most);
        options.workers = workers;
        int e = rn_run(&options, burst_twice, &tasks);
        if (e == -EINVAL)
            test_skip("that does not work here");
        CHECK_EQ(e, 0);
    }
}

TEST(memory_of_stacks_comes_back)
{
    run_bursts((rn_options){.workers = 1}, TASKS);
}

TEST(memory_of_stacks_comes_back_ucontext)
{
    run_bursts((rn_options){.backend = RN_BACKEND_UCONTEXT}, TASKS / 10);
}

TEST(memory_of_stacks_comes_back_thread)
{
    run_bursts((rn_options){.backend = RN_BACKEND_THREAD}, 300);
}

TEST(memory_of_stacks_comes_back_mprotect)
{
    run_bursts((rn_options){.guard = RN_GUARD_MPROTECT}, TASKS / 4);
}

TEST(memory_of_stacks_comes_back_canary)
{
    run_bursts((rn_options){.guard = RN_GUARD_CANARY}, TASKS / 4);
}

static int
yield_until(void *arg)
{
    while (!atomic_load((atomic_bool *)arg))
        CHECK_EQ(rn_yield(), 0);
    return 0;
}

/* Also while no worker ever rests. */
REAL_TEST(memory_of_stacks_comes_back_under_load)
{
    atomic_bool enough = false;
    rn_scope *s = open_scope(RN_NEVER);
    burst(many_tasks(2000), false);
    for (int i = 0; i < 8; i++)
        go(yield_until, &enough);
    wait_for_trim(true);
    atomic_store(&enough, true);
    CHECK_EQ(rn_scope_close(s), 0);
}

static int
burst_and_overflow(void *arg)
{
    burst(1000, false);
    wait_for_trim(false);
    burst(500, true);
    return arg ? 0 : 1;
}

static void
overflow_later(rn_guard_kind guard)
{
    rn_options options = {.workers = 2, .guard = guard};
    if (rn_run(&options, burst_and_overflow, NULL) == -EINVAL)
        test_skip("this guard does not work here");
}

TEST_DIES(memory_guards_stay_madvise, "stack overflow|deep|bytes")
{
    overflow_later(RN_GUARD_MADVISE);
}

TEST_DIES(memory_guards_stay_mprotect, "stack overflow|deep|bytes")
{
    overflow_later(RN_GUARD_MPROTECT);
}
