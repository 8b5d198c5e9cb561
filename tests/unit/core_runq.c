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

static void
put_in(struct rn__runq *q, struct rn__ring *ring, uintptr_t number)
{
    rn__runq_enter(q);
    if (!rn__ring_push(ring, as_task(number))) {
        size_t room = ring->room ? 2 * (size_t)ring->room : RN__RING_FIRST;
        struct rn__task **tasks = calloc(room, sizeof *tasks);
        CHECK(tasks);
        free(rn__ring_grow(ring, tasks));
        CHECK_EQ(ring->room, room);
        CHECK(rn__ring_push(ring, as_task(number)));
    }
    rn__runq_leave(q);
}

static void
put(struct rn__runq *q, uintptr_t number)
{
    put_in(q, number % 2 ? &q->woken : &q->fresh, number);
}

/* The oldest, or the newest; 0: empty. */
static uintptr_t
take_from(struct rn__runq *q, struct rn__ring *ring, bool newest)
{
    struct rn__task *task = NULL;
    rn__runq_enter(q);
    if (rn__ring_length(ring))
        task = newest ? rn__ring_pop(ring) : rn__ring_shift(ring);
    rn__runq_leave(q);
    return as_number(task);
}

static void
drop_rings(struct rn__runq *q)
{
    free(q->woken.tasks);
    free(q->fresh.tasks);
}

/* ---- alone -------------------------------------------------------------- */

enum { MOST = 3000, LOOTS = RN__LOOT_WOKEN + 1 };

struct list {
    uintptr_t items[MOST];
    size_t count;
};

struct twin {
    struct list woken, fresh;
    uintptr_t slot;
};

static void
list_drop(struct list *list, size_t n)
{
    list->count -= n;
    memmove(list->items, list->items + n, list->count * sizeof *list->items);
}

static void
take_and_check(struct rn__runq *q, struct rn__ring *ring, struct list *list,
               bool newest)
{
    CHECK_EQ(rn__ring_length(ring), list->count);
    uintptr_t wanted = list->count ? list->items[0] : 0;
    if (newest && wanted)
        wanted = list->items[list->count - 1];
    CHECK_EQ(take_from(q, ring, newest), wanted);
    if (wanted && newest)
        list->count--;
    else if (wanted)
        list_drop(list, 1);
}

/* About half, from the old end, in order: of the fresh, if they are wanted, or
 * else of the woken; the slot only if there is nothing else and all is wanted.
 */
static void
rob_and_check(struct rn__runq *q, struct twin *twin, enum rn__loot what)
{
    struct rn__task *loot[RN__LOOT_MAX];
    uint32_t got = rn__runq_rob(q, loot, what);
    struct list *list = twin->fresh.count && what != RN__LOOT_WOKEN
                            ? &twin->fresh
                            : &twin->woken;
    if (list->count == 0) {
        CHECK_EQ(got, what == RN__LOOT_ALL && twin->slot);
        if (got)
            CHECK_EQ(as_number(loot[0]), twin->slot);
        if (got)
            twin->slot = 0;
        return;
    }
    size_t half = list->count - list->count / 2;
    CHECK_EQ(got, half < RN__LOOT_MAX ? half : RN__LOOT_MAX);
    for (uint32_t i = 0; i < got; i++)
        CHECK_EQ(as_number(loot[i]), list->items[i]);
    list_drop(list, got);
}

static void
swap_and_check(struct rn__runq *q, struct twin *twin, uintptr_t number)
{
    rn__runq_enter(q);
    CHECK_EQ(as_number(rn__runq_swap(q, as_task(number))), twin->slot);
    rn__runq_leave(q);
    twin->slot = number;
}

/* A program with its favourite operations, so that the queue is long for a
 * while and empty for a while. */
static void
random_program(struct rn__runq *q, struct twin *twin, uint64_t *random)
{
    uint32_t puts = rn__prng_below(random, 100);
    for (int step = 0; step < 2000; step++) {
        static uintptr_t number;
        uint32_t op = rn__prng_below(random, 100);
        bool fresh = rn__prng_below(random, 2);
        struct rn__ring *ring = fresh ? &q->fresh : &q->woken;
        struct list *list = fresh ? &twin->fresh : &twin->woken;
        if (op < puts && list->count < MOST) {
            put_in(q, ring, ++number);
            list->items[list->count++] = number;
        } else if (op < puts + (100 - puts) * 8 / 10) {
            take_and_check(q, ring, list, op % 2);
        } else if (op % 3 == 0) {
            swap_and_check(q, twin, op % 2 ? ++number : 0);
        } else {
            rob_and_check(q, twin, (enum rn__loot)(op / 3 % LOOTS));
        }
    }
}

