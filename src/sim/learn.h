/* sim/learn.h - when a search takes note of what it has learnt.
 *
 * A plan may use logs only of a fixed set of schedules, or the search would
 * depend on which of its workers is the faster. The first few plans use all
 * logs before them, since a bug is often near; then what is used doubles, so
 * that workers seldom wait for each other, up to RN__LEARN_MAX.
 */
#ifndef RN_LEARN_H
#define RN_LEARN_H

#include <stdbool.h>
#include <stdint.h>

enum { RN__LEARN_EACH = 8, RN__LEARN_MAX = 64 };

/* Whether to take note now, before plan number index is made. */
static inline bool
rn__learns_at(uint64_t index)
{
    return index > 0 && index <= RN__LEARN_MAX &&
           (index <= RN__LEARN_EACH || (index & (index - 1)) == 0);
}

#endif
