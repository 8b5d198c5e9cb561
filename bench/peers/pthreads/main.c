/* main.c - the benchmarks that have a meaning with one OS thread a task. */
#define _GNU_SOURCE
#include "chan.h"
#include "threads.h"

#include <sched.h>

#define STACK_BYTES (64 * 1024)

pthread_t
spawn(void *(*fn)(void *), void *arg)
{
    static pthread_attr_t attr;
    static int made;
    if (!made) {
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, STACK_BYTES);
        made = 1;
    }
    pthread_t thread;
    bench_check(!pthread_create(&thread, &attr, fn, arg), "pthread_create");
    return thread;
}

static void *
count_one(void *arg)
{
    ++*(uint64_t *)arg;
    return NULL;
}

static uint64_t
spawn_one(uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++)
        pthread_join(spawn(count_one, &count), NULL);
    bench_check(count == n, "tasks that ran");
    return n;
}

/* n groups of size threads each. */
static void
groups(uint64_t n, size_t size)
{
    uint64_t slots[1000] = {0}, sum = 0;
    pthread_t threads[1000];
    for (uint64_t i = 0; i < n; i++) {
        for (size_t j = 0; j < size; j++)
            threads[j] = spawn(count_one, &slots[j]);
        for (size_t j = 0; j < size; j++)
            pthread_join(threads[j], NULL);
    }
    for (size_t j = 0; j < size; j++)
        sum += slots[j];
    bench_check(sum == n * size, "tasks that ran");
}

static uint64_t
spawn_batch(uint64_t n)
{
    groups(bench_share(n, 1000), 1000);
    return bench_share(n, 1000) * 1000;
}

static uint64_t
group10(uint64_t n)
{
    groups(n, 10);
    return n;
}

static uint64_t
group100(uint64_t n)
{
    groups(n, 100);
    return n;
}

struct yielder {
    pthread_barrier_t *start;
    uint64_t rounds, done;
};

static void *
yielder(void *arg)
{
    struct yielder *y = arg;
    pthread_barrier_wait(y->start);
    uint64_t i = 0;
    for (; i < y->rounds; i++)
        sched_yield();
    y->done = i;
    return NULL;
}

static uint64_t
yields(uint64_t n, size_t tasks)
{
    static struct yielder yielders[1000];
    pthread_t threads[1000];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)tasks + 1);
    uint64_t sum = 0;
    for (size_t i = 0; i < tasks; i++) {
        yielders[i] = (struct yielder){&start, bench_share(n, tasks), 0};
        threads[i] = spawn(yielder, &yielders[i]);
    }
    bench_begin();
    pthread_barrier_wait(&start);
    for (size_t i = 0; i < tasks; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < tasks; i++)
        sum += yielders[i].done;
    pthread_barrier_destroy(&start);
    return sum;
}

static uint64_t
yield2(uint64_t n)
{
    return yields(n, 2);
}

static uint64_t
yield1000(uint64_t n)
{
    return yields(n, 1000);
}

static void *
ponger(void *arg)
{
    struct chan *c = arg;
    int64_t v;
    while (chan_recv(&c[0], &v))
        chan_send(&c[1], v + 1);
    return NULL;
}

static uint64_t
pingpong(uint64_t n)
{
    struct chan c[2] = {CHAN_INIT(0), CHAN_INIT(0)};
    pthread_t thread = spawn(ponger, c);
    int64_t v = 0;
    for (uint64_t i = 0; i < n; i++) {
        chan_send(&c[0], v);
        chan_recv(&c[1], &v);
    }
    chan_close(&c[0]);
    pthread_join(thread, NULL);
    bench_check(v == (int64_t)n, "round trips");
    return n;
}

struct flow {
    struct chan *chan;
    uint64_t items, sum;
};

static void *
producer(void *arg)
{
    struct flow *f = arg;
    for (uint64_t i = 0; i < f->items; i++)
        chan_send(f->chan, (int64_t)i);
    return NULL;
}

