/* mutex.c - tests of runnel/mutex.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static void
lock(rn_mutex *m)
{
    CHECK_EQ(rn_mutex_lock(m, RN_NEVER), 0);
}

/* ---- mutex -------------------------------------------------------------- */

struct hammer {
    rn_mutex mutex;
    int inside, plain, rounds;
};

static int
hammer(void *arg)
{
    struct hammer *h = arg;
    for (int i = 0; i < h->rounds; i++) {
        lock(&h->mutex);
        CHECK_EQ(h->inside++, 0);
        int plain = h->plain;
        if (i % 8 == 0)
            CHECK_EQ(rn_yield(), 0);
        h->plain = plain + 1;
        CHECK_EQ(--h->inside, 0);
        rn_mutex_unlock(&h->mutex);
    }
    return 0;
}

API_TEST(mutex_excludes)
{
    struct hammer h = {.rounds = rn_sim_active() ? 4 : (int)test_count(20000)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 4; i++)
        go(hammer, &h);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(h.plain, 4 * h.rounds);
}

static int
try_to_lock(void *arg)
{
    rn_mutex *m = arg;
    CHECK_EQ(rn_mutex_lock(m, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_mutex_lock(m, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_mutex_lock(m, -1), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_mutex_lock(m, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    return 0;
}

API_TEST(mutex_lock_keeps_its_deadline)
{
    rn_mutex m = RN_MUTEX_INIT;
    CHECK_EQ(rn_mutex_lock(&m, RN_NOW), 0);
    rn_task t = go_joinable(try_to_lock, &m);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_mutex_unlock(&m);
    CHECK_EQ(rn_mutex_lock(&m, rn_now()), 0); /* free: past does not matter */
    rn_mutex_unlock(&m);
    CHECK_EQ(rn_mutex_lock(&m, -1), 0);
    rn_mutex_unlock(&m);
}

struct queue {
    rn_mutex *mutex;
    int *next, number;
};

static int
lock_in_turn(void *arg)
{
    struct queue *q = arg;
    lock(q->mutex);
    CHECK_EQ((*q->next)++, q->number);
    rn_mutex_unlock(q->mutex);
    return 0;
}

SIM_TEST(mutex_is_handed_over_in_order)
{
    rn_mutex m = RN_MUTEX_INIT;
    int next = 0;
    struct queue queue[6];
    rn_scope *s = open_scope(RN_NEVER);
    lock(&m);
    for (int i = 0; i < 6; i++) {
        queue[i] = (struct queue){&m, &next, i};
        go(lock_in_turn, &queue[i]);
        settle();
    }
    rn_mutex_unlock(&m);
    lock(&m); /* behind all of them */
    CHECK_EQ(next, 6);
    rn_mutex_unlock(&m);
    CHECK_EQ(rn_scope_close(s), 0);
}

struct greedy {
    rn_mutex mutex;
    atomic_int over;
    rn_chan *started;
};

static int
lock_all_the_time(void *arg)
{
    struct greedy *g = arg;
    send_int(g->started, 1);
    while (!atomic_load(&g->over)) {
        lock(&g->mutex);
        CHECK_EQ(rn_yield(), 0);
        rn_mutex_unlock(&g->mutex);
    }
    return 0;
}

API_TEST(mutex_hog_does_not_starve_another)
{
    struct greedy g = {.started = new_chan(sizeof(int), 0)};
    rn_task t = go_joinable(lock_all_the_time, &g);
    recv_int(g.started);
    for (int i = 0; i < 10; i++) {
        lock(&g.mutex); /* would never end if it could be overtaken */
        rn_mutex_unlock(&g.mutex);
    }
    atomic_store(&g.over, 1);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_chan_unref(g.started);
}

static int
lock_cancelled(void *arg)
{
    int e = rn_mutex_lock(arg, RN_NEVER);
    if (e == 0)
        rn_mutex_unlock(arg);
    CHECK(e == 0 || e == -ECANCELED);
    return 0;
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

API_TEST(mutex_cancelled_lock_is_not_held)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 1000); i++) {
        rn_mutex m = RN_MUTEX_INIT;
        rn_scope *s = open_scope(RN_NEVER);
        CHECK_EQ(rn_mutex_lock(&m, RN_NOW), 0);
        for (int k = 0; k < 3; k++)
            go(lock_cancelled, &m);
        go(cancel_it, s);
        if (i % 2)
            rn_yield();
        rn_mutex_unlock(&m);
        close_cancelled(s);
        CHECK_EQ(rn_mutex_lock(&m, RN_NOW), 0); /* nobody kept it */
        rn_mutex_unlock(&m);
    }
}

/* ---- lifetime: whoever has it last may unmap it ------------------------- */

struct guarded {
    rn_mutex mutex;
    rn_cond cond;
    int ready;
};

static int
lock_and_unlock(void *arg)
{
    struct guarded *g = arg;
    lock(&g->mutex);
    g->ready = 1;
    rn_mutex_unlock(&g->mutex); /* the object may be gone before this ends */
    return 0;
}

API_TEST(mutex_may_be_unmapped_by_the_next_holder)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(5000)); i++) {
        struct guarded *g = page_new();
        rn_scope *s = open_scope(RN_NEVER);
        go(lock_and_unlock, g);
        for (int ready = 0; !ready;) {
            lock(&g->mutex);
            ready = g->ready;
            rn_mutex_unlock(&g->mutex);
            if (!ready)
                CHECK_EQ(rn_yield(), 0);
        }
        page_free(g);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

static int
signal_ready(void *arg)
{
    struct guarded *g = arg;
    lock(&g->mutex);
    g->ready = 1;
    rn_cond_signal(&g->cond);
    rn_mutex_unlock(&g->mutex);
    return 0;
}

API_TEST(cond_may_be_unmapped_by_the_waiter)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(5000)); i++) {
        struct guarded *g = page_new();
        rn_scope *s = open_scope(RN_NEVER);
        go(signal_ready, g);
        lock(&g->mutex);
        while (!g->ready)
            CHECK_EQ(rn_cond_wait(&g->cond, &g->mutex, RN_NEVER), 0);
        rn_mutex_unlock(&g->mutex);
        page_free(g);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(mutex_stray_unlock_panics, "mutex")
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_mutex_unlock(&m);
}

