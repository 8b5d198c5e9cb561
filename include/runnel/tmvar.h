/* runnel/tmvar.h - a place for one value that is full or empty, for use in
 * transactions (runnel/stm.h).
 *
 * To take waits until it is full, to put waits until it is empty: as a lock, a
 * hand-over, a slot. Each call is part of the caller's transaction, so that,
 * say, a value moves from one place to another at once or not at all:
 *
 *     e = rn_tmvar_take(from, tx, &value);
 *     return e < 0 ? e : rn_tmvar_put(to, tx, &value);
 */
#ifndef RUNNEL_TMVAR_H
#define RUNNEL_TMVAR_H

#include <runnel/stm.h>

RN_BEGIN

typedef struct rn_tmvar rn_tmvar;

/* Make one for values of some bytes, full with *value or empty (NULL).
 *
 * Returns: 0. -EINVAL: bytes is 0 or more than RN_TVAR_MAX. -ENOMEM.
 */
RN_API RN_MUST_USE int rn_tmvar_new(size_t bytes, const void *value,
                                    rn_tmvar **tmvar);

/* Free it; NULL is allowed. As for rn_tvar_free, no transaction may use it.
 *
 * Panics: if a transaction waits for it.
 */
RN_API void rn_tmvar_free(rn_tmvar *tmvar);

/* Take the value out; retry while it is empty.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tmvar_take(rn_tmvar *tmvar, rn_tx *tx, void *value);

/* Put a value in; retry while it is full.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tmvar_put(rn_tmvar *tmvar, rn_tx *tx,
                                    const void *value);

/* Copy the value and leave it there; retry while it is empty.
 *
 * Returns: 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tmvar_read(rn_tmvar *tmvar, rn_tx *tx, void *value);

/* Whether it is full, without a retry: then take will not retry, and put will.
 *
 * Returns: 1 or 0. -EAGAIN, -ENOMEM: the body must return.
 * Panics: outside a transaction.
 */
RN_API RN_MUST_USE int rn_tmvar_full(rn_tmvar *tmvar, rn_tx *tx);

RN_END

#endif
