/* core/mishap.h - moments at which a simulated world may let something go wrong
 * on purpose. Part of core.h, which includes it once worlds are known.
 *
 * A mishap (a fault, to users) is what the contract of an operation allows, or
 * that of the system below, and what hardly ever happens: the world decides
 * each time, and for real it is never asked.
 */
#ifndef RN_MISHAP_H
#define RN_MISHAP_H

enum rn__mishap {
    RN__MISHAP_ALLOC,    /* there is no memory */
    RN__MISHAP_SPURIOUS, /* a wait for a condition ends without a signal */
    RN__MISHAP_TRY,      /* a lock that is tried (RN_NOW) is not to be had */
    RN__MISHAP_LATE,     /* timers expire late */
    RN__MISHAP_KILL,     /* a task is cancelled */
    RN__MISHAPS,
    RN__MISHAP_FREED =
        RN__MISHAPS /* no fault, but a question: whether the object
                                    has been freed, which only a world that
                                    keeps its memory can tell */
};

bool rn__mishap_slow(enum rn__mishap mishap, struct rn__object *object,
                     const void *site);

/* Whether it is to happen now, to the calling task. object may be NULL. */
static inline bool
rn__mishap(enum rn__mishap mishap, struct rn__object *object, const void *site)
{
    /* relaxed: as in rn__step */
    return rn__unlikely(
               atomic_load_explicit(&rn__env_count, memory_order_relaxed)) &&
           rn__mishap_slow(mishap, object, site);
}

bool rn__step_try_slow(enum rn__kind kind, struct rn__object *object,
                       const void *site, rn_time deadline);

/* rn__step for a lock that is tried if the deadline is RN_NOW: whether it is
 * not to be had. Costs no more than the step alone. */
static inline bool
rn__step_try(enum rn__kind kind, struct rn__object *object, const void *site,
             rn_time deadline)
{
    /* relaxed: as in rn__step */
    return rn__unlikely(
               atomic_load_explicit(&rn__env_count, memory_order_relaxed)) &&
           rn__step_try_slow(kind, object, site, deadline);
}

#endif
