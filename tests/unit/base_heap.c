/* The heap, against an array that is searched from end to end. */
#include "base/heap.h"
#include "base/prng.h"
#include "test.h"

#include <stdlib.h>

enum { NODES = 300 };

static void
check_whole(const struct rn__heap *heap, size_t count)
{
    size_t found;
    CHECK(rn__heap_valid(heap, &found));
    CHECK_EQ(found, count);
}

TEST(heap_equal_keys_leave_in_the_order_they_came)
{
    struct rn__heap heap = {0};
    struct rn__heap_node nodes[100] = {{0}};
    for (int i = 0; i < 100; i++)
        rn__heap_insert(&heap, &nodes[i], i % 3);
    for (int key = 0; key < 3; key++)
        for (int i = key; i < 100; i += 3) {
            CHECK_EQ(rn__heap_min(&heap) - nodes, i);
            rn__heap_remove(&heap, &nodes[i]);
        }
    CHECK(!rn__heap_min(&heap));
}

/* What the heap should hold. */
struct twin {
    struct rn__heap_node nodes[NODES];
    int64_t keys[NODES];
    uint64_t came[NODES]; /* 0: is not in the heap */
    uint64_t clock;
    size_t count;
};

static bool
twin_before(const struct twin *twin, size_t a, size_t b)
{
    return twin->keys[a] != twin->keys[b] ? twin->keys[a] < twin->keys[b]
                                          : twin->came[a] < twin->came[b];
}

/* The first to leave; NODES: none. */
static size_t
twin_min(const struct twin *twin)
{
    size_t min = NODES;
    for (size_t i = 0; i < NODES; i++)
        if (twin->came[i] && (min == NODES || twin_before(twin, i, min)))
            min = i;
    return min;
}

static void
toggle(struct rn__heap *heap, struct twin *twin, size_t i, int64_t key)
{
    CHECK_EQ(rn__heap_has(&twin->nodes[i]), twin->came[i] != 0);
    if (twin->came[i]) {
        rn__heap_remove(heap, &twin->nodes[i]);
        twin->came[i] = 0;
        twin->count--;
    } else {
        rn__heap_insert(heap, &twin->nodes[i], key);
        twin->keys[i] = key;
        twin->came[i] = ++twin->clock;
        twin->count++;
    }
}

/* The first max of those that are due, one by one. */
static void
check_due(struct rn__heap *heap, struct twin *twin, int64_t limit, size_t max)
{
    struct rn__heap_node *out[NODES + 1];
    uint64_t came[NODES];
    size_t found = rn__heap_due(heap, limit, out, max), min;
    memcpy(came, twin->came, sizeof came);
    for (size_t i = 0; i < found; i++) {
        min = twin_min(twin);
        CHECK_EQ(out[i] - twin->nodes, min);
        CHECK_LE(twin->keys[min], limit);
        twin->came[min] = 0;
    }
    min = twin_min(twin);
    CHECK(found == max || min == NODES || twin->keys[min] > limit);
    memcpy(twin->came, came, sizeof came);
}

static void
random_program(uint64_t seed, uint32_t keys, uint32_t in)
{
    static struct twin twin;
    struct rn__heap heap = {0};
    memset(&twin, 0, sizeof twin);
    for (long step = test_count(4000); step > 0; step--) {
        size_t i = rn__prng_below(&seed, NODES);
        int64_t key = (int64_t)rn__prng_below(&seed, keys) - keys / 2;
        size_t min = twin_min(&twin);
        if (min < NODES && rn__prng_below(&seed, in) == 0)
            toggle(&heap, &twin, min, 0);
        else
            toggle(&heap, &twin, i, key);
        check_whole(&heap, twin.count);
        min = twin_min(&twin);
        if (min == NODES)
            CHECK(!rn__heap_min(&heap));
        else
            CHECK_EQ(rn__heap_min(&heap) - twin.nodes, min);
        if (rn__prng_below(&seed, 2))
            check_due(&heap, &twin, key, rn__prng_below(&seed, 70));
    }
}

TEST(heap_does_what_an_array_does)
{
    random_program(1, 1000000, 4);
    random_program(2, 1000000, 2);
}

TEST(heap_does_what_an_array_does_with_few_keys)
{
    random_program(3, 5, 4);
    random_program(4, 1, 3);
}

TEST(heap_takes_the_ends_of_the_number_range)
{
    struct rn__heap heap = {0};
    struct rn__heap_node low = {0}, high = {0}, *out[2];
    rn__heap_insert(&heap, &high, INT64_MAX);
    rn__heap_insert(&heap, &low, INT64_MIN);
    CHECK(rn__heap_min(&heap) == &low);
    CHECK_EQ(rn__heap_due(&heap, INT64_MAX, out, 2), 2);
    CHECK(out[0] == &low && out[1] == &high);
    CHECK_EQ(rn__heap_due(&heap, INT64_MAX - 1, out, 2), 1);
    CHECK_EQ(rn__heap_due(&heap, INT64_MAX, out, 0), 0);
    check_whole(&heap, 2);
}

/* One child a node, and one node with all the others as children: neither may
 * cost the stack anything. */
TEST(heap_holds_a_million)
{
    size_t count = (size_t)test_count(1000000);
    struct rn__heap_node *nodes = calloc(count, sizeof *nodes);
    struct rn__heap heap = {0};
    uint64_t random = 5;
    for (size_t i = 0; i < count; i++)
        rn__heap_insert(&heap, &nodes[i], -(int64_t)i);
    check_whole(&heap, count);
    for (size_t i = 0; i < count; i++)
        rn__heap_remove(&heap, &nodes[i]);
    check_whole(&heap, 0);
    for (size_t i = 0; i < count; i++)
        rn__heap_insert(&heap, &nodes[i], rn__prng_below(&random, 1000000));
    check_whole(&heap, count);
    for (size_t i = 0; i < count; i += 2) /* half from the middle, */
        rn__heap_remove(&heap, &nodes[i]);
    check_whole(&heap, count / 2);
    struct rn__heap_node last = {.key = -1}, *min;
    while ((min = rn__heap_min(&heap))) { /* the rest in order */
        CHECK(last.key < min->key ||
              (last.key == min->key && last.order < min->order));
        last = *min;
        rn__heap_remove(&heap, min);
    }
    for (size_t i = 0; i < count; i++)
        CHECK(!rn__heap_has(&nodes[i]));
    free(nodes);
}
