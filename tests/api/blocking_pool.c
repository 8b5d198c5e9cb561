/* blocking_pool.c - tests of runnel/blocking.h: the pool, for real: its limit,
 * its queue, and what the runtime says of it. Calls that must last wait for a
 * semaphore.
 */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static int
add_one(void *arg)
{
    return ++*(int *)arg;
}

/* ---- a pool of few threads ---------------------------------------------- */

/* A body as the main task of a pool with so many threads, for real. */
static void
run_pool(int workers, int threads, rn_task_fn *body)
{
    rn_options options = {.workers = workers, .blocking_threads = threads};
    CHECK_EQ(rn_run(&options, body, NULL), 0);
}

#define POOL_TEST(id, threads)             \
    static int pool_##id(void *arg);       \
    TEST(TEST_CAT(id, _one))               \
    {                                      \
        run_pool(1, (threads), pool_##id); \
    }                                      \
    TEST(TEST_CAT(id, _many))              \
    {                                      \
        run_pool(4, (threads), pool_##id); \
    }                                      \
    static int pool_##id(void *arg __attribute__((unused)))

static sem_t gate; /* what calls wait for that hold a thread */
static _Atomic int inside, inside_peak, passed;

static void
gate_init(void)
{
    CHECK_EQ(sem_init(&gate, 0, 0), 0);
}

static void
gate_open(int n)
{
    while (n-- > 0)
        CHECK_EQ(sem_post(&gate), 0);
}

static int
pass_gate(void *arg)
{
    (void)arg;
    int now = atomic_fetch_add(&inside, 1) + 1;
    int peak = atomic_load(&inside_peak);
    while (now > peak &&
           !atomic_compare_exchange_weak(&inside_peak, &peak, now))
        ;
    while (sem_wait(&gate) != 0)
        CHECK_EQ(errno, EINTR);
    atomic_fetch_sub(&inside, 1);
    return atomic_fetch_add(&passed, 1);
}

static int
call_gate(void *arg)
{
    CHECK_EQ(rn_blocking(pass_gate, NULL, RN_NEVER, arg), 0);
    return 0;
}

static rn_blocking_stats
stats_now(void)
{
    rn_blocking_stats stats;
    rn_blocking_stats_get(&stats);
    return stats;
}

/* Until so many calls are on threads, and so many wait for one. */
static void
await_calls(int running, int queued)
{
    while (atomic_load(&inside) != running ||
           stats_now().queued != (uint64_t)queued)
        CHECK_EQ(rn_yield(), 0);
}

POOL_TEST(blocking_threads_are_limited, 3)
{
    enum { N = 20 };
    gate_init();
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < N; i++)
        go(call_gate, NULL);
    await_calls(3, N - 3);
    gate_open(N);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(inside_peak, 3);
    CHECK_EQ(passed, N);
    rn_blocking_stats stats = stats_now();
    CHECK_EQ(stats.calls, N);
    CHECK_EQ(stats.threads, 3);
    CHECK_EQ(stats.threads_peak, 3);
    CHECK_EQ(stats.queued, 0);
    CHECK_EQ(stats.queued_peak, N - 3);
    CHECK_GT(stats.queue_ns_longest, 0);
    CHECK_GE(stats.queue_ns, stats.queue_ns_longest);
    return 0;
}

POOL_TEST(blocking_queue_is_first_in_first_out, 1)
{
    enum { N = 6 };
    int order[N];
    gate_init();
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < N; i++) {
        go(call_gate, &order[i]);
        await_calls(1, i);
    }
    gate_open(N);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(order[i], i);
    return 0;
}

/* An idle thread is used again, so one caller needs one thread. */
POOL_TEST(blocking_reuses_its_threads, 8)
{
    int value = 0;
    for (int i = 0; i < (int)test_count(5000); i++)
        CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, NULL), 0);
    CHECK_EQ(stats_now().threads_peak, 1);
    CHECK_EQ(stats_now().queued_peak, 0);
    return 0;
}

POOL_TEST(blocking_try_needs_a_free_thread, 1)
{
    int value = 0, result = 9;
    gate_init();
    CHECK_EQ(rn_blocking(add_one, &value, RN_NOW, NULL), 0); /* the first */
    rn_scope *s = open_scope(RN_NEVER);
    go(call_gate, NULL);
    await_calls(1, 0);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NOW, &result), -EAGAIN);
    gate_open(1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(value, 1);
    CHECK_EQ(result, 9);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NOW, &result), 0);
    CHECK_EQ(result, 2);
    return 0;
}

POOL_TEST(blocking_queued_call_ends_at_its_deadline, 1)
{
    int value = 0, result = 9;
    gate_init();
    rn_scope *s = open_scope(RN_NEVER);
    go(call_gate, NULL);
    await_calls(1, 0);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_blocking(add_one, &value, when, &result), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    CHECK_EQ(rn_blocking(add_one, &value, rn_now(), &result), -ETIMEDOUT);
    CHECK_EQ(stats_now().gave_up, 2);
    CHECK_EQ(stats_now().queued, 0);
    gate_open(1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_blocking(add_one, &result, RN_NEVER, NULL), 0);
    CHECK_EQ(value, 0); /* never ran */
    CHECK_EQ(result, 10);
    CHECK_EQ(stats_now().calls, 2);
    return 0;
}

