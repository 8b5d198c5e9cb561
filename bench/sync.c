/* sync.c - benchmarks of the mutex, of timers and of blocking calls. */
#include "ours.h"

#include <stdlib.h>

#define LIVE_TIMERS 100000

struct locker {
    rn_mutex lock;
    uint64_t count, rounds;
};

uint64_t
bench_mutex(uint64_t n)
{
    rn_mutex lock = RN_MUTEX_INIT;
    volatile uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        bench_check(rn_mutex_lock(&lock, RN_NEVER) == 0, "rn_mutex_lock");
        count++;
        rn_mutex_unlock(&lock);
    }
    return count;
}

/* The holder yields, so that the others pile up behind it. */
static int
yielding_locker(void *arg)
{
    struct locker *l = arg;
    for (uint64_t i = 0; i < l->rounds; i++) {
        bench_check(rn_mutex_lock(&l->lock, RN_NEVER) == 0, "rn_mutex_lock");
        uint64_t seen = l->count;
        bench_check(rn_yield() == 0, "rn_yield");
        l->count = seen + 1;
        rn_mutex_unlock(&l->lock);
    }
    return 0;
}

uint64_t
bench_mutex_yield(uint64_t n)
{
    struct locker l = {RN_MUTEX_INIT, 0, bench_share(n, 4)};
    rn_scope *scope = bench_open();
    for (int i = 0; i < 4; i++)
        bench_go(scope, yielding_locker, &l);
    bench_close(scope);
    return l.count;
}

static rn_timer *
timer(rn_time span)
{
    rn_timer *made;
    bench_check(rn_timer_new(rn_after(span), 0, &made) == 0, "rn_timer_new");
    return made;
}

uint64_t
bench_timer(uint64_t n)
{
    uint64_t stopped = 0;
    for (uint64_t i = 0; i < n; i++) {
        rn_timer *one = timer(3600 * RN_SEC);
        stopped += rn_timer_stop(one) == 1;
        rn_timer_free(one);
    }
    return stopped;
}

/* The others are for half an hour to an hour and a half from now. */
uint64_t
bench_timer100k(uint64_t n)
{
    rn_timer **live = calloc(LIVE_TIMERS, sizeof(rn_timer *));
    bench_check(live != NULL, "out of memory");
    for (uint32_t i = 0; i < LIVE_TIMERS; i++)
        live[i] = timer(1800 * RN_SEC + bench_span_us(i) * 72 * RN_MS);
    bench_begin();
    uint64_t stopped = bench_timer(n);
    bench_end();
    for (uint32_t i = 0; i < LIVE_TIMERS; i++)
        rn_timer_free(live[i]);
    free(live);
    return stopped;
}

static int
next(void *arg)
{
    return (int)(++*(uint64_t *)arg & 0xffff);
}

uint64_t
bench_blocking(uint64_t n)
{
    uint64_t count = 0;
    int result;
    for (uint64_t i = 1; i <= n; i++) {
        bench_check(rn_blocking(next, &count, RN_NEVER, &result) == 0,
                    "rn_blocking");
        bench_check(result == (int)(i & 0xffff), "result");
    }
    return count;
}
