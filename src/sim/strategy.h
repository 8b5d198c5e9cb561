/* sim/strategy.h - which schedules a search runs.
 *
 * A schedule is run under a plan and leaves a log. A strategy has two sides.
 * The searcher's side hands out plans and learns from logs; it lives in the
 * process that searches. The world's side answers the choices that a plan
 * leaves open; it lives where the schedule runs, which may be a forked child
 * of another program, so a plan and a log are plain data and go through shared
 * memory (shared.h).
 *
 * Plan i of a random strategy is a function of the search's seed, i, and what
 * was learnt from a set of earlier schedules that depends on i alone; so a
 * search finds the same whatever the number of workers. Tree searches plan a
 * prefix of choices and the default after it.
 */
#ifndef RN_STRATEGY_H
#define RN_STRATEGY_H

#include "core/event.h"

#include <runnel/sim.h>
#include <stdbool.h>

struct rn__world;
struct rn__strategy;

/* A list of choices that grows by doubling. */
struct rn__choices {
    uint32_t *list;
    size_t count;
    size_t room;
};

/* A list of numbers between the two sides of a strategy. */
struct rn__words {
    uint64_t *list;
    size_t count;
    size_t room;
};

enum {
    RN__STRATEGIES_MAX = 16,
    RN__PARAM_NONE = 0,
    RN__WORDS_MAX = 1 << 16 /* words of a plan or log of a program */
};

/* ---- a schedule --------------------------------------------------------- */

/* What a task is about to do: announced, not done. */
struct rn__pending {
    uint32_t task;       /* its number; 0: a timer that is due */
    uint32_t object;     /* number of the object; 0: none */
    enum rn__kind kind;  /* NONE: it was woken and just goes on; BEGIN; TIMEOUT:
                           a timer; else the operation */
    const void *site;    /* where; NULL: nowhere in particular */
    const void *address; /* of the object; NULL: none */
    uint64_t lineage;    /* names the task in every schedule: who its ancestors
                            are, and the how manieth child of each */
    uint64_t parent;     /* lineage of its parent; 0: none */
    uint32_t children;   /* it has had */
    uint32_t run;        /* world->run_number when it became ready first */
    uint32_t idle;       /* steps without effect in a row, see fair.h */
    uint32_t seen;  /* steps of interest it has announced, see world->watch */
    uint32_t steps; /* all it has announced */
    uint64_t mark;  /* the strategy's; 0 whenever something else pends */
};

/* A choice that the plan leaves open. */
struct rn__fork {
    uint32_t n;    /* candidates, 2 or more */
    bool data;     /* not who goes on, but an arm of a select, a fault...: there
                      are no pending steps */
    uint32_t self; /* which candidate is the task that is about to go on by
                      itself; n: none is */
    struct rn__pending *const *steps; /* n; NULL unless asked for */
};

/* The same, as a log tells it. */
struct rn__forked {
    uint32_t n;
    uint32_t self : 29; /* RN__FORKED_NOBODY: none */
    uint32_t fault : 1; /* whether one happens */
    uint32_t idle : 1;  /* self is idle (fair.h), and the strategy looks */
    uint32_t data : 1;
};

#define RN__FORKED_NOBODY 0x1fffffffu

/* What a schedule is to be. */
struct rn__plan {
    uint64_t index;                      /* in the search */
    const struct rn__strategy *strategy; /* after the prefix */
    uint32_t param;                      /* of it */
    uint64_t seed;                       /* of it */
    struct rn__choices prefix;           /* the first choices */
    struct rn__words words;              /* from the searcher's side */
    uint32_t slot;                       /* the strategy's */
    bool owned;                          /* words are freed once it is learnt */
};

/* What it was. */
struct rn__log {
    struct rn__choices choices;      /* room unused */
    const struct rn__forked *forked; /* a choice each; NULL: not kept */
    struct rn__words words;          /* from the world's side */
    uint64_t digest, steps;
    rn_sim_verdict verdict;
    bool told; /* it lived to tell all of the above but the verdict */
};

/* ---- the searcher's side ------------------------------------------------ */

/* A search as its strategy sees it. */
struct rn__searcher {
    const struct rn__strategy *strategy;
    uint32_t param;
    uint64_t seed;
    void *state; /* the strategy's; from calloc */
    /* What is known so far, for the report. */
    bool complete;    /* the whole space was run */
    int bound;        /* all within this bound was run; -1: none */
    double estimated; /* schedules there are; 0: no idea */
    uint64_t blocked; /* schedules given up as redundant */
    int preemptions;  /* the fewest that a finding needs; -1: not known */
    uint64_t within;  /* traces within the bound */
};

enum rn__planned {
    RN__PLAN_MADE,
    RN__PLAN_EXHAUSTED, /* there are no more */
    RN__PLAN_WAIT,      /* for the logs of schedules handed out before */
    RN__PLAN_FAILED     /* out of memory */
};

