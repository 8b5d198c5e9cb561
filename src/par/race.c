/* par/race.c - the first that ends wins; the others are told, and waited for.
 *
 * Who has won is decided under op->lock, in rn__par_ended, where every racer
 * comes when its deferred calls have ended. The last winner that was wanted
 * cancels the rest. From then on what others return is of no interest, but for
 * their values, which are dropped, and their errors, which are reported.
 */
#include "par/par.h"

static uint32_t
judge(struct rn__par *op, size_t i, int result)
{
    rn_race *race = op->race;
    bool success = op->flags & RN_PAR_FIRST_SUCCESS;
    if (race->count >= op->wanted || op->decided < 0)
        return RN__CANCEL_NO; /* it is over */
    if (success && result < 0)
        return op->n - op->cancelled - op->failed < op->wanted
                   ? RN__CANCEL_CHILD
                   : RN__CANCEL_NO;
    if (rn__par_stopped(op) && result == -ECANCELED)
        return RN__CANCEL_NO; /* the race was cancelled, it has not won */
    if (race->count == 0)
        race->winner = i;
    if (race->winners)
        race->winners[race->count] = i;
    race->count++;
    op->decided = result < 0 ? result : 0;
    return result < 0 || race->count == op->wanted ? RN__CANCEL_RACE_LOST
                                                   : RN__CANCEL_NO;
}

static bool
has_won(const rn_race *race, size_t i)
{
    bool won = race->count > 0 && race->winner == i;
    for (size_t k = 0; race->winners && k < race->count; k++)
        won = won || race->winners[k] == i;
    return won;
}

static int
call_racer(const struct rn__work *work, size_t i)
{
    return work->fn.map(i, work->out ? work->out + i * work->stride : NULL,
                        work->ctx);
}

static void
run_racers(struct rn__carry *carry)
{
    struct rn__par *op = carry->op;
    for (size_t i = carry->block.lo; i < carry->block.hi; i++) {
        if (rn__par_stopped(op))
            break;
        carry->next = i + 1;
        rn__par_ended(carry, call_racer(&op->work, i));
    }
}

static const struct rn__par_kind racers = {.run = run_racers, .judge = judge};

/* Free the values of those who did not win, or of all. */
static void
drop(struct rn__par *op, bool all)
{
    for (size_t i = 0; i < op->n; i++)
        if (op->outcomes[i] == RN_OUTCOME_OK && (all || !has_won(op->race, i)))
            op->options->drop(op->work.out ? op->work.out + i * op->work.stride
                                           : NULL,
                              op->work.ctx);
}

static int
run(struct rn__par *op)
{
    struct rn__rt *rt = rn__rt_self();
    rn_outcome *own = NULL;
    if (op->options->drop && !op->outcomes) {
        own = op->outcomes = rn__alloc(rt, op->n * sizeof *own);
        if (!own)
            return rn__par_close(op, -ENOMEM);
    }
    int result = rn__par_run(op);
    if (op->options->drop)
        drop(op, result < 0);
    rn__free(rt, own);
    return result;
}

/* Where only success wins it is the end that tells whether the failures of
 * racers are news. */
static int
run_quietly(struct rn__par *op)
{
    rn_report own = RN_REPORT_INIT;
    rn__report_begin(&own);
    op->scope.report = &own;
    int result = run(op);
    size_t told = result < 0 ? 1 : 0; /* the first is what we return */
    for (size_t i = told; i < own.count; i++)
        if (result < 0 || own.failures[i].phase == RN_PHASE_FINALIZER)
            rn__report_unheard(rn__rt_self(), &own.failures[i]);
    rn_report_fini(&own);
    return result;
}

int
rn_par_race(size_t n, rn_par_map_fn *fn, void *ctx, rn_race *race,
            const rn_par_options *options)
{
    struct rn__par op;
    rn__self_in("rn_par_race");
    rn__need(fn, "rn_par_race", rn__site());
    rn__need(race, "rn_par_race", rn__site());
    race->winner = RN_INDEX_NONE;
    race->count = 0;
    int opened = rn__par_open(&op, n, options, rn__site());
    op.wanted = race->wanted ? race->wanted : 1;
    if (opened == 0 && (op.wanted > n || (race->wanted > 1 && !race->winners)))
        opened = -EINVAL;
    op.kind = &racers;
    op.work.fn.map = fn;
    op.function = (uintptr_t)fn;
    op.work.ctx = ctx;
    op.race = race;
    op.work.out = race->out;
    op.work.stride = race->stride;
    if (opened)
        return rn__par_finish(&op, opened);
    bool quiet = op.flags & RN_PAR_FIRST_SUCCESS && !op.scope.report;
    return quiet ? run_quietly(&op) : run(&op);
}
