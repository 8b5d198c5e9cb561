/* contexts.c - benchmarks of contexts. */
#include "ours.h"

#include <errno.h>

static uint64_t
make_and_cancel(rn_time span, uint64_t n)
{
    uint64_t ended = 0;
    for (uint64_t i = 0; i < n; i++) {
        rn_context *ctx;
        rn_time deadline = span ? rn_after(span) : RN_NEVER;
        bench_check(rn_context_new(RN_CONTEXT_BACKGROUND, deadline, &ctx) == 0,
                    "rn_context_new");
        rn_context_cancel(ctx, 0);
        ended += rn_context_status(ctx) == -ECANCELED;
        rn_context_unref(ctx);
    }
    return ended;
}

uint64_t
bench_context_cancel(uint64_t n)
{
    return make_and_cancel(0, n);
}

uint64_t
bench_context_timeout(uint64_t n)
{
    return make_and_cancel(3600 * RN_SEC, n);
}