API_PANICS(mutex_double_unlock_panics, "mutex")
{
    rn_mutex m = RN_MUTEX_INIT;
    lock(&m);
    rn_mutex_unlock(&m);
    rn_mutex_unlock(&m);
}

static int
unlock_foreign(void *arg)
{
    rn_mutex_unlock(arg);
    return 0;
}

API_PANICS(mutex_unlock_by_another_task_panics, "mutex")
{
    rn_mutex m = RN_MUTEX_INIT;
    lock(&m);
    go(unlock_foreign, &m);
    settle();
}

API_PANICS(cond_wait_without_the_mutex_panics, "mutex")
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_cond c = RN_COND_INIT;
    (void)!rn_cond_wait(&c, &m, RN_NEVER);
}

SIM_FINDS_TEXT(mutex_locked_twice_is_a_deadlock_of_one, RN_SIM_DEADLOCK,
               "main|mutex")
{
    rn_mutex m = RN_MUTEX_INIT;
    lock(&m);
    lock(&m);
}

#define OUTSIDE(name, call)                                                  \
    TEST_DIES_WITH(name##_outside_a_task_panics, "outside a task", -SIGABRT) \
    {                                                                        \
        rn_mutex m = RN_MUTEX_INIT;                                          \
        rn_cond c = RN_COND_INIT;                                            \
        (void)m;                                                             \
        (void)c;                                                             \
        call;                                                                \
    }

OUTSIDE(mutex_lock, (void)!rn_mutex_lock(&m, RN_NOW))
OUTSIDE(mutex_unlock, rn_mutex_unlock(&m))
OUTSIDE(cond_wait, (void)!rn_cond_wait(&c, &m, RN_NOW))
OUTSIDE(cond_signal, rn_cond_signal(&c))
OUTSIDE(cond_broadcast, rn_cond_broadcast(&c))

/* ---- condition ---------------------------------------------------------- */

struct buffer {
    rn_mutex mutex;
    rn_cond not_empty, not_full;
    int values[3], count, got, rounds;
};

static int
buffer_put(void *arg)
{
    struct buffer *b = arg;
    for (int i = 0; i < b->rounds; i++) {
        lock(&b->mutex);
        while (b->count == 3)
            CHECK_EQ(rn_cond_wait(&b->not_full, &b->mutex, RN_NEVER), 0);
        b->values[b->count++] = i;
        rn_cond_signal(&b->not_empty);
        rn_mutex_unlock(&b->mutex);
    }
    return 0;
}

static int
buffer_take(void *arg)
{
    struct buffer *b = arg;
    for (int i = 0; i < b->rounds; i++) {
        lock(&b->mutex);
        while (b->count == 0)
            CHECK_EQ(rn_cond_wait(&b->not_empty, &b->mutex, RN_NEVER), 0);
        b->count--;
        b->got++;
        rn_cond_signal(&b->not_full);
        rn_mutex_unlock(&b->mutex);
    }
    return 0;
}

API_TEST(cond_bounded_buffer)
{
    struct buffer b = {.rounds = rn_sim_active() ? 5 : (int)test_count(5000)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 2; i++) {
        go(buffer_put, &b);
        go(buffer_take, &b);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(b.count, 0);
    CHECK_EQ(b.got, 2 * b.rounds);
}

struct crowd {
    rn_mutex mutex;
    rn_cond cond;
    int waiting, woken, wanted, number, *order;
};

static int
wait_for_signal(void *arg)
{
    struct crowd *c = arg;
    lock(&c->mutex);
    int number = c->waiting++;
    CHECK_EQ(rn_cond_wait(&c->cond, &c->mutex, RN_NEVER), 0);
    if (c->order)
        c->order[c->woken] = number;
    c->woken++;
    rn_mutex_unlock(&c->mutex);
    return 0;
}

/* Waiting tasks have given the mutex up: then all of them wait. */
static void
wait_until_waiting(struct crowd *c, int n)
{
    for (int there = 0; there < n;) {
        lock(&c->mutex);
        there = c->waiting;
        rn_mutex_unlock(&c->mutex);
        CHECK_EQ(rn_yield(), 0);
    }
}

API_TEST_SCHEDULES(cond_signal_wakes_one_in_order, 50)
{
    int order[8] = {0};
    struct crowd c = {.order = order};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 8; i++)
        go(wait_for_signal, &c);
    wait_until_waiting(&c, 8);
    for (int i = 0; i < 8; i++) {
        lock(&c.mutex);
        CHECK_EQ(c.woken, i);
        rn_cond_signal(&c.cond);
        rn_mutex_unlock(&c.mutex);
        settle();
        for (int woken = 0; woken <= i;) {
            lock(&c.mutex);
            woken = c.woken;
            rn_mutex_unlock(&c.mutex);
            CHECK_EQ(rn_yield(), 0);
        }
    }
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(order[i], i);
}

API_TEST_SCHEDULES(cond_broadcast_wakes_all, 50)
{
    struct crowd c = {.order = NULL};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 20; i++)
        go(wait_for_signal, &c);
    wait_until_waiting(&c, 20);
    rn_cond_broadcast(&c.cond);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(c.woken, 20);
}

