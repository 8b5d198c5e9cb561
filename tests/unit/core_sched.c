/* The scheduler: no wake-up is lost. A lost one would leave a run waiting for
 * ever, which the time limit of a test (or the deadlock report) catches.
 */
#include "core_run.h"

/* ---- pairs -------------------------------------------------------------- */

struct pair {
    rn_chan *there, *back;
    long rounds;
};

static int
ping(void *arg)
{
    struct pair *pair = arg;
    long echo;
    for (long i = 0; i < pair->rounds; i++) {
        CHECK_EQ(rn_chan_send(pair->there, &i, RN_NEVER), 0);
        CHECK_EQ(rn_chan_recv(pair->back, &echo, RN_NEVER), 0);
        CHECK_EQ(echo, i);
    }
    rn_chan_close(pair->there);
    return 0;
}

static int
pong(void *arg)
{
    struct pair *pair = arg;
    long value;
    while (rn_chan_recv(pair->there, &value, RN_NEVER) == 0)
        CHECK_EQ(rn_chan_send(pair->back, &value, RN_NEVER), 0);
    return 0;
}

static void
play(int pairs, long rounds, size_t capacity)
{
    struct pair all[32];
    rn_scope *scope = open_scope();
    for (int i = 0; i < pairs; i++) {
        all[i] = (struct pair){new_chan(sizeof(long), capacity),
                               new_chan(sizeof(long), capacity), rounds};
        go(scope, ping, &all[i]);
        go(scope, pong, &all[i]);
    }
    CHECK_EQ(rn_scope_close(scope), 0);
    for (int i = 0; i < pairs; i++) {
        rn_chan_unref(all[i].there);
        rn_chan_unref(all[i].back);
    }
}

/* Workers fall asleep and are woken all the time. */
RUN_TEST(sched_one_pair)
{
    play(1, test_count(150000), 0);
    play(1, test_count(150000), 1);
    return 0;
}

RUN_TEST(sched_a_pair_a_worker)
{
    play(WORKERS, test_count(100000), 0);
    return 0;
}

RUN_TEST(sched_many_pairs)
{
    play(32, test_count(10000), 0);
    play(32, test_count(10000), 2);
    return 0;
}

/* ---- many to one, one to many ------------------------------------------- */

static struct {
    rn_chan *chan;
    rn_mutex mutex;
    rn_cond cond;
    rn_waitgroup group;
    long turn; /* guarded by mutex */
    _Atomic long count;
} shared;

static int
produce(void *arg)
{
    for (long i = (intptr_t)arg; i > 0; i--)
        CHECK_EQ(rn_chan_send(shared.chan, &i, RN_NEVER), 0);
    return 0;
}

static void
fan_in(size_t capacity, intptr_t each)
{
    enum { PRODUCERS = 64 };
    long sum = 0, value;
    shared.chan = new_chan(sizeof(long), capacity);
    rn_scope *scope = open_scope();
    for (int i = 0; i < PRODUCERS; i++)
        go(scope, produce, (void *)each);
    for (long i = PRODUCERS * each; i > 0; i--) {
        CHECK_EQ(rn_chan_recv(shared.chan, &value, RN_NEVER), 0);
        sum += value;
    }
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(sum, PRODUCERS * each * (each + 1) / 2);
    rn_chan_unref(shared.chan);
}

RUN_TEST(sched_fan_in)
{
    for (size_t capacity = 0; capacity < 20; capacity += 4)
        fan_in(capacity, test_count(1500));
    return 0;
}

static int
wait_for_close(void *arg)
{
    (void)arg;
    rn_waitgroup_done(&shared.group);
    CHECK_EQ(rn_chan_recv(shared.chan, NULL, RN_NEVER), -EPIPE);
    atomic_fetch_add(&shared.count, 1);
    return 0;
}

RUN_TEST(sched_fan_out_by_close)
{
    enum { WAITERS = 100 };
    long rounds = test_count(1500);
    for (long i = 0; i < rounds; i++) {
        shared.chan = new_chan(0, 0);
        rn_waitgroup_add(&shared.group, WAITERS);
        rn_scope *scope = open_scope();
        for (int k = 0; k < WAITERS; k++)
            go(scope, wait_for_close, NULL);
        CHECK_EQ(rn_waitgroup_wait(&shared.group, RN_NEVER), 0);
        rn_chan_close(shared.chan);
        CHECK_EQ(rn_scope_close(scope), 0);
        rn_chan_unref(shared.chan);
    }
    CHECK_EQ(shared.count, rounds * WAITERS);
    return 0;
}

/* ---- all at every turn -------------------------------------------------- */

enum { RING = 8 };

static int
take_turns(void *arg)
{
    long me = (intptr_t)arg;
    for (long i = test_count(20000); i > 0; i--) {
        CHECK_EQ(rn_mutex_lock(&shared.mutex, RN_NEVER), 0);
        while (shared.turn % RING != me)
            CHECK_EQ(rn_cond_wait(&shared.cond, &shared.mutex, RN_NEVER), 0);
        shared.turn++;
        rn_cond_broadcast(&shared.cond);
        rn_mutex_unlock(&shared.mutex);
    }
    return 0;
}

