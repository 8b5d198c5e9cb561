/* When free stacks give their memory back. */
#include "core/core.h"
#include "test.h"

#include <stdlib.h>

enum { COUNT = 300, KEPT = 64 };
#define PERIOD (100 * RN_MS)

static struct rn__rt *rt;
static struct rn__worker worker;
static struct rn__stack *stacks[COUNT];

static void
take(int count)
{
    for (int i = 0; i < count; i++)
        CHECK(stacks[i] = rn__stack_take(&worker));
}

static void
give(int count)
{
    for (int i = 0; i < count; i++)
        rn__stack_give(&worker, stacks[i]);
}

/* How many go back at that time, in all. */
static uint64_t
trim_at(rn_time when)
{
    uint64_t before = rt->pool.trimmed;
    worker.clock = when;
    while (rn__spare_trim_idle(&worker)) {
    }
    return rt->pool.trimmed - before;
}

/* A runtime with COUNT stacks, all given back at time 0. */
static void
open_rt(void)
{
    CHECK(rt = calloc(1, sizeof *rt));
    rt->workers = &worker;
    worker.rt = rt;
    atomic_store(&rt->trim_at, RN_NEVER);
    CHECK_EQ(rn__stackpool_init(&rt->pool, 16 << 10, RN_GUARD_DEFAULT), 0);
    take(COUNT);
    CHECK_EQ(trim_at(0), 0);
    CHECK_EQ(atomic_load(&rt->trim_at), RN_NEVER);
    give(COUNT);
    CHECK_EQ(rt->spare, COUNT - KEPT);
    CHECK_EQ(atomic_load(&rt->trim_at), PERIOD);
}

TEST(spare_goes_back_after_a_whole_period)
{
    open_rt();
    CHECK_EQ(trim_at(PERIOD - 1), 0);
    CHECK_EQ(trim_at(PERIOD), 0); /* there were none when it began */
    CHECK_EQ(trim_at(2 * PERIOD - 1), 0);
    CHECK_EQ(trim_at(2 * PERIOD), COUNT - KEPT);
    CHECK_EQ(rt->spare, 0);
    CHECK_EQ(atomic_load(&rt->trim_at), RN_NEVER);
    CHECK_EQ(rt->pool.cold, COUNT - KEPT);
    take(COUNT); /* no new ones are made */
    CHECK_EQ(rt->pool.made, COUNT);
    CHECK_EQ(rt->pool.cold, 0);
    free(rt);
}

TEST(spare_that_was_needed_stays)
{
    enum { NEEDED = KEPT + 50 };
    open_rt();
    CHECK_EQ(trim_at(PERIOD), 0);
    take(NEEDED);
    give(NEEDED);
    CHECK_EQ(trim_at(2 * PERIOD), COUNT - NEEDED);
    CHECK_EQ(rt->spare, NEEDED - KEPT);
    CHECK_EQ(trim_at(3 * PERIOD), NEEDED - KEPT); /* not needed any more */
    CHECK_EQ(atomic_load(&rt->trim_at), RN_NEVER);
    free(rt);
}

/* A load that swings keeps all it needs, however long. */
TEST(spare_of_a_swinging_load_stays)
{
    open_rt();
    for (int i = 1; i < 50; i++) {
        CHECK_EQ(trim_at(i * PERIOD), 0);
        take(COUNT);
        give(COUNT);
    }
    free(rt);
}

TEST(spare_goes_back_in_parts_while_busy)
{
    int rounds = 0;
    open_rt();
    CHECK_EQ(trim_at(PERIOD), 0);
    worker.clock = 2 * PERIOD;
    while (atomic_load(&rt->trim_at) != RN_NEVER) {
        uint64_t before = rt->pool.trimmed;
        rn__spare_trim(&worker);
        CHECK_LE(rt->pool.trimmed - before, RN__COLD_GROUP);
        worker.clock = atomic_load(&rt->trim_at);
        CHECK_LE(++rounds, 10);
    }
    CHECK_EQ(rt->pool.trimmed, COUNT - KEPT);
    free(rt);
}
