/* par/par.h - what the operators share: the operation and its carriers.
 *
 * An operation lives on its caller's stack. Its items are run by carriers: the
 * caller, and tasks spawned into the operation's scope. A carrier takes a block
 * of items under the operation's lock and runs it without any; engine.c tells
 * the rest.
 */
#ifndef RN_PAR_PAR_H
#define RN_PAR_PAR_H

#include "core/core.h"

#include <runnel/par.h>
#include <stddef.h>

struct rn__par;

/* Items from lo to before hi. */
struct rn__span {
    size_t lo, hi;
};

/* What a carrier knows about how long items take; the clock is read once a
 * block. */
struct rn__pace {
    size_t size;     /* of the last block; 0: there was none */
    rn_time clock;   /* when it began; 0: not known */
    rn_time item;    /* what an item took in it, about; -1: not known */
    rn_time yielded; /* when its task let others run */
};

/* Who runs items; lives on its task's stack. */
struct rn__carry {
    struct rn__carrier base;
    struct rn__par *op;
    struct rn__task *task;
    struct rn__span block;  /* taken; hi shrinks when the item waits */
    size_t next;            /* the first of it that has not begun */
    size_t bad;             /* items of the block that did not end well */
    size_t weight;          /* items that the running call stands for */
    uint32_t shield_top;    /* of the task, before items */
    struct rn__span rest;   /* published; op->lock */
    struct rn__list spare;  /* in op->spares, if so; op->lock */
    struct rn__list riches; /* in op->rich; op->lock */
    bool able;              /* counted in op->able; op->lock */
    uint8_t touched; /* what the task was, before and in items: an operator
                        around wants to know of CALLED */
    struct rn__pace pace;
    struct rn__segment *segment; /* of a reduction: holds the last items */
    void *item;                  /* a pulled one: room, or more memory */
    _Alignas(max_align_t) char room[128]; /* last; not zeroed */
};

/* What is different from operator to operator. */
struct rn__par_kind {
    /* Run the block: rn__par_stopped before each item, carry->next after that,
     * rn__par_ended where rn__par_odd says so. */
    void (*run)(struct rn__carry *carry);
    /* Items come from here: the one of the block. 1: there it is; 0: there are
     * no more; negative: the operation fails. By one at a time. */
    int (*pull)(struct rn__carry *carry);
    /* A block is about to be run. Negative: the operation fails. */
    int (*begin)(struct rn__carry *carry);
    /* The carrier has no more to do. */
    void (*leave)(struct rn__carry *carry);
    /* Item i has ended with this, and its deferred calls have. Returns what to
     * cancel the others with, or RN__CANCEL_NO. Under op->lock. NULL: an item
     * that fails does, unless RN_PAR_COLLECT is set. */
    uint32_t (*judge)(struct rn__par *op, size_t i, int result);
};

/* What an item is. Loops copy it, so that it stays in registers. */
struct rn__work {
    union {
        rn_par_fn *each;
        rn_par_range_fn *range;
        rn_par_map_fn *map;
        const rn_par_source *source;
        const rn_par_reducer *reducer;
        rn_par_job *jobs;
    } fn;
    void *ctx;
    char *out; /* NULL: none */
    size_t stride;
    int *results;
};