RUN_TEST(sched_turns_by_broadcast)
{
    rn_scope *scope = open_scope();
    for (intptr_t i = 0; i < RING; i++)
        go(scope, take_turns, (void *)i);
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(shared.turn, RING * test_count(20000));
    return 0;
}

/* ---- queues that overflow, slots that are held -------------------------- */

static int
count_one(void *arg)
{
    (void)arg;
    atomic_fetch_add(&shared.count, 1);
    return 0;
}

static int
spawn_more(void *arg)
{
    intptr_t levels = (intptr_t)arg;
    for (int i = 0; i < 3 && levels > 0; i++)
        go(NULL, spawn_more, (void *)(levels - 1));
    return count_one(NULL);
}

RUN_TEST(sched_more_tasks_than_a_queue_holds)
{
    rn_scope *scope = open_scope();
    for (int i = 0; i < 20 * RN__RING_FIRST; i++)
        go(scope, count_one, NULL);
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(shared.count, 20 * RN__RING_FIRST);
    return 0;
}

RUN_TEST(sched_a_tree_of_tasks)
{
    rn_scope *scope = open_scope();
    go(scope, spawn_more, (void *)9);
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(shared.count, 29524); /* 1 + 3 + ... + 3^9 */
    return 0;
}

static void
spin_until_counted(long count)
{
    while (atomic_load(&shared.count) < count)
        rn__cpu_pause();
}

/* What a task has woken runs even if it never gives up its worker. */
RUN_TEST(sched_a_task_that_spins_does_not_hold_what_it_woke)
{
    for (long i = 1; i <= test_count(20); i++) {
        go(NULL, count_one, NULL);
        spin_until_counted(i);
    }
    return 0;
}

static int
sleep_and_count(void *arg)
{
    CHECK_EQ(rn_sleep((intptr_t)arg), 0);
    return count_one(NULL);
}

static int
yield_until_counted(void *arg)
{
    go(NULL, sleep_and_count, (void *)1000);
    while (atomic_load(&shared.count) == 0)
        CHECK_EQ(rn_yield(), 0);
    (void)arg;
    return 0;
}

/* Its yields find nobody to run, and no other worker looks at the clock. */
TEST(sched_a_lone_task_that_yields_does_not_stop_the_clock)
{
    rn_options options = {.workers = 1};
    CHECK_EQ(rn_run(&options, yield_until_counted, NULL), 0);
}

RUN_TEST(sched_a_task_that_spins_does_not_stop_the_clock)
{
    go(NULL, sleep_and_count, (void *)1000);
    rn_yield();
    spin_until_counted(1);
    return 0;
}

static int
sleep_often(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    for (long i = test_count(2000); i > 0; i--)
        CHECK_EQ(rn_sleep(rn__prng_below(&random, 20000)), 0);
    return 0;
}

RUN_TEST(sched_workers_sleep_until_the_first_timer)
{
    rn_scope *scope = open_scope();
    for (intptr_t i = 0; i < 6; i++)
        go(scope, sleep_often, (void *)i);
    CHECK_EQ(rn_scope_close(scope), 0);
    return 0;
}

static int
yield_often(void *arg)
{
    (void)arg;
    for (long i = test_count(50000); i > 0; i--)
        CHECK_EQ(rn_yield(), 0);
    return count_one(NULL);
}

RUN_TEST(sched_yields)
{
    rn_scope *scope = open_scope();
    for (int i = 0; i < 2 * WORKERS; i++)
        go(scope, yield_often, NULL);
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(shared.count, 2 * WORKERS);
    return 0;
}

/* ---- the global queue ---------------------------------------------------- */

static int
yield_until_two(void *arg)
{
    (void)arg;
    while (atomic_load(&shared.count) < 2)
        CHECK_EQ(rn_yield(), 0);
    return 0;
}

/* The ring of those that have not begun cannot be had: the first of two goes
 * into the global queue. */
static void
inject_one(void)
{
    struct rn__rt *rt = rn__rt_self();
    CHECK_EQ(rn__worker_self()->queue.fresh.room, 0);
    rt->options.fail_alloc = 1;
    go(NULL, count_one, NULL);
    go(NULL, count_one, NULL);
    CHECK_EQ(rt->injected_count, 1);
}

/* There is always somebody to run here, so only a look around helps. */
static int
inject_among_yields(void *arg)
{
    (void)arg;
    go(NULL, yield_until_two, NULL);
    CHECK_EQ(rn_yield(), 0); /* it is among the woken from here on */
    inject_one();
    for (int i = 0; i < 2000 && atomic_load(&shared.count) < 2; i++)
        CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(atomic_load(&shared.count), 2);
    return 0;
}

TEST(sched_looks_at_the_global_queue_while_tasks_yield)
{
    rn_options options = {.workers = 1};
    CHECK_EQ(rn_run(&options, inject_among_yields, NULL), 0);
}
