/* sim/part.h - a part of a search in a file: what one of several machines has
 * done, or what a search had done when it was stopped.
 *
 * Text, a fact a line: first what search it is (two parts belong together if
 * these lines are the same), then how far it came and what it found, last a
 * checksum.
 */
#ifndef RN_PART_H
#define RN_PART_H

#include "sim/property.h"
#include "sim/strategy.h"

#include <runnel/sim.h>
#include <stdbool.h>

/* A digest and the smallest index of a schedule that had it. */
struct rn__once {
    uint64_t digest, index;
};

/* A hash table by digest; at most half full; digest 0: free. */
struct rn__sights {
    struct rn__once *slots;
    size_t count, room;
};

struct rn__part {
    char *identity; /* lines */
    char *command;  /* options.command; "": none */
    uint32_t shard, shards;
    uint64_t next;  /* all of its schedules below are done */
    uint64_t found; /* index of the finding; UINT64_MAX: none */
    bool finished;  /* there is nothing left for it to do */
    rn_sim_report report;
    struct rn__sights sights;
    struct rn__properties properties;
    struct rn__words state; /* of the strategy */
};

/* The lines that say what search it is; malloc'ed. */
char *rn__part_identity(const rn_sim_options *options, const char *strategy,
                        char *const argv[]);
/* Note a schedule; false: out of memory. */
bool rn__sights_add(struct rn__sights *sights, uint64_t digest, uint64_t index);
/* Different ones among the schedules up to an index. */
uint64_t rn__sights_count(const struct rn__sights *sights, uint64_t last);
/* Replace the file at once. 0, or what the system says, with *why. */
int rn__part_write(const struct rn__part *part, const char *path, char **why);
/* Fill in part (all 0 before; rn__part_fini also on failure). 0, -EINVAL: it is
 * damaged or no part; or what the system says; with *why. */
int rn__part_read(struct rn__part *part, const char *path, char **why);
/* The same of text with a 0 at its end; it is changed. NULL, or what is wrong.
 */
const char *rn__part_parse(struct rn__part *part, char *text, size_t length);
/* Whether two are of the same search; *why says what differs. */
bool rn__part_same(const char *identity, const char *other, const char *path,
                   char **why);
void rn__part_fini(struct rn__part *part);

#endif
