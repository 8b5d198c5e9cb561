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

#ifdef __cplusplus
extern "C" {
#endif

/* A benchmark. */
struct bench {
    const char *id;            /* as in bench/README.md */
    uint64_t (*run)(uint64_t); /* does about n operations, returns how many */
    uint64_t once;             /* n, uncalibrated; 0: calibrate */
    int whole;                 /* no less than once in a short run either */
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

/* Stop the clock: what comes after is clearing up. */
void bench_end(void);

/* The id of the benchmark that runs. */
const char *bench_id(void);

/* Report a figure beside the time, under a name of its own (a literal). */
void bench_figure(const char *key, double value);

/* The monotonic clock, in nanoseconds. */
uint64_t bench_now(void);

/* How many of n things each of k parties does, rounded up. */
uint64_t bench_share(uint64_t n, uint64_t k);

/* How long sleeper i of many sleeps, in microseconds: 1000 .. 50000. */
uint32_t bench_span_us(uint32_t i);

/* Report cpu_ms, the CPU time since cpu_begin, and p99_ms, from n latenesses
 * in nanoseconds, which get sorted. */
void bench_lateness(double cpu_begin, int64_t *late, size_t n);

/* ---- about this process (system.c) -------------------------------------- */

/* Resident memory, and the page tables for it, in bytes. */
double bench_rss(void);
double bench_page_tables(void);

/* Report bytes, what n tasks have added to both of these together, and
 * table_bytes, the page tables' part. */
void bench_memory(double rss_before, double tables_before, uint64_t n);

/* CPU time so far, in milliseconds. */
double bench_cpu_ms(void);

/* Watch, from an OS thread of its own, how often all other threads go to sleep
 * anew, that is, have woken, and how much CPU time the process takes: first
 * ms / 4 to settle, then for ms. */
void bench_idle_begin(uint64_t ms);
/* Wait until it is over; reports wakes and cpu_ms, a second of the time it has
 * watched for. Returns cpu_ms. */
double bench_idle_end(void);

#ifdef __cplusplus
}
#endif

#endif
