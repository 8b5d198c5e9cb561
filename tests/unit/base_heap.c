/* The heap, against an array that is searched from end to end. */
#include "base/heap.h"
#include "base/prng.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>

enum { NODES = 300 };

static void *
grow(void *memory, size_t old_bytes, size_t new_bytes, void *context)
{
    size_t *grown = context;
    CHECK_LT(old_bytes, new_bytes);
    *grown += 1;
    return realloc(memory, new_bytes);
}

static void *
refuse(void *memory, size_t old_bytes, size_t new_bytes, void *context)
{
    (void)memory, (void)old_bytes, (void)new_bytes, (void)context;
    return NULL;
}

static void
heap_init(struct rn__heap *heap, size_t count)
{
    size_t grown = 0;
    memset(heap, 0, sizeof *heap);
    CHECK_EQ(rn__heap_reserve(heap, count, grow, &grown), 0);
}

TEST(heap_reserve_grows_by_doubling_and_may_fail)
{
    struct rn__heap heap;
    heap_init(&heap, 1);
    size_t room = heap.room, grown = 0;
    CHECK_EQ(rn__heap_reserve(&heap, room, grow, &grown), 0);
    CHECK_EQ(grown, 0);
    struct rn__heap_node node = {0};
    rn__heap_insert(&heap, &node, 5);
    CHECK_EQ(rn__heap_reserve(&heap, room + 1, refuse, NULL), -ENOMEM);
    CHECK_EQ(heap.room, room);
    CHECK(rn__heap_min(&heap) == &node);
    CHECK_EQ(rn__heap_reserve(&heap, 5 * room, grow, &grown), 0);
    CHECK_EQ(grown, 1);
    CHECK_GE(heap.room, 5 * room);
    CHECK(rn__heap_min(&heap) == &node && rn__heap_valid(&heap));
    free(heap.nodes);
}

TEST(heap_equal_keys_leave_in_the_order_they_came)
{
    struct rn__heap heap;
    struct rn__heap_node nodes[100] = {{0}};
    heap_init(&heap, 100);
    for (int i = 0; i < 100; i++)
        rn__heap_insert(&heap, &nodes[i], i % 3);
    for (int key = 0; key < 3; key++)
        for (int i = key; i < 100; i += 3) {
            CHECK_EQ(rn__heap_min(&heap) - nodes, i);
            rn__heap_remove(&heap, &nodes[i]);
        }
    CHECK(!rn__heap_min(&heap));
    free(heap.nodes);
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
    if (twin->came[i]) {
        rn__heap_remove(heap, &twin->nodes[i]);
        CHECK_EQ(twin->nodes[i].place, 0);
        twin->came[i] = 0;
        twin->count--;
    } else {
        rn__heap_insert(heap, &twin->nodes[i], key);
        twin->keys[i] = key;
        twin->came[i] = ++twin->clock;
        twin->count++;
    }
}

static void
check_due(const struct rn__heap *heap, const struct twin *twin, int64_t limit,
          size_t max)
{
    struct rn__heap_node *out[NODES + 1];
    size_t due = 0, min = twin_min(twin);
    for (size_t i = 0; i < NODES; i++)
        due += twin->came[i] && twin->keys[i] <= limit;
    size_t found = rn__heap_due(heap, limit, out, max);
    CHECK_EQ(found, due < max ? due : max);
    if (found)
        CHECK_EQ(out[0] - twin->nodes, min);
    for (size_t i = 0; i < found; i++) {
        size_t at = (size_t)(out[i] - twin->nodes);
        CHECK(twin->came[at] && twin->keys[at] <= limit);
        if (i > 0)
            CHECK(twin_before(twin, (size_t)(out[i - 1] - twin->nodes), at));
    }
}

static void
random_program(uint64_t seed, uint32_t keys)
{
    static struct twin twin;
    struct rn__heap heap;
    heap_init(&heap, NODES);
    memset(&twin, 0, sizeof twin);
    for (long step = test_count(4000); step > 0; step--) {
        size_t i = rn__prng_below(&seed, NODES);
        int64_t key = (int64_t)rn__prng_below(&seed, keys) - keys / 2;
        size_t min = twin_min(&twin);
        if (rn__prng_below(&seed, 4) == 0 && min < NODES)
            toggle(&heap, &twin, min, 0);
        else
            toggle(&heap, &twin, i, key);
        CHECK(rn__heap_valid(&heap));
        CHECK_EQ(heap.count, twin.count);
        min = twin_min(&twin);
        if (min == NODES)
            CHECK(!rn__heap_min(&heap));
        else
            CHECK_EQ(rn__heap_min(&heap) - twin.nodes, min);
        check_due(&heap, &twin, key, rn__prng_below(&seed, 70));
    }
    free(heap.nodes);
}

TEST(heap_does_what_an_array_does)
{
    random_program(1, 1000000);
}

TEST(heap_does_what_an_array_does_with_few_keys)
{
    random_program(2, 5);
}

TEST(heap_takes_the_ends_of_the_number_range)
{
    struct rn__heap heap;
    struct rn__heap_node low = {0}, high = {0}, *out[2];
    heap_init(&heap, 2);
    rn__heap_insert(&heap, &high, INT64_MAX);
    rn__heap_insert(&heap, &low, INT64_MIN);
    CHECK(rn__heap_min(&heap) == &low);
    CHECK_EQ(rn__heap_due(&heap, INT64_MAX, out, 2), 2);
    CHECK(out[0] == &low && out[1] == &high);
    CHECK_EQ(rn__heap_due(&heap, INT64_MAX - 1, out, 2), 1);
    CHECK_EQ(rn__heap_due(&heap, INT64_MAX, out, 0), 0);
    free(heap.nodes);
}
