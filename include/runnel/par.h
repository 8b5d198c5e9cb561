/* runnel/par.h - parallel operators: one call that does many things at once.
 *
 * An operator calls a function for many items, by all workers, and returns when
 * every call that began has ended:
 *
 *     static int
 *     fetch(size_t i, void *ctx)
 *     {
 *         struct page *pages = ctx;
 *         return page_load(&pages[i]);      // may wait like any task
 *     }
 *
 *     rn_par_options o = {.limit = 16, .deadline = rn_after(5 * RN_SEC)};
 *     int e = rn_par_for(count, fetch, pages, &o);
 *
 * An operator is a scope (runnel/scope.h). The first item that fails cancels
 * the rest: those that run see -ECANCELED where they wait, those that have not
 * begun never do. The items' deferred calls (rn_defer) run at the end of the
 * item, and before the operator returns. What an item spawns with rn_go(NULL,
 * ...) is a task of the operator, which waits for it. An item must close the
 * scopes it opens.
 *
 * The caller works, too. Items are plain calls, one after the other in the same
 * task, until one waits: then another task goes on with the rest. So items may
 * wait for each other. An item that neither waits nor yields holds up those
 * behind it as long as no other worker is free.
 *
 * An item is no task: rn_task_self gives the task that runs it, which may be
 * the caller's, and runs other items, too. To cancel that task is to cancel the
 * items it runs from then on; the first that gives up cancels the operator, but
 * with RN_PAR_COLLECT only if the task is the caller's.
 *
 * No memory is allocated for an item; a task is used for each worker, and for
 * each item that waits. Without memory for that task nothing fails: the items
 * behind one that waits begin when an item that runs, or this one, has ended;
 * so without memory items must not wait for those behind them. An operator on
 * one item is little more than a call.
 */
#ifndef RUNNEL_PAR_H
#define RUNNEL_PAR_H

#include <runnel/report.h>
#include <runnel/task.h>

RN_BEGIN

/* Flags of rn_par_options. */
enum {
    RN_PAR_COLLECT = 1,      /* an item that fails does not cancel the others */
    RN_PAR_LEAF = 2,         /* no item ever waits or yields: if one does, it
                                holds up the items behind it */
    RN_PAR_FIRST_SUCCESS = 4 /* a race: only success wins */
};

/* Options of all operators (may be NULL). All zero is the default for each. */
typedef struct rn_par_options {
    size_t limit;     /* most items active at once, from their call until their
                     deferred calls have ended; items (with a chunk: chunks)
                     are then taken in the order of their indices. 0: no limit,
                     and no order */
    rn_time deadline; /* when it passes, the operator is cancelled; 0:
                             none; RN_NOW, the past: nothing begins */
    size_t chunk;     /* at least so many items in a row by one worker, or
                             in a call of a range; a hint. 0: as time tells */
    unsigned flags;   /* of the above */
    rn_outcome *outcomes; /* set: how each item ended; NULL: not wanted. Has
                             as many places as there are items */
    void (*drop)(void *value, void *ctx); /* frees the value of an item that
                                             ended well although the operator
                                             fails, or that lost a race; NULL:
                                             nothing to free */
    rn_report *report;                    /* set: all failures; or NULL */
    const char *name; /* of the tasks, for dumps; must outlive the call */
} rn_par_options;

/* One item: 0 or more is success, else a negative code. */
typedef int rn_par_fn(size_t i, void *ctx);
/* The items from lo to before hi. */
typedef int rn_par_range_fn(size_t lo, size_t hi, void *ctx);
/* One item with a place for its value. */
typedef int rn_par_map_fn(size_t i, void *out, void *ctx);

/* Call fn(i, ctx) for i = 0 .. n-1.
 *
 * Waits: until every call that began has ended; a cancellation point at entry
 * and between items.
 * Returns: the first error of an item if there was one; else -ETIMEDOUT if its
 * own deadline cancelled it before all items had ended well; else -ECANCELED
 * if an item ended so or did not begin; else 0. -EINVAL: more flags than there
 * are. -ENOMEM: nothing began.
 * Order: what the caller did before is visible to items; all that items did is
 * visible to the caller.
 * Panics: outside a task; if an item leaves a scope open.
 */
RN_API int rn_par_for(size_t n, rn_par_fn *fn, void *ctx,
                      const rn_par_options *options);

/* The same for ranges: fn(lo, hi, ctx) for pieces of 0 .. n-1 which together
 * are all of it. How large they are depends on how long they take. A piece is
 * one item in reports, with index lo; its outcome is that of all in it.
 *
 * Waits, Returns, Order, Panics: as rn_par_for.
 */
RN_API int rn_par_for_range(size_t n, rn_par_range_fn *fn, void *ctx,
                            const rn_par_options *options);

