/* par.c - benchmarks of parallel operators. */
#include "grid.h"
#include "ours.h"

#include <stdatomic.h>
#include <stdlib.h>

static int
item(size_t i, void *ctx)
{
    const struct bench_grid *grid = ctx;
    grid->out[i] = bench_work(i, grid->tokens);
    return 0;
}

static void
loop(const struct bench_grid *grid)
{
    bench_check(rn_par_for(grid->size, item, (void *)grid, NULL) == 0,
                "rn_par_for");
}

uint64_t
bench_par(uint64_t n)
{
    return bench_grid(n, loop);
}

static int
nothing(size_t i, void *ctx)
{
    *(size_t *)ctx += i + 1;
    return 0;
}

/* An operation on one item. */
uint64_t
bench_par_n1(uint64_t n)
{
    size_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        bench_check(rn_par_for(1, nothing, &sum, NULL) == 0, "rn_par_for");
    bench_check(sum == n, "items that ran");
    return n;
}

void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
static atomic_ulong allocations;

/* All memory of the library comes this way; the linker puts it in between. */
void *
__wrap_calloc(size_t n, size_t bytes)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return __real_calloc(n, bytes);
}

/* Allocations an item. */
uint64_t
bench_par_alloc(uint64_t n)
{
    size_t size = n < 1000 ? 1000 : n, sum = 0;
    struct bench_grid g = {calloc(size, sizeof(uint64_t)), size, 10};
    rn_par_options o = {.limit = 1};
    bench_check(rn_par_for(size, nothing, &sum, &o) == 0, "rn_par_for");
    unsigned long before = atomic_load(&allocations);
    bench_check(rn_par_for(size, item, &g, NULL) == 0, "rn_par_for");
    bench_figure("allocs",
                 (double)(atomic_load(&allocations) - before) / (double)size);
    free(g.out);
    return size;
}

static int
fail_first(size_t i, void *ctx)
{
    atomic_fetch_add((atomic_size_t *)ctx, 1);
    return i == 0 ? -1 : rn_sleep(RN_SEC);
}

/* The first of a million items fails, 16 may be active. */
uint64_t
bench_par_abort(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        atomic_size_t started = 0;
        rn_par_options o = {.limit = 16};
        bench_check(rn_par_for(1000000, fail_first, &started, &o) == -1,
                    "rn_par_for");
        bench_check(atomic_load(&started) <= 16, "items that began");
    }
    return n;
}
