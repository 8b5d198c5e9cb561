/* sim/search.c - seeds and progress of a search. */
#include "sim/search.h"

#include "base/prng.h"
#include "os/os.h"
#include "sim/sim.h"

uint64_t
rn__schedule_seed(uint64_t seed, uint64_t i)
{
    return i == 0 ? seed : rn__mix64(seed + i * 0x9e3779b97f4a7c15u);
}

bool
rn__search_goes_on(const rn_sim_options *options, rn_time started,
                   rn_time *told, const rn_sim_report *report)
{
    enum { CLOCK_PERIOD = 64, TELL = 100 };
    if (!options->progress && options->seconds <= 0)
        return true;
    if (options->seconds <= 0 && report->schedules % CLOCK_PERIOD != 0)
        return true;
    rn_time now = rn__os_now();
    double seconds = (double)(now - started) / 1e9;
    if (options->progress && now - *told >= TELL * RN_MS) {
        rn_sim_progress p = {
            report->schedules, report->distinct,
            options->schedules == UINT64_MAX ? 0 : options->schedules, seconds,
            options->seconds};
        options->progress(&p, options->progress_arg);
        *told = now;
    }
    return options->seconds <= 0 || seconds < options->seconds;
}

int
rn__search_open(struct rn__searcher *s, const rn_sim_options *options,
                bool single, char **why)
{
    const struct rn__strategy *strategy;
    uint32_t param;
    /* A token of a seed is of a random walk, whatever found it. */
    const char *text = options->token ? NULL : options->strategy;
    int error = rn__strategy_find(text, single ? "random" : "portfolio",
                                  &strategy, &param, why);
    return error ? error : rn__searcher_open(s, strategy, param, options->seed);
}

void
rn__search_sum_up(const struct rn__searcher *s, bool keeps_going,
                  rn_sim_report *report)
{
    bool cut = report->verdict != RN_SIM_PASS && !keeps_going;
    report->complete = s->complete && !cut;
    report->bound = s->bound;
    report->preemptions = s->preemptions;
    report->within = s->within;
    report->blocked = s->blocked;
    report->estimated = s->complete ? (double)report->schedules : s->estimated;
}

const char *
rn_sim_strategy_name(int i, const char **what, const char **parameter)
{
    const struct rn__strategy *s = i < 0 ? NULL : rn__strategy_at((uint32_t)i);
    if (!s || !s->summary)
        return NULL;
    if (what)
        *what = s->summary;
    if (parameter)
        *parameter = s->parameter;
    return s->name;
}
