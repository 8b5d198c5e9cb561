/* sim/shrink.h - make a finding simpler.
 *
 * Of all schedules that end with the same finding the simplest is wanted: the
 * fewest faults, then the fewest preemptions, then the fewest choices that
 * differ from the default, then the fewest steps. Legs of the schedule are left
 * out or extended as long as the finding stays (Zeller and Hildebrandt,
 * "Simplifying and isolating failure-inducing input", 2002; Jalbert and Sen, "A
 * trace simplification technique for effective debugging of concurrent
 * programs", 2010); then all schedules with fewer preemptions are searched, as
 * far as the budget goes. Whatever is believed has been run.
 */
#ifndef RN_SHRINK_H
#define RN_SHRINK_H

#include "sim/contrast.h"
#include "sim/strategy.h"

enum {
    RN__SHRINK_RUNS = 20000, /* schedules at most */
    RN__SHRINK_SECONDS = 2
};

/* What came of a schedule. */
struct rn__outcome {
    struct rn__log log;
    uint64_t finding; /* which one it is, see rn__finding; 0: it passes */
    struct rn__record record; /* if it was asked for */
};

struct rn__shrinker {
    /* Run a plan; what the log points to is valid until the next call. 0 or a
     * negative errno. */
    int (*run)(void *arg, const struct rn__plan *plan,
               struct rn__outcome *outcome);
    void *arg;
    rn_sim_verdict verdict; /* of the finding */
    uint64_t finding;       /* the one to keep; found out */

    uint64_t runs, runs_most;   /* made so far, and most to be made for now */
    rn_time deadline;           /* for now */
    struct rn__choices choices; /* of the simplest schedule so far */
    struct rn__forked *forked;
    struct rn__words words;
    uint64_t faults, preemptions, deviations, steps; /* of it */
    bool proved; /* none with fewer preemptions has the finding */

    bool records; /* run is asked for the record */
    struct rn__contrast contrast;
};

/* Shrink a finding. 0: choices is a schedule that has it. -ENOENT: it does not
 * come again. Or a negative errno of run. */
int rn__shrink(struct rn__shrinker *s, const struct rn__choices *found);
/* Then look for a schedule next to it that passes, and for what they differ in.
 * 0 or a negative errno. */
int rn__shrink_contrast(struct rn__shrinker *s);
void rn__shrink_fini(struct rn__shrinker *s);
/* Whether such a finding can be shrunk: it comes to an end, and is of one
 * schedule. */
bool rn__can_shrink(rn_sim_verdict verdict);
void rn__shrink_sum_up(const struct rn__shrinker *s, rn_sim_report *report);

#endif
