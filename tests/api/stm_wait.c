/* stm_wait.c - tests of runnel/stm.h: waiting for a change, long transactions,
 * lifetime of variables, memory, misuse. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

struct cell {
    long value;
    rn_tvar var;
};

static void
cell_init(struct cell *cell, long value)
{
    cell->value = value;
    cell->var = (rn_tvar)RN_TVAR_INIT(cell->value);
}

static int
get(rn_tx *tx, struct cell *cell, long *value)
{
    return rn_tvar_read(&cell->var, tx, value);
}

static int
set(rn_tx *tx, struct cell *cell, long value)
{
    return rn_tvar_write(&cell->var, tx, &value);
}

static int
add_one(rn_tx *tx, void *arg)
{
    long value;
    int e = get(tx, arg, &value);
    return e < 0 ? e : set(tx, arg, value + 1);
}

static void
commit(rn_tx_fn *fn, void *arg)
{
    CHECK_EQ(rn_atomically(fn, arg, RN_NEVER), 0);
}

struct change {
    struct cell *cell;
    long value;
};

static int
change(rn_tx *tx, void *arg)
{
    const struct change *c = arg;
    return set(tx, c->cell, c->value);
}

static void
assign(struct cell *cell, long value)
{
    struct change c = {cell, value};
    commit(change, &c);
}

/* ---- who is woken ------------------------------------------------------- */

struct watch {
    struct cell x, y, z;
    struct cell *shared; /* in place of x; NULL: x */
    int runs;
};

/* Reads x and y, not z. */
static int
until_x(rn_tx *tx, void *arg)
{
    struct watch *w = arg;
    long x, y;
    w->runs++;
    int e = get(tx, w->shared ? w->shared : &w->x, &x);
    if (e < 0 || (e = get(tx, &w->y, &y)) < 0)
        return e;
    return rn_tx_check(tx, x == 7);
}

static int
watcher(void *arg)
{
    commit(until_x, arg);
    return 0;
}

static void
watch_init(struct watch *w)
{
    cell_init(&w->x, 0);
    cell_init(&w->y, 5);
    cell_init(&w->z, 0);
    w->shared = NULL;
    w->runs = 0;
}

/* Neither other variables nor equal values wake. */
API_TEST_SCHEDULES(stm_retry_wakes_on_a_change_only, 1000)
{
    struct watch w;
    watch_init(&w);
    rn_task t = go_joinable(watcher, &w);
    if (rn_sim_active())
        settle();
    for (int i = 1; i < 20; i++) {
        assign(&w.z, i);
        assign(&w.x, 0);
        assign(&w.y, 5);
    }
    if (rn_sim_active()) {
        settle();
        CHECK_EQ(w.runs, 1);
    }
    assign(&w.x, 7);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_LE(w.runs, 2); /* for real it may have begun at any time */
}

SIM_TEST(stm_retry_wakes_on_each_change)
{
    struct watch w;
    watch_init(&w);
    rn_task t = go_joinable(watcher, &w);
    settle();
    for (int i = 1; i < 6; i++) {
        assign(i % 2 ? &w.x : &w.y, i);
        settle();
        CHECK_EQ(w.runs, 1 + i);
    }
    assign(&w.x, 7);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(w.runs, 7);
}

/* A change of nothing does not make others begin anew either. */
static int
read_x_slowly(rn_tx *tx, void *arg)
{
    struct watch *w = arg;
    long x, y;
    w->runs++;
    int e = get(tx, &w->x, &x);
    for (int i = 0; i < 10 && e == 0; i++)
        e = get(tx, &w->y, &y);
    return e < 0 ? e : set(tx, &w->z, x + y);
}

static int
slow_reader(void *arg)
{
    commit(read_x_slowly, arg);
    return 0;
}

API_TEST_SCHEDULES(stm_equal_value_is_no_conflict, 1000)
{
    struct watch w;
    watch_init(&w);
    rn_task t = go_joinable(slow_reader, &w);
    for (int i = 1; i < 5; i++) {
        assign(&w.x, 0);
        assign(&w.y, 5);
    }
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(w.runs, 1);
    CHECK_EQ(w.z.value, 5);
}

