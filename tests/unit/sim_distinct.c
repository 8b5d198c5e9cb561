/* The set of digests, against an array. */
#include "sim/sim.h"
#include "base/prng.h"
#include "test.h"

#include <stdlib.h>

static bool
twin_add(uint64_t *seen, size_t *count, uint64_t digest)
{
    for (size_t i = 0; i < *count; i++)
        if (seen[i] == digest)
            return false;
    seen[(*count)++] = digest;
    return true;
}

/* range 0: any number. */
static void
compare(uint32_t range, uint64_t times, int adds)
{
    static uint64_t seen[8000];
    struct rn__distinct set = {0};
    uint64_t random = 5;
    size_t count = 0;
    for (int i = 0; i < adds; i++) {
        uint64_t digest =
            range ? 1 + rn__prng_below(&random, range) : rn__prng_next(&random);
        digest *= times;
        bool fresh = twin_add(seen, &count, digest);
        CHECK_EQ(rn__distinct_add(&set, digest), fresh);
        CHECK_EQ(set.count, count);
        CHECK_LE(set.count, set.room / 2 + 1);
    }
    for (size_t i = 0; i < count; i++)
        CHECK(!rn__distinct_add(&set, seen[i]));
    free(set.slots);
}

TEST(distinct_does_what_an_array_does)
{
    compare(0, 1, 8000);
    compare(3000, 1, 8000);
}

/* All fall on the same slot. */
TEST(distinct_takes_digests_that_collide)
{
    compare(900, (uint64_t)1 << 40, 3000);
}

TEST(distinct_takes_zero)
{
    struct rn__distinct set = {0};
    CHECK(rn__distinct_add(&set, 0));
    CHECK(!rn__distinct_add(&set, 0));
    CHECK_EQ(set.count, 1);
    CHECK(rn__distinct_add(&set, UINT64_MAX));
    CHECK_EQ(set.count, 2);
    free(set.slots);
}
