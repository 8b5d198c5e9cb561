/* select_many.c - selects against each other, and what must not go wrong. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* How many times to repeat: the simulator repeats by schedules. */
static int
rounds(int real)
{
    return rn_sim_active() ? 3 : (int)test_count(real);
}

/* ---- one select with both directions of a channel ----------------------- */

struct both {
    rn_chan *chan;
    int mine, rounds, sent, received;
};

static int
send_or_recv(void *arg)
{
    struct both *b = arg;
    for (int i = 0; i < b->rounds; i++) {
        int v = -1;
        rn_arm arms[2];
        arms[i & 1] = (rn_arm)RN_ARM_SEND(b->chan, &b->mine);
        arms[!(i & 1)] = (rn_arm)RN_ARM_RECV(b->chan, &v);
        int got = rn_select(arms, 2, 0, RN_NEVER);
        CHECK_EQ(arms[got].result, 0);
        if (arms[got].kind == RN_ARM_KIND_SEND) {
            b->sent++;
        } else {
            b->received++;
            if (rn_chan_cap(b->chan) == 0)
                CHECK_NE(v, b->mine); /* never its own value */
        }
    }
    return 0;
}

API_TEST(select_of_both_directions_meets_a_peer)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    struct both a = {c, 1, rounds(2000), 0, 0};
    struct both b = {c, 2, rounds(2000), 0, 0};
    rn_scope *s = open_scope(RN_NEVER);
    go(send_or_recv, &a);
    go(send_or_recv, &b);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(a.sent, b.received);
    CHECK_EQ(b.sent, a.received);
    rn_chan_unref(c);
}

API_TEST(select_of_both_directions_buffered)
{
    rn_chan *c = new_chan(sizeof(int), 2);
    struct both a = {c, 1, rounds(2000), 0, 0};
    struct both b = {c, 2, rounds(2000), 0, 0};
    rn_scope *s = open_scope(RN_NEVER);
    go(send_or_recv, &a);
    go(send_or_recv, &b);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(a.sent + b.sent, a.received + b.received + (int)rn_chan_len(c));
    rn_chan_unref(c);
}

API_TEST(select_of_both_directions_alone_waits)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    int mine = 1, v = 42;
    rn_arm arms[] = {RN_ARM_SEND(c, &mine), RN_ARM_RECV(c, &v)};
    CHECK_EQ(rn_select(arms, 2, 0, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_select(arms, 2, 0, rn_now() + RN_MS), -ETIMEDOUT);
    CHECK_EQ(v, 42);
    rn_chan_unref(c);
}

SIM_FINDS_TEXT(select_of_both_directions_alone_is_a_deadlock, RN_SIM_DEADLOCK,
               "main")
{
    rn_chan *c = new_chan(sizeof(int), 0);
    int mine = 1, v = 42;
    rn_arm arms[] = {RN_ARM_SEND(c, &mine), RN_ARM_RECV(c, &v)};
    rn_select(arms, 2, 0, RN_NEVER);
}

/* ---- crossed selects ---------------------------------------------------- */

struct crossed {
    rn_chan *out, *in;
    int rounds, sent, received;
    rn_scope *scope;
};

static int
cross(void *arg)
{
    struct crossed *x = arg;
    for (int i = 0; i < x->rounds; i++) {
        int v = i, w = -1;
        rn_arm arms[] = {RN_ARM_SEND(x->out, &v), RN_ARM_RECV(x->in, &w)};
        int got = rn_select(arms, 2, 0, RN_NEVER);
        CHECK(got == 0 || got == 1);
        CHECK_EQ(arms[got].result, 0);
        x->sent += got == 0;
        x->received += got == 1;
    }
    return 0;
}

API_TEST(select_crossed_do_not_lock_each_other)
{
    rn_chan *a = new_chan(sizeof(int), 0), *b = new_chan(sizeof(int), 0);
    struct crossed x = {a, b, rounds(2000), 0, 0, NULL};
    struct crossed y = {b, a, rounds(2000), 0, 0, NULL};
    rn_scope *s = open_scope(RN_NEVER);
    go(cross, &x);
    go(cross, &y);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(x.sent, y.received);
    CHECK_EQ(y.sent, x.received);
    rn_chan_unref(a);
    rn_chan_unref(b);
}

