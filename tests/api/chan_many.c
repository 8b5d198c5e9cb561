/* chan_many.c - channels under many tasks: programs, lifetime, cancel. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- four senders, four receivers --------------------------------------- */

enum { SENDERS = 4, RECEIVERS = 4 };

struct crowd {
    rn_chan *chan;
    int each; /* values a sender */
    atomic_int *seen;
    rn_waitgroup senders;
};

struct sender {
    struct crowd *crowd;
    int first;
};

static int
crowd_send(void *arg)
{
    struct sender *s = arg;
    for (int i = 0; i < s->crowd->each; i++)
        send_int(s->crowd->chan, s->first + i);
    rn_waitgroup_done(&s->crowd->senders);
    return 0;
}

static int
crowd_recv(void *arg)
{
    struct crowd *crowd = arg;
    int last[SENDERS] = {-1, -1, -1, -1}, v;
    while (rn_chan_recv(crowd->chan, &v, RN_NEVER) == 0) {
        atomic_fetch_add(&crowd->seen[v], 1);
        /* those of one sender come in order */
        CHECK_GT(v, last[v / crowd->each]);
        last[v / crowd->each] = v;
    }
    return 0;
}

static void
crowd_run(size_t capacity, int each)
{
    struct crowd crowd = {new_chan(sizeof(int), capacity), each, NULL,
                          RN_WAITGROUP_INIT};
    crowd.seen = calloc((size_t)(SENDERS * each), sizeof(atomic_int));
    CHECK(crowd.seen != NULL);
    struct sender senders[SENDERS];
    rn_waitgroup_add(&crowd.senders, SENDERS);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < RECEIVERS; i++)
        go(crowd_recv, &crowd);
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){&crowd, i * each};
        go(crowd_send, &senders[i]);
    }
    CHECK_EQ(rn_waitgroup_wait(&crowd.senders, RN_NEVER), 0);
    rn_chan_close(crowd.chan);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < SENDERS * each; i++)
        CHECK_EQ(crowd.seen[i], 1);
    free(crowd.seen);
    rn_chan_unref(crowd.chan);
}

API_TEST(chan_multiset_unbuffered)
{
    crowd_run(0, rn_sim_active() ? 5 : 1000);
}

API_TEST(chan_multiset_buffered)
{
    crowd_run(1, rn_sim_active() ? 5 : 1000);
    crowd_run(10, rn_sim_active() ? 5 : 1000);
    crowd_run(100, rn_sim_active() ? 5 : 1000);
}

/* ---- known programs ----------------------------------------------------- */

struct link {
    rn_chan *left, *right;
};

static int
pass_on(void *arg)
{
    struct link *l = arg;
    send_int(l->left, recv_int(l->right) + 1);
    return 0;
}

API_TEST_SCHEDULES(chan_daisy_chain_of_tasks, 5)
{
    int n = many_tasks(10000);
    struct link *links = calloc((size_t)n, sizeof *links);
    CHECK(links != NULL);
    rn_scope *s = open_scope(RN_NEVER);
    rn_chan *first = new_chan(sizeof(int), 0), *right = first;
    for (int i = 0; i < n; i++) {
        links[i].left = right;
        links[i].right = right = new_chan(sizeof(int), 0);
        go(pass_on, &links[i]);
    }
    send_int(right, 0);
    CHECK_EQ(recv_int(first), n);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < n; i++)
        rn_chan_unref(links[i].right);
    rn_chan_unref(first);
    free(links);
    CHECK_EQ(rn_task_count(), 1);
}

static int
count_up(void *arg)
{
    for (int i = 2;; i++) {
        int e = rn_chan_send(arg, &i, RN_NEVER);
        if (e == -ECANCELED)
            return 0;
        CHECK_EQ(e, 0);
    }
}

struct filter {
    rn_chan *in, *out;
    int prime;
};

static int
filter(void *arg)
{
    struct filter *f = arg;
    for (;;) {
        int v, e = rn_chan_recv(f->in, &v, RN_NEVER);
        if (e == 0 && v % f->prime)
            e = rn_chan_send(f->out, &v, RN_NEVER);
        if (e == -ECANCELED)
            return 0;
        CHECK_EQ(e, 0);
    }
}

API_TEST_SCHEDULES(chan_prime_sieve, 20)
{
    static const int primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29,
                                 31, 37, 41, 43, 47, 53, 59, 61, 67, 71};
    int n = rn_sim_active() ? 8 : 20;
    struct filter filters[20];
    rn_scope *s = open_scope(RN_NEVER);
    rn_chan *in = new_chan(sizeof(int), 0);
    go(count_up, in);
    for (int i = 0; i < n; i++) {
        int prime = recv_int(in);
        CHECK_EQ(prime, primes[i]);
        filters[i] = (struct filter){in, new_chan(sizeof(int), 0), prime};
        go(filter, &filters[i]);
        in = filters[i].out;
    }
    rn_scope_cancel(s);
    close_cancelled(s);
    for (int i = 0; i < n; i++)
        rn_chan_unref(filters[i].in);
    rn_chan_unref(in);
}