/* Many wait for the same; all are woken. */
API_TEST_SCHEDULES(stm_change_wakes_all, 200)
{
    struct watch w[10];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 10; i++) {
        watch_init(&w[i]);
        w[i].shared = &w[0].x;
        go(watcher, &w[i]);
    }
    assign(&w[0].x, 3);
    assign(&w[0].x, 7);
    CHECK_EQ(rn_scope_close(s), 0);
}

/* Two that hand a token to and fro. */
struct ball {
    struct cell side;
    int rounds;
};

static int
pass(rn_tx *tx, void *arg)
{
    const struct change *c = arg;
    long side;
    int e = get(tx, c->cell, &side);
    if (e < 0 || (e = rn_tx_check(tx, side != c->value)) < 0)
        return e;
    return set(tx, c->cell, c->value);
}

static int
player(void *arg)
{
    struct ball *b = arg;
    struct change c = {&b->side, 1};
    for (int i = 0; i < b->rounds; i++)
        commit(pass, &c);
    return 0;
}

API_TEST_SCHEDULES(stm_no_wake_is_lost, 1000)
{
    struct ball b = {.rounds = rn_sim_active() ? 4 : (int)test_count(20000)};
    struct change c = {&b.side, 0};
    cell_init(&b.side, 0);
    rn_task t = go_joinable(player, &b);
    for (int i = 0; i < b.rounds; i++)
        commit(pass, &c);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(b.side.value, 0);
}

/* ---- deadlines and cancel ----------------------------------------------- */

static int
write_and_retry(rn_tx *tx, void *arg)
{
    struct watch *w = arg;
    int e = set(tx, &w->z, 99);
    return e < 0 ? e : until_x(tx, w);
}

API_TEST(stm_retry_keeps_its_deadline)
{
    struct watch w;
    watch_init(&w);
    CHECK_EQ(rn_atomically(write_and_retry, &w, RN_NOW), -EAGAIN);
    CHECK_EQ(w.runs, 1);
    CHECK_EQ(rn_atomically(write_and_retry, &w, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_atomically(write_and_retry, &w, -1), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_atomically(write_and_retry, &w, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    CHECK_EQ(w.z.value, 0);
    CHECK_EQ(rn_atomically(add_one, &w.x, -1), 0); /* need not wait */
    CHECK_EQ(rn_atomically(add_one, &w.x, RN_NOW), 0);
    CHECK_EQ(w.x.value, 2);
    assign(&w.x, 7); /* nobody waits any more */
}

static int
retry_cancelled(void *arg)
{
    struct watch *w = arg;
    CHECK_EQ(rn_atomically(write_and_retry, w, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_atomically(add_one, &w->y, RN_NEVER), -ECANCELED);
    CHECK_EQ(rn_atomically(add_one, &w->y, RN_NOW), 0);
    return 0;
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

API_TEST_SCHEDULES(stm_cancel_ends_a_retry, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(1000)); i++) {
        struct watch w;
        watch_init(&w);
        rn_scope *s = open_scope(RN_NEVER);
        go(retry_cancelled, &w);
        go(cancel_it, s);
        assign(&w.x, i);
        close_cancelled(s);
        CHECK_EQ(w.z.value, 0);
        /* the task may not have been entered at all */
        CHECK(w.y.value == 6 || w.y.value == 5);
        assign(&w.x, -1);
        assign(&w.y, -1);
    }
}

static int
retry_or_time_out(void *arg)
{
    struct watch *w = arg;
    int e = rn_atomically(until_x, w, rn_now() + RN_MS);
    CHECK(e == 0 || e == -ETIMEDOUT);
    return 0;
}

API_TEST_SCHEDULES(stm_deadline_against_a_change, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 20); i++) {
        struct watch w;
        watch_init(&w);
        rn_task t = go_joinable(retry_or_time_out, &w);
        CHECK_EQ(rn_sleep(RN_MS), 0);
        assign(&w.x, 7);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
        assign(&w.x, 8); /* it has left all queues */
        assign(&w.y, 8);
    }
}

/* ---- long transactions -------------------------------------------------- */

enum { MANY = 60 };

struct crowd {
    struct cell cells[MANY];
    rn_chan *began;
    atomic_int over, runs;
};

static int
add_to_all(rn_tx *tx, void *arg)
{
    struct crowd *c = arg;
    atomic_fetch_add(&c->runs, 1);
    for (int i = 0; i < MANY; i++) {
        int e = add_one(tx, &c->cells[i]);
        if (e < 0)
            return e;
    }
    return 0;
}

static int
disturb(void *arg)
{
    struct crowd *c = arg;
    send_int(c->began, 1);
    for (uint32_t i = 0; !atomic_load(&c->over); i++) {
        commit(add_one, &c->cells[i * 7 % MANY]);
        if (i % 64 == 0)
            CHECK_EQ(rn_yield(), 0); /* one worker: let the long one begin */
    }
    return 0;
}

API_TEST_SCHEDULES(stm_long_transaction_is_not_starved, 50)
{
    static struct crowd c;
    c = (struct crowd){.began = new_chan(sizeof(int), 0)};
    for (int i = 0; i < MANY; i++)
        cell_init(&c.cells[i], 0);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(disturb, &c);
    for (int i = 0; i < 3; i++)
        recv_int(c.began);
    for (int i = 0; i < 3; i++) {
        atomic_store(&c.runs, 0);
        commit(add_to_all, &c);
        /* the patience, and one a worker */
        CHECK_LE(atomic_load(&c.runs), 8 + 4);
    }
    atomic_store(&c.over, 1);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c.began);
}