struct rn__par {
    struct rn__object object;
    struct rn__lock lock;
    uint32_t able;   /* carriers that run an item which has not waited, or are
                        about to take a block; lock */
    uint32_t active; /* carriers; each has one item at most; lock */
    uint32_t width;  /* so many able ones are enough */
    uint32_t seen;   /* scope.cancelled when the last item had ended; lock */
    size_t n;        /* items; SIZE_MAX: not known yet */
    size_t next;     /* the first that nobody has taken; lock */
    size_t limit;    /* of active; at least 1 */
    size_t ok, cancelled, failed; /* items that ended so; lock */
    unsigned flags;               /* of options, and the operator's own */
    bool strict;                  /* items begin in order */
    bool pulling;                 /* a carrier is in source->next; lock */
    struct rn__list spares;       /* carriers with a rest; lock */
    struct rn__list rich; /* carriers that have taken more than one item at
                               once; lock */
    const struct rn__par_kind *kind;
    const rn_par_options *options; /* never NULL */
    rn_outcome *outcomes;          /* NULL: not wanted */
    const void *site;
    uintptr_t function; /* that the items call, for pace.c */
    struct rn__work work;
    rn_race *race;
    size_t wanted; /* winners */
    int decided;   /* of a race: the code of a winner that failed; lock */
    struct rn__segment *segments, *unused; /* of a reduction; lock */
    struct rn_scope scope;
};

/* Whether no item may begin any more. */
static inline bool
rn__par_stopped(const struct rn__par *op)
{
    /* relaxed: what led to the cancel is of no interest here */
    uint32_t mark =
        atomic_load_explicit(&op->scope.cancelled, memory_order_relaxed);
    return rn__unlikely((mark & ~RN__CANCEL_SOME) != 0);
}

/* Whether there is more to say about how an item has ended than that it did. */
static inline bool
rn__par_odd(const struct rn__carry *carry, int result)
{
    return rn__unlikely(
        result < 0 ||
        atomic_load_explicit(&carry->task->touched, memory_order_relaxed));
}

/* The item before carry->next has returned; it was odd. Runs its deferred
 * calls. */
void rn__par_ended(struct rn__carry *carry, int result);
/* The source, or memory, has failed. */
void rn__par_failed(struct rn__par *op, int code);

/* Prepare an operation on n items; the caller then sets what its kind needs.
 * 0: run it. 1: there are no items. Negative: do not. */
int rn__par_open(struct rn__par *op, size_t n, const rn_par_options *options,
                 const void *site);
/* Run it. Returns the status. */
int rn__par_run(struct rn__par *op);
/* The same where items have values in op->out, which options.drop frees. */
int rn__par_run_values(struct rn__par *op);
/* It is not run. Returns status. */
int rn__par_close(struct rn__par *op, int status);

/* The end of most operators: opened is what rn__par_open has said. */
static inline int
rn__par_finish(struct rn__par *op, int opened)
{
    return rn__unlikely(opened) ? rn__par_close(op, opened < 0 ? opened : 0)
                                : rn__par_run(op);
}

/* What a carrier's task runs. */
int rn__par_carry(void *op);

/* Let other tasks run if it is time. Not under the lock. */
void rn__pace_yield(struct rn__carry *carry);
/* How many to take of so many items that are left, of which there are some;
 * the last block has been run. */
size_t rn__pace_block(struct rn__carry *carry, size_t left);
/* Whether to call another carrier for so many, there being too few. */
bool rn__pace_calls(const struct rn__carry *carry, size_t left);
/* Whether so many that are left of the block are worth sharing. */
bool rn__pace_shares(const struct rn__carry *carry, size_t left);
/* The carrier has no more to do. */
void rn__pace_learn(const struct rn__carry *carry);

/* A block, item by item: call gives the item's result. */
__attribute__((always_inline)) static inline void
rn__par_loop(struct rn__carry *carry,
             int (*call)(const struct rn__work *work, size_t i))
{
    struct rn__par *op = carry->op;
    struct rn__work work = op->work;
    const _Atomic uint8_t *touched = &carry->task->touched;
    size_t next = carry->block.lo, hi = carry->block.hi;
    while (next < hi && !rn__par_stopped(op)) {
        carry->next = ++next;
        int result = call(&work, next - 1);
        /* relaxed: as in rn__par_odd */
        if (rn__unlikely(result < 0 ||
                         atomic_load_explicit(touched, memory_order_relaxed))) {
            rn__par_ended(carry, result);
            hi = carry->block.hi;
        }
    }
}

#endif