/* Three in a ring: each takes its two channels in another order. */
static int
ring_member(void *arg)
{
    struct crossed *x = arg;
    for (;;) {
        int v = 1, w = -1;
        rn_arm arms[] = {RN_ARM_SEND(x->out, &v), RN_ARM_RECV(x->in, &w)};
        int got = rn_select(arms, 2, 0, RN_NEVER);
        if (got == -ECANCELED)
            return 0;
        CHECK(got == 0 || got == 1);
        x->sent += got == 0;
        x->received += got == 1;
        if (x->sent + x->received == x->rounds)
            rn_scope_cancel(x->scope);
    }
}

API_TEST(select_ring_does_not_lock_itself)
{
    rn_chan *c[3];
    struct crossed x[3];
    for (int i = 0; i < 3; i++)
        c[i] = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++) {
        x[i] = (struct crossed){c[i], c[(i + 1) % 3], rounds(2000), 0, 0, s};
        int error = rn_go(NULL, ring_member, &x[i]);
        CHECK(error == 0 || error == -ECANCELED); /* two may be through */
    }
    close_cancelled(s);
    int sent = x[0].sent + x[1].sent + x[2].sent;
    CHECK_EQ(sent, x[0].received + x[1].received + x[2].received);
    for (int i = 0; i < 3; i++)
        rn_chan_unref(c[i]);
}

/* ---- a try sees one moment ---------------------------------------------- */

struct moment {
    rn_chan *a, *b;
    int closing;
};

static int
try_either(void *arg)
{
    struct moment *m = arg;
    rn_arm arms[] = {RN_ARM_RECV(m->a, NULL), RN_ARM_RECV(m->b, NULL)};
    CHECK_GE(rn_select(arms, 2, 0, RN_NOW), 0);
    return 0;
}

/* b becomes ready before a stops being so: one is ready throughout. */
API_TEST(select_try_sees_one_moment)
{
    for (int i = 0; i < rounds(10000); i++) {
        struct moment m = {new_chan(0, 1), new_chan(0, 1), i & 1};
        CHECK_EQ(rn_chan_send(m.a, NULL, RN_NOW), 0);
        rn_task t = go_joinable(try_either, &m);
        if (m.closing)
            rn_chan_close(m.b);
        else
            CHECK_EQ(rn_chan_send(m.b, NULL, RN_NOW), 0);
        rn_chan_recv(m.a, NULL, RN_NOW);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
        rn_chan_unref(m.a);
        rn_chan_unref(m.b);
    }
}

static int
try_recv(void *arg)
{
    int e = rn_chan_recv(arg, NULL, RN_NOW);
    CHECK(e == 0 || e == -EPIPE);
    return 0;
}

/* Full, then closed: at no moment would a receive have to wait. */
API_TEST(select_try_recv_of_closing_channel_is_ready)
{
    for (int i = 0; i < rounds(10000); i++) {
        rn_chan *c = new_chan(0, 1);
        CHECK_EQ(rn_chan_send(c, NULL, RN_NOW), 0);
        rn_task t = go_joinable(try_recv, c);
        rn_chan_close(c);
        rn_chan_recv(c, NULL, RN_NEVER);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
        rn_chan_unref(c);
    }
}

/* ---- each value goes to one --------------------------------------------- */

enum { WAYS = 4 };

struct ways {
    rn_chan *chans[WAYS];
    int count;
    int got[WAYS];
};

static int
send_four_ways(void *arg)
{
    struct ways *w = arg;
    for (int i = 0; i < w->count; i++) {
        rn_arm arms[WAYS];
        for (int k = 0; k < WAYS; k++)
            arms[k] = (rn_arm)RN_ARM_SEND(w->chans[k], &i);
        int got = rn_select(arms, WAYS, 0, RN_NEVER);
        CHECK(got >= 0 && got < WAYS);
        CHECK_EQ(arms[got].result, 0);
    }
    for (int k = 0; k < WAYS; k++)
        rn_chan_close(w->chans[k]);
    return 0;
}

struct way {
    struct ways *ways;
    int number;
    atomic_int *seen;
};

static int
recv_one_way(void *arg)
{
    struct way *w = arg;
    int v, last = -1;
    while (rn_chan_recv(w->ways->chans[w->number], &v, RN_NEVER) == 0) {
        CHECK_GT(v, last);
        last = v;
        CHECK_EQ(atomic_fetch_add(&w->seen[v], 1), 0);
    }
    return 0;
}

