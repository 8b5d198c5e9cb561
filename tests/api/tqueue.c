/* tqueue.c - tests of runnel/tqueue.h. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>

struct call {
    rn_tqueue *queue, *to;
    int value;
};

static int
push(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return rn_tqueue_push(c->queue, tx, &c->value);
}

static int
pop(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return rn_tqueue_pop(c->queue, tx, &c->value);
}

static int
peek(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return rn_tqueue_peek(c->queue, tx, &c->value);
}

static int
length(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    return (int)rn_tqueue_len(c->queue, tx);
}

static int
now(rn_tx_fn *fn, struct call *c)
{
    return rn_atomically(fn, c, RN_NOW);
}

static rn_tqueue *
queue_of(size_t capacity)
{
    rn_tqueue *q = NULL;
    CHECK_EQ(rn_tqueue_new(sizeof(int), capacity, &q), 0);
    CHECK(q != NULL);
    return q;
}

API_TEST(tqueue_keeps_order_and_bound)
{
    struct call c = {.queue = queue_of(3)};
    int in = 0, out = 0;
    for (int round = 0; round < 5; round++) {
        CHECK_EQ(now(pop, &c), -EAGAIN);
        CHECK_EQ(now(peek, &c), -EAGAIN);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(now(length, &c), i);
            c.value = in++;
            CHECK_EQ(now(push, &c), 0);
        }
        CHECK_EQ(now(push, &c), -EAGAIN);
        for (int i = 0; i < 3; i++) {
            CHECK_EQ(now(peek, &c), 0);
            CHECK_EQ(c.value, out);
            CHECK_EQ(now(pop, &c), 0);
            CHECK_EQ(c.value, out++);
        }
    }
    rn_tqueue_free(c.queue);
    rn_tqueue_free(NULL);
}

API_TEST(tqueue_new_keeps_its_limits)
{
    rn_tqueue *q = NULL;
    CHECK_EQ(rn_tqueue_new(0, 1, &q), -EINVAL);
    CHECK_EQ(rn_tqueue_new(RN_TVAR_MAX + 1, 1, &q), -EINVAL);
    CHECK_EQ(rn_tqueue_new(8, 0, &q), -EINVAL);
    CHECK_EQ(rn_tqueue_new(8, (size_t)-1, &q), -EINVAL);
    CHECK_EQ(rn_tqueue_new(8, (size_t)-1 / 200, &q), -EINVAL);
    CHECK(q == NULL);
}

struct line {
    rn_tqueue *queue;
    int rounds, base;
    long sum;
};

static int
pusher(void *arg)
{
    struct line *l = arg;
    struct call c = {.queue = l->queue};
    for (int i = 0; i < l->rounds; i++) {
        c.value = l->base + i;
        CHECK_EQ(rn_atomically(push, &c, RN_NEVER), 0);
    }
    return 0;
}

/* What each pusher has pushed comes in its order. */
static int
popper(void *arg)
{
    struct line *l = arg;
    struct call c = {.queue = l->queue};
    int last[2] = {-1, -1};
    for (int i = 0; i < l->rounds; i++) {
        CHECK_EQ(rn_atomically(pop, &c, RN_NEVER), 0);
        int who = c.value >= 1000000, what = c.value % 1000000;
        CHECK_GT(what, last[who]);
        last[who] = what;
        l->sum += what;
    }
    return 0;
}

API_TEST_SCHEDULES(tqueue_moves_every_value_once, 1000)
{
    int n = rn_sim_active() ? 3 : (int)test_count(10000);
    struct line l[4] = {{queue_of(2), n, 0, 0},
                        {NULL, n, 1000000, 0},
                        {NULL, n, 0, 0},
                        {NULL, n, 0, 0}};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 4; i++) {
        l[i].queue = l[0].queue;
        go(i < 2 ? pusher : popper, &l[i]);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(l[2].sum + l[3].sum, (long)n * (n - 1));
    struct call c = {.queue = l[0].queue};
    CHECK_EQ(now(length, &c), 0);
    rn_tqueue_free(l[0].queue);
}

/* From one queue to the other at once: the sum of the lengths stays. */
static int
shift(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    int e = rn_tqueue_pop(c->queue, tx, &c->value);
    return e < 0 ? e : rn_tqueue_push(c->to, tx, &c->value);
}

static int
both_lengths(rn_tx *tx, void *arg)
{
    struct call *c = arg;
    int64_t one = rn_tqueue_len(c->queue, tx);
    int64_t two = one < 0 ? one : rn_tqueue_len(c->to, tx);
    if (two < 0)
        return (int)two;
    CHECK_EQ(one + two, 4);
    return 0;
}

static int
shifter(void *arg)
{
    struct call c = *(struct call *)arg;
    int n = c.value;
    for (int i = 0; i < n; i++)
        CHECK_EQ(rn_atomically(shift, &c, RN_NEVER), 0);
    return 0;
}

API_TEST_SCHEDULES(tqueue_two_queues_change_at_once, 1000)
{
    int n = rn_sim_active() ? 4 : (int)test_count(10000);
    rn_tqueue *one = queue_of(4), *two = queue_of(4);
    struct call forward = {one, two, n}, back = {two, one, n}, both = forward;
    for (int i = 0; i < 4; i++)
        CHECK_EQ(now(push, &both), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(shifter, &forward);
    go(shifter, &back);
    for (int i = 0; i < n; i++)
        CHECK_EQ(now(both_lengths, &both), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(now(both_lengths, &both), 0);
    rn_tqueue_free(one);
    rn_tqueue_free(two);
}

static int
pop_task(void *arg)
{
    return rn_atomically(pop, arg, RN_NEVER);
}

API_PANICS(tqueue_free_while_one_waits_panics,
           "rn_tqueue_free: a transaction waits for it")
{
    struct call c = {.queue = queue_of(2)};
    go(pop_task, &c);
    settle();
    rn_tqueue_free(c.queue);
}