struct rn__strategy {
    const char *name;
    const char *summary;   /* in a few words; NULL: it is not for searches */
    const char *parameter; /* what the number after ':' is; NULL: none */
    uint32_t param_min, param_max, param_default;
    bool looks;    /* pick wants fork->steps */
    bool draws;    /* pick is random: a fault is drawn by its own odds */
    bool plain;    /* pick is only rn__world_below of all */
    bool forked;   /* learn wants log->forked */
    bool acts;     /* pick, end want world->depend */
    bool follows;  /* pick is asked within the plan's prefix, too */
    bool by_index; /* a plan depends on its index and the logs of the first
                      schedules only */
    uint32_t warm; /* so many of them */
    size_t bytes;  /* of searcher->state */

    /* Fill in plan (all 0 but index, seed, param and strategy, which may be
     * changed). The lists it points to must live until it is learnt. */
    enum rn__planned (*plan)(struct rn__searcher *s, struct rn__plan *plan);
    /* A schedule handed out before has ended; in any order. NULL: no matter. */
    void (*learn)(struct rn__searcher *s, const struct rn__plan *plan,
                  const struct rn__log *log);
    /* Put down all that plans depend on, while no schedule is out, and take it
     * from there into a state just opened. false: out of memory; it makes no
     * sense. NULL: it cannot, or by_index. */
    bool (*save)(const struct rn__searcher *s, struct rn__words *words);
    bool (*load)(struct rn__searcher *s, const uint64_t *list, size_t count);
    /* Free what state holds. NULL: nothing. */
    void (*close)(struct rn__searcher *s);

    /* In the world: the schedule begins, world->plan is set. NULL: no matter.
     */
    void (*begin)(struct rn__world *world);
    /* Choose one of 0 .. n-1. */
    uint32_t (*pick)(struct rn__world *world, const struct rn__fork *fork);
    /* The schedule is over; may append to world->words. NULL: no matter. */
    void (*end)(struct rn__world *world);
    /* Free what its memory in a world holds. NULL: nothing. */
    void (*leave)(void *state);
};

/* A strategy by its text, "NAME" or "NAME:NUMBER"; NULL text: default_name. 0,
 * -EINVAL with a malloc'ed *why. */
int rn__strategy_find(const char *text, const char *default_name,
                      const struct rn__strategy **strategy, uint32_t *param,
                      char **why);
/* All of them, by number; NULL: there are no more. */
const struct rn__strategy *rn__strategy_at(uint32_t number);
uint32_t rn__strategy_number(const struct rn__strategy *strategy);
/* Its text, "NAME" or "NAME:NUMBER"; malloc'ed. */
char *rn__strategy_text(const struct rn__strategy *strategy, uint32_t param);

/* 0, or -ENOMEM. */
int rn__searcher_open(struct rn__searcher *s,
                      const struct rn__strategy *strategy, uint32_t param,
                      uint64_t seed);
void rn__searcher_close(struct rn__searcher *s);
/* Plan schedule number index. */
enum rn__planned rn__searcher_plan(struct rn__searcher *s, uint64_t index,
                                   struct rn__plan *plan);
void rn__searcher_learn(struct rn__searcher *s, const struct rn__plan *plan,
                        const struct rn__log *log);

/* ---- the world's side --------------------------------------------------- */

/* Memory of the plan's strategy in a world, the same from schedule to
 * schedule, at first zeroed; at least so many bytes (it may move when it
 * grows). NULL: out of memory. */
void *rn__strategy_state(struct rn__world *world, size_t bytes);
/* Free all of them. */
void rn__strategy_leave(struct rn__world *world);
/* Append; false: out of memory. */
bool rn__choices_add(struct rn__choices *choices, uint32_t choice);
bool rn__words_add(struct rn__words *words, uint64_t word);
/* The next random number of the schedule, all of it or below n. */
uint64_t rn__world_random(struct rn__world *world);
uint32_t rn__world_below(struct rn__world *world, uint32_t n);

/* ---- the strategies ----------------------------------------------------- */

extern const struct rn__strategy rn__strategy_default; /* walk.c */
extern const struct rn__strategy rn__strategy_random;
extern const struct rn__strategy rn__strategy_pct;
extern const struct rn__strategy rn__strategy_pos;
extern const struct rn__strategy rn__strategy_surw;
extern const struct rn__strategy rn__strategy_portfolio;
extern const struct rn__strategy rn__strategy_dfs; /* tree.c */
extern const struct rn__strategy rn__strategy_preemption;
extern const struct rn__strategy rn__strategy_delay;
extern const struct rn__strategy rn__strategy_dpor; /* dpor.c */
/* Not for searches (guide.c). */
extern const struct rn__strategy rn__strategy_guide;

#endif