static void
empty(struct rn__runq *q, struct twin *twin)
{
    while (twin->woken.count)
        take_and_check(q, &q->woken, &twin->woken, false);
    while (twin->fresh.count)
        take_and_check(q, &q->fresh, &twin->fresh, true);
    CHECK_EQ(rn__runq_length(q), 0);
    drop_rings(q);
}

TEST(runq_does_what_lists_do)
{
    static struct rn__runq q;
    static struct twin twin;
    uint64_t random = 7;
    for (long round = test_count(400); round > 0; round--)
        random_program(&q, &twin, &random);
    empty(&q, &twin);
}

static void
start_at(struct rn__ring *ring, uint32_t number)
{
    atomic_store(&ring->head, number);
    atomic_store(&ring->tail, number);
}

TEST(runq_numbers_may_wrap)
{
    static struct rn__runq q;
    static struct twin twin;
    uint64_t random = 8;
    put(&q, 1);
    put(&q, 2);
    CHECK_EQ(take_from(&q, &q.woken, false), 1);
    CHECK_EQ(take_from(&q, &q.fresh, true), 2);
    start_at(&q.woken, UINT32_MAX - 100);
    start_at(&q.fresh, UINT32_MAX - 100);
    while (atomic_load(&q.woken.head) > 1000000 ||
           atomic_load(&q.fresh.head) > 1000000)
        random_program(&q, &twin, &random);
    empty(&q, &twin);
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
count_taken(uintptr_t number)
{
    CHECK(number >= 1 && number <= (uintptr_t)stress.items);
    CHECK_EQ(atomic_fetch_add(&stress.taken[number - 1], 1), 0);
    atomic_fetch_sub(&stress.left, 1);
}

static void
drain(struct rn__runq *q)
{
    uintptr_t number;
    while ((number = take_from(q, &q->woken, false)) ||
           (number = take_from(q, &q->fresh, true)))
        count_taken(number);
    rn__runq_enter(q);
    number = as_number(rn__runq_swap(q, NULL));
    rn__runq_leave(q);
    if (number)
        count_taken(number);
}

/* Robs all, so other thieves as well. */
static void *
thief(void *arg)
{
    struct rn__runq *own = arg;
    struct rn__task *loot[RN__LOOT_MAX];
    uint64_t random = (uint64_t)(own - stress.queues);
    while (atomic_load(&stress.left) > 0) {
        struct rn__runq *from =
            &stress.queues[rn__prng_below(&random, 1 + THIEVES)];
        enum rn__loot what = (enum rn__loot)rn__prng_below(&random, LOOTS);
        uint32_t got = from == own ? 0 : rn__runq_rob(from, loot, what);
        for (uint32_t i = 0; i < got; i++)
            put(own, as_number(loot[i]));
        if (got == 0 || rn__prng_below(&random, 4) == 0)
            sched_yield(); /* so that others steal from here */
        drain(own);
    }
    return NULL;
}

static void
own(void)
{
    struct rn__runq *q = &stress.queues[0];
    uint64_t random = 99;
    for (long i = 1; i <= stress.items; i++) {
        if (rn__prng_below(&random, 2)) {
            put(q, (uintptr_t)i);
        } else { /* as a wake-up does */
            rn__runq_enter(q);
            uintptr_t old = as_number(rn__runq_swap(q, as_task((uintptr_t)i)));
            rn__runq_leave(q);
            if (old)
                put(q, old);
        }
        uintptr_t number =
            rn__prng_below(&random, 8) == 0 ? take_from(q, &q->fresh, true) : 0;
        if (number)
            count_taken(number);
        if (rn__prng_below(&random, 2000) == 0)
            sched_yield();
    }
    drain(q);
}

TEST(runq_gives_each_task_to_one)
{
    pthread_t threads[THIEVES];
    atomic_store(&rn__full_fences, !rn__os_fence_all_init());
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
    for (int i = 0; i <= THIEVES; i++)
        drop_rings(&stress.queues[i]);
    free((void *)stress.taken);
}