struct pool {
    rn_chan *jobs, *results;
};

static int
square_jobs(void *arg)
{
    struct pool *p = arg;
    int64_t v;
    while (rn_chan_recv(p->jobs, &v, RN_NEVER) == 0) {
        v *= v;
        CHECK_EQ(rn_chan_send(p->results, &v, RN_NEVER), 0);
    }
    return 0;
}

struct feed {
    rn_chan *jobs;
    int64_t count;
};

static int
feed_jobs(void *arg)
{
    struct feed *f = arg;
    for (int64_t i = 0; i < f->count; i++)
        CHECK_EQ(rn_chan_send(f->jobs, &i, RN_NEVER), 0);
    rn_chan_close(f->jobs);
    return 0;
}

static int
pool_of_23(void *arg)
{
    struct feed f = {new_chan(sizeof(int64_t), 11), *(int64_t *)arg};
    struct pool p = {f.jobs, new_chan(sizeof(int64_t), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 23; i++)
        go(square_jobs, &p);
    go(feed_jobs, &f);
    uint64_t sum = 0, want = 0;
    for (int64_t i = 0; i < f.count; i++) {
        int64_t v;
        CHECK_EQ(rn_chan_recv(p.results, &v, RN_NEVER), 0);
        sum += (uint64_t)v;
        want += (uint64_t)(i * i);
    }
    CHECK_EQ(sum, want);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(p.jobs);
    rn_chan_unref(p.results);
    return 0;
}

TEST(chan_pool_of_23_tasks_and_workers)
{
    int64_t items = test_count(271828);
    rn_options options = {.workers = 23};
    CHECK_EQ(rn_run(&options, pool_of_23, &items), 0);
}

/* ---- many waiters on one channel ---------------------------------------- */

static int
recv_any(void *arg)
{
    int v = 0, e = rn_chan_recv(arg, &v, RN_NEVER);
    CHECK(e == 0 || e == -EPIPE || e == -ECANCELED);
    return 0;
}

/* Quadratic handling of so many waiters would run into the time limit. */
API_TEST_SCHEDULES(chan_many_waiters_stay_linear, 2)
{
    int n = many_tasks(50000);
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < n; i++)
        go(recv_any, c);
    settle();
    rn_scope_cancel(s); /* they leave the queue in any order */
    close_cancelled(s);
    s = open_scope(RN_NEVER);
    for (int i = 0; i < n; i++)
        go(recv_any, c);
    for (int i = 0; i < n / 2; i++)
        send_int(c, i);
    rn_chan_close(c);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(c);
}

/* ---- lifetime: who was served last may free it at once ------------------ */

static int
send_one(void *arg)
{
    send_int(arg, 7);
    return 0;
}

static int
recv_and_free(void *arg)
{
    CHECK_EQ(recv_int(arg), 7);
    rn_chan_unref(arg);
    return 0;
}

/* What the allocator gives next is likely the freed channel: spoil it. */
static void
spoil(void)
{
    void *blocks[8];
    for (int i = 0; i < 8; i++) {
        size_t bytes = 64 + (size_t)i * 32;
        blocks[i] = malloc(bytes);
        CHECK(blocks[i] != NULL);
        memset(blocks[i], 0xdb, bytes);
    }
    for (int i = 0; i < 8; i++)
        free(blocks[i]);
}

API_TEST(chan_receiver_may_free_it)
{
    int rounds = rn_sim_active() ? 2 : (int)test_count(20000);
    for (int i = 0; i < rounds; i++) {
        rn_scope *s = open_scope(RN_NEVER);
        rn_chan *c = new_chan(sizeof(int), 0);
        if (i & 1)
            go(send_one, c);
        go(recv_and_free, c);
        if (!(i & 1))
            go(send_one, c);
        CHECK_EQ(rn_scope_close(s), 0);
        spoil();
    }
}

static int
recv_one(void *arg)
{
    CHECK_EQ(recv_int(arg), 7);
    return 0;
}

static int
send_and_free(void *arg)
{
    send_int(arg, 7); /* handed over: the receiver has it */
    rn_chan_unref(arg);
    return 0;
}

API_TEST(chan_sender_may_free_it)
{
    int rounds = rn_sim_active() ? 2 : (int)test_count(20000);
    for (int i = 0; i < rounds; i++) {
        rn_scope *s = open_scope(RN_NEVER);
        rn_chan *c = new_chan(sizeof(int), 0);
        if (i & 1)
            go(recv_one, c);
        go(send_and_free, c);
        if (!(i & 1))
            go(recv_one, c);
        CHECK_EQ(rn_scope_close(s), 0);
        spoil();
    }
}

