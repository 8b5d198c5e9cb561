/* The simulated world's memory. */
#include "sim/arena.h"
#include "base/prng.h"
#include "test.h"

#include <stdint.h>

enum { ROOM = 1 << 20, BLOCKS = 64 };

static struct rn__arena arena;

static void
check_zeroed(const unsigned char *block, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        CHECK_EQ(block[i], 0);
}

TEST(arena_blocks_are_aligned_zeroed_and_apart)
{
    unsigned char *blocks[BLOCKS] = {NULL};
    size_t sizes[BLOCKS] = {0};
    uint64_t random = 1;
    CHECK_EQ(rn__arena_init(&arena, ROOM), 0);
    for (int step = 0; step < 50000; step++) {
        uint32_t i = rn__prng_below(&random, BLOCKS);
        for (size_t k = 0; k < sizes[i]; k++)
            CHECK_EQ(blocks[i][k], i + 1); /* nobody else wrote here */
        if (blocks[i])
            CHECK(rn__arena_free(&arena, blocks[i]));
        sizes[i] = rn__prng_below(&random, 500);
        blocks[i] = rn__arena_alloc(&arena, sizes[i]);
        CHECK(blocks[i]);
        CHECK_EQ((uintptr_t)blocks[i] % 16, 0);
        check_zeroed(blocks[i], sizes[i]);
        memset(blocks[i], (int)i + 1, sizes[i]);
    }
    CHECK_LE(arena.used, arena.bytes);
    rn__arena_fini(&arena);
}

TEST(arena_uses_small_blocks_again)
{
    CHECK_EQ(rn__arena_init(&arena, ROOM), 0);
    void *a = rn__arena_alloc(&arena, 40), *b = rn__arena_alloc(&arena, 40);
    CHECK(a && b && a != b);
    CHECK(rn__arena_free(&arena, a));
    CHECK(rn__arena_free(&arena, b));
    CHECK(rn__arena_alloc(&arena, 33) == b); /* the newest first */
    CHECK(rn__arena_alloc(&arena, 48) == a);
    for (long i = 0; i < 10 * ROOM / 16; i++)
        CHECK(rn__arena_free(&arena, rn__arena_alloc(&arena, 16)));
    rn__arena_fini(&arena);
}

TEST(arena_blocks_of_no_bytes_are_apart)
{
    CHECK_EQ(rn__arena_init(&arena, ROOM), 0);
    void *a = rn__arena_alloc(&arena, 0), *b = rn__arena_alloc(&arena, 0);
    CHECK(a && b && a != b);
    CHECK(rn__arena_free(&arena, a));
    rn__arena_fini(&arena);
}

/* The same calls give the same addresses, in zeroed memory. */
TEST(arena_rewinds)
{
    CHECK_EQ(rn__arena_init(&arena, ROOM), 0);
    void *first[100];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            unsigned char *block = rn__arena_alloc(&arena, 100);
            if (round == 0)
                first[i] = block;
            CHECK(block == first[i]);
            check_zeroed(block, 100);
            memset(block, 0xff, 100);
        }
        for (int i = round; i < 100; i += 3)
            CHECK(rn__arena_free(&arena, first[i]));
        rn__arena_rewind(&arena);
    }
    rn__arena_fini(&arena);
}

TEST(arena_ends_at_its_limit)
{
    CHECK_EQ(rn__arena_init(&arena, ROOM), 0);
    CHECK(!rn__arena_alloc(&arena, ROOM)); /* no room for a header */
    CHECK(!rn__arena_alloc(&arena, ROOM + 1));
    CHECK(!rn__arena_alloc(&arena, SIZE_MAX));
    CHECK(!rn__arena_alloc(&arena, SIZE_MAX - 15));
    CHECK_EQ(arena.used, 0);
    size_t count = 0;
    while (rn__arena_alloc(&arena, 1000))
        count++;
    CHECK_GE(count, ROOM / 1040);
    CHECK_LE(arena.used, ROOM);
    while (rn__arena_alloc(&arena, 0))
        count++;
    CHECK_GT(arena.used + 32, ROOM);
    rn__arena_rewind(&arena);
    char *whole = rn__arena_alloc(&arena, ROOM - 16);
    CHECK(whole);
    whole[ROOM - 17] = 1;
    CHECK(!rn__arena_alloc(&arena, 0));
    rn__arena_fini(&arena);
}

TEST(arena_knows_its_own)
{
    static char outside;
    CHECK_EQ(rn__arena_init(&arena, ROOM), 0);
    char *block = rn__arena_alloc(&arena, 8);
    CHECK(!rn__arena_free(&arena, &outside));
    CHECK(!rn__arena_free(&arena, arena.memory - 1));
    CHECK(!rn__arena_free(&arena, arena.memory + ROOM));
    CHECK(rn__arena_free(&arena, block));
    rn__arena_fini(&arena);
}
