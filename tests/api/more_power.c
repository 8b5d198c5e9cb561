/* more_power.c - power series whose coefficients are made on demand by tasks,
 * after Douglas McIlroy, "Squinting at power series" (1990). A series is a
 * pair of channels: who wants its next coefficient asks on one and gets it on
 * the other, so that trees of selects grow as deep as the series is read.
 */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- rational numbers ---------------------------------------------------- */

struct rat {
    int64_t num, den; /* in lowest terms; den > 0 */
};

static struct rat
rat(__int128 num, __int128 den)
{
    __int128 a = num < 0 ? -num : num, b = den;
    while (b) {
        __int128 rest = a % b;
        a = b;
        b = rest;
    }
    num /= a;
    den /= a;
    CHECK(num == (int64_t)num && den == (int64_t)den && den > 0);
    return (struct rat){(int64_t)num, (int64_t)den};
}

static struct rat
rat_add(struct rat u, struct rat v)
{
    return rat((__int128)u.num * v.den + (__int128)v.num * u.den,
               (__int128)u.den * v.den);
}

static struct rat
rat_mul(struct rat u, struct rat v)
{
    return rat((__int128)u.num * v.num, (__int128)u.den * v.den);
}

/* ---- series -------------------------------------------------------------- */

enum { CHANS_MAX = 20000, NODES_MAX = 10000 };

struct series {
    rn_chan *ask, *give;
};

/* What a task needs: the series it reads and writes, and a number. */
struct node {
    struct series in[2], out[2];
    struct rat number;
    rn_chan *wait; /* of a split */
};

/* Everything of a test lives until its scope is closed: a task that was
 * cancelled before it began cannot free its argument. */
static struct {
    rn_scope *scope;
    atomic_int chan_count, node_count;
    rn_chan *chans[CHANS_MAX];
    struct node nodes[NODES_MAX];
} all;

static rn_chan *
make_chan(size_t elem_bytes)
{
    int i = atomic_fetch_add(&all.chan_count, 1);
    CHECK_LT(i, CHANS_MAX);
    return all.chans[i] = new_chan(elem_bytes, 0);
}

static struct series
make_series(void)
{
    return (struct series){make_chan(0), make_chan(sizeof(struct rat))};
}

static struct node *
make_node(struct series a, struct series b)
{
    int i = atomic_fetch_add(&all.node_count, 1);
    CHECK_LT(i, NODES_MAX);
    all.nodes[i] = (struct node){.in = {a, b}};
    return &all.nodes[i];
}

/* Once the scope is cancelled nothing can be started; what waits, ends. */
static void
start(rn_task_fn *fn, struct node *node)
{
    int e = rn_go(all.scope, fn, node);
    CHECK(e == 0 || e == -ECANCELED);
}

/* Start what makes a new series from two. */
static struct series
from_two(rn_task_fn *fn, struct series a, struct series b, struct rat number)
{
    struct node *node = make_node(a, b);
    node->out[0] = make_series();
    node->number = number;
    start(fn, node);
    return node->out[0];
}

static struct series
from_one(rn_task_fn *fn, struct series a, struct rat number)
{
    return from_two(fn, a, (struct series){NULL, NULL}, number);
}

/* ---- asking and giving: 0 or -ECANCELED ---------------------------------- */

static int
get(struct series s, struct rat *number)
{
    int e = rn_chan_send(s.ask, NULL, RN_NEVER);
    return e ? e : rn_chan_recv(s.give, number, RN_NEVER);
}

static int
put(struct series s, struct rat number)
{
    int e = rn_chan_recv(s.ask, NULL, RN_NEVER);
    return e ? e : rn_chan_send(s.give, &number, RN_NEVER);
}

/* From both at once, in any order: they may hang together. */
static int
get_two(const struct series *in, struct rat *numbers)
{
    rn_arm arms[] = {RN_ARM_SEND(in[0].ask, NULL), RN_ARM_SEND(in[1].ask, NULL),
                     RN_ARM_RECV(NULL, &numbers[0]),
                     RN_ARM_RECV(NULL, &numbers[1])};
    for (int left = 4; left > 0; left--) {
        int i = rn_select(arms, 4, 0, RN_NEVER);
        if (i < 0)
            return i;
        CHECK_EQ(arms[i].result, 0);
        arms[i].chan = NULL;
        if (i < 2)
            arms[i + 2].chan = in[i].give;
    }
    return 0;
}

/* ---- one series for two readers ------------------------------------------ */

