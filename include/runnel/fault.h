/* runnel/fault.h - faults that the simulator injects.
 *
 * A fault is what may happen and hardly ever does: no memory, a wake-up for
 * nothing, a lock that cannot be had. Each kind is off until it is asked for;
 * then whether it happens is a choice of the schedule like any other, in the
 * same token, and 0 stands for no fault. The report of a finding lists those
 * that were injected.
 *
 *     rn_sim_options o = { .faults = { .alloc = { .most = 1 } } };
 *     rn_sim_explore(&o, my_test, NULL, &r);
 *
 * For a program: `runnel check PROG --faults alloc:1,kill:1`.
 */
#ifndef RUNNEL_FAULT_H
#define RUNNEL_FAULT_H

#include <runnel/base.h>

RN_BEGIN

/* How often a fault of one kind may happen. All zero: never. */
typedef struct rn_sim_fault {
    uint32_t most; /* in a schedule; 0 with a chance: any number */
    double chance; /* each time it could, 0 to 1, in a search at random; 0
                      with most: another one for each schedule, so that early
                      and late faults are both seen */
} rn_sim_fault;

/* The kinds. */
typedef struct rn_sim_faults {
    rn_sim_fault alloc;    /* a call that allocates returns -ENOMEM */
    rn_sim_fault spurious; /* rn_cond_wait returns 0 without a signal */
    rn_sim_fault trylock;  /* a mutex, read-write mutex or semaphore that is
                              free cannot be had by a try (RN_NOW) */
    rn_sim_fault late;     /* timers expire late: by as much as those that come
                              up to late_by after them, or by late_by */
    rn_sim_fault kill;     /* a task other than main, at one of its steps, is
                              cancelled as by rn_task_cancel */
    rn_time late_by;       /* 0: 1 ms */
} rn_sim_faults;

/* Read a list such as "alloc:1,spurious:5%,kill:2@10%": after a kind comes the
 * most in a schedule, a chance, or both. "late:1,late_by:20ms" also sets the
 * time, in ns, us, ms or s.
 *
 * Returns: 0, with *faults set. -EINVAL: it is none; *faults is untouched.
 */
RN_API int rn_sim_faults_parse(const char *text, rn_sim_faults *faults);

RN_END

#endif
