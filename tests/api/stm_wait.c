/* stm_wait.c - tests of runnel/stm.h: waiting for a change, long transactions,
 * lifetime of variables. */
#include "cell.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

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

static int
read_to(rn_tx *tx, void *arg)
{
    struct change *c = arg;
    return get(tx, c->cell, &c->value);
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
        /* a change, but not to what it waits for; whoever is cancelled */
        struct change c = {&w.x, 10 + i};
        CHECK_EQ(rn_atomically(change, &c, RN_NOW), 0);
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

/* What a retry has left does not end a later wait. */
struct later {
    struct watch watch;
    rn_chan *chan, *never;
};

static int
change_and_send(void *arg)
{
    struct later *l = arg;
    assign(&l->watch.x, 1);
    assign(&l->watch.y, 1);
    send_int(l->chan, 5);
    return 0;
}

API_TEST_SCHEDULES(stm_retry_leaves_all_queues, 1000)
{
    struct later l = {.chan = new_chan(sizeof(int), 0)};
    watch_init(&l.watch);
    CHECK_EQ(rn_atomically(until_x, &l.watch, rn_now()), -ETIMEDOUT);
    rn_task t = go_joinable(change_and_send, &l);
    CHECK_EQ(recv_int(l.chan), 5);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_chan_unref(l.chan);
}

/* A cancel finds tasks that wait, before and after a transaction. */
static int
wait_around_a_transaction(void *arg)
{
    struct later *l = arg;
    recv_int(l->chan);
    commit(add_one, &l->watch.x);
    CHECK_EQ(rn_chan_recv(l->never, NULL, RN_NEVER), -ECANCELED);
    return 0;
}

API_TEST_SCHEDULES(stm_task_is_still_found_by_a_cancel, 1000)
{
    struct later l = {.chan = new_chan(sizeof(int), 0),
                      .never = new_chan(sizeof(int), 0)};
    watch_init(&l.watch);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(wait_around_a_transaction, &l);
    for (int i = 0; i < 3; i++)
        send_int(l.chan, i);
    for (long done = 0; done < 3;) {
        struct change c = {&l.watch.x, 0};
        commit(read_to, &c);
        done = c.value;
        CHECK_EQ(rn_yield(), 0);
    }
    settle();
    rn_scope_cancel(s);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(l.chan);
    rn_chan_unref(l.never);
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