static int
recv_closed_and_free(void *arg)
{
    CHECK_EQ(rn_chan_recv(arg, NULL, RN_NEVER), -EPIPE);
    rn_chan_unref(arg);
    return 0;
}

static int
send_closed_and_free(void *arg)
{
    int v = 1;
    CHECK_EQ(rn_chan_send(arg, &v, RN_NEVER), -EPIPE);
    rn_chan_unref(arg);
    return 0;
}

static int
close_only(void *arg)
{
    rn_chan_close(arg);
    return 0;
}

API_TEST(chan_who_is_woken_by_close_may_free_it)
{
    int rounds = rn_sim_active() ? 2 : (int)test_count(20000);
    for (int i = 0; i < rounds; i++) {
        rn_scope *s = open_scope(RN_NEVER);
        rn_chan *c = new_chan(sizeof(int), 0);
        go(i & 1 ? recv_closed_and_free : send_closed_and_free, c);
        if (i & 2)
            CHECK_EQ(rn_yield(), 0);
        go(close_only, c);
        CHECK_EQ(rn_scope_close(s), 0);
        spoil();
    }
}

/* ---- cancel: a cancelled call did not happen ---------------------------- */

struct race {
    rn_chan *chan;
    rn_scope *scope;
    int sent, received;
};

static int
race_send(void *arg)
{
    struct race *r = arg;
    int v = 1, e = rn_chan_send(r->chan, &v, RN_NEVER);
    CHECK(e == 0 || e == -ECANCELED);
    r->sent = e == 0;
    return 0;
}

static int
race_recv(void *arg)
{
    struct race *r = arg;
    int v = 0, e = rn_chan_recv(r->chan, &v, RN_NEVER);
    CHECK(e == 0 || e == -ECANCELED);
    CHECK_EQ(v, e == 0);
    r->received = e == 0;
    return 0;
}

static int
race_cancel(void *arg)
{
    struct race *r = arg;
    rn_scope_cancel(r->scope);
    return 0;
}

API_TEST(chan_cancelled_call_did_not_happen)
{
    int rounds = rn_sim_active() ? 2 : (int)test_count(5000);
    for (int i = 0; i < rounds; i++) {
        struct race r = {new_chan(sizeof(int), (size_t)i % 2), NULL, 0, 0};
        r.scope = open_scope(RN_NEVER);
        go(race_send, &r);
        go(race_recv, &r);
        CHECK_EQ(rn_go(NULL, race_cancel, &r), 0);
        close_cancelled(r.scope);
        size_t left = rn_chan_len(r.chan);
        CHECK_EQ(r.sent, r.received + (int)left);
        rn_chan_unref(r.chan);
    }
}

/* A deadline that falls on the same instant as the value: either, whole. */
static int
send_at_1000(void *arg)
{
    struct race *r = arg;
    CHECK_EQ(rn_sleep_until(1000), 0);
    int v = 1, e = rn_chan_send(r->chan, &v, 1000);
    CHECK(e == 0 || e == -ETIMEDOUT);
    r->sent = e == 0;
    return 0;
}

SIM_TEST(chan_deadline_and_value_in_one_instant)
{
    struct race r = {new_chan(sizeof(int), 0), NULL, 0, 0};
    rn_scope *s = open_scope(RN_NEVER);
    go(send_at_1000, &r);
    int v = 0, e = rn_chan_recv(r.chan, &v, 1000);
    CHECK(e == 0 || e == -ETIMEDOUT);
    CHECK_EQ(v, e == 0);
    CHECK_EQ(rn_now(), 1000);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(r.sent, e == 0);
    rn_chan_unref(r.chan);
}

/* ---- capacity 0 against a naive twin ------------------------------------ */

/* What was done before a send is seen by the receiver, also in plain memory. */
struct parcel {
    rn_chan *chan;
    int plain[4];
};

static int
parcel_fill(void *arg)
{
    struct parcel *p = arg;
    for (int i = 0; i < 4; i++) {
        p->plain[i] = i + 1;
        send_int(p->chan, i);
    }
    return 0;
}

API_TEST(chan_send_publishes_memory)
{
    for (size_t cap = 0; cap < 4; cap++) {
        struct parcel p = {new_chan(sizeof(int), cap), {0}};
        rn_scope *s = open_scope(RN_NEVER);
        go(parcel_fill, &p);
        for (int i = 0; i < 4; i++) {
            int k = recv_int(p.chan);
            CHECK_EQ(p.plain[k], k + 1);
        }
        CHECK_EQ(rn_scope_close(s), 0);
        rn_chan_unref(p.chan);
    }
}
