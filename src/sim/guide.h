/* sim/guide.h - a schedule told by who runs, how far.
 *
 * A list of choices says "the third of those that are ready"; when one of them
 * is changed, all that follow mean something else. A guide says "this task, up
 * to its 5th step", and most of it still means the same after a change. The
 * guide strategy follows a plan's prefix and then its words, which are laid out
 * as below; where they do not fit it passes over them, and at their end goes on
 * by default. Its log tells what is needed to make a guide of the run.
 */
#ifndef RN_GUIDE_H
#define RN_GUIDE_H

#include "sim/strategy.h"

#define RN__GUIDE_ALL UINT64_MAX /* up to where it has to wait */

/* A task runs, or (lineage 0) a timer fires. */
struct rn__leg {
    uint64_t lineage;
    uint64_t until; /* its step before which it makes way, counted from 1 */
};

/* A choice of a task that is not about who goes on. */
struct rn__datum {
    uint64_t lineage; /* 0: nobody's */
    uint64_t choice;
};

/* The words of a plan: this, then the legs, then the data. */
struct rn__guide {
    uint64_t legs, data;
};

/* Words of the log, so many a choice: of who goes on, the lineages of the one
 * chosen and of self (0: nobody), and the steps of self; of data, the lineage
 * of the one that chooses. */
enum { RN__GUIDE_WORDS = 3 };

#endif
