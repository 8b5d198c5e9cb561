/* crowd.c - benchmarks of very many threads, and of one that serves another. */
#include "threads.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define IDLE_THREADS 100

struct crowd {
    pthread_mutex_t lock;
    pthread_cond_t all_here, go_on;
    uint64_t missing, woken;
    int open;
};

static void *
one_of_many(void *arg)
{
    struct crowd *c = arg;
    pthread_mutex_lock(&c->lock);
    if (!--c->missing)
        pthread_cond_signal(&c->all_here);
    while (!c->open)
        pthread_cond_wait(&c->go_on, &c->lock);
    c->woken++;
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Start n threads that wait; returns when all do. */
static pthread_t *
gather(struct crowd *c, uint64_t n)
{
    pthread_t *threads = calloc(n, sizeof *threads);
    bench_check(threads != NULL, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->all_here, NULL);
    pthread_cond_init(&c->go_on, NULL);
    c->missing = n;
    c->woken = 0;
    c->open = 0;
    for (uint64_t i = 0; i < n; i++)
        threads[i] = spawn(one_of_many, c);
    pthread_mutex_lock(&c->lock);
    while (c->missing)
        pthread_cond_wait(&c->all_here, &c->lock);
    pthread_mutex_unlock(&c->lock);
    return threads;
}

static void
disperse(struct crowd *c, pthread_t *threads, uint64_t n)
{
    pthread_mutex_lock(&c->lock);
    c->open = 1;
    pthread_cond_broadcast(&c->go_on);
    pthread_mutex_unlock(&c->lock);
    for (uint64_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

uint64_t
wake_all(uint64_t n)
{
    struct crowd c;
    double rss = bench_rss(), tables = bench_page_tables();
    uint64_t begin = bench_now();
    pthread_t *threads = gather(&c, n);
    bench_figure("spawn_ns", (double)(bench_now() - begin) / (double)n);
    bench_memory(rss, tables, n);
    bench_begin();
    disperse(&c, threads, n);
    bench_end();
    sleep(1);
    bench_figure("left_bytes", (bench_rss() - rss) / (double)n);
    return c.woken;
}

struct sleeper {
    uint32_t span_us;
    int64_t *late;
};

static void *
sleeper(void *arg)
{
    struct sleeper *s = arg;
    uint64_t when = bench_now() + s->span_us * UINT64_C(1000);
    struct timespec t = {(time_t)(when / 1000000000),
                         (long)(when % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) {
    }
    *s->late = (int64_t)(bench_now() - when);
    return NULL;
}

static void
sleep_all(pthread_t *threads, struct sleeper *all, int64_t *late, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        late[i] = -1;
        all[i] = (struct sleeper){bench_span_us((uint32_t)i), &late[i]};
        threads[i] = spawn(sleeper, &all[i]);
    }
    for (uint64_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* Twice: the first time pays for memory that the second has already. */
uint64_t
sleepers(uint64_t n)
{
    pthread_t *threads = calloc(n, sizeof *threads);
    struct sleeper *all = calloc(n, sizeof *all);
    int64_t *late = calloc(n, sizeof *late);
    bench_check(threads && all && late, "out of memory");
    sleep_all(threads, all, late, n);
    bench_begin();
    double cpu = bench_cpu_ms();
    sleep_all(threads, all, late, n);
    bench_end();
    bench_lateness(cpu, late, n);
    free(late);
    free(all);
    free(threads);
    return n;
}

uint64_t
idle_wakeups(uint64_t n)
{
    struct crowd c;
    pthread_t *threads = gather(&c, IDLE_THREADS);
    bench_idle_begin(n);
    bench_idle_end();
    disperse(&c, threads, IDLE_THREADS);
    bench_check(c.woken == IDLE_THREADS, "threads that waited");
    return n;
}

/* A thread that calls functions for others. */
struct helper {
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    int (*fn)(void *arg); /* NULL: nothing to do */
    void *arg;
    int result, done, stop;
};

static void *
help(void *arg)
{
    struct helper *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->fn && !h->stop)
            pthread_cond_wait(&h->asked, &h->lock);
        if (!h->fn)
            break;
        int (*fn)(void *) = h->fn;
        pthread_mutex_unlock(&h->lock);
        int result = fn(h->arg);
        pthread_mutex_lock(&h->lock);
        h->result = result;
        h->fn = NULL;
        h->done = 1;
        pthread_cond_signal(&h->answered);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static int
call(struct helper *h, int (*fn)(void *arg), void *arg)
{
    pthread_mutex_lock(&h->lock);
    h->fn = fn;
    h->arg = arg;
    h->done = 0;
    pthread_cond_signal(&h->asked);
    while (!h->done)
        pthread_cond_wait(&h->answered, &h->lock);
    int result = h->result;
    pthread_mutex_unlock(&h->lock);
    return result;
}

static int
next(void *arg)
{
    return (int)(++*(uint64_t *)arg & 0xffff);
}

uint64_t
blocking(uint64_t n)
{
    struct helper h = {.lock = PTHREAD_MUTEX_INITIALIZER,
                       .asked = PTHREAD_COND_INITIALIZER,
                       .answered = PTHREAD_COND_INITIALIZER};
    pthread_t thread = spawn(help, &h);
    uint64_t count = 0;
    for (uint64_t i = 1; i <= n; i++)
        bench_check(call(&h, next, &count) == (int)(i & 0xffff), "result");
    pthread_mutex_lock(&h.lock);
    h.stop = 1;
    pthread_cond_signal(&h.asked);
    pthread_mutex_unlock(&h.lock);
    pthread_join(thread, NULL);
    return count;
}
