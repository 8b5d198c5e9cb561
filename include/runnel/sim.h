/* runnel/sim.h - the deterministic simulator: search schedules, repeat them.
 *
 * In the simulator all tasks run on one OS thread. Before each operation on a
 * channel, mutex, timer or task the schedule chooses who goes on; time is
 * virtual, starts at 0 and moves only when nobody can run. A run is fixed by
 * its list of choices, and a token writes one down: it repeats any finding. A
 * seed stands for a random walk, so it repeats only what a random walk found.
 *
 * In a unit test:
 *
 *     rn_sim_options o = { .schedules = 10000, .seed = 1 };
 *     rn_sim_report r;
 *     if (rn_sim_explore(&o, my_test, NULL, &r) == 0 && r.verdict != 0)
 *         fputs(r.text, stderr);      // story, stacks, the line to repeat it
 *     rn_sim_report_fini(&r);
 *
 * A whole program that calls rn_run is searched from outside, without being
 * recompiled, by `runnel check PROG` or rn_sim_program.
 *
 * Strategies say which schedules are run: several at random in turn by default;
 * "dpor" runs all that can differ, once each, and says so (report.complete).
 * What must hold in all schedules, or in some: property.h. What may go wrong,
 * such as no memory: fault.h. Words whose accesses are steps: cell.h. Histories
 * of an object: lin.h.
 */
#ifndef RUNNEL_SIM_H
#define RUNNEL_SIM_H

#include <runnel/base.h>
#include <runnel/fault.h>
#include <stdio.h>

RN_BEGIN

/* How a schedule ended. Everything but RN_SIM_PASS is a finding. */
typedef enum rn_sim_verdict {
    RN_SIM_PASS = 0,
    RN_SIM_DEADLOCK,       /* main and all other tasks wait for ever; or some
                              do, for each other's locks or for a lock of a
                              task that has ended, while others go on */
    RN_SIM_LEAK,           /* main has ended, tasks of its wait for ever */
    RN_SIM_PANIC,          /* misuse of an object, or rn_panic */
    RN_SIM_ASSERT,         /* rn_sim_assert failed */
    RN_SIM_FAILED,         /* main's result is negative; of a program: its exit
                              status is not 0 */
    RN_SIM_CRASH,          /* a signal ended it: a wild pointer, abort */
    RN_SIM_NO_PROGRESS,    /* too many steps in one instant of time */
    RN_SIM_STEP_LIMIT,     /* too many steps in all */
    RN_SIM_TIME_LIMIT,     /* virtual time went too far */
    RN_SIM_MEMORY_LIMIT,   /* the simulated world used up its memory */
    RN_SIM_HANG,           /* of a program: it ran for too long without an
                              end (in process nothing can stop it) */
    RN_SIM_NONDETERMINISM, /* the same choices gave another run */
    RN_SIM_UNSEEN,         /* the search has ended without having seen what
                               it must (property.h) */
    RN_SIM_STARVATION      /* a task gets nothing done, though the schedule is
                               fair and others do (property.h) */
} rn_sim_verdict;

/* A leaked task is a note in the report, not a finding. */
#define RN_SIM_LEAKS_OK 1u
/* Run every schedule twice and compare step by step. */
#define RN_SIM_VERIFY 2u
/* Of rn_sim_program: drop what the program prints. */
#define RN_SIM_QUIET 4u
/* Go on after a finding and count: report->failing. The first one is reported.
 * After an assertion that fails its schedule, too, goes on to its end. */
#define RN_SIM_KEEP_GOING 8u
/* After a search look for a simpler schedule with the same finding and report
 * that: with the fewest faults, then preemptions, then choices that differ from
 * what an unsearched program does. Takes 2 s and 20,000 schedules at most; not
 * counted in report->schedules. */
#define RN_SIM_SHRINK 16u

/* What a search has done so far, for a progress line. */
typedef struct rn_sim_progress {
    uint64_t schedules;   /* run so far */
    uint64_t distinct;    /* different ones among them, by digest */
    uint64_t limit;       /* schedules asked for; 0: no limit */
    double seconds;       /* since the start */
    double seconds_limit; /* 0: no limit */
} rn_sim_progress;

