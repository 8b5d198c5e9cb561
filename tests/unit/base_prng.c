/* Random numbers: the published sequence, bounds and an even spread. */
#include "base/prng.h"
#include "test.h"

/* As Java's SplittableRandom and others give them for this seed. */
TEST(prng_is_splitmix64)
{
    static const uint64_t wanted[] = {
        6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
        4593380528125082431u, 16408922859458223821u};
    uint64_t state = 1234567;
    for (int i = 0; i < 5; i++)
        CHECK_EQ(rn__prng_next(&state), wanted[i]);
}

TEST(prng_stays_below_its_bound)
{
    static const uint32_t large[] = {1u << 31, (1u << 31) + 1, UINT32_MAX};
    uint64_t state = 1;
    for (uint32_t n = 1; n <= 500; n++)
        for (int i = 0; i < 200; i++)
            CHECK_LT(rn__prng_below(&state, n), n);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 1000; i++)
            CHECK_LT(rn__prng_below(&state, large[k]), large[k]);
}

/* The statistic of a fair draw is over n + 8 sqrt(n) once in a thousand years;
 * the sequence is fixed anyway. */
static void
check_spread(uint64_t state, uint32_t n)
{
    static uint32_t seen[1000];
    double each = 1000, chi = 0, d = n - 1;
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < n * 1000; i++)
        seen[rn__prng_below(&state, n)]++;
    for (uint32_t i = 0; i < n; i++)
        chi += (seen[i] - each) * (seen[i] - each) / each;
    CHECK((chi - d) * (chi - d) < 64 * 2 * d);
}

TEST(prng_spreads_evenly)
{
    static const uint32_t sizes[] = {2, 3, 7, 10, 64, 1000};
    for (int k = 0; k < 6; k++)
        for (uint64_t seed = 0; seed < 5; seed++)
            check_spread(seed, sizes[k]);
}

TEST(prng_neighbouring_seeds_differ)
{
    for (uint64_t seed = 0; seed < 1000; seed++) {
        uint64_t a = seed, b = seed + 1;
        uint64_t differing = rn__prng_next(&a) ^ rn__prng_next(&b);
        int bits = __builtin_popcountll(differing);
        CHECK(bits >= 8 && bits <= 56);
    }
}
