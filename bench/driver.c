/* driver.c - command line, calibration, clock and output of a benchmark. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECONDS 0.3

/* Set by the benchmark while it runs; one runs at a time. */
static uint64_t begin_ns;
static double bytes_each;

static uint64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
bench_begin(void)
{
    begin_ns = now_ns();
}

void
bench_bytes(double bytes)
{
    bytes_each = bytes;
}

void
bench_fail(const char *what)
{
    fprintf(stderr, "benchmark failed: %s\n", what);
    exit(1);
}

double
bench_rss(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    int got = f ? fscanf(f, "%*u %lu", &pages) : 0;
    if (f)
        fclose(f);
    bench_check(got == 1, "cannot read /proc/self/statm");
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

uint64_t
bench_share(uint64_t n, uint64_t k)
{
    return (n + k - 1) / k;
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
    bench_begin();
    *ops = bench->run(n);
    double ns = (double)(now_ns() - begin_ns);
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

/* The count of a benchmark that is not calibrated: less in a short run. */
static uint64_t
scaled(uint64_t once, double seconds)
{
    double part = seconds / SECONDS;
    return part < 1 ? (uint64_t)((double)once * part + 0.5) : once;
}

void
bench_measure(const struct bench_args *args)
{
    uint64_t n = args->iters, ops;
    if (!n && args->bench->once)
        n = scaled(args->bench->once, args->seconds);
    else if (!n)
        n = calibrate(args->bench, args->seconds * 1e9);
    double ns = timed(args->bench, n, &ops);
    printf("{\"bench\": \"%s\", \"workers\": %d, \"ops\": %llu, \"ns\": %.3f",
           args->bench->id, args->workers, (unsigned long long)ops,
           ns / (double)ops);
    if (bytes_each > 0)
        printf(", \"bytes\": %.1f", bytes_each);
    puts("}");
}
