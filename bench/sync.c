/* sync.c - benchmarks of the mutex and of timers. */
#include "ours.h"

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

uint64_t
bench_timer(uint64_t n)
{
    uint64_t stopped = 0;
    for (uint64_t i = 0; i < n; i++) {
        rn_timer *timer;
        bench_check(rn_timer_new(rn_after(3600 * RN_SEC), 0, &timer) == 0,
                    "rn_timer_new");
        stopped += rn_timer_stop(timer) == 1;
        rn_timer_free(timer);
    }
    return stopped;
}
