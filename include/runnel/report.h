/* runnel/report.h - how tasks end, and what is said of all of them at once.
 *
 * A task has exactly one outcome: it did not run, it succeeded, it failed with
 * a code, or it gave up because it was told to (cancelled). Whoever waits for
 * many tasks, a scope or a parallel operator, returns one status:
 *
 *     an error  >  -ETIMEDOUT  >  -ECANCELED  >  0
 *
 * and, if it was given a report, every failure in it:
 *
 *     rn_report report = RN_REPORT_INIT;
 *     int e = rn_scope_open_with(&(rn_scope_options){.report = &report}, &s);
 *     ...
 *     if (rn_scope_close(s) < 0)
 *         for (size_t i = 0; i < report.count; i++)
 *             log_failure(&report.failures[i]);
 *     rn_report_fini(&report);
 */
#ifndef RUNNEL_REPORT_H
#define RUNNEL_REPORT_H

#include <runnel/base.h>

RN_BEGIN

/* How a task or an item of an operator ended. */
typedef enum rn_outcome {
    RN_OUTCOME_NOT_RUN = 0, /* it never began */
    RN_OUTCOME_OK,          /* 0 or more */
    RN_OUTCOME_ERR,         /* a negative code */
    RN_OUTCOME_CANCELLED    /* -ECANCELED */
} rn_outcome;

/* Why something was cancelled. */
typedef enum rn_reason {
    RN_REASON_NONE = 0,  /* it was not */
    RN_REASON_USER,      /* rn_scope_cancel; with a code */
    RN_REASON_PARENT,    /* a scope around it was, or its context */
    RN_REASON_SIBLING,   /* another task of its scope failed */
    RN_REASON_DEADLINE,  /* the scope's own deadline passed */
    RN_REASON_RACE_LOST, /* another won the race */
    RN_REASON_SHUTDOWN,  /* rn_shutdown; with a code */
    RN_REASON_SELF       /* a task returned -ECANCELED unasked */
} rn_reason;

/* What failed. */
typedef enum rn_phase {
    RN_PHASE_TASK = 0, /* a task, or an item of an operator */
    RN_PHASE_BODY,     /* the code between open and close */
    RN_PHASE_FINALIZER /* a deferred call */
} rn_phase;

/* The index of what has none: the body of a scope. */
#define RN_INDEX_NONE SIZE_MAX

/* One failure. */
typedef struct rn_failure {
    size_t index;   /* of the task, in order of spawn from 0, or of the item */
    rn_phase phase; /* what of it failed */
    int code;       /* negative */
    void *payload;  /* what rn_fail gave with the code; or NULL */
    void (*drop)(void *payload); /* frees the payload; or NULL */
    const void *site;            /* where it was spawned, or deferred; of an
                                    item: where the operator was called */
} rn_failure;

/* How many failures a report has room for by itself. */
#define RN_REPORT_ROOM 8

/* All failures of a scope or an operator. Its owner is the caller; it must not
 * be moved while the scope is open. */
typedef struct rn_report {
    rn_failure *failures; /* set with capacity for more room, else NULL: its
                             own; the first recorded, then by index */
    size_t capacity;      /* of failures; 0: its own */
    size_t count;         /* failures listed */
    size_t more;          /* failures there was no room for: each was passed to
                             rn_options.on_error */
    size_t ok, cancelled; /* tasks or items that ended so */
    size_t not_run;       /* those that did not begin */
    int status;           /* what the call returned */
    rn_reason trigger;    /* what came first in time and cancelled the rest;
                             NONE: nothing did */
    size_t trigger_index; /* of the task, for SIBLING and SELF; else NONE */
    int trigger_code;     /* its code, or that of the cancel */
    rn_failure rn__own[RN_REPORT_ROOM];
} rn_report;

#define RN_REPORT_INIT                                               \
    {                                                                \
        NULL, 0, 0, 0, 0, 0, 0, 0, RN_REASON_NONE, RN_INDEX_NONE, 0, \
        {                                                            \
            {                                                        \
                0, RN_PHASE_TASK, 0, NULL, NULL, NULL                \
            }                                                        \
        }                                                            \
    }

/* Drop the payloads of a report; then it is as after RN_REPORT_INIT. */
RN_API void rn_report_fini(rn_report *report);

/* End the calling task, or item, with a code and something to say about it:
 *
 *     return rn_fail(-EIO, strdup(path), free);
 *
 * Owner: payload passes to the report of the scope; without one it is dropped.
 * drop (may be NULL) is called once, by any task. If the task ends with another
 * code the payload is dropped. A second call replaces the first.
 * Returns: code.
 * Panics: outside a task; if code is not negative.
 */
RN_API int rn_fail(int code, void *payload, void (*drop)(void *payload));

RN_END

#endif
