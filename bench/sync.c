/* sync.c - benchmarks of locks, of what tasks wait for, and of timers. */
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

/* ---- other locks -------------------------------------------------------- */

uint64_t
bench_rwmutex_read(uint64_t n)
{
    rn_rwmutex lock = RN_RWMUTEX_INIT;
    volatile uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        bench_check(rn_rwmutex_read_lock(&lock, RN_NEVER) == 0,
                    "rn_rwmutex_read_lock");
        count++;
        rn_rwmutex_read_unlock(&lock);
    }
    return count;
}

uint64_t
bench_rwmutex_write(uint64_t n)
{
    rn_rwmutex lock = RN_RWMUTEX_INIT;
    volatile uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        bench_check(rn_rwmutex_lock(&lock, RN_NEVER) == 0, "rn_rwmutex_lock");
        count++;
        rn_rwmutex_unlock(&lock);
    }
    return count;
}

uint64_t
bench_sema(uint64_t n)
{
    rn_sema sema = RN_SEMA_INIT(10);
    volatile uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        bench_check(rn_sema_acquire(&sema, 1, RN_NEVER) == 0,
                    "rn_sema_acquire");
        count++;
        rn_sema_release(&sema, 1);
    }
    return count;
}

/* ---- wait for others ---------------------------------------------------- */

uint64_t
bench_waitgroup(uint64_t n)
{
    rn_waitgroup group = RN_WAITGROUP_INIT;
    for (uint64_t i = 0; i < n; i++) {
        rn_waitgroup_add(&group, 1);
        rn_waitgroup_done(&group);
    }
    bench_check(rn_waitgroup_wait(&group, RN_NOW) == 0, "rn_waitgroup_wait");
    return n;
}

static void
count_one(void *arg)
{
    ++*(uint64_t *)arg;
}

uint64_t
bench_once_done(uint64_t n)
{
    rn_once once = RN_ONCE_INIT;
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++)
        bench_check(rn_once_do(&once, count_one, &count, RN_NEVER) == 0,
                    "rn_once_do");
    bench_check(count == 1, "it ran once");
    return n;
}

uint64_t
bench_future(uint64_t n)
{
    uint64_t sum = 0, value;
    for (uint64_t i = 0; i < n; i++) {
        rn_promise *promise;
        rn_future *future;
        bench_check(rn_future_new(sizeof i, &promise, &future) == 0,
                    "rn_future_new");
        rn_promise_set(promise, &i);
        rn_promise_free(promise);
        bench_check(rn_future_wait(future, &value, RN_NEVER) == 0,
                    "rn_future_wait");
        sum += value;
        rn_future_unref(future);
    }
    bench_check(sum == n * (n - 1) / 2, "sum of the values");
    return n;
}

struct steps {
    rn_barrier barrier;
    uint64_t count;
};

static int
step(void *arg)
{
    struct steps *s = arg;
    for (uint64_t i = 0; i < s->count; i++)
        bench_check(rn_barrier_wait(&s->barrier, RN_NEVER) >= 0,
                    "rn_barrier_wait");
    return 0;
}

uint64_t
bench_barrier(uint64_t n)
{
    struct steps s = {RN_BARRIER_INIT(4), n};
    rn_scope *scope = bench_open();
    for (int i = 0; i < 4; i++)
        bench_go(scope, step, &s);
    bench_close(scope);
    return n;
}

static int
add_one(void *arg)
{
    ++*(uint64_t *)arg;
    return 0;
}

uint64_t
bench_workgroup_1(uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        rn_workgroup group;
        bench_check(rn_workgroup_open(&group, 0, NULL) == 0,
                    "rn_workgroup_open");
        bench_check(rn_workgroup_go(&group, add_one, &count, RN_NEVER) == 0,
                    "rn_workgroup_go");
        bench_check(rn_workgroup_wait(&group, 0) == 0, "rn_workgroup_wait");
    }
    return count;
}

/* ---- timers ------------------------------------------------------------- */

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

/* The channel is waited on before the time has come. */
uint64_t
bench_timer_fire(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        rn_timer *one = timer(1);
        bench_check(rn_chan_recv(rn_timer_chan(one), NULL, RN_NEVER) == 0,
                    "rn_chan_recv");
        rn_timer_free(one);
    }
    return n;
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
