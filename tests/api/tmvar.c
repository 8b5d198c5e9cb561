/* tmvar.c - tests of runnel/tmvar.h. */
#include "world.h"

#include <errno.h>

struct call {
    rn_tmvar *place, *to;
    long value;
    int wanted;
};

static int
put(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return rn_tmvar_put(c->place, tx, &c->value);
}

static int
take(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return rn_tmvar_take(c->place, tx, &c->value);
}

static int
copy(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return rn_tmvar_read(c->place, tx, &c->value);
}

static int
full(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return rn_tmvar_full(c->place, tx);
}

static int
now(rn_tx_fn *fn, struct call *c)
{
    return rn_atomically(fn, c, RN_NOW);
}

static rn_tmvar *
place(const long *value)
{
    rn_tmvar *m = NULL;
    CHECK_EQ(rn_tmvar_new(sizeof(long), value, &m), 0);
    CHECK(m != NULL);
    return m;
}

API_TEST(tmvar_is_full_or_empty)
{
    struct call c = {.place = place(NULL)};
    CHECK_EQ(now(take, &c), -EAGAIN);
    CHECK_EQ(now(copy, &c), -EAGAIN);
    CHECK_EQ(now(full, &c), 0);
    c.value = 5;
    CHECK_EQ(now(put, &c), 0);
    c.value = 6;
    CHECK_EQ(now(put, &c), -EAGAIN);
    CHECK_EQ(now(full, &c), 1);
    CHECK_EQ(now(copy, &c), 0);
    CHECK_EQ(c.value, 5);
    c.value = 0;
    CHECK_EQ(now(take, &c), 0);
    CHECK_EQ(c.value, 5);
    CHECK_EQ(now(full, &c), 0);
    rn_tmvar_free(c.place);
    long first = 9;
    c.place = place(&first);
    CHECK_EQ(now(take, &c), 0);
    CHECK_EQ(c.value, 9);
    rn_tmvar_free(c.place);
    rn_tmvar_free(NULL);
    CHECK_EQ(rn_tmvar_new(0, NULL, &c.place), -EINVAL);
    CHECK_EQ(rn_tmvar_new(RN_TVAR_MAX + 1, NULL, &c.place), -EINVAL);
}

struct relay {
    rn_tmvar *from, *to;
    int rounds;
};

static int
move(rn_tx *tx, void *arg)
{
    struct relay *r = arg;
    long value;
    int e = rn_tmvar_take(r->from, tx, &value);
    if (e < 0)
        return e;
    value++;
    return rn_tmvar_put(r->to, tx, &value);
}

static int
mover(void *arg)
{
    struct relay *r = arg;
    for (int i = 0; i < r->rounds; i++)
        CHECK_EQ(rn_atomically(move, r, RN_NEVER), 0);
    return 0;
}

/* A value goes round three places; each mover waits for it. */
API_TEST_SCHEDULES(tmvar_hands_over, 1000)
{
    long start = 0;
    int rounds = rn_sim_active() ? 2 : (int)test_count(5000);
    rn_tmvar *p[3] = {place(&start), place(NULL), place(NULL)};
    struct relay r[3];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++) {
        r[i] = (struct relay){p[i], p[(i + 1) % 3], rounds};
        go(mover, &r[i]);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    struct call c = {.place = p[0]};
    CHECK_EQ(now(take, &c), 0);
    CHECK_EQ(c.value, 3 * rounds);
    for (int i = 0; i < 3; i++)
        rn_tmvar_free(p[i]);
}

struct locker {
    rn_tmvar *lock;
    int inside, rounds;
};

static int
use_as_lock(void *arg)
{
    struct locker *l = arg;
    struct call c = {.place = l->lock};
    for (int i = 0; i < l->rounds; i++) {
        CHECK_EQ(rn_atomically(take, &c, RN_NEVER), 0);
        CHECK_EQ(l->inside++, 0);
        CHECK_EQ(rn_yield(), 0);
        CHECK_EQ(--l->inside, 0);
        CHECK_EQ(rn_atomically(put, &c, RN_NEVER), 0);
    }
    return 0;
}

API_TEST_SCHEDULES(tmvar_serves_as_a_lock, 1000)
{
    long token = 1;
    struct locker l = {place(&token), 0,
                       rn_sim_active() ? 2 : (int)test_count(2000)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(use_as_lock, &l);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_tmvar_free(l.lock);
}

static int
take_task(void *arg)
{
    return rn_atomically(take, arg, RN_NEVER);
}

API_PANICS(tmvar_free_while_one_waits_panics,
           "rn_tmvar_free: a transaction waits for it")
{
    struct call c = {.place = place(NULL)};
    go(take_task, &c);
    settle();
    rn_tmvar_free(c.place);
}