/* A wake-up belongs to those that waited: a later waiter cannot steal it. */
API_TEST_SCHEDULES(cond_later_waiter_does_not_steal, 50)
{
    struct crowd c = {.order = NULL};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(wait_for_signal, &c);
    wait_until_waiting(&c, 3);
    lock(&c.mutex);
    rn_cond_broadcast(&c.cond);
    /* still holding the mutex: waits after the broadcast */
    CHECK_EQ(rn_cond_wait(&c.cond, &c.mutex, rn_now() + RN_MS), -ETIMEDOUT);
    rn_mutex_unlock(&c.mutex);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(c.woken, 3);
}

/* Each signal wakes somebody else while any waits: generations. */
API_TEST_SCHEDULES(cond_signals_are_not_merged, 50)
{
    struct crowd c = {.order = NULL};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 6; i++)
        go(wait_for_signal, &c);
    wait_until_waiting(&c, 6);
    lock(&c.mutex);
    for (int i = 0; i < 6; i++)
        rn_cond_signal(&c.cond);
    rn_mutex_unlock(&c.mutex);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(c.woken, 6);
}

API_TEST(cond_signal_without_waiter_is_lost)
{
    rn_mutex m = RN_MUTEX_INIT;
    rn_cond c = RN_COND_INIT;
    rn_cond_signal(&c);
    rn_cond_broadcast(&c);
    lock(&m);
    CHECK_EQ(rn_cond_wait(&c, &m, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_cond_wait(&c, &m, rn_now()), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_cond_wait(&c, &m, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    rn_mutex_unlock(&m); /* was held on every return */
}

struct signal_race {
    struct crowd crowd;
    int taken;
};

static int
wait_or_cancelled(void *arg)
{
    struct signal_race *r = arg;
    struct crowd *c = &r->crowd;
    if (rn_mutex_lock(&c->mutex, RN_NEVER) < 0)
        return 0;
    c->waiting++;
    int e = rn_cond_wait(&c->cond, &c->mutex, RN_NEVER);
    CHECK(e == 0 || e == -ECANCELED);
    r->taken = e == 0;
    rn_mutex_unlock(&c->mutex); /* has it, also when cancelled */
    return 0;
}

/* One signal, two waiters, the elder is cancelled meanwhile: the signal ends
 * either its wait or the younger's, never none. */
API_TEST(cond_cancelled_wait_takes_no_signal)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 500); i++) {
        struct signal_race r = {.taken = 0};
        rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        go(wait_or_cancelled, &r);
        wait_until_waiting(&r.crowd, 1);
        CHECK_EQ(rn_go(outer, wait_for_signal, &r.crowd), 0);
        wait_until_waiting(&r.crowd, 2);
        go(cancel_it, s);
        rn_cond_signal(&r.crowd.cond);
        close_cancelled(s);
        if (r.taken)
            rn_cond_signal(&r.crowd.cond);
        CHECK_EQ(rn_scope_close(outer), 0); /* a lost one would hang here */
        CHECK_EQ(r.crowd.woken, 1);
    }
}
