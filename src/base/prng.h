/* base/prng.h - random numbers: SplitMix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", 2014) and bounded draws without
 * division (Lemire, "Fast random integer generation in an interval", 2019;
 * the tiny bias of the multiply alone is below 2^-32 and accepted).
 */
#ifndef RN_PRNG_H
#define RN_PRNG_H

#include <stdint.h>

static inline uint64_t
rn__mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t
rn__prng_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return rn__mix64(*state);
}

/* A number in 0 .. n-1; n > 0. */
static inline uint32_t
rn__prng_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(((rn__prng_next(state) >> 32) * n) >> 32);
}

#endif