static int
call_until_cancelled(void *arg)
{
    CHECK_EQ(rn_blocking(add_one, arg, RN_NEVER, NULL), -ECANCELED);
    return 0;
}

POOL_TEST(blocking_queued_call_can_be_cancelled, 1)
{
    int values[3] = {0};
    gate_init();
    rn_scope *holder = open_scope(RN_NEVER);
    go(call_gate, NULL);
    await_calls(1, 0);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(call_until_cancelled, &values[i]);
    await_calls(1, 3);
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(stats_now().gave_up, 3);
    CHECK_EQ(stats_now().queued, 0);
    gate_open(1);
    CHECK_EQ(rn_scope_close(holder), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(values[i], 0);
    return 0;
}

struct running {
    rn_time deadline;
    _Atomic int done;
};

static int
call_and_tell(void *arg)
{
    struct running *r = arg;
    int result = -1;
    CHECK_EQ(rn_blocking(pass_gate, NULL, r->deadline, &result), 0);
    CHECK_EQ(result, 0);
    CHECK_EQ(rn_cancel_requested(), 1); /* it has come, but later */
    atomic_store(&r->done, 1);
    return 0;
}

static void
run_through(rn_time deadline)
{
    struct running r = {.deadline = deadline};
    gate_init();
    atomic_store(&passed, 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(call_and_tell, &r);
    await_calls(1, 0);
    rn_scope_cancel(s);
    while (rn_now() < r.deadline && r.deadline != RN_NEVER)
        (void)!rn_yield();
    for (int i = 0; i < 100; i++) {
        (void)!rn_yield();
        CHECK_EQ(atomic_load(&r.done), 0);
    }
    gate_open(1);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(r.done, 1);
}

POOL_TEST(blocking_running_call_is_not_cut_short, 1)
{
    run_through(RN_NEVER);
    run_through(rn_now());
    run_through(rn_now() + RN_MS);
    return 0;
}

/* Cancelled or expired while queued, but taken by a thread before its task
 * came to take it out: both at the same moment, many times. */
static int
call_maybe(void *arg)
{
    int *ran = arg;
    int e = rn_blocking(add_one, ran, rn_now() + *ran % 3 * 10 * RN_US, NULL);
    CHECK(e == 0 || e == -ETIMEDOUT || e == -ECANCELED);
    *ran -= e == 0; /* back to where it was, if it ran as it says */
    return 0;
}

POOL_TEST(blocking_cancel_and_deadline_races_are_decided, 2)
{
    enum { N = 12 };
    for (int round = 0; round < (int)test_count(1000); round++) {
        int values[N];
        rn_scope *s = open_scope(RN_NEVER);
        for (int i = 0; i < N; i++) {
            values[i] = i;
            go(call_maybe, &values[i]);
        }
        for (int i = 0; i < round % 20; i++)
            (void)!rn_yield();
        rn_scope_cancel(s);
        close_cancelled(s);
        for (int i = 0; i < N; i++)
            CHECK_EQ(values[i], i);
    }
    CHECK_EQ(stats_now().queued, 0);
    return 0;
}

/* ---- no thread can be had ----------------------------------------------- */

static void
set_stacks(size_t bytes)
{
    pthread_attr_t attr;
    CHECK_EQ(pthread_getattr_default_np(&attr), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attr, bytes), 0);
    CHECK_EQ(pthread_setattr_default_np(&attr), 0);
    pthread_attr_destroy(&attr);
}

/* New threads get stacks for which no address space is large enough. */
static void
forbid_threads(bool forbid)
{
    set_stacks(forbid ? (size_t)1 << 55 : (size_t)1 << 20);
}

POOL_TEST(blocking_without_any_thread_fails, 4)
{
    int value = 0, result = 9;
    forbid_threads(true);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, &result), -EAGAIN);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NOW, &result), -EAGAIN);
    CHECK_EQ(value, 0);
    CHECK_EQ(result, 9);
    CHECK_EQ(stats_now().threads, 0);
    CHECK_EQ(stats_now().queued, 0);
    forbid_threads(false);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, &result), 0);
    CHECK_EQ(result, 1);
    return 0;
}

static int
call_in_vain(void *arg)
{
    for (int i = 0; i < (int)test_count(200); i++) {
        CHECK_EQ(rn_blocking(add_one, arg, RN_NEVER, NULL), -EAGAIN);
        (void)!rn_yield();
    }
    return 0;
}