static void *
consumer(void *arg)
{
    struct flow *f = arg;
    uint64_t items = 0, sum = 0;
    for (int64_t v; chan_recv(f->chan, &v); items++)
        sum += (uint64_t)v;
    f->items = items;
    f->sum = sum;
    return NULL;
}

static uint64_t
buffered(uint64_t n, size_t pairs)
{
    struct chan c = CHAN_INIT(128);
    struct flow in[4], out[4];
    pthread_t ins[4], outs[4];
    uint64_t each = bench_share(n, pairs), items = 0, sum = 0;
    for (size_t i = 0; i < pairs; i++) {
        in[i] = (struct flow){&c, each, 0};
        out[i] = (struct flow){&c, 0, 0};
        outs[i] = spawn(consumer, &out[i]);
        ins[i] = spawn(producer, &in[i]);
    }
    for (size_t i = 0; i < pairs; i++)
        pthread_join(ins[i], NULL);
    chan_close(&c);
    for (size_t i = 0; i < pairs; i++) {
        pthread_join(outs[i], NULL);
        items += out[i].items;
        sum += out[i].sum;
    }
    bench_check(sum == pairs * (each * (each - 1) / 2), "sum of the items");
    return items;
}

static uint64_t
buffered_1p1c(uint64_t n)
{
    return buffered(n, 1);
}

static uint64_t
buffered_4p4c(uint64_t n)
{
    return buffered(n, 4);
}

struct locker {
    pthread_mutex_t *lock;
    uint64_t *count, rounds;
};

static uint64_t
mutex(uint64_t n)
{
    /* A second thread must exist, or glibc leaves the atomics out. */
    struct chan idle = CHAN_INIT(0);
    pthread_t other = spawn(ponger, &idle);
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    volatile uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    chan_close(&idle);
    pthread_join(other, NULL);
    return count;
}

static void *
yielding_locker(void *arg)
{
    struct locker *l = arg;
    for (uint64_t i = 0; i < l->rounds; i++) {
        pthread_mutex_lock(l->lock);
        uint64_t seen = *l->count;
        sched_yield();
        *l->count = seen + 1;
        pthread_mutex_unlock(l->lock);
    }
    return NULL;
}

static uint64_t
mutex_yield(uint64_t n)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint64_t count = 0;
    struct locker l = {&lock, &count, bench_share(n, 4)};
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        threads[i] = spawn(yielding_locker, &l);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return count;
}

static const struct bench table[] = {
    {"spawn_one", spawn_one, 0, 0},
    {"spawn_batch", spawn_batch, 0, 0},
    {"group10", group10, 0, 0},
    {"group100", group100, 0, 0},
    {"yield2", yield2, 0, 0},
    {"yield1000", yield1000, 0, 0},
    {"pingpong", pingpong, 0, 0},
    {"buffered_1p1c", buffered_1p1c, 0, 0},
    {"buffered_4p4c", buffered_4p4c, 0, 0},
    {"mutex", mutex, 0, 0},
    {"mutex_yield", mutex_yield, 0, 0},
    {"sleepers10k", sleepers, 10000, 1},
    /* A million threads cannot be had; ten thousand can. */
    {"wake_all", wake_all, 10000, 0},
    {"blocking", blocking, 0, 0},
    /* Milliseconds to watch for. */
    {"idle_wakeups", idle_wakeups, 2000, 0},
};

/* Leave the process as many CPUs as there are workers. */
static void
pin(int workers)
{
    cpu_set_t all, some;
    CPU_ZERO(&some);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && workers; cpu--)
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &some);
            workers--;
        }
    sched_setaffinity(0, sizeof some, &some);
}

int
main(int argc, char **argv)
{
    struct bench_args args;
    bench_parse(&args, argc, argv, table, sizeof table / sizeof *table);
    pin(args.workers);
    bench_measure(&args);
    return 0;
}
