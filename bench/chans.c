/* chans.c - benchmarks of channels. */
#include "ours.h"

struct pair {
    rn_chan *ping, *pong;
};

static int
ponger(void *arg)
{
    struct pair *p = arg;
    int64_t v;
    while (rn_chan_recv(p->ping, &v, RN_NEVER) == 0)
        bench_send(p->pong, v + 1);
    return 0;
}

uint64_t
bench_pingpong(uint64_t n)
{
    struct pair p = {bench_chan(0), bench_chan(0)};
    rn_scope *scope = bench_open();
    bench_go(scope, ponger, &p);
    int64_t v = 0;
    for (uint64_t i = 0; i < n; i++) {
        bench_send(p.ping, v);
        v = bench_recv(p.pong);
    }
    rn_chan_close(p.ping);
    bench_close(scope);
    rn_chan_unref(p.ping);
    rn_chan_unref(p.pong);
    bench_check(v == (int64_t)n, "round trips");
    return n;
}

/* One producer, or one consumer, of a channel. */
struct flow {
    rn_chan *chan;
    uint64_t items, sum;
};

static int
producer(void *arg)
{
    struct flow *f = arg;
    for (uint64_t i = 0; i < f->items; i++)
        bench_send(f->chan, (int64_t)i);
    return 0;
}

static int
consumer(void *arg)
{
    struct flow *f = arg;
    uint64_t items = 0, sum = 0;
    for (int64_t v; rn_chan_recv(f->chan, &v, RN_NEVER) == 0; items++)
        sum += (uint64_t)v;
    f->items = items;
    f->sum = sum;
    return 0;
}

static uint64_t
flow(uint64_t n, size_t pairs, size_t capacity)
{
    rn_chan *chan = bench_chan(capacity);
    struct flow in[4], out[4];
    uint64_t each = bench_share(n, pairs), items = 0, sum = 0;
    rn_scope *consumers = bench_open(), *producers = bench_open();
    for (size_t i = 0; i < pairs; i++) {
        in[i] = (struct flow){chan, each, 0};
        out[i] = (struct flow){chan, 0, 0};
        bench_go(consumers, consumer, &out[i]);
        bench_go(producers, producer, &in[i]);
    }
    bench_close(producers);
    rn_chan_close(chan);
    bench_close(consumers);
    rn_chan_unref(chan);
    for (size_t i = 0; i < pairs; i++) {
        items += out[i].items;
        sum += out[i].sum;
    }
    bench_check(sum == pairs * (each * (each - 1) / 2), "sum of the items");
    return items;
}

uint64_t
bench_buffered_1p1c(uint64_t n)
{
    return flow(n, 1, 128);
}

uint64_t
bench_buffered_4p4c(uint64_t n)
{
    return flow(n, 4, 128);
}

uint64_t
bench_chan_4x4_0(uint64_t n)
{
    return flow(n, 4, 0);
}

uint64_t
bench_chan_4x4_10(uint64_t n)
{
    return flow(n, 4, 10);
}

uint64_t
bench_chan_4x4_100(uint64_t n)
{
    return flow(n, 4, 100);
}

uint64_t
bench_handoff(uint64_t n)
{
    return flow(n, 1, 0);
}

uint64_t
bench_buffered_same(uint64_t n)
{
    rn_chan *chan = bench_chan(1);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        bench_send(chan, (int64_t)i);
        sum += (uint64_t)bench_recv(chan);
    }
    rn_chan_unref(chan);
    bench_check(sum == n * (n - 1) / 2, "sum of the items");
    return n;
}

static int
send_one(void *arg)
{
    bench_send(arg, 1);
    return 0;
}

uint64_t
bench_go_recv(uint64_t n)
{
    rn_chan *chan = bench_chan(0);
    rn_scope *scope = bench_open();
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        bench_go(scope, send_one, chan);
        sum += (uint64_t)bench_recv(chan);
    }
    bench_close(scope);
    rn_chan_unref(chan);
    return sum;
}
