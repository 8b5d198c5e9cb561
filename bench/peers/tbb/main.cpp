/* main.cpp - the parallel loops by oneTBB. */
#include "../../grid.h"

#include <atomic>
#include <stdexcept>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

using range = tbb::blocked_range<size_t>;

static void
loop(const struct bench_grid *grid)
{
    tbb::parallel_for(
        range(0, grid->size),
        [grid](const range &r) {
            for (size_t i = r.begin(); i != r.end(); i++)
                grid->out[i] = bench_work(i, grid->tokens);
        },
        tbb::auto_partitioner());
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

/* The first of a million items throws. There is no limit on how many begin,
 * but for the workers; those that have begun compute on to their end. */
static uint64_t
abort_first(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        bool caught = false;
        try {
            tbb::parallel_for(size_t(0), size_t(1000000), [](size_t item) {
                if (item == 0)
                    throw std::runtime_error("the first item");
                bench_work(item, 100);
            });
        } catch (const std::runtime_error &) {
            caught = true;
        }
        bench_check(caught, "the error");
    }
    return n;
}

static const struct bench table[] = {
    BENCH_GRID_ROWS(grid),
    {"par_n1", one_item, 0, 0},
    {"par_abort", abort_first, 0, 0},
};

int
main(int argc, char **argv)
{
    struct bench_args args;
    bench_parse(&args, argc, argv, table, sizeof table / sizeof *table);
    tbb::global_control workers(tbb::global_control::max_allowed_parallelism,
                                size_t(args.workers));
    bench_measure(&args);
    return 0;
}
