/* engine.h - what the parts of the engine share: memory.c, search.c, main.c.
 */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include "model.h"
#include "sim/sim.h"

enum { PLACES = 64 };

/* A shared place. */
struct place {
    const char *name;
    int index; /* in an array; -1: in none */
    volatile void *at;
    size_t bytes;
    uint64_t stamp; /* of the visible store: whose it was, or its value */
    bool freed;
    uint64_t own[MODEL_THREADS]; /* stamp of each thread's last store */
};

/* A store that only its thread sees. */
struct pending {
    struct place *place;
    uint64_t value, stamp;
    bool release;
};

struct thread {
    struct rn__task *task;
    uint64_t history; /* hash of all that its state depends on */
    struct pending pending[MODEL_PENDING];
    int count;
    uint64_t seen;      /* places read since the last pause */
    bool news;          /* one of them has been written since */
    bool paused;        /* until there is news */
    bool yields;        /* until another has made a step */
    const void *sleeps; /* on this futex; NULL: it does not */
    bool done;
};

/* The model that is explored, and the way it is broken. */
extern const struct model *the_model;
extern const struct model_break *the_break;

/* ---- memory.c ----------------------------------------------------------- */

extern struct thread threads[MODEL_THREADS];
extern int thread_count;
extern struct thread *running; /* NULL: none, in setup and check */
extern bool telling;           /* say what happens, on standard output */

/* Before setup: no places, no stores. */
void memory_begin(void);
/* The body of a thread's task. */
int memory_thread(void *thread);
/* Whether it could do its next operation. */
bool memory_enabled(const struct thread *thread);
/* A hash of the state the threads are in. */
uint64_t memory_signature(void);
/* Put one thing in the story. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- search.c ----------------------------------------------------------- */

enum asking { ASK_THREAD, ASK_DRAIN, ASK_MODEL };

/* A choice of the schedule; of drains, 0 stands for none of them if idle. */
uint32_t search_ask(enum asking what, uint32_t n);
/* Nobody can go on. */
void search_stuck(void) __attribute__((noreturn));

struct result {
    uint64_t schedules, states;
    double seconds;
    bool exhausted;
    bool found;
    char *what;  /* found; malloc'ed */
    char *token; /* repeats it; malloc'ed */
};

/* All schedules, at most so many switches (0: any), at most so many schedules
 * (0: any number). */
void search_all(int bound, uint64_t most, struct result *result);
/* Some schedules at random. */
void search_some(uint64_t seed, uint64_t schedules, struct result *result);
/* Repeat one. 0 or -EINVAL. */
int search_again(const char *token, struct result *result);

#endif
