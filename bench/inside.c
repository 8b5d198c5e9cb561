/* inside.c - benchmarks of two parts of the library that no program sees.
 *
 * What a bare switch costs, and what a million guarded stacks cost before
 * anything runs on them, cannot be asked through the public headers: a task's
 * switch always comes with the scheduler's work, and a stack with the page
 * its task touches. So this program, alone in bench/, includes os/os.h and
 * links to the static library, whose internal names are not hidden.
 */
#include "bench.h"
#include "os/os.h"

#include <stdlib.h>

#define STACK_BYTES ((size_t)64 << 10)

/* Two contexts that hand the CPU to each other, at one place in the code, as
 * the scheduler does. */
struct side {
    struct rn__ctx *mine, *other;
    uint64_t rounds, done;
};

__attribute__((noinline)) static void
take_turns(struct side *side)
{
    while (side->done < side->rounds) {
        side->done++;
        rn__ctx_switch(side->mine, side->other);
    }
}

static void
partner(void *arg)
{
    struct side *side = arg;
    take_turns(side);
    rn__ctx_switch(side->mine, side->other);
}

static uint64_t
ctx_switch(uint64_t n)
{
    struct rn__ctx main, ctx;
    uint64_t rounds = bench_share(n, 2);
    struct side here = {&main, &ctx, rounds, 0},
                there = {&ctx, &main, rounds, 0};
    void *stack = malloc(STACK_BYTES);
    bench_check(stack != NULL, "out of memory");
    bench_check(rn__ctx_adopt(&main) == 0, "rn__ctx_adopt");
    bench_check(rn__ctx_make(&ctx, stack, STACK_BYTES, partner, &there) == 0,
                "rn__ctx_make");
    bench_begin();
    take_turns(&here);
    bench_end();
    bench_check(there.done == rounds, "switches");
    rn__ctx_fini(&ctx);
    rn__ctx_fini(&main);
    free(stack);
    return rounds * 2;
}

/* Of the stacks nothing is touched here; what the pool touches, it pays. */
static uint64_t
stacks_setup(uint64_t n)
{
    struct rn__stackpool pool;
    size_t usable;
    bench_check(rn__stackpool_init(&pool, STACK_BYTES, RN_GUARD_DEFAULT) == 0,
                "rn__stackpool_init");
    double rss = bench_rss();
    bench_begin();
    for (uint64_t i = 0; i < n; i++)
        bench_check(rn__stack_get(&pool, &usable) != NULL, "rn__stack_get");
    bench_end();
    bench_figure("bytes", (bench_rss() - rss) / (double)n);
    bench_check(pool.made == n && pool.unguarded == 0, "guarded stacks");
    rn__stackpool_fini(&pool);
    return n;
}

static const struct bench table[] = {
    {"switch", ctx_switch, 0, 0},
    {"stacks_setup", stacks_setup, 1000000, 0},
};

int
main(int argc, char **argv)
{
    struct bench_args args;
    bench_parse(&args, argc, argv, table, sizeof table / sizeof *table);
    bench_check(rn__ctx_select(RN_BACKEND_DEFAULT) == 0, "rn__ctx_select");
    bench_measure(&args);
    return 0;
}
