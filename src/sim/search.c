/* sim/search.c - seeds and progress of a search. */
#include "sim/search.h"

#include "base/prng.h"
#include "os/os.h"

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
