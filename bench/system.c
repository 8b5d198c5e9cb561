/* system.c - what the kernel knows about a benchmark's process. */
#include "bench.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct idle {
    pthread_t thread;
    uint64_t ms;
    double wakes, cpu_ms; /* a second */
} idle;

/* A number of a status file, by its name with the colon; -1: not there. */
static double
status(const char *path, const char *name)
{
    char line[256];
    double value = -1;
    FILE *f = fopen(path, "r");
    while (f && value < 0 && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)))
            value = atof(line + strlen(name));
    if (f)
        fclose(f);
    return value;
}

static double
kilobytes(const char *name)
{
    double value = status("/proc/self/status", name);
    bench_check(value >= 0, "cannot read /proc/self/status");
    return value * 1024;
}

double
bench_rss(void)
{
    return kilobytes("VmRSS:");
}

double
bench_page_tables(void)
{
    return kilobytes("VmPTE:");
}

void
bench_memory(double rss_before, double tables_before, uint64_t n)
{
    double rss = bench_rss() - rss_before;
    double tables = bench_page_tables() - tables_before;
    bench_figure("bytes", (rss + tables) / (double)n);
    bench_figure("table_bytes", tables / (double)n);
}

double
bench_cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* How often the threads of this process, but for one, have gone to sleep. */
static double
sleeps(int but)
{
    double sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    bench_check(tasks != NULL, "cannot read /proc/self/task");
    for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
        char path[64];
        int id = atoi(e->d_name);
        if (id <= 0 || id == but)
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%d/status", id);
        double count = status(path, "voluntary_ctxt_switches:");
        bench_check(count >= 0, "cannot read a thread's status");
        sum += count;
    }
    closedir(tasks);
    return sum;
}

static void
pause_ms(uint64_t ms)
{
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static void *
watch(void *arg)
{
    struct idle *i = arg;
    int self = (int)gettid();
    pause_ms(i->ms / 4);
    double seconds = (double)i->ms / 1000;
    double before = sleeps(self), cpu = bench_cpu_ms();
    pause_ms(i->ms);
    /* First the CPU time: to read the others' status takes some. */
    i->cpu_ms = (bench_cpu_ms() - cpu) / seconds;
    i->wakes = (sleeps(self) - before) / seconds;
    return NULL;
}

void
bench_idle_begin(uint64_t ms)
{
    idle.ms = ms;
    bench_check(!pthread_create(&idle.thread, NULL, watch, &idle),
                "pthread_create");
}

double
bench_idle_end(void)
{
    pthread_join(idle.thread, NULL);
    bench_figure("wakes", idle.wakes);
    bench_figure("cpu_ms", idle.cpu_ms);
    return idle.cpu_ms;
}