/* Options. All zero is the default for each. */
typedef struct rn_sim_options {
    uint64_t seed;      /* of the search; schedule i derives its own */
    const char *token;  /* repeat this one schedule instead; "@FILE" reads
                               the token from a file */
    uint64_t schedules; /* most to run; 0: 1000, or without limit if
                                   seconds is set */
    double seconds;     /* stop after so long; 0: no limit */
    uint64_t max_steps; /* in a schedule; 0: 100,000 */
    uint64_t max_instant_steps; /* without time moving; 0: 50,000 */
    rn_time max_time;           /* virtual; 0: 24 hours */
    size_t max_bytes;           /* memory of the simulated world; 0: 1 GiB */
    rn_time max_run_time;   /* real, of one schedule of a program; 0: 10 s */
    unsigned flags;         /* RN_SIM_LEAKS_OK and others, see above */
    int jobs;               /* of rn_sim_program: processes at once; 0: 1 */
    uint64_t fail_alloc;    /* the n-th allocation of a run fails; 0: none */
    const char *trace_path; /* write the trace of the finding (or of the last
                               schedule) to this file */
    void (*progress)(const rn_sim_progress *progress, void *arg);
    void *progress_arg;   /* called about ten times a second */
    const char *strategy; /* which schedules to run, "NAME" or "NAME:NUMBER",
                             see rn_sim_strategy_name; NULL: "portfolio", of
                             rn_sim_run "random" */
    rn_sim_faults faults; /* to be injected; a token needs the same ones */
    /* Of rn_sim_program: */
    uint32_t shard, shards; /* run part 1, 2 .. shards of the search only; what
                               the parts found is put together by rn_sim_merge;
                               0: run it all */
    const char *out_path;   /* write what was done and found to this file */
    const char *checkpoint_path; /* the same every now and then and at the end,
                                    so that the search can be resumed */
    rn_time checkpoint_every;    /* 0: 10 s */
    const char *resume_path;     /* go on from such a file */
    const char *command;         /* is kept in the file for rn_sim_merge */
    const volatile int *stop;    /* ends the search as soon as it is not 0 */
} rn_sim_options;

/* What a search found. */
typedef struct rn_sim_report {
    rn_sim_verdict verdict; /* of the first finding, else RN_SIM_PASS */
    uint64_t schedules;     /* schedules run, the finding included */
    uint64_t distinct;      /* different ones among them */
    uint64_t steps;         /* of the reported schedule */
    uint64_t seed;          /* of the reported schedule; repeats it if strategy
                               is "random", else only the token does */
    uint64_t digest;        /* of the reported schedule */
    uint64_t waiting;       /* tasks that wait for ever, if that is the
                               finding; leaked ones with RN_SIM_LEAKS_OK */
    rn_time time;           /* virtual, at its end */
    uint64_t diverged;      /* choices of the token that did not fit: the
                               program is not the one it was made with */
    double seconds;         /* real, of the whole search */
    char *token;            /* repeats the finding; NULL without one, and if
                               it is about all schedules (UNSEEN) */
    char *text;             /* the finding for a person; NULL without one */
    char *strategy;         /* that found the finding, else that of the search;
                               NULL: a token was repeated */
    uint64_t blocked;       /* schedules given up because they could only have
                               repeated others */
    int complete;           /* 1: all schedules there are were run, or stood
                               for by one that was */
    int bound;              /* all schedules within this bound were run (of
 strategies that have one); -1: none */
    uint64_t failing;       /* schedules that ended with a finding; more than 1
                               only with RN_SIM_KEEP_GOING */
    int preemptions;        /* of the reported schedule, if it was shrunk; else
                               the fewest that a finding of "dpor" needs, with
                               RN_SIM_KEEP_GOING; -1: not known */
    uint64_t within;        /* of "dpor:N": traces that need at most N */
    double estimated;       /* schedules there are, a guess; 0: no idea */
    uint64_t faults;        /* injected in the reported schedule */
    int deviations;         /* its choices that differ from the default, if it
                               was shrunk; -1: not known */
    int fewest;             /* 1: no schedule has this finding with fewer
                               preemptions, all of them were run */
    char *contrast;         /* what a schedule next to it that passes does in
                               another order, for a person; NULL: not known */
    uint64_t shrinking;     /* schedules run to shrink it; 0: it was not */
    int stopped;            /* 1: by options.stop */
} rn_sim_report;

/* The strategies: the name of one, what it is, and what the number after a ':'
 * means (NULL: it takes none). what and parameter may be NULL.
 *
 * Returns: the name of strategy i; NULL: there are no more than i.
 */
