/* The wheel, against an array that is searched from end to end. */
#include "base/prng.h"
#include "base/wheel.h"
#include "test.h"

#include <stdlib.h>

enum { NODES = 200 };

/* What the wheel should hold. */
static struct {
    struct rn__wheel wheel;
    struct rn__heap_node nodes[NODES];
    uint64_t came[NODES]; /* 0: is not in it */
    uint64_t clock;
    size_t count;
    int64_t now;
} twin;

static void
begin(int64_t now)
{
    memset(&twin, 0, sizeof twin);
    twin.wheel.bound = RN__WHEEL_UNKNOWN;
    twin.now = now;
    rn__wheel_advance(&twin.wheel, now);
}

static bool
before(size_t a, size_t b)
{
    int64_t ka = twin.nodes[a].key, kb = twin.nodes[b].key;
    return ka != kb ? ka < kb : twin.came[a] < twin.came[b];
}

/* The first to leave; NODES: none. */
static size_t
first(void)
{
    size_t min = NODES;
    for (size_t i = 0; i < NODES; i++)
        if (twin.came[i] && (min == NODES || before(i, min)))
            min = i;
    return min;
}

static void
check(void)
{
    size_t count, min = first();
    CHECK(rn__wheel_valid(&twin.wheel, &count));
    CHECK_EQ(count, twin.count);
    int64_t next = rn__wheel_next(&twin.wheel);
    int64_t exact = min == NODES ? INT64_MAX : twin.nodes[min].key;
    CHECK_LE(next, exact);
    if (twin.count <= 16)
        CHECK_EQ(next, exact);
    else /* no wake-up finds nothing new */
        CHECK(next == exact || next > (twin.wheel.horizon | 0xffff));
}

static void
put(size_t i, int64_t key)
{
    rn__wheel_insert(&twin.wheel, &twin.nodes[i], key);
    twin.came[i] = ++twin.clock;
    twin.count++;
}

static void
take(size_t i)
{
    rn__wheel_remove(&twin.wheel, &twin.nodes[i]);
    CHECK(!rn__heap_has(&twin.nodes[i]));
    twin.came[i] = 0;
    twin.count--;
}

/* Time goes on; who is due leaves in order. */
static void
advance(int64_t by)
{
    if (__builtin_add_overflow(twin.now, by, &twin.now))
        twin.now = INT64_MAX - 1;
    rn__wheel_advance(&twin.wheel, twin.now);
    check();
    struct rn__heap_node *min;
    while ((min = rn__heap_min(&twin.wheel.near)) && min->key <= twin.now) {
        CHECK_EQ(min - twin.nodes, first());
        take((size_t)(min - twin.nodes));
    }
    CHECK(first() == NODES || twin.nodes[first()].key > twin.now);
}

/* Spans of all sizes, up to all of time. */
static int64_t
span(uint64_t *random, int bits)
{
    *random += 1;
    return (int64_t)(rn__mix64(*random) >> 1 >>
                     (63 - rn__prng_below(random, (uint32_t)bits + 1)));
}

static void
random_program(uint64_t random, int bits)
{
    begin(span(&random, 40));
    for (long step = test_count(10000); step > 0; step--) {
        size_t i = rn__prng_below(&random, NODES);
        uint32_t op = rn__prng_below(&random, 16);
        int64_t key;
        if (op == 0)
            advance(span(&random, bits));
        else if (op == 1 && twin.count > 0)
            CHECK_EQ(rn__wheel_first(&twin.wheel) - twin.nodes, first());
        else if (twin.came[i])
            take(i);
        else if (!__builtin_add_overflow(twin.now, span(&random, bits), &key))
            put(i, key - (op == 2)); /* sometimes a little late */
        check();
    }
    for (size_t i = 0; i < NODES; i++)
        if (twin.came[i])
            take(i);
    check();
}

TEST(wheel_does_what_an_array_does)
{
    int bits[] = {4, 18, 24, 30, 40, 62};
    for (uint64_t i = 0; i < sizeof bits / sizeof *bits; i++)
        random_program(i * 1000000, bits[i]);
}

TEST(wheel_equal_keys_leave_in_the_order_they_came)
{
    begin(12345);
    int64_t key = (int64_t)1 << 40;
    for (size_t i = 0; i < NODES / 2; i++)
        put(i, key);
    advance(key - ((int64_t)1 << 23)); /* some are put nearer than others */
    for (size_t i = NODES / 2; i < NODES; i++)
        put(i, key);
    advance((int64_t)1 << 24);
    CHECK_EQ(twin.count, 0);
}

TEST(wheel_takes_the_ends_of_time)
{
    begin(0);
    put(0, INT64_MAX - 1);
    put(1, 0);
    put(2, INT64_MAX - 65536);
    put(3, INT64_MAX - 65535);
    check();
    CHECK(rn__wheel_first(&twin.wheel) == &twin.nodes[1]);
    advance(0);
    CHECK(rn__wheel_first(&twin.wheel) == &twin.nodes[2]);
    put(4, 7); /* before the horizon, which was moved to find that */
    CHECK(rn__wheel_first(&twin.wheel) == &twin.nodes[4]);
    advance(INT64_MAX - 1);
    CHECK_EQ(twin.count, 0);
}

TEST(wheel_holds_a_million)
{
    size_t count = (size_t)test_count(1000000), left = count, found;
    struct rn__heap_node *nodes = calloc(count, sizeof *nodes), *min;
    uint64_t random = 5;
    begin(0);
    for (size_t i = 0; i < count; i++)
        rn__wheel_insert(&twin.wheel, &nodes[i],
                         rn__prng_below(&random, 1000000000));
    for (size_t i = 0; i < count; i += 2, left--)
        rn__wheel_remove(&twin.wheel, &nodes[i]);
    CHECK(rn__wheel_valid(&twin.wheel, &found));
    CHECK_EQ(found, left);
    struct rn__heap_node last = {.key = -1};
    for (; (min = rn__wheel_first(&twin.wheel)); left--) {
        CHECK(last.key < min->key ||
              (last.key == min->key && last.order < min->order));
        last = *min;
        rn__wheel_remove(&twin.wheel, min);
    }
    CHECK_EQ(left, 0);
    free(nodes);
}
