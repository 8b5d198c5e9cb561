/* sim/shared.h - what a searcher and the program it searches share.
 *
 * The searcher makes a memory object and a socket pair, starts the program
 * with both (RUNNEL_SIM=memory-fd,socket-fd), and talks to it in single bytes:
 * the program says HELLO in its first rn_run and becomes a server; for each GO
 * it forks a child that returns from there into the schedule the request
 * names, waits for it, and says DONE. All the rest is in the shared memory,
 * which only one side touches at a time.
 */
#ifndef RN_SHARED_H
#define RN_SHARED_H

#include "core/event.h"
#include "sim/contrast.h"
#include "sim/property.h"
#include "sim/strategy.h"

#include <runnel/sim.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A time limit as poll takes it: at least a millisecond. */
static inline int
rn__poll_timeout(rn_time limit)
{
    rn_time ms = limit / RN_MS + 1;
    return ms > INT32_MAX ? -1 : (int)ms;
}

#define RN__SHARED_ENV "RUNNEL_SIM"

enum {
    RN__SHARED_VERSION = 3,
    RN__SHARED_TEXT = 256 * 1024,
    RN__SHARED_CONTRAST = 4096,
    RN__SHARED_PATH = 4096,
    RN__SHARED_EVENTS = 1 << 16, /* kept to compare two runs */
    RN__HELLO = 'H',
    RN__GO = 'G',
    RN__DONE = 'D'
};

struct rn__request {
    rn_sim_options options; /* without its pointers; read once, at HELLO */
    uint64_t index, seed;   /* as in the plan */
    uint32_t strategy;      /* its number */
    uint32_t param;
    bool text;                        /* describe a finding */
    bool keep;                        /* leave the events for a comparison */
    struct rn__contrast contrast;     /* to be told, too */
    bool compare;                     /* compare with the events left before */
    char trace_path[RN__SHARED_PATH]; /* "": none */
    char trace_token[RN__SHARED_PATH];
};

struct rn__response {
    bool reported; /* the schedule came to an end inside rn_run */
    rn_sim_verdict verdict;
    uint64_t steps, digest, waiting, diverged, faults;
    uint64_t finding; /* see rn__finding */
    rn_time time;
    int trace_error;
    int fork_error; /* there was no child at all */
    int status;     /* of the child, as waitpid gives it */
    bool timed_out; /* it was ended after options.max_run_time */
    char contrast[RN__SHARED_CONTRAST];
    char text[RN__SHARED_TEXT]; /* last */
};

struct rn__shared {
    uint32_t version;
    uint32_t exec_error;     /* errno of exec in the child */
    _Atomic uint32_t linked; /* the library has been loaded */
    struct rn__request request;
    struct rn__response response;
    struct rn__properties properties; /* of all schedules run here */
    size_t event_count;               /* left by keep */
    uint64_t event_digest;
    struct rn__event events[RN__SHARED_EVENTS];
    size_t word_count; /* of the plan, then of the log */
    uint64_t words[RN__WORDS_MAX];
    /* The plan's prefix, then, from choice to choice, what the schedule has
     * chosen: also one that does not live to tell. SIZE_MAX: too many. */
    size_t choice_count;
    size_t choice_room;
    bool forked; /* what rn__shared_forked points to is filled in */
    uint64_t choices[];
};

static inline uint32_t *
rn__shared_choices(struct rn__shared *shared)
{
    return (uint32_t *)shared->choices;
}

/* Behind the choices. */
static inline struct rn__forked *
rn__shared_forked(struct rn__shared *shared)
{
    return (struct rn__forked *)(shared->choices + shared->choice_room / 2);
}

#endif
