/* cell.h - a transactional variable with its value, for the tests of
 * runnel/stm.h. */
#ifndef CELL_H
#define CELL_H

#include "world.h"

struct cell {
    long value;
    rn_tvar var;
};

__attribute__((unused)) static void
cell_init(struct cell *cell, long value)
{
    cell->value = value;
    cell->var = (rn_tvar)RN_TVAR_INIT(cell->value);
}

__attribute__((unused)) static int
get(rn_tx *tx, struct cell *cell, long *value)
{
    return rn_tvar_read(&cell->var, tx, value);
}

__attribute__((unused)) static int
set(rn_tx *tx, struct cell *cell, long value)
{
    return rn_tvar_write(&cell->var, tx, &value);
}

__attribute__((unused)) static int
add_one(rn_tx *tx, void *arg)
{
    long value;
    int e = get(tx, arg, &value);
    return e < 0 ? e : set(tx, arg, value + 1);
}

__attribute__((unused)) static void
commit(rn_tx_fn *fn, void *arg)
{
    CHECK_EQ(rn_atomically(fn, arg, RN_NEVER), 0);
}

#endif
