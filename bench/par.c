/* par.c - benchmarks of parallel operators: the grid of sizes and tokens.
 *
 * A token is some 1.7 ns of dependent arithmetic. A row of the grid does the
 * same items in a plain loop (Ts) and by rn_par_for (TP), in turn, and takes
 * the least of each: neighbours only add. It reports 100 Ts / (workers TP),
 * and the ratio TP / Ts. Both loops call the item through a pointer.
 */
#include "ours.h"

#include <stdatomic.h>
#include <stdlib.h>

static uint64_t
consume(uint64_t t, uint64_t tokens)
{
    for (uint64_t i = tokens; i > 0; i--) {
        t += (t * 0x5DEECE66Du + 0xB + i) & (((uint64_t)1 << 48) - 1);
        __asm__ volatile("" : "+r"(t));
    }
    return t;
}

struct grid {
    uint64_t tokens;
    uint64_t *slots;
};

static int
item(size_t i, void *ctx)
{
    struct grid *g = ctx;
    g->slots[i] = consume(i, g->tokens);
    return 0;
}

static uint64_t
loop(size_t size, rn_par_fn *fn, struct grid *g)
{
    uint64_t begin = bench_now();
    for (size_t i = 0; i < size; i++)
        bench_check(fn(i, g) == 0, "an item");
    return bench_now() - begin;
}

static uint64_t
par(size_t size, rn_par_fn *fn, struct grid *g)
{
    uint64_t begin = bench_now();
    bench_check(rn_par_for(size, fn, g, NULL) == 0, "rn_par_for");
    return bench_now() - begin;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Times of one operation are rounded by the clock: do some at once. */
static size_t
batch(size_t size, uint64_t tokens)
{
    uint64_t ns = size * (2 + 17 * tokens / 10);
    return ns < 200000 ? (size_t)(200000 / ns) + 1 : 1;
}

static uint64_t
grid_row(size_t size, uint64_t tokens, uint64_t rounds)
{
    struct grid g = {tokens, calloc(size, sizeof(uint64_t))};
    rn_par_fn *volatile fn = item;
    uint64_t ts = UINT64_MAX, tp = UINT64_MAX;
    size_t times = batch(size, tokens);
    for (uint64_t r = 0; r < rounds; r++) {
        uint64_t a = 0, b = 0;
        for (size_t k = 0; k < times; k++)
            a += loop(size, fn, &g);
        for (size_t k = 0; k < times; k++)
            b += par(size, fn, &g);
        ts = least(ts, a);
        tp = least(tp, b);
    }
    bench_check(g.slots[size - 1] == consume(size - 1, tokens), "the items");
    free(g.slots);
    bench_figure("ts_ns", (double)ts / (double)times);
    bench_figure("tp_ns", (double)tp / (double)times);
    bench_figure("ratio", (double)tp / (double)ts);
    bench_figure("percent",
                 100 * (double)ts / (double)tp / (double)bench_workers());
    return rounds;
}

#define GRID_ROW(size, tokens)                       \
    uint64_t bench_par_##size##_##tokens(uint64_t n) \
    {                                                \
        return grid_row(size, tokens, n);            \
    }
BENCH_PAR_GRID(GRID_ROW)

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
    struct grid g = {10, calloc(size, sizeof(uint64_t))};
    rn_par_options o = {.limit = 1};
    bench_check(rn_par_for(size, nothing, &sum, &o) == 0, "rn_par_for");
    unsigned long before = atomic_load(&allocations);
    bench_check(rn_par_for(size, item, &g, NULL) == 0, "rn_par_for");
    bench_figure("allocs",
                 (double)(atomic_load(&allocations) - before) / (double)size);
    free(g.slots);
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
