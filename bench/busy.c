/* busy.c - benchmarks whose second worker is awake, and computes.
 *
 * A worker without work sleeps, and then nothing that the other one touches
 * is shared (base/atomic.h): that is the state most rows of two workers are
 * measured in. Here a task computes on the other worker all the while, so
 * that every read-modify-write is a true one, though nobody competes.
 */
#include "ours.h"

#include <stdatomic.h>
#include <string.h>

/* The flags are relaxed on both sides: they hand nothing over. */
struct neighbour {
    _Atomic int here, seen, stop;
    uint64_t sum;
};

/* Never waits and never yields, so it keeps its worker. */
static int
compute(void *arg)
{
    struct neighbour *b = arg;
    uint64_t x = 1;
    atomic_store_explicit(&b->here, 1, memory_order_relaxed);
    rn_time late = rn_after(5 * RN_SEC);
    while (!atomic_load_explicit(&b->seen, memory_order_relaxed))
        bench_check(rn_now() < late, "no other worker goes on meanwhile");
    do
        for (int i = 0; i < 1000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
    while (!atomic_load_explicit(&b->stop, memory_order_relaxed));
    b->sum = x;
    return 0;
}

/* Whoever sees it before it has ended runs on another worker. */
static rn_scope *
move_in(struct neighbour *b)
{
    rn_scope *scope = bench_open();
    bench_go(scope, compute, b);
    while (!atomic_load_explicit(&b->here, memory_order_relaxed))
        bench_check(rn_yield() == 0, "rn_yield");
    atomic_store_explicit(&b->seen, 1, memory_order_relaxed);
    return scope;
}

static uint64_t
beside(uint64_t (*run)(uint64_t), uint64_t n)
{
    struct neighbour b = {0, 0, 0, 0};
    rn_scope *scope = move_in(&b);
    bench_begin();
    uint64_t ops = run(n);
    bench_end();
    atomic_store_explicit(&b.stop, 1, memory_order_relaxed);
    bench_close(scope);
    bench_check(b.sum != 0, "the neighbour computed");
    return ops;
}

/* What runs beside it, by id. */
static const struct {
    const char *id;
    uint64_t (*run)(uint64_t n);
} rows[] = {
    {"mutex_busy", bench_mutex},
    {"buffered_1p1c_busy", bench_buffered_1p1c},
    {"pingpong_busy", bench_pingpong},
    {"select8_busy", bench_select8},
    {"spawn_one_busy", bench_spawn_one},
    {"rwmutex_read_busy", bench_rwmutex_read},
    {"stm_read4_busy", bench_stm_read4},
    {"stm_update2_busy", bench_stm_update2},
};

uint64_t
bench_busy(uint64_t n)
{
    size_t i = 0, count = sizeof rows / sizeof rows[0];
    while (i < count && strcmp(rows[i].id, bench_id()) != 0)
        i++;
    bench_check(i < count, "a busy row");
    return beside(rows[i].run, n);
}