API_TEST(select_sends_each_value_once)
{
    struct ways ways = {.count = rn_sim_active() ? 8 : rounds(10000)};
    atomic_int *seen = calloc((size_t)ways.count, sizeof *seen);
    struct way receivers[WAYS];
    CHECK(seen != NULL);
    rn_scope *s = open_scope(RN_NEVER);
    for (int k = 0; k < WAYS; k++) {
        ways.chans[k] = new_chan(sizeof(int), 0);
        receivers[k] = (struct way){&ways, k, seen};
        go(recv_one_way, &receivers[k]);
    }
    go(send_four_ways, &ways);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < ways.count; i++)
        CHECK_EQ(seen[i], 1);
    for (int k = 0; k < WAYS; k++)
        rn_chan_unref(ways.chans[k]);
    free(seen);
}

static int
recv_twice_the_same(void *arg)
{
    struct ways *w = arg;
    for (int i = 0; i < w->count; i++) {
        int a = -1, b = -1;
        rn_arm arms[] = {RN_ARM_RECV(w->chans[0], &a),
                         RN_ARM_RECV(w->chans[0], &b)};
        int got = rn_select(arms, 2, 0, RN_NEVER);
        CHECK(got == 0 || got == 1);
        CHECK_EQ(got == 0 ? a : b, i);
        CHECK_EQ(got == 0 ? b : a, -1);
    }
    return 0;
}

API_TEST(select_takes_a_channel_twice)
{
    struct ways w = {.count = rounds(2000)};
    w.chans[0] = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(recv_twice_the_same, &w);
    for (int i = 0; i < w.count; i++)
        send_int(w.chans[0], i);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(w.chans[0]);
}

/* ---- stress: plain and selecting senders and receivers ------------------ */

struct stress {
    rn_chan *chans[WAYS];
    int each;
};

struct stress_one {
    struct stress *stress;
    int number;
};

static int
stress_send(void *arg)
{
    struct stress_one *o = arg;
    for (int i = 0; i < o->stress->each; i++)
        send_int(o->stress->chans[o->number], i);
    return 0;
}

static int
stress_recv(void *arg)
{
    struct stress_one *o = arg;
    for (int i = 0; i < o->stress->each; i++)
        recv_int(o->stress->chans[o->number]);
    return 0;
}

/* The same over all four; an arm that is done becomes NULL. */
static int
stress_select(struct stress *stress, rn_arm_kind kind)
{
    int done[WAYS] = {0}, v = 0;
    rn_arm arms[WAYS];
    for (int k = 0; k < WAYS; k++) {
        arms[k] = (rn_arm)RN_ARM_RECV(stress->chans[k], &v);
        arms[k].kind = kind;
    }
    for (int i = 0; i < WAYS * stress->each; i++) {
        int got = rn_select(arms, WAYS, 0, RN_NEVER);
        CHECK(got >= 0 && got < WAYS && arms[got].chan != NULL);
        CHECK_EQ(arms[got].result, 0);
        if (++done[got] == stress->each)
            arms[got].chan = NULL;
    }
    return 0;
}

static int
stress_select_send(void *arg)
{
    return stress_select(arg, RN_ARM_KIND_SEND);
}

static int
stress_select_recv(void *arg)
{
    return stress_select(arg, RN_ARM_KIND_RECV);
}

API_TEST(select_stress)
{
    static const size_t caps[WAYS] = {0, 0, 2, 3};
    struct stress stress = {.each = rn_sim_active() ? 5 : rounds(10000)};
    struct stress_one ones[WAYS];
    for (int k = 0; k < WAYS; k++)
        stress.chans[k] = new_chan(sizeof(int), caps[k]);
    rn_scope *s = open_scope(RN_NEVER);
    for (int k = 0; k < WAYS; k++) {
        ones[k] = (struct stress_one){&stress, k};
        go(stress_send, &ones[k]);
        go(stress_recv, &ones[k]);
    }
    go(stress_select_send, &stress);
    go(stress_select_recv, &stress);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int k = 0; k < WAYS; k++) {
        CHECK_EQ(rn_chan_len(stress.chans[k]), 0);
        rn_chan_unref(stress.chans[k]);
    }
}

/* ---- memory and lifetime ------------------------------------------------ */

struct pair {
    rn_chan *there, *back;
};

static int
echo(void *arg)
{
    struct pair *p = arg;
    int v;
    while (rn_chan_recv(p->there, &v, RN_NEVER) == 0)
        send_int(p->back, v);
    return 0;
}

