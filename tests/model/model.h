/* model.h - models: lock-free parts of the library in small configurations,
 * explored by the library's own simulator.
 *
 * A model is a file that includes a source file of the library, not a copy of
 * it, under shadow.h, which routes each atomic operation through here. The
 * threads of a model are tasks of a simulated run. Each access to a shared
 * place is a step before which another thread may go on, and memory is weak:
 *
 * - Each thread has a buffer of stores that the others do not see yet. Which of
 *   them becomes visible, and when, is a choice. A release store waits for all
 *   stores before it, other stores only for older ones to the same place.
 * - A load takes the thread's own newest buffered store, else memory.
 * - A read-modify-write acts on memory. With release it drains the buffer
 *   first; so does a seq_cst store, with itself, and a full fence. The heavy
 *   fence drains the buffers of all threads.
 *
 * That is x86-TSO (Owens, Sarkar and Sewell, "A better x86 memory model",
 * 2009) and stores out of order on top.
 *
 * Not covered: loads are never done early, so the order of a load (acquire or
 * relaxed) and what only orders loads (a light fence moved away) make no
 * difference, and stores do not pass a read-modify-write that came before; TSan
 * and the Arm build are for those. Plain memory is always up to date, so what
 * matters of it is a relaxed atomic of the model. A weak compare-and-swap does
 * not fail without a reason.
 *
 *     static _Atomic int flag;
 *     static void setup(void) { flag = 0; model_share(flag); }
 *     static void writer(void) { ... }
 *     static void reader(void) { ... model_check(x == 1); }
 *     MODEL(name, .setup = setup, .threads = {writer, reader});
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_THREADS = 4, MODEL_BREAKS = 8, MODEL_PENDING = 16 };

/* Ways to break what is modelled; each must be found. */
enum model_how {
    MODEL_SOUND,
    MODEL_RELAX,    /* accesses of a place count as relaxed */
    MODEL_SPLIT,    /* read-modify-writes are a load, then a store */
    MODEL_NO_HEAVY, /* the heavy fence does nothing */
    MODEL_NO_FULL,  /* the full fence of a light fence does nothing */
    MODEL_NO_WAKE,  /* a futex wakes nobody */
    MODEL_OTHER     /* the model's own code asks model_broken */
};

struct model_break {
    const char *name; /* NULL ends the list */
    enum model_how how;
    const char *place;    /* the only one; NULL: all */
    const char *function; /* where the access stands; NULL: anywhere */
};

struct model {
    const char *name, *file;
    /* Make the shared state as new; called before each schedule. */
    void (*setup)(void);
    void (*threads[MODEL_THREADS])(void);
    /* Once all threads have ended and all stores are visible. */
    void (*check)(void);
    /* All that threads share is in shared places, so the values they read
     * tell states apart; else it is told by whose stores they read. */
    bool values;
    /* Switches away from a thread that could go on, at most; 0: any number. */
    int bound;
    /* Not all schedules, there are too many: so many at random. */
    unsigned some;
    /* Stores a buffer holds; 0: MODEL_PENDING. */
    int buffer;
    struct model_break breaks[MODEL_BREAKS];
    struct model *next;
};

void model_add(struct model *model);

#define MODEL(id, ...)                                            \
    static struct model model_##id = {                            \
        .name = #id, .file = __FILE__, __VA_ARGS__};              \
    __attribute__((constructor)) static void model_add_##id(void) \
    {                                                             \
        model_add(&model_##id);                                   \
    }                                                             \
    struct model_semicolon

/* Make an atomic object a shared place; other atomics are no steps. */
#define model_share(object) model_place(#object, -1, &(object), sizeof(object))
void model_place(const char *name, int index, volatile void *at, size_t bytes);
/* An array of them. */
#define model_share_array(object)                          \
    model_places(#object, &(object)[0], sizeof(object)[0], \
                 sizeof(object) / sizeof(object)[0])
void model_places(const char *name, volatile void *at, size_t bytes,
                  size_t count);

/* What a thread is inside of (base/atomic.h). */
void model_share_inside(int thread);
/* The place is freed: whoever touches it from now on fails. */
void model_free(volatile void *at);

/* The schedule fails. */
void model_fail(const char *file, int line, const char *what)
    __attribute__((noreturn));
#define model_check(condition) \
    ((condition) ? (void)0 : model_fail(__FILE__, __LINE__, #condition))

/* The index of the calling thread; -1 in setup and check. */
int model_self(void);
/* A free choice of the schedule among 0 .. n-1. */
uint32_t model_choose(uint32_t n);
/* Nothing to do until another thread writes to a place that was read since
 * the last pause. */
void model_pause(void);
/* Nothing to do until another thread has made a step, if one can. */
void model_yield(void);
/* A futex: sleep if *word is expected; wake all that sleep. */
void model_sleep(_Atomic uint32_t *word, uint32_t expected);
void model_wake(_Atomic uint32_t *word);
/* Whether this search is about the named break. */
bool model_broken(const char *name);

/* What the shadows of shadow.h call. */
struct model_site {
    const char *function;
    int order, line;
};
void model_load(const volatile void *at, void *value, size_t bytes,
                struct model_site site);
void model_store(volatile void *at, const void *value, size_t bytes,
                 struct model_site site);
enum model_op { MODEL_SWAP, MODEL_ADD, MODEL_SUB, MODEL_OR, MODEL_AND };
/* *value becomes what was there. */
void model_fetch(volatile void *at, enum model_op op, void *value, size_t bytes,
                 struct model_site site);
bool model_cas(volatile void *at, void *expected, const void *value,
               size_t bytes, struct model_site site);
void model_fence_full(void);
void model_fence_heavy(void);

#endif
