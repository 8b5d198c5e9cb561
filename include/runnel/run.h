/* runnel/run.h - start the runtime and run one function as its main task.
 *
 *     static int app(void *arg) { ...; return 0; }
 *     int main(void) { return rn_run(NULL, app, NULL) < 0; }
 *
 * rn_run starts the workers (one OS thread a usable core), runs the function
 * as the first task inside a root scope, waits until that task and everything
 * spawned into the root scope has ended, and stops the workers. Started by
 * `runnel check`, the same call runs one schedule in the simulator.
 *
 * A task that runs for longer than options.watchdog without a wait or a yield
 * is reported on standard error, by name and with a backtrace, once for each
 * such stretch; so is a finalizer that took longer, once it has ended. The
 * limit is rounded up to 10 ms. After 20 reports of a run no more are printed.
 * Tasks that are ready behind it are run by other workers, if there are any.
 * The backtrace is taken by a real-time signal that the program does not use; a
 * system call that the task is in goes on after it, but for those which
 * signal(7) says are never restarted (-EINTR). Not in the simulator, where time
 * passes in waits only.
 *
 * Environment variables, read by rn_run where the option is 0; an empty one
 * counts as not set, and a value that is none of these as -EINVAL:
 *   RUNNEL_WORKERS           1 to 1024
 *   RUNNEL_BLOCKING_THREADS  1 to 1024
 *   RUNNEL_BACKEND           asm, ucontext, thread
 *   RUNNEL_GUARD             madvise, mprotect, canary
 *   RUNNEL_WATCHDOG          milliseconds, up to a day; 0: off
 * and without an option:
 *   RUNNEL_STATS             text, json: print statistics at the end
 *   RUNNEL_DELAYS            if set, random delays between the parts of
 *                            operations, for tests
 */
#ifndef RUNNEL_RUN_H
#define RUNNEL_RUN_H

#include <runnel/report.h>

RN_BEGIN

/* What to do when every task waits and nothing can wake one. */
typedef enum rn_deadlock_policy {
    RN_DEADLOCK_EXIT = 0, /* print the dump, exit with RN_EXIT_DEADLOCK */
    RN_DEADLOCK_ABORT,    /* print the dump, abort */
    RN_DEADLOCK_CALL      /* call the hook; rn_run returns -EDEADLK */
} rn_deadlock_policy;

/* The exit status of RN_DEADLOCK_EXIT. */
#define RN_EXIT_DEADLOCK 3

/* How the runtime switches between tasks. */
typedef enum rn_backend_kind {
    RN_BACKEND_DEFAULT = 0, /* the best one built in */
    RN_BACKEND_ASM,         /* our own switch, in assembly */
    RN_BACKEND_UCONTEXT,    /* swapcontext of the C library */
    RN_BACKEND_THREAD       /* an OS thread a stack, for foreign tools */
} rn_backend_kind;

/* How the end of a task's stack is guarded. */
typedef enum rn_guard_kind {
    RN_GUARD_DEFAULT = 0, /* the best one the kernel has */
    RN_GUARD_MADVISE,     /* MADV_GUARD_INSTALL, Linux 6.13 and later */
    RN_GUARD_MPROTECT,    /* a page without access; bounded by the kernel's
                             limit on memory maps */
    RN_GUARD_CANARY       /* a pattern looked at when a task switches */
} rn_guard_kind;

/* The best context switch built in: what RN_BACKEND_DEFAULT chooses. */
RN_API rn_backend_kind rn_backend_best(void);

/* The best stack guard of this kernel: what RN_GUARD_DEFAULT chooses. */
RN_API rn_guard_kind rn_guard_best(void);

/* The name of a backend, as RUNNEL_BACKEND takes it. */
RN_API const char *rn_backend_name(rn_backend_kind kind);

/* The name of a guard kind, as RUNNEL_GUARD takes it. */
RN_API const char *rn_guard_name(rn_guard_kind kind);

/* Options of rn_run. All zero is the default for each. */
typedef struct rn_options {
    int workers;                    /* OS threads; 0: usable cores */
    size_t stack_bytes;             /* a task's stack; 0: 64 KiB */
    rn_backend_kind backend;        /* how tasks switch */
    rn_guard_kind guard;            /* how stacks end */
    rn_deadlock_policy deadlock;    /* what a deadlock does */
    void (*on_deadlock)(void *arg); /* hook of RN_DEADLOCK_CALL */
    void *on_deadlock_arg;          /* its argument */
    int blocking_threads;           /* most OS threads for rn_blocking; 0: 64 */
    rn_time watchdog; /* report a task that does not yield for so long; 0: a
                         second, RN_NEVER: off */
    /* Called after a report, printed or not, by an OS thread outside all tasks,
     * with the name of the task ("" if it cannot be told); NULL: not called.
     * The calls come one at a time. It must not block: it holds up the look
     * after the workers, and the end of rn_run. It may call what any OS thread
     * may (rn_now, abort), but nothing that panics outside a task. */
    void (*on_slow)(const char *task, void *arg);
    void *on_slow_arg; /* its argument */
    /* Called by a task that fails, where neither a report nor the result of a
     * close tells of it: all but the first failure of a scope without a report,
     * and those a report had no room for. It must not wait. The payload is
     * dropped afterwards. NULL: a line on standard error; not in the
     * simulator. */
    void (*on_error)(const rn_failure *failure, void *arg);
    void *on_error_arg;  /* its argument */
    uint64_t fail_alloc; /* test aid: the n-th allocation of the run fails; 0:
                            none */
} rn_options;

/* Numbers about a run, summed over the workers. */
typedef struct rn_stats {
    uint64_t tasks;          /* tasks that were spawned */
    uint64_t switches;       /* switches from one task to another */
    uint64_t parks;          /* waits that left the worker */
    uint64_t wakes;          /* tasks made ready, spawned ones included */
    uint64_t steals;         /* times tasks were taken from another worker */
    uint64_t sleeps;         /* times a worker had nothing to do and slept */
    uint64_t timers;         /* timers and deadlines that expired */
    uint64_t tasks_peak;     /* task records made: an upper bound for the most
                                tasks alive at one moment */
    uint64_t stacks;         /* stacks that were made */
    uint64_t stacks_trimmed; /* times a free stack that had not been needed
                                for a while gave its memory back */
    uint64_t unheard;        /* failures that on_error was told of */
    int workers;             /* OS threads that ran tasks */
    rn_time elapsed;         /* nanoseconds from start to now */
    /* Nanoseconds from when timers were due to when they expired: the most,
     * and all together (/ timers: the mean). Then their tasks are ready; they
     * may wait to run. */
    rn_time timers_late_max, timers_late_total;
} rn_stats;

/* Run main_fn(arg) as the main task of a new runtime.
 *
 * Returns: the first error of the main task or of a task spawned into the root
 * scope, else the main task's result.
 * -EINVAL: an option is out of range, the message on standard error says
 * which. -ENOMEM, -EAGAIN: memory or an OS thread could not be had.
 * -EDEADLK: see RN_DEADLOCK_CALL.
 * Panics: if called by a task.
 */
RN_API int rn_run(const rn_options *options, rn_task_fn *main_fn, void *arg);

/* Ask the calling task's runtime to end: cancel its root scope, and so all
 * tasks, main included, which see RN_REASON_SHUTDOWN and the code. Never waits;
 * again is harmless.
 *
 * Panics: if called outside a task.
 */
RN_API void rn_shutdown(int code);

/* The numbers of the calling task's runtime so far.
 *
 * Panics: if called outside a task.
 */
RN_API void rn_stats_get(rn_stats *stats);

RN_END

#endif
