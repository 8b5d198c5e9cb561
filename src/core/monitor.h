/* core/monitor.h - the thread that looks after the workers of a runtime. */
#ifndef RN_CORE_MONITOR_H
#define RN_CORE_MONITOR_H

#include "os/os.h"

struct rn__rt;
struct rn__task;
struct rn__worker;

/* What the monitor saw of a worker. */
struct rn__sight {
    uint64_t progress;     /* rn__worker_progress */
    uint64_t early;        /* the same, at the last early look */
    struct rn__task *task; /* its current one; never looked into */
    uint32_t ticks;        /* for how long that has been so */
    bool reported;
};

struct rn__monitor {
    struct rn__thread thread;
    bool running;
    _Atomic uint32_t bell;    /* futex; values in monitor.c */
    uint32_t limit;           /* ticks until a task is reported; 0: never */
    uint32_t idle;            /* ticks in a row that all workers slept */
    _Atomic uint32_t reports; /* printed; also by tasks */
    struct rn__sight *sights; /* a worker each */
};

/* Start the runtime's monitor if it needs one. 0, -EAGAIN, -ENOMEM. */
int rn__monitor_start(struct rn__rt *rt);
/* Stop it, before the OS threads of workers end. */
void rn__monitor_stop(struct rn__rt *rt);
/* What it does each tick; for tests. */
void rn__monitor_look(struct rn__rt *rt);
/* What it does every millisecond when work begins; for tests. */
void rn__monitor_look_early(struct rn__rt *rt);
/* A worker has got up: the monitor is not to sleep any longer. */
void rn__monitor_ring(struct rn__rt *rt);
/* Goes up while the worker's tasks yield. For any thread and in handlers. */
uint64_t rn__worker_progress(const struct rn__worker *worker);

/* From the monitor: this worker's task has not yielded for ns, since it had
 * made this progress. Returns whether it has been reported; it may have gone on
 * meanwhile. */
bool rn__watchdog_report(struct rn__worker *worker, uint64_t progress,
                         rn_time ns);
/* From a task: a finalizer of it, deferred at site, took so long. */
void rn__watchdog_slow_finalizer(const struct rn__task *task, const void *site,
                                 rn_time ns);

#endif