RN_API const char *rn_sim_strategy_name(int i, const char **what,
                                        const char **parameter);

/* Run one schedule of fn(arg): the one the token or the seed stands for.
 *
 * Returns: 0, with the report filled in. -EINVAL: an option or the token is
 * wrong; report->text says how. -ENOMEM.
 * Owner: the caller ends the report with rn_sim_report_fini, also on failure.
 * Panics: if called by a task.
 */
RN_API int rn_sim_run(const rn_sim_options *options, rn_task_fn *fn, void *arg,
                      rn_sim_report *report);

/* Run schedules of fn(arg) until one fails or a limit is reached.
 *
 * All state of the library is rewound between schedules; the program's own
 * statics are not, and what a failed schedule held stays held.
 * Returns: as rn_sim_run.
 */
RN_API int rn_sim_explore(const rn_sim_options *options, rn_task_fn *fn,
                          void *arg, rn_sim_report *report);

/* Search, or repeat, a program that calls rn_run: one process a schedule.
 *
 * argv: the program and its arguments, NULL at the end.
 * Returns: as rn_sim_run. -ENOENT: no such program. -EACCES: not executable.
 * -ENOEXEC: it ended without the library having been loaded. -ENODATA: it
 * ended without calling rn_run. report->text explains each.
 */
RN_API int rn_sim_program(const rn_sim_options *options, char *const argv[],
                          rn_sim_report *report);

/* Put together what all shards of a search have written to options.out_path:
 * the report is as if one had run it all.
 *
 * paths: of the files, NULL at the end.
 * command: set to the options.command of the first, to be freed; may be NULL.
 * Returns: 0. -EINVAL: a file is damaged, or of another search, or one is
 * missing; report->text says which. -ENOENT and such: one cannot be read.
 */
RN_API int rn_sim_merge(char *const paths[], char **command,
                        rn_sim_report *report);

/* Free what a report holds. */
RN_API void rn_sim_report_fini(rn_sim_report *report);

/* The name of a verdict, as "deadlock". */
RN_API const char *rn_sim_verdict_name(rn_sim_verdict verdict);

/* Print a trace file as text, a column a task, to out.
 *
 * columns: the width of a line; 0: 100.
 * Returns: 0. -ENOENT and such: it cannot be read. -EINVAL: it is not a trace,
 * or damaged; what is wrong is printed to err (may be NULL).
 */
RN_API int rn_trace_print(const char *path, int columns, FILE *out, FILE *err);

/* Print a trace file as JSON, an object an event.
 *
 * Returns: as rn_trace_print.
 */
RN_API int rn_trace_print_json(const char *path, FILE *out, FILE *err);

/* Whether the caller runs in the simulator.
 *
 * Returns: 1 or 0.
 */
RN_API int rn_sim_active(void);

/* In the simulator: the schedule fails with RN_SIM_ASSERT if condition is 0.
 * For real: the program panics.
 */
RN_API void rn_sim_assert(int condition, const char *what);

/* A free choice among 0 .. n-1, made by the schedule; at random for real.
 *
 * Returns: the choice; 0 if n < 2.
 * Panics: outside a task.
 */
RN_API uint32_t rn_sim_choose(uint32_t n);

/* From here to the matching end the calling task is not preempted; it still
 * stops where it has to wait. May be nested. Nothing for real.
 *
 * Panics: outside a task; nested deeper than 65,535.
 */
RN_API void rn_sim_atomic_begin(void);

/* End of what rn_sim_atomic_begin began.
 *
 * Panics: without a matching begin.
 */
RN_API void rn_sim_atomic_end(void);

/* The calling task is part of the test, not of what is tested: as soon as it
 * can go on it is the one that does, and it is not preempted. So the order of
 * its steps is never a choice. Until it ends; nothing for real.
 *
 * Panics: outside a task; more than 32 at a time.
 */
RN_API void rn_sim_harness(void);

/* Search only from here on: until the first call of a schedule the running
 * task goes on as long as it can, and the oldest ready task is next.
 *
 * A program that never calls it is searched from the start; one that does must
 * say so at its start with rn_sim_explore_wait.
 */
RN_API void rn_sim_explore_begin(void);

/* Do not search until rn_sim_explore_begin is called. Nothing for real. */
RN_API void rn_sim_explore_wait(void);

RN_END

#endif
