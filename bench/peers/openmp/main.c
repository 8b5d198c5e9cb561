/* main.c - the parallel loops by OpenMP, of the compiler's own runtime. Built
 * once for each SCHEDULE: static, which it is where a program says nothing,
 * and dynamic, an item at a time. */
#include "../../grid.h"

#include <omp.h>

static void
loop(const struct bench_grid *grid)
{
#pragma omp parallel for schedule(SCHEDULE)
    for (size_t i = 0; i < grid->size; i++)
        grid->out[i] = bench_work(i, grid->tokens);
}

static uint64_t
grid(uint64_t n)
{
    return bench_grid(n, loop);
}

static uint64_t
one_item(uint64_t n)
{
    uint64_t out = 0, sum = 0;
    struct bench_grid one = {&out, 1, 1};
    for (uint64_t i = 0; i < n; i++) {
        out = 0;
        loop(&one);
        sum += out;
    }
    bench_check(sum == n * bench_work(0, 1), "sum of the results");
    return n;
}

static const struct bench table[] = {
    BENCH_GRID_ROWS(grid),
    {"par_n1", one_item, 0, 0},
};

int
main(int argc, char **argv)
{
    struct bench_args args;
    bench_parse(&args, argc, argv, table, sizeof table / sizeof *table);
    omp_set_num_threads(args.workers);
    bench_measure(&args);
    return 0;
}
