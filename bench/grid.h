/* grid.h - a loop of independent items, parallel against plain: the rows
 * par_SIZE_TOKENS, SIZE items of TOKENS tokens of work each.
 *
 * Both loops are timed in one run, in turn, so that they see the same machine.
 * Every item leaves its result in a slot of its own, and the results of the
 * two loops are compared.
 */
#ifndef BENCH_GRID_H
#define BENCH_GRID_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A loop to be run: out[i] = bench_work(i, tokens) for i below size. */
struct bench_grid {
    uint64_t *out;
    size_t size;
    uint64_t tokens;
};

typedef void bench_grid_fn(const struct bench_grid *grid);

/* Rows of a table of benchmarks: run does n rounds by bench_grid. */
#define BENCH_GRID_ROWS(run)                                           \
    {"par_100_1", run, 0, 0}, {"par_100_10", run, 0, 0},               \
        {"par_100_100", run, 0, 0}, {"par_100_1000", run, 0, 0},       \
        {"par_100_10000", run, 0, 0}, {"par_100_100000", run, 0, 0},   \
        {"par_1000_1", run, 0, 0}, {"par_1000_10", run, 0, 0},         \
        {"par_1000_100", run, 0, 0}, {"par_1000_1000", run, 0, 0},     \
        {"par_1000_10000", run, 0, 0}, {"par_1000_100000", run, 0, 0}, \
        {"par_10000_1", run, 0, 0}, {"par_10000_10", run, 0, 0},       \
        {"par_10000_100", run, 0, 0}, {"par_10000_1000", run, 0, 0},   \
        {"par_10000_10000", run, 0, 0},                                \
    {                                                                  \
        "par_10000_100000", run, 0, 0                                  \
    }

/* Do n rounds of the benchmark that is running: the plain loop, and this one.
 * Reports ts_ns and tp_ns, the best time of either, and sum, of the
 * results. Returns the rounds. */
uint64_t bench_grid(uint64_t n, bench_grid_fn *loop);

/* One item: that many tokens, each of which needs the one before it. */
static inline uint64_t
bench_work(uint64_t seed, uint64_t tokens)
{
    uint64_t t = seed;
    for (uint64_t i = tokens; i > 0; i--) {
        t += (t * 0x5DEECE66Du + 0xB + i) & 0xFFFFFFFFFFFFu;
        /* The compiler must not look through the chain. */
        __asm__ volatile("" : "+r"(t));
    }
    return t;
}

#ifdef __cplusplus
}
#endif

#endif
