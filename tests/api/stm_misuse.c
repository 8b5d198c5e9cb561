/* stm_misuse.c - tests of runnel/stm.h: memory, and what a body must not do. */
#include "cell.h"

#include <errno.h>
#include <stdlib.h>

/* ---- memory ------------------------------------------------------------- */

static int
many_small_and_large(rn_tx *tx, void *arg)
{
    rn_tvar **vars = arg;
    static char big[5000];
    int e = 0;
    for (int i = 0; i < 40 && e == 0; i++)
        if ((e = rn_tvar_read(vars[i], tx, big)) == 0)
            e = rn_tvar_write(vars[i], tx, big);
    return e;
}

static int
nested_many(rn_tx *tx, void *arg)
{
    int e = many_small_and_large(tx, arg);
    if (e < 0)
        return e;
    e = rn_atomically(many_small_and_large, arg, RN_NOW);
    return e < 0 ? e : -EDOM;
}

static int
retry_after_all(rn_tx *tx, void *arg)
{
    int e = many_small_and_large(tx, arg);
    return e < 0 ? e : rn_tx_retry(tx);
}

/* How many variables can be made until one cannot. */
static int
make_until_none_can(void)
{
    rn_tvar *var;
    int made = 0;
    while (made < 5000 && rn_tvar_new(8, NULL, &var) == 0) {
        rn_tvar_free(var);
        made++;
    }
    return made;
}

static int rounds, left;

static int
warm_up_and_go_on(void *arg)
{
    rn_tvar *vars[40];
    (void)arg;
    for (int i = 0; i < 40; i++)
        CHECK_EQ(rn_tvar_new(i % 2 ? 8 : 5000, NULL, &vars[i]), 0);
    for (int i = 0; i < rounds; i++) {
        CHECK_EQ(rn_atomically(many_small_and_large, vars, RN_NEVER), 0);
        CHECK_EQ(rn_atomically(nested_many, vars, RN_NEVER), -EDOM);
        CHECK_EQ(rn_atomically(retry_after_all, vars, rn_now()), -ETIMEDOUT);
    }
    for (int i = 0; i < 40; i++)
        rn_tvar_free(vars[i]);
    left = make_until_none_can();
    return 0;
}

TEST(stm_allocates_nothing_once_warm)
{
    rn_options options = {.workers = 1, .fail_alloc = 4000};
    rounds = 2;
    CHECK_EQ(rn_run(&options, warm_up_and_go_on, NULL), 0);
    int left_after_two = left;
    rounds = 1000;
    CHECK_EQ(rn_run(&options, warm_up_and_go_on, NULL), 0);
    CHECK_EQ(left, left_after_two);
    CHECK_GT(left, 3000);
    CHECK_LT(left, 4000);
}

/* ---- misuse ------------------------------------------------------------- */

static int
receive_in_body(rn_tx *tx, void *arg)
{
    (void)tx;
    return rn_chan_recv(arg, NULL, RN_NEVER);
}

API_PANICS(stm_wait_in_a_body_panics, "a wait inside the body")
{
    rn_chan *c = new_chan(sizeof(int), 0);
    (void)!rn_atomically(receive_in_body, c, RN_NEVER);
}

static int
sleep_in_body(rn_tx *tx, void *arg)
{
    (void)tx;
    (void)arg;
    return rn_sleep(RN_SEC);
}

API_PANICS(stm_sleep_in_a_body_panics, "a wait inside the body")
{
    CHECK_EQ(rn_sleep(1), 0); /* it is in its scope's list by now */
    (void)!rn_atomically(sleep_in_body, NULL, RN_NEVER);
}

static int
move_in_body(rn_tx *tx, void *scope)
{
    (void)tx;
    return rn_task_move(scope);
}

static int
move_away(void *scope)
{
    CHECK_EQ(rn_sleep(1), 0);
    return rn_atomically(move_in_body, scope, RN_NEVER);
}

API_PANICS(stm_move_in_a_body_panics, "rn_task_move inside the body")
{
    rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_go(s, move_away, outer), 0);
    (void)rn_scope_close(s);
    (void)rn_scope_close(outer);
}

static rn_tx *kept;

static int
keep_tx(rn_tx *tx, void *arg)
{
    (void)arg;
    kept = tx;
    return 0;
}

API_PANICS(stm_read_after_the_body_panics, "rn_tvar_read outside a transaction")
{
    struct cell cell;
    long value;
    cell_init(&cell, 0);
    commit(keep_tx, NULL);
    (void)!get(kept, &cell, &value);
}

API_PANICS(stm_write_after_the_body_panics,
           "rn_tvar_write outside a transaction")
{
    struct cell cell;
    cell_init(&cell, 0);
    commit(keep_tx, NULL);
    (void)!set(kept, &cell, 1);
}

API_PANICS(stm_retry_after_the_body_panics, "rn_tx_retry outside a trans")
{
    commit(keep_tx, NULL);
    (void)!rn_tx_retry(kept);
}

API_PANICS(stm_variable_without_a_value_panics, "a variable of 0 bytes")
{
    struct cell cell = {0};
    commit(add_one, &cell);
}

static int
retry_on_tvar(rn_tx *tx, void *arg)
{
    long value;
    int e = rn_tvar_read(arg, tx, &value);
    return e < 0 ? e : rn_tx_retry(tx);
}

static int
retry_task(void *arg)
{
    return rn_atomically(retry_on_tvar, arg, RN_NEVER);
}

API_PANICS(stm_free_while_one_waits_panics, "a transaction waits for it")
{
    rn_tvar *var;
    CHECK_EQ(rn_tvar_new(8, NULL, &var), 0);
    go(retry_task, var);
    if (!rn_sim_active())
        settle();
    else
        CHECK_EQ(rn_sleep(1), 0);
    rn_tvar_free(var);
}

TEST_DIES_WITH(stm_atomically_outside_a_task_panics, "outside a task", -SIGABRT)
{
    (void)!rn_atomically(keep_tx, NULL, RN_NEVER);
}
