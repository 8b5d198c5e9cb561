/* sim/sim.h - the simulated world.
 *
 * One world runs schedule after schedule in the same memory. What a schedule
 * chose is a list of small integers (choices); replaying the list repeats it.
 * Only decisions between two or more candidates are in the list, and 0 is
 * always what an unsearched program would do, so trailing zeros are dropped.
 */
#ifndef RN_SIM_WORLD_H
#define RN_SIM_WORLD_H

#include "core/core.h"
#include "sim/arena.h"
#include "sim/depend.h"
#include "sim/due.h"
#include "sim/fault.h"
#include "sim/freed.h"
#include "sim/property.h"
#include "sim/strategy.h"
#include "sim/stuck.h"
#include "sim/tail.h"

#include <runnel/sim.h>

enum {
    RN__SIM_NAME = 24,       /* bytes of a task's name that are kept */
    RN__SIM_NAMES = 1 << 16, /* tasks whose names are kept */
    RN__SIM_NOTES = 6,       /* events there is room for, a step allowed */
    RN__SIM_EVENTS = 1 << 16 /* kept of those, if nobody wants all */
};

/* Memory of a strategy in a world. */
struct rn__state {
    void *memory;
    size_t bytes;
};

/* Where the choices of a schedule can be seen while it runs. */
struct rn__mirror {
    uint32_t *list;
    size_t room;
    size_t *count; /* SIZE_MAX: there were more than room */
};

#define RN__WATCH_ALL ((const void *)1)

struct rn__world {
    rn_sim_options options; /* defaults filled in */
    struct rn__rt rt;
    struct rn__worker worker;
    struct rn__arena arena;
    struct rn__stack *stacks; /* kept from schedule to schedule */
    rn_options real;          /* what the stacks are made by */
    bool has_pool;            /* of stacks */

    /* How to choose: by the plan's prefix, then by its strategy. */
    const struct rn__plan *plan; /* until the schedule is over */
    uint64_t seed;               /* its */
    struct rn__plan own_plan;    /* of rn__world_begin */
    uint64_t prng;
    struct rn__state states[RN__STRATEGIES_MAX]; /* by strategy */
    struct rn__choices choices;                  /* made in this schedule */
    struct rn__forked *forked; /* the same places, if the strategy asks */
    size_t forked_room;
    struct rn__words words;   /* of the log */
    struct rn__mirror mirror; /* list NULL: none */
    uint64_t diverged;        /* choices of the prefix that did not fit */

    struct rn__task **ready; /* in the order they became ready */
    size_t ready_count, ready_room;
    /* What each task is about to do, by number; valid while it is ready or
     * runs. timers: the same for those that are due. */
    struct rn__pending *pending;
    size_t pending_room;
    bool pends;          /* somebody looks at pending */
    bool plain;          /* plan->strategy->plain */
    uint32_t run_number; /* of the schedule, so that old ones can be told */
    /* Object whose operations a task's seen counts; RN__WATCH_ALL, NULL. */
    const void *watch;
    const void **addresses; /* of objects, by number, in this schedule */
    size_t address_room;
    struct rn__pending timers[RN__SIM_CANDIDATES];
    struct rn__due due;
    struct rn__pending **fork_steps;
    size_t fork_room; /* of it */
    rn_time now;
    uint64_t steps, instant_steps;
    bool waiting_to_explore; /* rn_sim_explore_wait */
    bool clock_acts;         /* a timer is being expired */
    uint32_t starved_tries;  /* stacks asked for in vain */

    struct rn__event *events; /* after so many that were dropped */
    size_t event_count, event_limit, event_room, events_dropped;
    bool keep_events;     /* all; else at least the newest half of
                         RN__SIM_EVENTS */
    bool full;            /* events had to be left out */
    struct rn__code code; /* where the sites of events are */
    uint64_t digest;
    char (*names)[RN__SIM_NAME]; /* of ended tasks, by number */
    uint64_t *handles;           /* the same */

    struct rn__properties *properties; /* of the search; NULL: not kept */
    struct rn__invariants invariants;
    bool looking; /* an invariant does: what it calls is no step */
    struct rn__injector injector;
    struct rn__fairness fairness;
    struct rn__harness harness;
    struct rn__stuck stuck;
    struct rn__freed freed;

    /* No step needs more than the record and a choice: of all the above nothing
     * is on. Who switches something on clears it. */
    bool calm;

    struct rn__depend *depend; /* NULL: acts are not looked at */
    struct rn__depend own_depend;

    bool noted; /* a failure, after which the schedule goes on */
    bool over;
    rn_sim_verdict verdict;
    char *message;     /* what failed; malloc'ed */
    const void *site;  /* where; NULL: nowhere in particular */
    uint32_t culprit;  /* number of the task there; 0: none */
    uint64_t waiting;  /* tasks left waiting */
    bool judge_result; /* a negative result of main is a finding */
    bool want_text;    /* describe a finding when it is made */
    char *text;        /* the description; malloc'ed */
};

