/* par/for.c - the operators whose items are plain calls.
 *
 * Each is a loop around one call; the engine does the rest. The loops are
 * written once (rn__par_loop) and compiled for each kind of call.
 */
#include "par/par.h"

/* ---- for each ----------------------------------------------------------- */

static inline int
call_each(const struct rn__work *work, size_t i)
{
    return work->fn.each(i, work->ctx);
}

static void
run_each(struct rn__carry *carry)
{
    rn__par_loop(carry, call_each);
}

static const struct rn__par_kind each = {.run = run_each};

int
rn_par_for(size_t n, rn_par_fn *fn, void *ctx, const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_for");
    rn__need(fn, "rn_par_for", rn__site());
    int opened = rn__par_open(&op, n, options, rn__site());
    op.kind = &each;
    op.work.fn.each = fn;
    op.function = (uintptr_t)fn;
    op.work.ctx = ctx;
    return rn__par_finish(&op, opened);
}

/* ---- ranges ------------------------------------------------------------- */

/* The block is one call. */
static void
run_range(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    struct rn__span piece = carry->block;
    if (rn__par_stopped(op))
        return;
    carry->next = piece.hi;
    carry->weight = piece.hi - piece.lo;
    int result = op->work.fn.range(piece.lo, piece.hi, op->work.ctx);
    if (!rn__par_odd(carry, result))
        return;
    rn__par_ended(carry, result);
    if (result >= 0)
        return;
    for (size_t i = piece.lo; op->outcomes && i < piece.hi; i++)
        op->outcomes[i] = op->outcomes[piece.lo];
}

static const struct rn__par_kind range = {.run = run_range};

int
rn_par_for_range(size_t n, rn_par_range_fn *fn, void *ctx,
                 const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_for_range");
    rn__need(fn, "rn_par_for_range", rn__site());
    int opened = rn__par_open(&op, n, options, rn__site());
    op.kind = &range;
    op.work.fn.range = fn;
    op.function = (uintptr_t)fn;
    op.work.ctx = ctx;
    return rn__par_finish(&op, opened);
}

/* ---- map ---------------------------------------------------------------- */

static inline int
call_map(const struct rn__work *work, size_t i)
{
    return work->fn.map(i, work->out + i * work->stride, work->ctx);
}

static void
run_map(struct rn__carry *carry)
{
    rn__par_loop(carry, call_map);
}

static const struct rn__par_kind map = {.run = run_map};

int
rn_par_map(size_t n, rn_par_map_fn *fn, void *ctx, void *out, size_t stride,
           const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_map");
    rn__need(fn, "rn_par_map", rn__site());
    int opened = rn__par_open(&op, n, options, rn__site());
    op.kind = &map;
    op.work.fn.map = fn;
    op.function = (uintptr_t)fn;
    op.work.ctx = ctx;
    op.work.out = out;
    op.work.stride = stride;
    return opened ? rn__par_finish(&op, opened) : rn__par_run_values(&op);
}

/* ---- different functions ------------------------------------------------ */

static inline int
call_job(const struct rn__work *work, size_t i)
{
    return work->fn.jobs[i].result = work->fn.jobs[i].fn(work->fn.jobs[i].arg);
}

static void
run_jobs(struct rn__carry *carry)
{
    rn__par_loop(carry, call_job);
}

static const struct rn__par_kind jobs_kind = {.run = run_jobs};

int
rn_par_call(rn_par_job *jobs, size_t n, const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_call");
    for (size_t i = 0; i < n; i++) {
        rn__need(jobs[i].fn, "rn_par_call", rn__site());
        jobs[i].result = -ECANCELED;
    }
    int opened = rn__par_open(&op, n, options, rn__site());
    op.kind = &jobs_kind;
    op.function = n > 0 ? (uintptr_t)jobs[0].fn : 0;
    op.work.fn.jobs = jobs;
    return rn__par_finish(&op, opened);
}

/* ---- all outcomes ------------------------------------------------------- */

static inline int
call_result(const struct rn__work *work, size_t i)
{
    return work->results[i] = work->fn.each(i, work->ctx);
}

static void
run_results(struct rn__carry *carry)
{
    rn__par_loop(carry, call_result);
}

static const struct rn__par_kind results_kind = {.run = run_results};

int
rn_par_all_outcomes(size_t n, rn_par_fn *fn, void *ctx, int *results,
                    const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_all_outcomes");
    rn__need(fn, "rn_par_all_outcomes", rn__site());
    for (size_t i = 0; results && i < n; i++)
        results[i] = -ECANCELED;
    int opened = rn__par_open(&op, n, options, rn__site());
    op.kind = results ? &results_kind : &each;
    op.flags |= RN_PAR_COLLECT;
    op.work.fn.each = fn;
    op.function = (uintptr_t)fn;
    op.work.ctx = ctx;
    op.work.results = results;
    return rn__par_finish(&op, opened);
}
