/* runnel/stm.h - software transactional memory: changes of several variables
 * that happen at once or not at all.
 *
 * A transaction is a function, its body, that reads and writes transactional
 * variables. Either all its writes happen, at one moment for everybody else, or
 * none. What it reads is one consistent state, all the way: also in a run that
 * will be given up.
 *
 *     struct account { long balance; rn_tvar var; };
 *     static struct account a = {100, RN_TVAR_INIT(a.balance)};
 *
 *     static int withdraw(rn_tx *tx, void *amount)
 *     {
 *         long left;
 *         int e = rn_tvar_read(&a.var, tx, &left);
 *         if (e < 0)
 *             return e;
 *         if (left < *(long *)amount)
 *             return rn_tx_retry(tx);      // wait until a has changed
 *         left -= *(long *)amount;
 *         return rn_tvar_write(&a.var, tx, &left);
 *     }
 *     e = rn_atomically(withdraw, &amount, RN_NEVER);
 *
 * How a body ends:
 * - it returns 0 or more: the transaction commits and returns that;
 * - it returns a negative value of its own: a throw. Nothing has happened, and
 *   the transaction returns that value;
 * - it returns what rn_tx_retry gave it: nothing has happened yet. The task
 *   waits until another one has changed a variable the body has read, and runs
 *   it anew;
 * - a call has failed with -EAGAIN, because others were faster, or -ENOMEM: the
 *   body must return, and whatever it returns, it is run anew, or the
 *   transaction returns -ENOMEM.
 *
 * So a body may run many times, and only the last run counts. It may do what
 * can be done again: compute, read what nobody changes, read and write tvars,
 * fill in what only it uses. It must not change what others see, keep what it
 * would have to give back (memory, a lock), or spawn. It must not wait: a call
 * that has to panics. (rn_yield does not wait, but holds others up.)
 *
 * A transaction that has to be run anew too often becomes a serial one: others
 * then commit when it has ended. So none starves, however long it is.
 */
#ifndef RUNNEL_STM_H
#define RUNNEL_STM_H

#include <runnel/base.h>

RN_BEGIN

/* A run of a body; valid within it, and for the task that runs it. */
typedef struct rn_tx rn_tx;

/* The body of a transaction. */
typedef int rn_tx_fn(rn_tx *tx, void *arg);

/* A transactional variable; its fields are the library's. */
typedef struct rn_tvar {
    void *rn__value;
    size_t rn__bytes;
    uint64_t rn__opaque[5];
} rn_tvar;

/* A variable's value has at most so many bytes, and at least one. */
#define RN_TVAR_MAX 65536

/* The initial value of a variable in place: object, an lvalue, has its value
 * and belongs to it. Once no transaction uses the variable, object may be read
 * and written as usual, and both may go; no other clean-up is needed. */
/* clang-format off */
#define RN_TVAR_INIT(object) { &(object), sizeof(object), { 0 } }
/* clang-format on */

/* Make a variable with a value of some bytes, initially *value (NULL: zeros).
 *
 * Returns: 0. -EINVAL: bytes is 0 or more than RN_TVAR_MAX. -ENOMEM.
 */
RN_API RN_MUST_USE int rn_tvar_new(size_t bytes, const void *value,
                                   rn_tvar **tvar);

/* Free what rn_tvar_new made; NULL is allowed. No transaction may be running or
 * waiting that has read or written it, or still can: what one of them has made
 * unreachable may be in use by another that began before.
 *
 * Panics: if a transaction waits for it.
 */
RN_API void rn_tvar_free(rn_tvar *tvar);

/* Read a variable: what the transaction has written to it, else what it was
 * when the transaction's snapshot was taken.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tvar_read(rn_tvar *tvar, rn_tx *tx, void *value);

/* Write a variable. Others see it once the transaction has committed.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tvar_write(rn_tvar *tvar, rn_tx *tx,
                                     const void *value);

/* Run fn(tx, arg) as a transaction, until it commits or throws.
 *
 * Inside a body it is a nested transaction: a part of the outer one, which
 * alone commits. When fn throws, only what fn has written is undone, and the
 * outer body may go on. The deadline is not looked at: to retry in fn is to
 * retry the outer one.
 * Waits: when fn retries, until another task has changed a variable that was
 * read (writing the value that is there already is no change); briefly for a
 * serial transaction. A cancellation point unless the deadline is RN_NOW.
 * Returns: what fn returned. -EAGAIN (RN_NOW), -ETIMEDOUT: it has retried and
 * would have to wait longer. -ECANCELED. -ENOMEM. Nothing has happened if it
 * is negative. Inside a body, -EAGAIN and -ENOMEM: the body must return.
 * Order: what was done before the commits it has read is visible to fn.
 * Panics: outside a task.
 */
RN_API RN_MUST_USE int rn_atomically(rn_tx_fn *fn, void *arg, rn_time deadline);

/* Wait for a change: "return rn_tx_retry(tx)" ends the body's run.
 *
 * Returns: -EAGAIN: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tx_retry(rn_tx *tx);

/* Retry unless the condition holds (is not 0).
 *
 * Returns: 0 if it holds. -EAGAIN: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tx_check(rn_tx *tx, int condition);

/* Run left as a nested transaction; if it retries, undo what it has written and
 * run right instead. If both retry the body does, and waits for what either
 * has read.
 *
 * Returns: what the last of them returned; a throw by either has undone its
 * writes. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tx_or_else(rn_tx *tx, rn_tx_fn *left, void *left_arg,
                                     rn_tx_fn *right, void *right_arg);

RN_END

#endif
