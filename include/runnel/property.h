/* runnel/property.h - what must hold in the schedules of a simulation.
 *
 * Some properties are judged where they stand: always, unreachable and
 * invariants end the schedule with RN_SIM_ASSERT. Others are judged by the
 * whole search: what sometimes holds, or is reachable, must have been seen in
 * at least one of its schedules, else the search ends with RN_SIM_UNSEEN: it
 * has not tested what it was meant to test. A property is known by its name
 * (its first 63 bytes; at most 256 names in a program).
 *
 *     rn_sim_expect("the queue was full");       // at the start of main
 *     ...
 *     rn_sim_sometimes(count == ROOM, "the queue was full");
 *     rn_sim_always(count <= ROOM, "the queue never overflows");
 *
 * For real, always and unreachable panic as rn_sim_assert does, and the others
 * do nothing.
 */
#ifndef RUNNEL_PROPERTY_H
#define RUNNEL_PROPERTY_H

#include <runnel/base.h>

RN_BEGIN

/* The schedule fails if condition is 0.
 *
 * As rn_sim_assert, and it is noted that it was checked: see rn_sim_expect.
 */
RN_API void rn_sim_always(int condition, const char *name);

/* The search fails if condition was 0 each time, in all schedules. A call that
 * no schedule came to is not known of: see rn_sim_expect. */
RN_API void rn_sim_sometimes(int condition, const char *name);

/* Some schedule of the search is to come here: see rn_sim_expect. */
RN_API void rn_sim_reachable(const char *name);

/* The schedule fails if it comes here. */
RN_API void rn_sim_unreachable(const char *name);

/* The search fails if in no schedule the property of this name was seen: it
 * held sometimes, was reached, or was checked by rn_sim_always. */
RN_API void rn_sim_expect(const char *name);

/* Returns 0 if what must hold does not. It may look at anything, also by calls
 * that do not wait; none of them counts as a step. */
typedef int rn_sim_invariant_fn(void *arg);

/* From here on, until its end or that of the run, fn(arg) must hold after every
 * step of any task. The report of a failure names the step.
 *
 * At most 32 at a time; does nothing for real.
 * Owner: what arg points to must live until rn_sim_invariant_end.
 * Panics: outside a task; too many.
 */
RN_API void rn_sim_invariant(const char *name, rn_sim_invariant_fn *fn,
                             void *arg);

/* End what rn_sim_invariant began with the same function and argument. */
RN_API void rn_sim_invariant_end(rn_sim_invariant_fn *fn, void *arg);

/* From here on the schedule is fair and without faults, and within that many
 * steps (0: 10,000) there must be progress: the run ends, rn_sim_fair_end is
 * called, or some task calls rn_sim_progressed, which gives all as many steps
 * again. Else the schedule fails with RN_SIM_NO_PROGRESS.
 *
 * In it the tasks that can go on take turns, a step each, and due timers come
 * first. Nothing is searched, so call it after what is to be tested. Does
 * nothing for real.
 */
RN_API void rn_sim_fair_begin(uint64_t steps);

/* The end of that. */
RN_API void rn_sim_fair_end(void);

/* The calling task has got something done.
 *
 * While the schedule is fair, a task that has called this before and does not
 * for that many steps though others do, is starved: RN_SIM_STARVATION. It is
 * expected to, again and again, until it ends. Does nothing for real.
 * Panics: outside a task.
 */
RN_API void rn_sim_progressed(void);

RN_END

#endif
