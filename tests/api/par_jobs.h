/* par_jobs.h - functions for parallel operators to call. */
#ifndef PAR_JOBS_H
#define PAR_JOBS_H

#include "par.h"

/* ---- jobs --------------------------------------------------------------- */

static atomic_int ended;   /* finalizers that have */
static atomic_int waiting; /* jobs that are about to wait for ever */

static inline int
finalizer(void *arg, int outcome)
{
    (void)outcome;
    CHECK_EQ(rn_cancel_requested(), 0); /* it is shielded */
    CHECK_EQ(rn_yield(), 0);
    CHECK_EQ(rn_sleep(RN_US), 0);
    atomic_fetch_add(&ended, 1);
    return arg ? *(int *)arg : 0;
}

static inline void
finally(void)
{
    CHECK_EQ(rn_defer(finalizer, NULL), 0);
}

static inline int
fail_eio(void *arg)
{
    (void)arg;
    finally();
    return -EIO;
}

static inline int
give_up(void *arg)
{
    (void)arg;
    finally();
    return -ECANCELED;
}

static inline int
succeed(void *arg)
{
    (void)arg;
    finally();
    return 0;
}

/* Never ends but by a cancel, which stays visible (R12). */
static inline int
wait_for_ever(void *arg)
{
    finally();
    atomic_fetch_add(&waiting, 1);
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_sleep(RN_SEC), -ECANCELED);
    CHECK_EQ(rn_cancel_requested(), 1);
    if (arg)
        *(rn_reason *)arg = rn_cancel_reason(NULL);
    return e;
}

/* Waits for a cancel, then fails by itself. */
static inline int
fail_when_cancelled(void *arg)
{
    wait_for_ever(arg);
    return -ENOSPC;
}

/* The same once the other waits. */
static inline int
second(rn_task_fn *fn, void *arg)
{
    while (atomic_load(&waiting) == 0)
        CHECK_EQ(rn_yield(), 0);
    return fn(arg);
}

static inline int
fail_second(void *arg)
{
    return second(fail_eio, arg);
}

static inline int
give_up_second(void *arg)
{
    return second(give_up, arg);
}

/* Call two. Returns the status. */
static inline int
both(rn_task_fn *left, rn_task_fn *right, void *arg, rn_report *report)
{
    rn_outcome outcomes[2];
    rn_par_job jobs[] = {{left, arg, 0}, {right, arg, 0}};
    rn_par_options o = {.report = report, .outcomes = outcomes};
    atomic_store(&ended, 0);
    atomic_store(&waiting, 0);
    int e = rn_par_call(jobs, 2, &o);
    int began = (outcomes[0] != RN_OUTCOME_NOT_RUN) +
                (outcomes[1] != RN_OUTCOME_NOT_RUN);
    CHECK_EQ(atomic_load(&ended), began); /* R2: all have, and once */
    CHECK_EQ(report->status, e);
    CHECK_EQ(report->ok + report->cancelled + report->not_run +
                 (outcomes[0] == RN_OUTCOME_ERR) +
                 (outcomes[1] == RN_OUTCOME_ERR),
             2);
    at_rest();
    return e;
}

#endif
