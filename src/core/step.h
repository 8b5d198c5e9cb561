/* core/step.h - steps whose outcome depends on more than who comes first.
 *
 * Part of core.h, which includes it once rn__step is known.
 */
#ifndef RN_STEP_H
#define RN_STEP_H

#include "core/core.h"

void rn__step_by_slow(enum rn__kind kind, struct rn__object *object,
                      const void *site, int64_t deadline);

/* Whether some runtime of this process wants to know: if it takes work to find
 * out what is announced. */
static inline bool
rn__steps_matter(void)
{
    return rn__unlikely(
        atomic_load_explicit(&rn__env_count, memory_order_relaxed));
}

/* rn__step with what its outcome depends on, if it matters who comes first: a
 * deadline, or the value that a compare-and-swap expects. */
static inline void
rn__step_by(enum rn__kind kind, struct rn__object *object, const void *site,
            int64_t deadline)
{
    if (rn__steps_matter())
        rn__step_by_slow(kind, object, site, deadline);
}

#endif
