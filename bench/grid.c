/* grid.c - time a parallel loop and the plain loop in turn. */
#include "grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the slices of each loop the best one counts: what else runs on the
 * machine only ever adds, and bars are about one percent of the time. */
#define SLICES 150

/* As much of the sum as a figure can show; the lower bits do not depend on
 * the early tokens. */
#define SUM_SHIFT 12

static __attribute__((noinline)) void
plain(const struct bench_grid *grid)
{
    for (size_t i = 0; i < grid->size; i++)
        grid->out[i] = bench_work(i, grid->tokens);
}

/* Run a loop k times; the time of one. *sum is of the results of the last. */
static double
timed(const struct bench_grid *grid, bench_grid_fn *loop, uint64_t k,
      uint64_t *sum)
{
    memset(grid->out, 0, grid->size * sizeof *grid->out);
    uint64_t start = bench_now();
    for (uint64_t i = 0; i < k; i++)
        loop(grid);
    double ns = (double)(bench_now() - start) / (double)k;
    *sum = 0;
    for (size_t i = 0; i < grid->size; i++)
        *sum += grid->out[i];
    return ns;
}

static double
lesser(double a, double b)
{
    return a < b ? a : b;
}

uint64_t
bench_grid(uint64_t n, bench_grid_fn *loop)
{
    struct bench_grid grid;
    unsigned long long tokens;
    bench_check(sscanf(bench_id(), "par_%zu_%llu", &grid.size, &tokens) == 2,
                "an id of the grid");
    grid.tokens = tokens;
    grid.out = malloc(grid.size * sizeof *grid.out);
    bench_check(grid.out != NULL, "malloc");

    double serial = HUGE_VAL, parallel = HUGE_VAL;
    uint64_t sum = 0, got, slices = n < SLICES ? n : SLICES;
    uint64_t k = bench_share(n, slices);
    for (uint64_t i = 0; i < slices; i++) {
        serial = lesser(serial, timed(&grid, plain, k, &sum));
        parallel = lesser(parallel, timed(&grid, loop, k, &got));
        bench_check(got == sum, "sum of the results");
    }
    bench_figure("ts_ns", serial);
    bench_figure("tp_ns", parallel);
    bench_figure("sum", (double)(sum >> SUM_SHIFT));
    free(grid.out);
    return slices * k;
}
