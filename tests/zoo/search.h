/* search.h - search a kernel in its own process.
 *
 * The table of the zoo (tests/zoo/table) needs many searches of each kernel;
 * so many processes would take too long. A kernel started with ZOO_SEARCH in
 * its environment searches itself instead of running.
 */
#ifndef ZOO_SEARCH_H
#define ZOO_SEARCH_H

#include <errno.h>
#include <inttypes.h>
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>

/* One search; prints how many schedules it ran and what it found. */
static inline int
zoo_search_once(rn_task_fn *kernel, void *zoo, const rn_sim_options *options)
{
    rn_sim_report report;
    int error = rn_sim_explore(options, kernel, zoo, &report);

    if (error == 0)
        printf("%" PRIu64 "|%s|%.6f\n", report.schedules,
               rn_sim_verdict_name(report.verdict), report.seconds);
    else
        fprintf(stderr, "%s\n", report.text ? report.text : "no memory");
    fflush(stdout); /* the reader may stop it */
    rn_sim_report_fini(&report);
    return error;
}

/* how: "STRATEGY SEED SEARCHES SCHEDULES": so many searches of at most so many
 * schedules, with seeds from SEED on. */
static inline int
zoo_search(rn_task_fn *kernel, void *zoo, const char *how)
{
    char strategy[32];
    uint64_t seed, searches;
    rn_sim_options options = {.strategy = strategy};
    int error = 0;

    if (sscanf(how, "%31s %" SCNu64 " %" SCNu64 " %" SCNu64, strategy, &seed,
               &searches, &options.schedules) != 4)
        return -EINVAL;
    for (uint64_t i = 0; i < searches && error == 0; i++) {
        options.seed = seed + i;
        error = zoo_search_once(kernel, zoo, &options);
    }
    return error;
}

/* Run a kernel, or search it. */
static inline int
zoo_run(rn_task_fn *kernel, void *zoo)
{
    const char *how = getenv("ZOO_SEARCH");

    return how ? zoo_search(kernel, zoo, how) : rn_run(NULL, kernel, zoo);
}

#endif