/* The same with values: fn(i, out + i * stride, ctx).
 *
 * Owner: out is the caller's. If the operator fails, options.drop is called for
 * the values of items that ended well (by the caller, in order of index); the
 * contents of out are then not values.
 * Waits, Returns, Order, Panics: as rn_par_for.
 */
RN_API int rn_par_map(size_t n, rn_par_map_fn *fn, void *ctx, void *out,
                      size_t stride, const rn_par_options *options);

/* A function of its own. */
typedef struct rn_par_job {
    rn_task_fn *fn;
    void *arg;
    int result; /* set: what fn returned; -ECANCELED if it was not called */
} rn_par_job;

/* Call several functions at once: jobs[i].fn(jobs[i].arg).
 *
 * Waits, Returns, Order, Panics: as rn_par_for.
 */
RN_API int rn_par_call(rn_par_job *jobs, size_t n,
                       const rn_par_options *options);

/* Call fn(i, ctx) for all i, whatever others return, and keep what each
 * returned in results[i] (-ECANCELED: not called): rn_par_for with
 * RN_PAR_COLLECT.
 *
 * Waits, Returns, Order, Panics: as rn_par_for.
 */
RN_API int rn_par_all_outcomes(size_t n, rn_par_fn *fn, void *ctx, int *results,
                               const rn_par_options *options);

/* How to reduce. init and combine must not wait. */
typedef struct rn_par_reducer {
    size_t bytes;                       /* of an accumulator */
    void (*init)(void *acc, void *ctx); /* make it that of no items; NULL: all
                                           bytes are 0 */
    int (*item)(size_t i, void *acc, void *ctx);       /* add item i behind */
    void (*combine)(void *acc, void *next, void *ctx); /* add next, which is of
                                                          the items behind, and
                                                          consume it */
} rn_par_reducer;

/* Reduce items 0 .. n-1 in their order to one value, put into *out. combine
 * must be associative; it need not be commutative.
 *
 * Owner: if the operator fails, out is untouched and options.drop is called for
 * each accumulator.
 * Waits, Returns, Order, Panics: as rn_par_for. -ENOMEM also later: for the
 * accumulators, of which there are about as many as workers and waiting items.
 */
RN_API int rn_par_reduce(size_t n, const rn_par_reducer *reducer, void *ctx,
                         void *out, const rn_par_options *options);

/* A race: what is wanted, and who won. */
typedef struct rn_race {
    void *out;       /* racer i has its place at out + i * stride; or NULL */
    size_t stride;   /* bytes */
    size_t wanted;   /* so many winners end it; 0: one */
    size_t *winners; /* set: their indices in the order they won; room for as
                        many as are wanted; NULL: not wanted */
    size_t winner;   /* set: the first; RN_INDEX_NONE: nobody won */
    size_t count;    /* set: how many won */
} rn_race;

/* Let n racers fn(i, out + i * stride, ctx) run, and cancel the others when one
 * has won (with race->wanted: so many). A racer that need not be waited for
 * spawns a task of its own, which moves to a larger scope (rn_task_move).
 *
 * The first that ends wins, whatever its outcome, which is then that of the
 * race; with RN_PAR_FIRST_SUCCESS the first that succeeds: then racers that
 * failed are in the report, if there is one, but no news to rn_options.on_error
 * (but for those a report of RN_REPORT_ROOM failures has no room for, and
 * deferred calls). If the race fails all of them are. Losers are cancelled, and
 * waited for.
 *
 * Owner: options.drop is called for the values of losers that ended well.
 * Waits, Order, Panics: as rn_par_for.
 * Returns: 0: as many won as were wanted. The code of a winner that failed;
 * with RN_PAR_FIRST_SUCCESS, if too many fail, the first error. -ETIMEDOUT and
 * -ECANCELED: cancelled before it was decided, or the winner ended so. -EINVAL:
 * more are wanted than there are racers. n = 0: 0, nobody won.
 */
RN_API int rn_par_race(size_t n, rn_par_map_fn *fn, void *ctx, rn_race *race,
                       const rn_par_options *options);

/* Where items come from, when they are not known beforehand. */
typedef struct rn_par_source {
    int (*next)(void *item, void *ctx); /* 1: *item is the next one; 0: there
                                           are no more; negative: an error.
                                           Called by one at a time; may wait */
    size_t bytes;                       /* of an item */
    int (*item)(size_t i, void *item, void *ctx); /* the i-th item */
} rn_par_source;

/* Call source->item for each item that source->next gives.
 *
 * Memory is taken for active items only, so with options.limit = N for N.
 *
 * Owner: options.drop is called for an item that next gave and that is not run,
 * the operator having been cancelled meanwhile.
 * Waits, Returns, Order, Panics: as rn_par_for; an error of next is one of the
 * operator, with index RN_INDEX_NONE. Panics also if options.outcomes is set.
 */
RN_API int rn_par_pull(const rn_par_source *source, void *ctx,
                       const rn_par_options *options);

RN_END

#endif
