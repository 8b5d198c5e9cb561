/* dpor/main.c - count the traces of each program and compare.
 *
 *     test_dpor [--json FILE] [WORD...]
 *
 * Prints a table: program, n, expected, explored, blocked. With words only the
 * programs whose names have one of them.
 */
#include "rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct one {
    int number;
    int (*act)(void *number);
};

int
crew_number(void *number)
{
    return ((struct one *)number)->number;
}

rn_scope *
crew_scope(void)
{
    rn_scope *scope;
    if (rn_scope_open(RN_NEVER, &scope) < 0)
        abort();
    return scope;
}

void
crew_go(rn_scope *scope, int (*act)(void *arg), void *arg)
{
    if (rn_go(scope, act, arg) < 0)
        abort();
}

void
crew_end(rn_scope *scope)
{
    if (rn_scope_close(scope) < 0)
        abort();
}

void
crew_lock(rn_mutex *mutex)
{
    if (rn_mutex_lock(mutex, RN_NEVER) < 0)
        abort();
}

void
crew_send(rn_chan *chan, int value)
{
    if (rn_chan_send(chan, &value, RN_NEVER) < 0)
        abort();
}

int
crew_recv(rn_chan *chan)
{
    int value;
    if (rn_chan_recv(chan, &value, RN_NEVER) < 0)
        abort();
    return value;
}

void
crew_run(int n, int (*act)(void *number))
{
    struct one ones[64];
    rn_scope *scope = crew_scope();
    for (int i = 0; i < n; i++) {
        ones[i] = (struct one){i + 1, act};
        crew_go(scope, act, &ones[i]);
    }
    crew_end(scope);
}

enum { SHRINK_SEEDS = 5, SMALL = 60 /* traces */ };

static int passed, failed;
static FILE *json;

static bool
check_bound(const struct row *row, int bound)
{
    struct size size = {row->n, row->m};
    char strategy[32];
    snprintf(strategy, sizeof strategy, "dpor:%d", bound);
    rn_sim_options options = {
        .strategy = strategy, .schedules = 1000000, .flags = RN_SIM_KEEP_GOING};
    rn_sim_report report;
    bool ok = rn_sim_explore(&options, row->fn, &size, &report) == 0 &&
              report.within == row->within[bound];
    if (!ok)
        printf("%s: %llu traces need at most %d preemptions, not %llu\n",
               row->name, (unsigned long long)report.within, bound,
               (unsigned long long)row->within[bound]);
    rn_sim_report_fini(&report);
    return ok;
}

/* A finding of a random walk becomes one with the fewest preemptions; where
 * there are many schedules, as few as were found in the time there is. */
static bool
check_shrinking(const struct row *row)
{
    struct size size = {row->n, row->m};
    bool ok = true, is_small = row->traces <= SMALL;
    for (uint64_t seed = 1; seed <= SHRINK_SEEDS; seed++) {
        rn_sim_options options = {.strategy = "random",
                                  .seed = seed,
                                  .schedules = 100000,
                                  .flags = RN_SIM_SHRINK};
        rn_sim_report report;
        bool good = rn_sim_explore(&options, row->fn, &size, &report) == 0 &&
                    report.verdict != RN_SIM_PASS &&
                    (report.fewest ? report.preemptions == row->preemptions
                                   : report.preemptions >= row->preemptions) &&
                    (report.fewest || !is_small);
        if (!good)
            printf("%s: shrunk to %d preemptions, not %d (seed %llu)\n",
                   row->name, report.preemptions, row->preemptions,
                   (unsigned long long)seed);
        ok &= good;
        rn_sim_report_fini(&report);
    }
    return ok;
}

static void
check(const struct row *row)
{
    struct size size = {row->n, row->m};
    rn_sim_options options = {
        .strategy = "dpor", .schedules = 1000000, .flags = RN_SIM_KEEP_GOING};
    rn_sim_report report;
    int error = rn_sim_explore(&options, row->fn, &size, &report);
    bool ok = !error && report.complete && report.blocked == 0 &&
              report.schedules == row->traces &&
              report.distinct == row->traces &&
              report.failing == row->failing &&
              (!row->failing || row->preemptions < 0 ||
               report.preemptions == row->preemptions);
    for (int c = 0; c < row->bounds; c++)
        ok &= check_bound(row, c);
    if (row->failing && row->preemptions >= 0)
        ok &= check_shrinking(row);
    printf("%-32s %3d %8llu %8llu %7llu %7llu %3d  %s  %.2f s\n", row->name,
           row->n, (unsigned long long)row->traces,
           (unsigned long long)report.schedules,
           (unsigned long long)report.blocked,
           (unsigned long long)report.failing, report.preemptions,
           ok ? "ok" : "NOT OK", report.seconds);
    if (error && report.text)
        printf("%s\n", report.text);
    if (json)
        fprintf(json,
                "%s\n  {\"program\": \"%s\", \"n\": %d, \"expected\": %llu, "
                "\"explored\": %llu, \"blocked\": %llu}",
                passed + failed ? "," : "", row->name, row->n,
                (unsigned long long)row->traces,
                (unsigned long long)report.schedules,
                (unsigned long long)report.blocked);
    passed += ok;
    failed += !ok;
    rn_sim_report_fini(&report);
}

static bool
wanted(const char *name, char **words)
{
    if (!*words)
        return true;
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

int
main(int argc, char **argv)
{
    const struct rows *const all[] = {&cell_rows, &lock_rows, &chan_rows,
                                      &bug_rows};
    char **words = argv + 1;
    if (argc > 2 && strcmp(argv[1], "--json") == 0) {
        json = fopen(argv[2], "w");
        if (!json) {
            perror(argv[2]);
            return 2;
        }
        words += 2;
        fputc('[', json);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%-32s %3s %8s %8s %7s %7s\n", "program", "n", "expected",
           "explored", "blocked", "failing");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < all[i]->count; k++)
            if (wanted(all[i]->list[k].name, words))
                check(&all[i]->list[k]);
    if (json) {
        fputs("\n]\n", json);
        fclose(json);
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
