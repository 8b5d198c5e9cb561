/* sync/stm.c - transactions from begin to end.
 *
 * TL2 (Dice, Shalev and Shavit, "Transactional Locking II", 2006): a clock
 * counts commits, and each variable has the clock of the commit that wrote it.
 * A transaction takes the clock when it begins. A read returns a value only if
 * its version is not newer, so all reads are of that one moment: opacity, also
 * for runs that fail. What is newer moves the moment to now, if all that was
 * read before is unchanged (Riegel, Felber and Fetzer, "A lazy snapshot
 * algorithm with eager validation", 2006). Writes stay in a log. A commit locks
 * what it writes, moves the clock, looks again at what it has read, writes, and
 * unlocks with the new version.
 *
 * A write of the value that is there already changes no version: it disturbs no
 * reader and wakes nobody.
 *
 * No starvation: a run that fails leaves the field to another that has
 * committed, but the same one may lose each time. After PATIENCE runs a
 * transaction takes a mutex, which is handed over in order, and whoever commits
 * while one has it or wants it must take it too. What can still get in its way
 * are the commits that had begun before: at most one a worker, since no task
 * switch lies inside a commit. So it runs at most as many times more as there
 * are workers. The body cannot wait, so the mutex becomes free.
 *
 * A body fails by return codes. Refused: longjmp out of reads, which saves the
 * checks but must not cross frames of C++ or Python, nor give back what a body
 * holds. Since a code may be dropped, the state in the transaction decides what
 * becomes of the run, not what the body returns.
 *
 * Refused: writing in place with an undo log (readers would have to wait for
 * whole bodies); a bit a reader (visible readers: a write to shared memory for
 * each read); old versions of values (memory without bounds).
 */
#include "sync/stm.h"

/* Runs that may fail before the next is a serial one. */
enum { PATIENCE = 8 };

/* A call of rn_atomically that is no nested one. */
struct call {
    struct rn__task *self;
    struct rn_tx *tx;
    rn_tx_fn *fn;
    void *arg;
    const void *site;
    rn_time deadline;
    uint32_t failures;
};

static void
become_serial(struct call *call)
{
    struct rn__stm *stm = rn__stm_of(call->tx->rt);
    /* relaxed: see rn__stm.serials */
    atomic_fetch_add_explicit(&stm->serials, 1, memory_order_relaxed);
    rn__mutex_relock(&stm->serial, call->self, call->site);
    call->tx->serial = true;
}

static void
end_serial(struct rn_tx *tx)
{
    struct rn__stm *stm = rn__stm_of(tx->rt);
    tx->serial = false;
    rn__mutex_release(&stm->serial);
    atomic_fetch_sub_explicit(&stm->serials, 1, memory_order_relaxed);
}

/* Run the body once. While it runs the task counts as one that is in no list,
 * so that a wait takes the way on which it is found out (wait.c). */
static int
run_body(struct call *call)
{
    struct rn__task *self = call->self;
    uint8_t listed = self->at_home & RN__HOME_LISTED;
    self->at_home &= (uint8_t)~RN__HOME_LISTED;
    self->tx = call->tx;
    self->in_tx = true;
    rn__tx_begin(call->tx);
    int result = call->fn(call->tx, call->arg);
    self->in_tx = false;
    self->at_home |= listed;
    return result;
}

/* Tell what is about to be committed. */
static void
announce(struct call *call)
{
    const struct rn_tx *tx = call->tx;
    for (uint32_t i = 0; i < tx->count; i++)
        if (tx->entries[i].slot)
            rn__note(RN__TVAR_SET, &tx->entries[i].tvar->object, call->site);
    rn__step(RN__COMMIT, NULL, call->site);
}

/* The body has returned 0 or more: commit. */
static bool
finish(struct call *call)
{
    if (!call->tx->wrote)
        return true; /* all it has read was so at one moment */
    /* relaxed: as in rn__step */
    if (rn__unlikely(
            atomic_load_explicit(&rn__env_count, memory_order_relaxed)))
        announce(call);
    return rn__tx_commit(call->tx);
}

/* The body wants to wait: 0 if it is to run anew. */
static int
wait_for_change(struct call *call)
{
    call->failures = 0;
    if (call->tx->serial)
        end_serial(call->tx);
    if (call->deadline == RN_NOW)
        return -EAGAIN;
    return rn__tx_wait(call->tx, call->self, call->site, call->deadline);
}

static int
run(struct call *call)
{
    struct rn_tx *tx = call->tx;
    for (;;) {
        if (call->deadline != RN_NOW && rn__cancel_check(call->self))
            return -ECANCELED;
        int result = run_body(call);
        int error = 0;
        if (rn__likely(tx->state == RN__TX_ACTIVE)) {
            if (result < 0 || rn__likely(finish(call)))
                return result;
        } else if (tx->state == RN__TX_NOMEM) {
            return -ENOMEM;
        } else if (tx->state == RN__TX_RETRY) {
            if ((error = wait_for_change(call)) < 0)
                return error;
            continue;
        }
        rn__note(RN__RUN_AGAIN, NULL, call->site);
        if (++call->failures >= PATIENCE && !tx->serial)
            become_serial(call);
    }
}

/* Run a part of a body; undo its writes if it throws or retries. */
static int
run_nested(struct rn_tx *tx, rn_tx_fn *fn, void *arg)
{
    struct rn__tx_mark mark = rn__tx_enter(tx);
    int result = fn(tx, arg);
    bool active = tx->state == RN__TX_ACTIVE;
    rn__tx_leave(tx, mark, result < 0 || !active);
    if (active)
        return result;
    return tx->state == RN__TX_NOMEM ? -ENOMEM : -EAGAIN;
}

int
rn_atomically(rn_tx_fn *fn, void *arg, rn_time deadline)
{
    struct rn__worker *worker = rn__worker_in("rn_atomically");
    struct call call = {rn__current(worker), NULL,     fn, arg,
                        rn__site(),          deadline, 0};
    rn__need(fn, "rn_atomically", call.site);
    if (call.self->in_tx) {
        if (call.self->tx->state == RN__TX_ACTIVE)
            return run_nested(call.self->tx, fn, arg);
        return call.self->tx->state == RN__TX_NOMEM ? -ENOMEM : -EAGAIN;
    }
    call.tx = rn__tx_take(worker);
    if (rn__unlikely(!call.tx))
        return -ENOMEM;
    int result = run(&call);
    if (rn__unlikely(call.tx->serial))
        end_serial(call.tx);
    /* it may be on another worker by now */
    rn__tx_give(rn__worker_self(), call.tx);
    return result;
}

int
rn_tx_or_else(rn_tx *tx, rn_tx_fn *left, void *left_arg, rn_tx_fn *right,
              void *right_arg)
{
    const void *site = rn__site();
    rn__need(tx, "rn_tx_or_else", site);
    rn__need(left, "rn_tx_or_else", site);
    rn__need(right, "rn_tx_or_else", site);
    int error = rn_tx_check(tx, 1);
    if (error < 0)
        return error;
    int result = run_nested(tx, left, left_arg);
    if (tx->state != RN__TX_RETRY)
        return result;
    tx->state = RN__TX_ACTIVE;
    return run_nested(tx, right, right_arg);
}
