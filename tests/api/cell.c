/* cell.c - tests of runnel/cell.h. */
#include "world.h"

/* ---- one task ----------------------------------------------------------- */

API_TEST(cell_keeps_what_was_written)
{
    rn_cell c = RN_CELL_INIT(-3);
    CHECK_EQ(rn_cell_read(&c), -3);
    rn_cell_write(&c, INT64_MIN);
    CHECK_EQ(rn_cell_read(&c), INT64_MIN);
}

API_TEST(atomic_operations_return_what_was)
{
    rn_atomic a = RN_ATOMIC_INIT(7);
    CHECK_EQ(rn_atomic_load(&a), 7);
    rn_atomic_store(&a, INT64_MAX);
    CHECK_EQ(rn_atomic_fetch_add(&a, 1), INT64_MAX);
    CHECK_EQ(rn_atomic_load(&a), INT64_MIN);
    CHECK_EQ(rn_atomic_exchange(&a, 5), INT64_MIN);
    CHECK_EQ(rn_atomic_cas(&a, 4, 6), 0);
    CHECK_EQ(rn_atomic_load(&a), 5);
    CHECK_EQ(rn_atomic_cas(&a, 5, 6), 1);
    CHECK_EQ(rn_atomic_load(&a), 6);
}

/* ---- several tasks ------------------------------------------------------ */

struct shared {
    rn_atomic atomic;
    rn_cell cell;
    rn_mutex mutex;
    int rounds;
};

static int
count_up(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < s->rounds; i++) {
        rn_atomic_fetch_add(&s->atomic, 1);
        CHECK_EQ(rn_mutex_lock(&s->mutex, RN_NEVER), 0);
        rn_cell_write(&s->cell, rn_cell_read(&s->cell) + 1);
        rn_mutex_unlock(&s->mutex);
    }
    return 0;
}

API_TEST(atomic_additions_are_not_lost)
{
    struct shared s = {.rounds = rn_sim_active() ? 3 : 1000};
    rn_scope *scope = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(count_up, &s);
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(rn_atomic_load(&s.atomic), 3 * s.rounds);
    CHECK_EQ(rn_cell_read(&s.cell), 3 * s.rounds);
}

static int
take_by_cas(void *arg)
{
    struct shared *s = arg;
    for (int i = 0; i < s->rounds; i++) {
        int64_t seen = rn_atomic_load(&s->atomic);
        while (!rn_atomic_cas(&s->atomic, seen, seen + 1))
            seen = rn_atomic_load(&s->atomic);
    }
    return 0;
}

API_TEST(atomic_cas_succeeds_once_for_a_value)
{
    struct shared s = {.rounds = rn_sim_active() ? 3 : 1000};
    rn_scope *scope = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(take_by_cas, &s);
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(rn_atomic_load(&s.atomic), 3 * s.rounds);
}

/* ---- the simulator sees each access ------------------------------------- */

static int
add_in_two_steps(void *arg)
{
    rn_atomic *a = arg;
    rn_atomic_store(a, rn_atomic_load(a) + 1);
    return 0;
}

SIM_FINDS_TEXT(atomic_update_in_two_steps_is_lost, RN_SIM_ASSERT,
               "both count|load atomic#2|store atomic#2")
{
    rn_atomic a = RN_ATOMIC_INIT(0);
    rn_scope *scope = open_scope(RN_NEVER);
    go(add_in_two_steps, &a);
    go(add_in_two_steps, &a);
    CHECK_EQ(rn_scope_close(scope), 0);
    rn_sim_assert(rn_atomic_load(&a) == 2, "both count");
}

/* ---- misuse, and outside a task ----------------------------------------- */

API_PANICS(cell_read_of_null_panics, "rn_cell_read: cell is NULL")
{
    rn_cell_read(NULL);
}

API_PANICS(atomic_cas_of_null_panics, "rn_atomic_cas: atomic is NULL")
{
    rn_atomic_cas(NULL, 0, 0);
}

TEST(cell_outside_a_task)
{
    rn_cell c = RN_CELL_INIT(1);
    rn_atomic a = RN_ATOMIC_INIT(1);
    rn_cell_write(&c, rn_cell_read(&c) + 1);
    CHECK_EQ(rn_cell_read(&c), 2);
    CHECK_EQ(rn_atomic_fetch_add(&a, 2), 1);
    CHECK_EQ(rn_atomic_exchange(&a, 2), 3);
}
