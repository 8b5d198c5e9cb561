/* sync/cell.c - shared words whose every access is a step.
 *
 * Whether a compare-and-swap wrote is known only after it: its step counts as
 * a read-modify-write, and a note says when it failed.
 */
#include <runnel/cell.h>

#include "core/core.h"

struct cell {
    struct rn__object object; /* holder: unused */
    int64_t value;
};

struct atomic {
    struct rn__object object; /* holder: unused */
    _Atomic int64_t value;
};

_Static_assert(sizeof(struct cell) == sizeof(rn_cell), "rn_cell differs");
_Static_assert(sizeof(struct atomic) == sizeof(rn_atomic), "rn_atomic differs");

static struct cell *
plain(rn_cell *cell, const char *function, const void *site)
{
    rn__need(cell, function, site);
    return (struct cell *)(void *)cell;
}

static struct atomic *
inner(rn_atomic *atomic, const char *function, const void *site)
{
    rn__need(atomic, function, site);
    return (struct atomic *)(void *)atomic;
}

int64_t
rn_cell_read(rn_cell *cell)
{
    const void *site = rn__site();
    struct cell *c = plain(cell, "rn_cell_read", site);
    rn__step(RN__CELL_READ, &c->object, site);
    return c->value;
}

void
rn_cell_write(rn_cell *cell, int64_t value)
{
    const void *site = rn__site();
    struct cell *c = plain(cell, "rn_cell_write", site);
    rn__step(RN__CELL_WRITE, &c->object, site);
    c->value = value;
}

int64_t
rn_atomic_load(rn_atomic *atomic)
{
    const void *site = rn__site();
    struct atomic *a = inner(atomic, "rn_atomic_load", site);
    rn__step(RN__LOAD, &a->object, site);
    return atomic_load(&a->value);
}

void
rn_atomic_store(rn_atomic *atomic, int64_t value)
{
    const void *site = rn__site();
    struct atomic *a = inner(atomic, "rn_atomic_store", site);
    rn__step(RN__STORE, &a->object, site);
    atomic_store(&a->value, value);
}

int64_t
rn_atomic_fetch_add(rn_atomic *atomic, int64_t addend)
{
    const void *site = rn__site();
    struct atomic *a = inner(atomic, "rn_atomic_fetch_add", site);
    rn__step(RN__FETCH_ADD, &a->object, site);
    return atomic_fetch_add(&a->value, addend);
}

int64_t
rn_atomic_exchange(rn_atomic *atomic, int64_t value)
{
    const void *site = rn__site();
    struct atomic *a = inner(atomic, "rn_atomic_exchange", site);
    rn__step(RN__EXCHANGE, &a->object, site);
    return atomic_exchange(&a->value, value);
}

int
rn_atomic_cas(rn_atomic *atomic, int64_t expected, int64_t desired)
{
    const void *site = rn__site();
    struct atomic *a = inner(atomic, "rn_atomic_cas", site);
    rn__step_by(RN__CAS, &a->object, site, expected);
    bool done = atomic_compare_exchange_strong(&a->value, &expected, desired);
    if (!done)
        rn__note(RN__CAS_FAILED, &a->object, site);
    return done;
}