/* Serves one demand, by whichever reader is ahead; the next generation, which
 * it starts, serves the later ones. Until the one before has said that it has
 * served the slow reader, only the fast one is served. */
static int
split_once(void *arg)
{
    struct node *n = arg;
    struct rat number;
    bool both = false;
    rn_arm arms[] = {RN_ARM_RECV(n->out[0].ask, NULL),
                     RN_ARM_RECV(n->wait, NULL)};
    int i = rn_select(arms, 2, 0, RN_NEVER);
    if (i == 1) {
        both = true;
        arms[1].chan = n->out[1].ask;
        i = rn_select(arms, 2, 0, RN_NEVER);
    }
    if (i < 0)
        return i;
    struct series fast = n->out[i], slow = n->out[1 - i];
    int e = rn_chan_send(n->in[0].ask, NULL, RN_NEVER);
    if (e)
        return e;
    struct node *next = make_node(n->in[0], n->in[1]);
    next->out[0] = fast;
    next->out[1] = slow;
    next->wait = make_chan(0);
    start(split_once, next);
    if ((e = rn_chan_recv(n->in[0].give, &number, RN_NEVER)) ||
        (e = rn_chan_send(fast.give, &number, RN_NEVER)) ||
        (!both && (e = rn_chan_recv(n->wait, NULL, RN_NEVER))) ||
        (e = put(slow, number)))
        return e;
    return rn_chan_send(next->wait, NULL, RN_NEVER);
}

/* The first generation has none before it. */
static int
release(void *arg)
{
    struct node *n = arg;
    return rn_chan_send(n->wait, NULL, RN_NEVER);
}

static void
split(struct series in, struct series *a, struct series *b)
{
    struct node *n = make_node(in, in);
    n->out[0] = *a = make_series();
    n->out[1] = *b = make_series();
    n->wait = make_chan(0);
    start(split_once, n);
    start(release, n);
}

/* ---- arithmetic ---------------------------------------------------------- */

/* 1 / (1 - cx) = 1 + cx + (cx)^2 ...; of c = 0 the series 1. */
static int
run_geometric(void *arg)
{
    struct node *n = arg;
    int e = 0;
    for (struct rat c = {1, 1}; !e; c = rat_mul(c, n->number))
        e = put(n->out[0], c);
    return e;
}

static struct series
make_geometric(struct rat number)
{
    return from_one(run_geometric, (struct series){NULL, NULL}, number);
}

static int
run_add(void *arg)
{
    struct node *n = arg;
    struct rat two[2];
    int e;
    do {
        if ((e = rn_chan_recv(n->out[0].ask, NULL, RN_NEVER)) ||
            (e = get_two(n->in, two)))
            return e;
        struct rat sum = rat_add(two[0], two[1]);
        e = rn_chan_send(n->out[0].give, &sum, RN_NEVER);
    } while (!e);
    return e;
}

/* All coefficients times a number. */
static int
run_scale(void *arg)
{
    struct node *n = arg;
    struct rat c;
    int e;
    do {
        if ((e = rn_chan_recv(n->out[0].ask, NULL, RN_NEVER)) ||
            (e = get(n->in[0], &c)))
            return e;
        c = rat_mul(c, n->number);
        e = rn_chan_send(n->out[0].give, &c, RN_NEVER);
    } while (!e);
    return e;
}

/* The integral, with the number as constant. */
static int
run_integral(void *arg)
{
    struct node *n = arg;
    struct rat c;
    int e = put(n->out[0], n->number);
    for (int64_t i = 1; !e; i++) {
        if ((e = rn_chan_recv(n->out[0].ask, NULL, RN_NEVER)) ||
            (e = get(n->in[0], &c)))
            return e;
        c = rat_mul(c, rat(1, i));
        e = rn_chan_send(n->out[0].give, &c, RN_NEVER);
    }
    return e;
}

/* (u + xU)(v + xV) = uv + x(uV + vU) + x^2 UV */
static int
run_mul(void *arg)
{
    struct node *n = arg;
    struct rat two[2], c;
    struct series u[2], v[2];
    int e = rn_chan_recv(n->out[0].ask, NULL, RN_NEVER);
    if (e || (e = get_two(n->in, two)))
        return e;
    c = rat_mul(two[0], two[1]);
    if ((e = rn_chan_send(n->out[0].give, &c, RN_NEVER)))
        return e;
    split(n->in[0], &u[0], &u[1]);
    split(n->in[1], &v[0], &v[1]);
    struct series w = from_two(run_add, from_one(run_scale, v[0], two[0]),
                               from_one(run_scale, u[0], two[1]), c);
    if ((e = rn_chan_recv(n->out[0].ask, NULL, RN_NEVER)) || (e = get(w, &c)) ||
        (e = rn_chan_send(n->out[0].give, &c, RN_NEVER)))
        return e;
    struct node *rest =
        make_node(w, from_two(run_mul, u[1], v[1], (struct rat){0, 1}));
    rest->out[0] = n->out[0];
    return run_add(rest);
}