static int
add_to_all_often(void *arg)
{
    int rounds = rn_sim_active() ? 1 : (int)test_count(300);
    for (int i = 0; i < rounds; i++)
        commit(add_to_all, arg);
    return 0;
}

/* Several long ones at once: each becomes serial in its turn. */
API_TEST_SCHEDULES(stm_long_transactions_take_turns, 200)
{
    static struct crowd c;
    c = (struct crowd){.runs = 0};
    for (int i = 0; i < MANY; i++)
        cell_init(&c.cells[i], 0);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(add_to_all_often, &c);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < MANY; i++)
        CHECK_EQ(c.cells[i].value, 3 * (rn_sim_active() ? 1 : test_count(300)));
}

/* ---- lifetime ----------------------------------------------------------- */

static int
is_set(rn_tx *tx, void *arg)
{
    long value;
    int e = get(tx, arg, &value);
    return e < 0 ? e : rn_tx_check(tx, value == 1);
}

static int
set_it(void *arg)
{
    struct cell **cells = arg;
    struct cell *first = cells[0];
    commit(add_one, first); /* it may be gone before this ends */
    return 0;
}

API_TEST_SCHEDULES(stm_variable_may_be_unmapped_by_who_saw_the_commit, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(3000)); i++) {
        struct cell *cell = page_new();
        cell_init(cell, 0);
        rn_task t = go_joinable(set_it, &cell);
        commit(is_set, cell);
        page_free(cell);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    }
}

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

static int
retry_only(rn_tx *tx, void *arg)
{
    (void)arg;
    return rn_tx_retry(tx);
}

SIM_FINDS_TEXT(stm_retry_that_nothing_can_wake_is_a_deadlock, RN_SIM_DEADLOCK,
               "for a change of tvar#1 or 1 more|retry")
{
    struct watch w;
    watch_init(&w);
    commit(until_x, &w);
}

SIM_FINDS_TEXT(stm_retry_without_reads_is_a_deadlock, RN_SIM_DEADLOCK,
               "has read nothing")
{
    commit(retry_only, NULL);
}

/* The search finds what two transactions in place of one may do. */
static int
read_to(rn_tx *tx, void *arg)
{
    const struct change *c = arg;
    return get(tx, c->cell, (long *)(uintptr_t)&c->value);
}

static int
add_in_two_steps(void *arg)
{
    struct change c = {arg, 0};
    commit(read_to, &c);
    c.value++;
    commit(change, &c);
    return 0;
}

SIM_FINDS(stm_two_transactions_are_not_one, RN_SIM_ASSERT)
{
    struct cell cell;
    cell_init(&cell, 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(add_in_two_steps, &cell);
    go(add_in_two_steps, &cell);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_sim_assert(cell.value == 2, "an addition was lost");
}