/* Also not for calls that queue while another one tries to start it. */
POOL_TEST(blocking_many_without_any_thread_all_fail, 1)
{
    int value = 0;
    forbid_threads(true);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 16; i++)
        go(call_in_vain, &value);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(value, 0);
    CHECK_EQ(stats_now().queued, 0);
    return 0;
}

enum { CALLS = 5 };

static int
call_some(void *arg)
{
    for (int i = 0; i < CALLS; i++)
        CHECK_EQ(rn_blocking(add_one, arg, RN_NEVER, NULL), 0);
    return 0;
}

/* Then calls wait for the threads there are. */
POOL_TEST(blocking_without_more_threads_waits, 4)
{
    int value = 0;
    gate_init();
    rn_scope *s = open_scope(RN_NEVER);
    go(call_gate, NULL);
    await_calls(1, 0);
    forbid_threads(true);
    CHECK_EQ(rn_blocking(add_one, &value, RN_NOW, NULL), -EAGAIN);
    CHECK_EQ(rn_blocking(add_one, &value, rn_now(), NULL), -ETIMEDOUT);
    go(call_some, &value);
    await_calls(1, 1);
    forbid_threads(false);
    go(call_gate, NULL); /* its thread takes the first in the queue */
    gate_open(2);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(value, CALLS);
    CHECK_EQ(passed, 2);
    return 0;
}

/* ---- what else the runtime says of it ----------------------------------- */

POOL_TEST(blocking_shows_in_dumps, 1)
{
    char *text = NULL;
    size_t length = 0;
    gate_init();
    rn_scope *s = open_scope(RN_NEVER);
    rn_task t = go_named("caller", call_gate, NULL);
    await_calls(1, 0);
    /* It is on its way into the wait: until it is there. */
    while (!text || !strstr(text, "\"caller\" waits in a blocking call")) {
        free(text);
        FILE *out = open_memstream(&text, &length);
        CHECK(out != NULL);
        rn_task_dump(out);
        fclose(out);
        CHECK_EQ(rn_yield(), 0);
    }
    free(text);
    gate_open(1);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    return 0;
}

static int
call_then_wait_for_ever(void *arg)
{
    (void)arg;
    int value = 0;
    CHECK_EQ(rn_blocking(add_one, &value, RN_NEVER, NULL), 0);
    return rn_chan_recv(new_chan(1, 0), NULL, RN_NEVER);
}

/* An idle thread of the pool is nobody who could wake a task. */
TEST_DIES_WITH(blocking_pool_hides_no_deadlock, "deadlock", RN_EXIT_DEADLOCK)
{
    rn_options options = {.workers = 2};
    rn_run(&options, call_then_wait_for_ever, NULL);
}

static int
call_once(void *arg)
{
    return rn_blocking(add_one, arg, RN_NEVER, NULL);
}

static void
run_with_stats(void *how)
{
    int value = 0;
    setenv("RUNNEL_STATS", how, 1);
    CHECK_EQ(rn_run(NULL, call_once, &value), 0);
}

TEST(blocking_is_in_the_statistics)
{
    struct test_child text = test_fork(run_with_stats, "text", 10);
    struct test_child json = test_fork(run_with_stats, "json", 10);
    CHECK_EQ(text.status, 0);
    CHECK_EQ(json.status, 0);
    CHECK_HAS(text.text, "blocking calls 1,");
    CHECK_HAS(json.text, ", \"blocking\": {\"calls\": 1, ");
    CHECK_HAS(json.text, "\"threads_peak\": 1}}\n");
    free(text.text);
    free(json.text);
}

static int
get_peak(void *arg)
{
    enum { N = 5 };
    gate_init();
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < N; i++)
        go(call_gate, NULL);
    while (atomic_load(&inside) + (int)stats_now().queued != N)
        CHECK_EQ(rn_yield(), 0);
    gate_open(N);
    CHECK_EQ(rn_scope_close(s), 0);
    *(int *)arg = (int)stats_now().threads_peak;
    return 0;
}

TEST(blocking_reads_the_number_of_threads_from_the_environment)
{
    int peak = 0;
    rn_options options = {.blocking_threads = 3};
    CHECK_EQ(setenv("RUNNEL_BLOCKING_THREADS", "2", 1), 0);
    CHECK_EQ(rn_run(NULL, get_peak, &peak), 0);
    CHECK_EQ(peak, 2);
    CHECK_EQ(rn_run(&options, get_peak, &peak), 0);
    CHECK_EQ(peak, 3); /* the option is stronger */
    options.blocking_threads = -1;
    CHECK_EQ(rn_run(&options, get_peak, &peak), -EINVAL);
    options.blocking_threads = 1025;
    CHECK_EQ(rn_run(&options, get_peak, &peak), -EINVAL);
    options.blocking_threads = 0;
    CHECK_EQ(setenv("RUNNEL_BLOCKING_THREADS", "few", 1), 0);
    CHECK_EQ(rn_run(&options, get_peak, &peak), -EINVAL);
    CHECK_EQ(peak, 3);
}
