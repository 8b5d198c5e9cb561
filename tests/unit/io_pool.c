/* The blocking pool: threads that come and go, workers that sleep meanwhile. */
#include "core_run.h"

#include "io/pool.h"

static int
add_one(void *arg)
{
    return ++*(int *)arg;
}

static uint64_t
threads_now(void)
{
    rn_blocking_stats stats;
    rn_blocking_stats_get(&stats);
    return stats.threads;
}

/* ---- threads that end --------------------------------------------------- */

RUN_TEST(blocking_idle_threads_end)
{
    int value = 0;
    atomic_store(&rn__pool_keep, 0);
    for (int i = 1; i <= 20; i++) {
        CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, NULL), 0);
        CHECK_EQ(value, i);
        while (threads_now() > 0)
            CHECK_EQ(rn_yield(), 0);
    }
    return 0;
}

static int
call_often(void *arg)
{
    int value = 0;
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (int i = 1; i <= (int)test_count(300); i++) {
        CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, NULL), 0);
        CHECK_EQ(value, i);
        for (uint32_t n = rn__prng_below(&random, 50); n > 0; n--)
            CHECK_EQ(rn_yield(), 0);
    }
    return 0;
}

static int
call_often_from_many(void *arg)
{
    (void)arg;
    for (int keep = 0; keep < 3; keep++) {
        atomic_store(&rn__pool_keep, keep * 10 * RN_US);
        rn_scope *scope = open_scope();
        for (intptr_t i = 0; i < 8; i++)
            go(scope, call_often, (void *)i);
        CHECK_EQ(rn_scope_close(scope), 0);
    }
    return 0;
}

/* Threads time out while they are given calls, and start while others end. */
TEST(blocking_threads_come_and_go)
{
    for (int workers = 1; workers <= WORKERS; workers += WORKERS - 1)
        for (int threads = 2; threads <= 8; threads *= 4) {
            rn_options options = {.workers = workers,
                                  .blocking_threads = threads};
            CHECK_EQ(rn_run(&options, call_often_from_many, NULL), 0);
        }
}

/* ---- workers that sleep ------------------------------------------------- */

static bool
all_sleep(struct rn__rt *rt)
{
    uint64_t sleeps = 0;
    for (int i = 0; i < rt->worker_count; i++)
        sleeps += atomic_load_explicit(&rt->workers[i].count.sleeps,
                                       memory_order_relaxed);
    return sleeps > 0 && atomic_load(&rt->asleep) == (uint32_t)rt->worker_count;
}

/* On a thread of the pool: return once every worker sleeps. */
static int
outlast_workers(void *arg)
{
    while (!all_sleep(arg))
        rn__os_relax();
    return 7;
}

static int
call_while_all_sleep(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        int result = 0;
        CHECK_EQ(rn_blocking(outlast_workers, rn__rt_self(), RN_NEVER, &result),
                 0);
        CHECK_EQ(result, 7);
    }
    return 0;
}

/* It is no deadlock, and the end of the call wakes one. */
TEST(blocking_call_while_all_workers_sleep)
{
    for (int workers = 1; workers <= WORKERS; workers += WORKERS - 1) {
        rn_options options = {.workers = workers};
        CHECK_EQ(rn_run(&options, call_while_all_sleep, NULL), 0);
    }
}