/* Get a world for the calling thread to search in, with the options checked
 * and filled in. 0, -EINVAL or -ENOMEM, with *why set to a malloc'ed
 * explanation of -EINVAL. */
int rn__world_open(const rn_sim_options *options, struct rn__world **world,
                   char **why);
void rn__world_close(struct rn__world *world);
/* Options with defaults filled in; -EINVAL with a malloc'ed *why. */
int rn__sim_options_resolve(rn_sim_options *resolved,
                            const rn_sim_options *options, char **why);

/* Forget the last schedule and prepare the one of a plan, which must live until
 * the schedule is over. */
void rn__world_plan(struct rn__world *world, const struct rn__plan *plan);
/* Part of it: what the oracles know of the last schedule. */
void rn__world_forget(struct rn__world *world, uint64_t seed);
/* The same for the random walk of a seed, or the choices of replay. */
void rn__world_begin(struct rn__world *world, uint64_t seed,
                     const struct rn__choices *replay);
/* The log of the schedule that has just run; points into the world. */
void rn__world_log(const struct rn__world *world, struct rn__log *log);
/* Run fn(arg) as main of a schedule that has begun; more than once in one
 * schedule if the program calls rn_run again. Returns main's result. */
int rn__world_run(struct rn__world *world, rn_task_fn *fn, void *arg);

/* End the schedule with a finding; from a task it does not return. */
void rn__world_fail(struct rn__world *world, rn_sim_verdict verdict,
                    const void *site, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same without leaving the task, and with a malloc'ed message. */
void rn__world_finish(struct rn__world *world, rn_sim_verdict verdict,
                      const void *site, char *message);
/* A failure that does not end the schedule. */
void rn__world_note_failure(struct rn__world *world, rn_sim_verdict verdict,
                            const void *site, const char *what);

/* The environment (world.c). */
extern const struct rn__env rn__sim_env;
/* Where the calling task's world is; NULL for real. */
struct rn__world *rn__world_self(void);

/* ---- tokens (token.c) --------------------------------------------------- */

/* Text for a list of choices; malloc'ed; NULL: out of memory. */
char *rn__token_write(const struct rn__choices *choices);
/* Text that stands for the schedule of a seed; malloc'ed. */
char *rn__token_of_seed(uint64_t seed);
/* What a text stands for, or the text in "@FILE": a list of choices, or the
 * schedule of a seed (*seeded). 0, -EINVAL with *why, -ENOMEM. */
int rn__token_read(const char *token, struct rn__choices *choices, bool *seeded,
                   uint64_t *seed, char **why);

/* ---- digests seen (distinct.c) ------------------------------------------ */

struct rn__distinct {
    uint64_t *slots;
    size_t count, room;
};
/* Whether it was new; when memory runs out it counts as seen. */
bool rn__distinct_add(struct rn__distinct *set, uint64_t digest);

/* ---- reports (report.c) ------------------------------------------------- */

/* Describe the finding of the schedule that has just ended, while its tasks
 * are still there: sets world->text. From the world's idle context. */
void rn__report_write(struct rn__world *world);
/* The number of live tasks that wait. */
uint64_t rn__report_waiting(struct rn__world *world);
/* Write the trace of the last schedule to path. 0 or a negative errno. */
int rn__world_trace(struct rn__world *world, const char *path,
                    const char *token);
/* The program exits with a status other than 0. */
void rn__world_exited(struct rn__world *world, int status);
/* Whether the searcher's time limit is why a signal ends this program. */
bool rn__server_timed_out(void);
/* A fatal signal has ended the schedule; the process dies after this. */
void rn__world_crashed(struct rn__world *world);
/* Remember the name of a task that ends. */
void rn__world_keep_name(struct rn__world *world, const struct rn__task *task);
/* The name a task had, by number. */
const char *rn__world_task_name(struct rn__world *world, uint32_t number);
/* The number of the task that had this handle and has ended; 0: unknown. */
uint32_t rn__world_ended_task(struct rn__world *world, uint64_t id);
/* Print an event on a line of its own. */
void rn__print_event(struct rn__world *world, const struct rn__event *event,
                     FILE *out);
/* A printf into new memory; NULL: out of memory. */
char *rn__format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Which finding the last schedule has made: the same number for the same one
 * in another schedule; 0: none (shrink.c). */
uint64_t rn__finding(const struct rn__world *world);

/* ---- hidden non-determinism (verify.c) ---------------------------------- */

/* The schedule that has just run repeated another one's choices: if it differs
 * from those events and that digest, that becomes the verdict, with a text. */
void rn__verify(struct rn__world *world, const struct rn__event *events,
                size_t count, uint64_t digest);

/* ---- programs (server.c, program.c) ------------------------------------- */

/* In a program started to be searched: serve requests, and return in the child
 * that is to run a schedule, with its world; NULL in any other program. */
struct rn__world *rn__server_world(void);
/* The schedule is over: there is a finding, the program ends, or a signal ends
 * it. Does not return if there is a finding, unless a signal is to end it. */
void rn__server_report(struct rn__world *world, bool signal);

#endif