/* The same series by another name. */
static int
run_copy(void *arg)
{
    struct node *n = arg;
    struct rat c;
    int e;
    do {
        if ((e = rn_chan_recv(n->out[0].ask, NULL, RN_NEVER)) ||
            (e = get(n->in[0], &c)))
            return e;
        e = rn_chan_send(n->out[0].give, &c, RN_NEVER);
    } while (!e);
    return e;
}

/* A series may be made of itself: first name it, use the name, then say what
 * it is. */
static void
define(struct series made, struct series name)
{
    struct node *n = make_node(made, made);
    n->out[0] = name;
    start(run_copy, n);
}

static const struct rat zero = {0, 1}, one = {1, 1};

/* e^(kx) = 1 + integral of k e^(kx) */
static struct series
make_exp(int64_t k)
{
    struct series name = make_series(), a, b;
    split(name, &a, &b);
    define(from_one(run_integral, from_one(run_scale, a, rat(k, 1)), one),
           name);
    return b;
}

/* tan x = integral of 1 + tan^2 x */
static struct series
make_tan(void)
{
    struct series name = make_series(), a, b, c, d;
    split(name, &a, &b);
    split(a, &c, &d);
    define(from_one(run_integral,
                    from_two(run_add, make_geometric(zero),
                             from_two(run_mul, c, d, zero), zero),
                    zero),
           name);
    return b;
}

/* ---- tests --------------------------------------------------------------- */

static void
begin(void)
{
    all.chan_count = all.node_count = 0;
    all.scope = open_scope(RN_NEVER);
}

/* Series have no end: cancel them. */
static void
end(void)
{
    rn_scope_cancel(all.scope);
    CHECK_EQ(rn_scope_close(all.scope), -ECANCELED);
    for (int i = 0; i < all.chan_count; i++)
        rn_chan_unref(all.chans[i]);
    CHECK_EQ(rn_task_count(), 1);
}

static void
expect(struct series s, struct rat wanted)
{
    struct rat c = {0, 0};
    CHECK_EQ(get(s, &c), 0);
    CHECK_EQ(c.num, wanted.num);
    CHECK_EQ(c.den, wanted.den);
}

/* 1/n! */
API_TEST_SCHEDULES(power_series_exp, 40)
{
    struct rat wanted = one;
    begin();
    struct series s = make_exp(1);
    for (int i = 1; i <= 15; i++) {
        expect(s, wanted);
        wanted = rat_mul(wanted, rat(1, i));
    }
    end();
}

/* e^x e^-x = 1 */
API_TEST_SCHEDULES(power_series_product, 10)
{
    begin();
    struct series s = from_two(run_mul, make_exp(1), make_exp(-1), zero);
    expect(s, one);
    for (int i = 1; i < 8; i++)
        expect(s, zero);
    end();
}

/* The square of 1/(1-x) is 1 + 2x + 3x^2 ..., read by two at two speeds. */
API_TEST_SCHEDULES(power_series_read_at_two_speeds, 10)
{
    struct series s[2], u[2];
    begin();
    split(make_geometric(one), &u[0], &u[1]);
    split(from_two(run_mul, u[0], u[1], zero), &s[0], &s[1]);
    for (int i = 1; i <= 8; i++)
        expect(s[0], rat(i, 1));
    for (int i = 1; i <= 10; i++)
        expect(s[1], rat(i, 1));
    for (int i = 9; i <= 10; i++)
        expect(s[0], rat(i, 1));
    end();
}

API_TEST_SCHEDULES(power_series_tangent, 10)
{
    static const struct rat wanted[] = {{0, 1}, {1, 1},    {0, 1}, {1, 3},
                                        {0, 1}, {2, 15},   {0, 1}, {17, 315},
                                        {0, 1}, {62, 2835}};
    begin();
    struct series s = make_tan();
    for (int i = 0; i < (rn_sim_active() ? 6 : 10); i++)
        expect(s, wanted[i]);
    end();
}
