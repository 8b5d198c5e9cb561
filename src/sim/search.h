/* sim/search.h - what searches in a process and over processes share. */
#ifndef RN_SEARCH_H
#define RN_SEARCH_H

#include "sim/strategy.h"

#include <runnel/sim.h>
#include <stdbool.h>

/* The seed of schedule i of a search; schedule 0 has the search's own. */
uint64_t rn__schedule_seed(uint64_t seed, uint64_t i);

/* Tell progress now and then; false: the time is up. told is when it was last
 * told, started when the search began. */
bool rn__search_goes_on(const rn_sim_options *options, rn_time started,
                        rn_time *told, const rn_sim_report *report);

/* Open the strategy that the options name; of a single schedule the random
 * walk if they name none, so that a seed stands for a schedule. 0, -EINVAL with
 * *why, -ENOMEM. */
int rn__search_open(struct rn__searcher *s, const rn_sim_options *options,
                    bool single, char **why);
/* Put what is known at the end into the report. */
void rn__search_sum_up(const struct rn__searcher *s, bool keeps_going,
                       rn_sim_report *report);

#endif
