/* sim/contrast.h - two runs next to each other, one failing and one passing:
 * what they differ in.
 *
 * The passing one has the failing one's choices up to some point, another one
 * there, and the default after it. Of the operations that meet in an object,
 * the first two are sought that came in one order in the failing run and in the
 * other in the passing run.
 */
#ifndef RN_CONTRAST_H
#define RN_CONTRAST_H

#include "core/event.h"

#include <stdbool.h>
#include <stdio.h>

struct rn__world;

/* Two operations, as the failing run has them. */
struct rn__contrast {
    bool found;
    bool late; /* second had not come when it failed */
    struct rn__event first, second;
};

/* What a run did. */
struct rn__record {
    const struct rn__event *events;
    size_t count;
};

/* Compare a failing and a passing run. False: out of memory. */
bool rn__contrast_find(const struct rn__record *failing,
                       const struct rn__record *passing,
                       struct rn__contrast *contrast);
/* Tell it; world is of the failing run. */
void rn__contrast_tell(struct rn__world *world,
                       const struct rn__contrast *contrast, FILE *out);

/* The same as a text from malloc; NULL: there is nothing to tell. */
char *rn__contrast_text(struct rn__world *world,
                        const struct rn__contrast *contrast);

/* When operations were done. An event is written before its operation, and
 * others may come between; it is done just before the next event of its task:
 * next[i] is the index of that, UINT32_MAX: there is none. From malloc; NULL:
 * out of memory. */
uint32_t *rn__done_at(const struct rn__event *events, size_t count);

#endif
