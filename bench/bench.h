/* bench.h - the driver that all benchmark programs in C share.
 *
 * A program has a table of benchmarks. It takes --bench ID, --workers N,
 * --seconds S, --iters M, --list; finds how many operations take about S
 * seconds; does them once more under the clock; prints one line of JSON.
 * A benchmark checks its own work: one that did not do it reports nothing.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

/* A benchmark. */
struct bench {
    const char *id;            /* as in bench/README.md */
    uint64_t (*run)(uint64_t); /* does about n operations, returns how many */
    uint64_t once;             /* n, uncalibrated; 0: calibrate */
};

/* What the command line asked for. */
struct bench_args {
    const struct bench *bench; /* the one to run */
    int workers;               /* OS threads, or CPUs for a peer on threads */
    double seconds;            /* to measure for */
    uint64_t iters;            /* fixed number of operations; 0: calibrate */
};

/* Read the command line; on --list or a mistake it ends the program. */
void bench_parse(struct bench_args *args, int argc, char **argv,
                 const struct bench *table, size_t count);

/* Calibrate, measure, print. */
void bench_measure(const struct bench_args *args);

/* End the program: the benchmark did not do its work. */
void bench_fail(const char *what) __attribute__((cold, noreturn));

/* Fail if ok is 0. Inline: it is under the clock. */
static inline void
bench_check(int ok, const char *what)
{
    if (!ok)
        bench_fail(what);
}

/* Start the clock again: what came before was preparation. */
void bench_begin(void);

/* Resident memory of this process. */
double bench_rss(void);

/* Also report this many bytes for each operation. */
void bench_bytes(double bytes);

/* How many of n things each of k parties does, rounded up. */
uint64_t bench_share(uint64_t n, uint64_t k);

#endif
