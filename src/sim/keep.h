/* sim/keep.h - a search that is one of several, or that is kept in a file.
 *
 * What a search has done is told by one number, all schedules below which are
 * done, only while none is out; so it is saved then. Plans that depend on logs
 * of the first schedules (strategy->warm) need these to be run wherever the
 * search goes on; they count only for the one whose they are.
 */
#ifndef RN_KEEP_H
#define RN_KEEP_H

#include "os/os.h"
#include "sim/part.h"
#include "sim/sim.h"

struct rn__keep {
    bool on;       /* a part is wanted */
    uint64_t from; /* those before have been done */
    rn_time saved; /* when it was last */
    struct rn__part part;
};

/* Check the options, and take over what a file holds: into report, searcher and
 * distinct. 0, -EINVAL and others with *why, -ENOMEM. */
int rn__keep_open(struct rn__keep *keep, const rn_sim_options *options,
                  struct rn__searcher *searcher, char *const argv[],
                  char **why);
/* Take over what the file of the options held. */
int rn__keep_take(struct rn__keep *keep, struct rn__searcher *searcher,
                  rn_sim_report *report, struct rn__distinct *distinct,
                  char **why);
/* The first schedule to be run from index i on. */
uint64_t rn__keep_next(const struct rn__keep *keep,
                       const struct rn__searcher *searcher, uint64_t i);
/* Whether it counts here. */
bool rn__keep_owns(const struct rn__keep *keep, uint64_t index);
/* Whether it is time to save. */
bool rn__keep_is_due(const struct rn__keep *keep,
                     const rn_sim_options *options);
/* Save to path what the part and the report say; the report's texts stay the
 * caller's. */
int rn__keep_save(struct rn__keep *keep, const char *path,
                  const struct rn__searcher *searcher,
                  const rn_sim_report *report, char **why);
void rn__keep_close(struct rn__keep *keep);

#endif
