/* The run queue: alone against a naive FIFO, then with thieves. The queue
 * never looks into a task, so here tasks are numbers dressed up as pointers.
 */
#include "core_run.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static struct rn__task *
as_task(uintptr_t number)
{
    return (struct rn__task *)number;
}

static uintptr_t
as_number(struct rn__task *task)
{
    return (uintptr_t)task;
}

/* ---- alone -------------------------------------------------------------- */

struct twin {
    uintptr_t items[RN__RUNQ_ROOM];
    size_t count;
};

static void
twin_drop(struct twin *twin, size_t n)
{
    twin->count -= n;
    memmove(twin->items, twin->items + n, twin->count * sizeof *twin->items);
}

static void
take_and_check(struct rn__runq *q, struct twin *twin)
{
    CHECK_EQ(rn__runq_empty(q), twin->count == 0);
    uintptr_t wanted = twin->count ? twin->items[0] : 0;
    CHECK_EQ(as_number(rn__runq_take(q)), wanted);
    if (wanted)
        twin_drop(twin, 1);
}

/* About half, from the old end, in order; the last of them is returned. */
static void
steal_and_check(struct rn__runq *q, struct twin *twin)
{
    static struct rn__runq to; /* keeps its place in the ring */
    struct rn__task *last = rn__runq_steal(&to, q);
    size_t taken = twin->count - twin->count / 2;
    CHECK_EQ(last != NULL, twin->count > 0);
    for (size_t i = 0; i + 1 < taken; i++)
        CHECK_EQ(as_number(rn__runq_take(&to)), twin->items[i]);
    CHECK(!rn__runq_take(&to));
    if (last)
        CHECK_EQ(as_number(last), twin->items[taken - 1]);
    twin_drop(twin, taken);
}

/* A program with its favourite operations, so that the queue is full for a
 * while and empty for a while. */
static void
random_program(struct rn__runq *q, struct twin *twin, uint64_t *random)
{
    uint32_t puts = rn__prng_below(random, 100);
    for (int step = 0; step < 2000; step++) {
        static uintptr_t number;
        uint32_t op = rn__prng_below(random, 100);
        if (op < puts) {
            bool fits = twin->count < RN__RUNQ_ROOM;
            CHECK_EQ(rn__runq_put(q, as_task(++number)), fits);
            if (fits)
                twin->items[twin->count++] = number;
        } else if (op < puts + (100 - puts) * 9 / 10) {
            take_and_check(q, twin);
        } else {
            steal_and_check(q, twin);
        }
    }
}

TEST(runq_does_what_a_fifo_does)
{
    static struct rn__runq q;
    static struct twin twin;
    uint64_t random = 7;
    for (long round = test_count(400); round > 0; round--)
        random_program(&q, &twin, &random);
    while (twin.count)
        take_and_check(&q, &twin);
    take_and_check(&q, &twin);
}

TEST(runq_numbers_may_wrap)
{
    static struct rn__runq q;
    static struct twin twin;
    uint64_t random = 8;
    atomic_store(&q.head, UINT32_MAX - 1000);
    atomic_store(&q.tail, UINT32_MAX - 1000);
    while (atomic_load(&q.head) > 1000000)
        random_program(&q, &twin, &random);
    while (twin.count)
        take_and_check(&q, &twin);
}

/* ---- with thieves ------------------------------------------------------- */

enum { THIEVES = 3 };

static struct {
    struct rn__runq queues[1 + THIEVES]; /* the first one is the owner's */
    _Atomic uint8_t *taken;              /* how often, by number */
    long items;
    _Atomic long left; /* to be taken by anybody */
} stress;

static void
count_taken(struct rn__task *task)
{
    uintptr_t number = as_number(task);
    CHECK(number >= 1 && number <= (uintptr_t)stress.items);
    CHECK_EQ(atomic_fetch_add(&stress.taken[number - 1], 1), 0);
    atomic_fetch_sub(&stress.left, 1);
}

static void
drain(struct rn__runq *q)
{
    struct rn__task *task;
    while ((task = rn__runq_take(q)))
        count_taken(task);
}

/* Steals from all, so from other thieves as well. */
static void *
thief(void *arg)
{
    struct rn__runq *own = arg;
    uint64_t random = (uint64_t)(own - stress.queues);
    while (atomic_load(&stress.left) > 0) {
        struct rn__runq *from =
            &stress.queues[rn__prng_below(&random, 1 + THIEVES)];
        struct rn__task *task = from == own ? NULL : rn__runq_steal(own, from);
        if (!task) {
            sched_yield();
            continue;
        }
        count_taken(task);
        if (rn__prng_below(&random, 4) == 0)
            sched_yield(); /* so that others steal from here */
        drain(own);
    }
    return NULL;
}

static void
own(void)
{
    uint64_t random = 99;
    for (long i = 1; i <= stress.items; i++) {
        while (!rn__runq_put(&stress.queues[0], as_task((uintptr_t)i))) {
            struct rn__task *task = rn__runq_take(&stress.queues[0]);
            if (task)
                count_taken(task);
        }
        if (rn__prng_below(&random, 8) == 0) {
            struct rn__task *task = rn__runq_take(&stress.queues[0]);
            if (task)
                count_taken(task);
        }
        if (rn__prng_below(&random, 2000) == 0)
            sched_yield();
    }
    drain(&stress.queues[0]);
}

TEST(runq_gives_each_task_to_one)
{
    pthread_t threads[THIEVES];
    atomic_store(&rn__parallel, 1); /* as with several workers */
    stress.items = test_count(2000000);
    stress.taken = calloc((size_t)stress.items, 1);
    CHECK(stress.taken);
    atomic_store(&stress.left, stress.items);
    for (int i = 0; i < THIEVES; i++)
        CHECK_EQ(
            pthread_create(&threads[i], NULL, thief, &stress.queues[1 + i]), 0);
    own();
    for (int i = 0; i < THIEVES; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (long i = 0; i < stress.items; i++)
        CHECK_EQ(stress.taken[i], 1);
    free((void *)stress.taken);
}