static void
select_often(struct pair *p, int n)
{
    for (int i = 0; i < n; i++) {
        int v = -1;
        rn_arm arms[] = {RN_ARM_RECV(p->back, &v), RN_ARM_SEND(p->there, &i),
                         RN_ARM_AT(rn_now() + 3600 * RN_SEC)};
        CHECK_EQ(rn_select(arms, 3, 0, RN_NEVER), 1);
        arms[1] = (rn_arm)RN_ARM_NONE;
        CHECK_EQ(rn_select(arms, 3, 0, RN_NEVER), 0);
        CHECK_EQ(v, i);
    }
}

REAL_TEST(select_100000_do_not_grow_memory)
{
    struct pair p = {new_chan(sizeof(int), 0), new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    go(echo, &p);
    select_often(&p, (int)test_count(5000));
    long before = resident_bytes();
    select_often(&p, (int)test_count(100000));
    CHECK_LT(resident_bytes() - before, 4 << 20);
    rn_chan_close(p.there);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(p.there);
    rn_chan_unref(p.back);
}

struct last_user {
    rn_chan *chosen, *other;
};

static int
select_and_free(void *arg)
{
    struct last_user *l = arg;
    int v = -1;
    rn_arm arms[] = {RN_ARM_RECV(l->other, NULL), RN_ARM_RECV(l->chosen, &v),
                     RN_ARM_SEND(l->other, &v)};
    CHECK_EQ(rn_select(arms, 3, 0, RN_NEVER), 1);
    rn_chan_unref(l->chosen);
    rn_chan_unref(l->other);
    memset(arms, 0xdb, sizeof arms);
    memset(l, 0xdb, sizeof *l);
    return 0;
}

static int
send_seven(void *arg)
{
    send_int(arg, 7);
    return 0;
}

static int
close_chan(void *arg)
{
    rn_chan_close(arg);
    return 0;
}

API_TEST(select_may_free_all_its_channels)
{
    for (int i = 0; i < rounds(20000); i++) {
        struct last_user l = {new_chan(sizeof(int), 0),
                              new_chan(sizeof(int), 0)};
        rn_chan *chosen = l.chosen;
        rn_scope *s = open_scope(RN_NEVER);
        go(select_and_free, &l);
        go(i & 1 ? send_seven : close_chan, chosen);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

static int
select_twice(void *arg)
{
    int v = -1;
    rn_arm arms[] = {RN_ARM_RECV(arg, &v), RN_ARM_RECV(arg, &v)};
    int got = rn_select(arms, 2, 0, RN_NEVER);
    CHECK(got == 0 || got == 1);
    CHECK_EQ(v, 7);
    return 0;
}

static int
send_and_free(void *arg)
{
    send_int(arg, 7);
    rn_chan_unref(arg);
    return 0;
}

API_TEST(select_peer_may_free_a_channel_named_twice)
{
    for (int i = 0; i < rounds(20000); i++) {
        rn_chan *c = new_chan(sizeof(int), 0);
        rn_scope *s = open_scope(RN_NEVER);
        go(select_twice, c);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        go(send_and_free, c);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

struct racer {
    rn_chan *a, *b;
    rn_scope *scope;
    int sent, received;
};

static int
race_select(void *arg)
{
    struct racer *r = arg;
    int v = 0;
    rn_arm arms[] = {RN_ARM_RECV(r->a, &v), RN_ARM_RECV(r->b, &v)};
    int got = rn_select(arms, 2, 0, RN_NEVER);
    CHECK(got >= 0 || got == -ECANCELED);
    CHECK_EQ(v, got >= 0 ? 7 : 0);
    r->received += got >= 0;
    return 0;
}

static int
race_send(void *arg)
{
    struct racer *r = arg;
    int v = 7, e = rn_chan_send(r->b, &v, RN_NEVER);
    CHECK(e == 0 || e == -ECANCELED);
    r->sent += e == 0;
    return 0;
}

static int
race_cancel(void *arg)
{
    rn_scope_cancel(*(rn_scope **)arg);
    return 0;
}

API_TEST(select_cancelled_did_not_happen)
{
    for (int i = 0; i < rounds(5000); i++) {
        struct racer r = {new_chan(sizeof(int), 0), new_chan(sizeof(int), 0),
                          NULL, 0, 0};
        r.scope = open_scope(RN_NEVER);
        go(race_select, &r);
        go(race_send, &r);
        CHECK_EQ(rn_go(NULL, race_cancel, &r.scope), 0);
        close_cancelled(r.scope);
        CHECK_EQ(r.sent, r.received);
        rn_chan_unref(r.a);
        rn_chan_unref(r.b);
    }
}
