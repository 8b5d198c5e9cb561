/* driver.c - command line, calibration, clock and output of a benchmark. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECONDS 0.3

#define FIGURES_MAX 8

/* Set by the benchmark while it runs; one runs at a time. */
static uint64_t begin_ns, end_ns;
static const char *running;
static struct figure {
    const char *key;
    double value;
} figures[FIGURES_MAX];

uint64_t
bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
bench_begin(void)
{
    begin_ns = bench_now();
}

void
bench_end(void)
{
    end_ns = bench_now();
}

const char *
bench_id(void)
{
    return running;
}

void
bench_figure(const char *key, double value)
{
    size_t i = 0;
    while (i < FIGURES_MAX && figures[i].key && strcmp(figures[i].key, key))
        i++;
    bench_check(i < FIGURES_MAX, "too many figures");
    figures[i] = (struct figure){key, value};
}

void
bench_fail(const char *what)
{
    fprintf(stderr, "benchmark failed: %s\n", what);
    exit(1);
}

uint64_t
bench_share(uint64_t n, uint64_t k)
{
    return (n + k - 1) / k;
}

uint32_t
bench_span_us(uint32_t i)
{
    return 1000 + (i * 2654435761u >> 8) % 49001;
}

static int
by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void
bench_lateness(double cpu_begin, int64_t *late, size_t n)
{
    bench_figure("cpu_ms", bench_cpu_ms() - cpu_begin);
    qsort(late, n, sizeof *late, by_value);
    bench_check(late[0] >= 0, "woken too early");
    bench_figure("p99_ms", (double)late[(n - 1) * 99 / 100] / 1e6);
}

static void
usage(const char *program)
{
    fprintf(stderr,
            "usage: %s --bench ID [--workers N] [--seconds S] [--iters M]\n"
            "       %s --list\n",
            program, program);
    exit(2);
}

static const struct bench *
find(const struct bench *table, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(table[i].id, id))
            return &table[i];
    fprintf(stderr, "no benchmark \"%s\" here; --list names them\n", id);
    exit(2);
}

void
bench_parse(struct bench_args *args, int argc, char **argv,
            const struct bench *table, size_t count)
{
    *args = (struct bench_args){.workers = 1, .seconds = SECONDS};
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) {
            for (size_t j = 0; j < count; j++)
                puts(table[j].id);
            exit(0);
        }
        if (i + 1 == argc)
            usage(argv[0]);
        const char *name = argv[i++];
        if (!strcmp(name, "--bench"))
            args->bench = find(table, count, argv[i]);
        else if (!strcmp(name, "--workers"))
            args->workers = atoi(argv[i]);
        else if (!strcmp(name, "--seconds"))
            args->seconds = atof(argv[i]);
        else if (!strcmp(name, "--iters"))
            args->iters = strtoull(argv[i], NULL, 10);
        else
            usage(argv[0]);
    }
    if (!args->bench || args->workers < 1 || !(args->seconds > 0))
        usage(argv[0]);
}

/* Run n operations; *ops is how many it were. Returns the time they took. */
static double
timed(const struct bench *bench, uint64_t n, uint64_t *ops)
{
    end_ns = 0;
    bench_begin();
    *ops = bench->run(n);
    if (!end_ns)
        bench_end();
    double ns = (double)(end_ns - begin_ns);
    bench_check(*ops >= n, "too few operations");
    return ns < 1 ? 1 : ns;
}

/* How many operations take about target_ns; also warms everything up. */
static uint64_t
calibrate(const struct bench *bench, double target_ns)
{
    uint64_t n = 1, ops;
    for (;;) {
        double ns = timed(bench, n, &ops);
        double factor = target_ns / ns;
        if (factor < 5)
            return (uint64_t)((double)ops * factor) + 1;
        n = (uint64_t)((double)ops * (factor < 400 ? factor / 4 : 100)) + 1;
    }
}

/* The count of a benchmark that is not calibrated. */
static uint64_t
scaled(const struct bench *bench, double seconds)
{
    double part = seconds / SECONDS;
    if (part >= 1 || bench->whole)
        return bench->once;
    return (uint64_t)((double)bench->once * part + 0.5);
}

void
bench_measure(const struct bench_args *args)
{
    uint64_t n = args->iters, ops;
    running = args->bench->id;
    if (!n && args->bench->once)
        n = scaled(args->bench, args->seconds);
    else if (!n)
        n = calibrate(args->bench, args->seconds * 1e9);
    double ns = timed(args->bench, n, &ops);
    printf("{\"bench\": \"%s\", \"workers\": %d, \"ops\": %llu, \"ns\": %.3f",
           args->bench->id, args->workers, (unsigned long long)ops,
           ns / (double)ops);
    for (size_t i = 0; i < FIGURES_MAX && figures[i].key; i++)
        printf(", \"%s\": %.4f", figures[i].key, figures[i].value);
    puts("}");
}
