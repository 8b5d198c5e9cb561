/* crowd.c - benchmarks of very many tasks: parked, not yet started, asleep. */
#include "ours.h"

#include <errno.h>
#include <stdlib.h>

#define IDLE_TASKS 100
/* Of a second: 5 %. Who spins or polls never sleeps, and so never wakes. */
#define IDLE_CPU_MS 50

struct crowd {
    rn_waitgroup here;
    rn_chan *gate;
    uint64_t woken;
};

static int
one_of_many(void *arg)
{
    struct crowd *c = arg;
    rn_waitgroup_done(&c->here);
    bench_check(rn_chan_recv(c->gate, NULL, RN_NEVER) < 0, "closed");
    __atomic_fetch_add(&c->woken, 1, __ATOMIC_RELAXED);
    return 0;
}

/* Open a scope of n tasks that wait at the gate. */
static rn_scope *
gather(struct crowd *c, uint64_t n)
{
    rn_scope *scope = bench_open();
    bench_check(rn_chan_new(0, 0, &c->gate) == 0, "rn_chan_new");
    rn_waitgroup_add(&c->here, (int)n);
    for (uint64_t i = 0; i < n; i++)
        bench_go(scope, one_of_many, c);
    bench_check(rn_waitgroup_wait(&c->here, RN_NEVER) == 0,
                "rn_waitgroup_wait");
    return scope;
}

static void
disperse(struct crowd *c, rn_scope *scope)
{
    rn_chan_close(c->gate);
    bench_close(scope);
    rn_chan_unref(c->gate);
}

uint64_t
bench_wake_all(uint64_t n)
{
    struct crowd c = {RN_WAITGROUP_INIT, NULL, 0};
    /* The figures are those of stacks with guards; mprotect cannot give a
     * million of them, and a canary is none. */
    bench_check(rn_guard_best() == RN_GUARD_MADVISE,
                "no stack guards by madvise here (Linux 6.13)");
    double rss = bench_rss(), tables = bench_page_tables();
    uint64_t begin = bench_now();
    rn_scope *scope = gather(&c, n);
    bench_figure("spawn_ns", (double)(bench_now() - begin) / (double)n);
    bench_memory(rss, tables, n);
    bench_begin();
    disperse(&c, scope);
    bench_end();
    /* A second for the library to give back what it wants to. */
    bench_check(rn_sleep(RN_SEC) == 0, "rn_sleep");
    bench_figure("left_bytes", (bench_rss() - rss) / (double)n);
    return c.woken;
}

static int
count_one(void *arg)
{
    __atomic_fetch_add((uint64_t *)arg, 1, __ATOMIC_RELAXED);
    return 0;
}

/* The spawner does not wait, so on one worker no task has started. */
uint64_t
bench_unstarted_bytes(uint64_t n)
{
    uint64_t count = 0;
    rn_scope *scope = bench_open();
    double rss = bench_rss();
    for (uint64_t i = 0; i < n; i++)
        bench_go(scope, count_one, &count);
    bench_check(count == 0, "no task has started");
    bench_figure("bytes", (bench_rss() - rss) / (double)n);
    bench_close(scope);
    return count;
}

struct sleeper {
    rn_time span;
    int64_t *late;
};

static int
sleeper(void *arg)
{
    struct sleeper *s = arg;
    rn_time when = rn_after(s->span);
    bench_check(rn_sleep_until(when) == 0, "rn_sleep_until");
    *s->late = rn_now() - when;
    return 0;
}

static void
sleep_all(struct sleeper *sleepers, int64_t *late, uint64_t n)
{
    rn_scope *scope = bench_open();
    for (uint64_t i = 0; i < n; i++) {
        late[i] = -1;
        sleepers[i] =
            (struct sleeper){bench_span_us((uint32_t)i) * RN_US, &late[i]};
        bench_go(scope, sleeper, &sleepers[i]);
    }
    bench_close(scope);
}

/* Twice: the first time pays for memory that the second has already. */
uint64_t
bench_sleepers(uint64_t n)
{
    struct sleeper *sleepers = calloc(n, sizeof *sleepers);
    int64_t *late = calloc(n, sizeof *late);
    bench_check(sleepers && late, "out of memory");
    sleep_all(sleepers, late, n);
    bench_begin();
    double cpu = bench_cpu_ms();
    sleep_all(sleepers, late, n);
    bench_end();
    bench_lateness(cpu, late, n);
    free(late);
    free(sleepers);
    return n;
}

/* Nothing to do for n milliseconds and some: tasks that wait on a channel,
 * one timer far away, and the deadline that ends it. */
uint64_t
bench_idle_wakeups(uint64_t n)
{
    struct crowd c = {RN_WAITGROUP_INIT, NULL, 0};
    rn_timer *far;
    bench_check(rn_timer_new(rn_after(3600 * RN_SEC), 0, &far) == 0,
                "rn_timer_new");
    rn_scope *scope = gather(&c, IDLE_TASKS);
    bench_idle_begin(n);
    bench_check(rn_chan_recv(c.gate, NULL, rn_after((rn_time)n * 2 * RN_MS)) ==
                    -ETIMEDOUT,
                "nobody sends");
    bench_check(bench_idle_end() < IDLE_CPU_MS, "who waits takes no CPU time");
    disperse(&c, scope);
    rn_timer_free(far);
    bench_check(c.woken == IDLE_TASKS, "tasks that waited");
    return n;
}
