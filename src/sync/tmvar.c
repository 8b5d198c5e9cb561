/* sync/tmvar.c - a place for one value: two variables, one of which says
 * whether the other has a value.
 */
#include "sync/tmvar.h"

#include <string.h>

void
rn__tmvar_init(rn_tmvar *tmvar, void *storage, size_t bytes)
{
    tmvar->full = (rn_tvar)RN_TVAR_INIT(tmvar->is_full);
    tmvar->value.rn__value = storage;
    tmvar->value.rn__bytes = bytes;
}

int
rn_tmvar_new(size_t bytes, const void *value, rn_tmvar **tmvar)
{
    rn__need(tmvar, "rn_tmvar_new", rn__site());
    if (bytes == 0 || bytes > RN_TVAR_MAX)
        return -EINVAL;
    rn_tmvar *m = rn__alloc(NULL, sizeof *m + bytes);
    if (!m)
        return -ENOMEM;
    rn__tmvar_init(m, m + 1, bytes);
    if (value) {
        m->is_full = 1;
        memcpy(m + 1, value, bytes);
    }
    *tmvar = m;
    return 0;
}

void
rn_tmvar_free(rn_tmvar *tmvar)
{
    if (!tmvar)
        return;
    rn__tvar_check_idle(&tmvar->full, "rn_tmvar_free", rn__site());
    rn__tvar_check_idle(&tmvar->value, "rn_tmvar_free", rn__site());
    rn__free(NULL, tmvar);
}

int
rn_tmvar_full(rn_tmvar *tmvar, rn_tx *tx)
{
    uint64_t full = 0;
    rn__need(tmvar, "rn_tmvar_full", rn__site());
    int e = rn_tvar_read(&tmvar->full, tx, &full);
    return e < 0 ? e : full != 0;
}

static int
set_full(rn_tmvar *tmvar, rn_tx *tx, uint64_t full)
{
    return rn_tvar_write(&tmvar->full, tx, &full);
}

int
rn_tmvar_read(rn_tmvar *tmvar, rn_tx *tx, void *value)
{
    int full = rn_tmvar_full(tmvar, tx);
    if (full <= 0)
        return full < 0 ? full : rn_tx_retry(tx);
    return rn_tvar_read(&tmvar->value, tx, value);
}

int
rn_tmvar_take(rn_tmvar *tmvar, rn_tx *tx, void *value)
{
    int e = rn_tmvar_read(tmvar, tx, value);
    return e < 0 ? e : set_full(tmvar, tx, 0);
}

int
rn_tmvar_put(rn_tmvar *tmvar, rn_tx *tx, const void *value)
{
    int full = rn_tmvar_full(tmvar, tx);
    if (full != 0)
        return full < 0 ? full : rn_tx_retry(tx);
    int e = rn_tvar_write(&tmvar->value, tx, value);
    return e < 0 ? e : set_full(tmvar, tx, 1);
}
