/* selects.c - benchmarks of select. */
#include "ours.h"

#include <errno.h>

#define ARMS_MAX 8

struct source {
    rn_chan *chan;
    uint64_t items;
};

static int
source(void *arg)
{
    struct source *s = arg;
    for (uint64_t i = 0; i < s->items; i++)
        bench_send(s->chan, (int64_t)i);
    return 0;
}

static uint64_t
blocking(uint64_t n, size_t arms_count)
{
    rn_arm arms[ARMS_MAX];
    struct source sources[ARMS_MAX];
    int64_t value;
    uint64_t each = bench_share(n, arms_count), sum = 0;
    rn_scope *scope = bench_open();
    for (size_t i = 0; i < arms_count; i++) {
        sources[i] = (struct source){bench_chan(0), each};
        arms[i] = (rn_arm)RN_ARM_RECV(sources[i].chan, &value);
        bench_go(scope, source, &sources[i]);
    }
    for (uint64_t i = 0; i < each * arms_count; i++) {
        bench_check(rn_select(arms, arms_count, 0, RN_NEVER) >= 0, "rn_select");
        sum += (uint64_t)value;
    }
    bench_close(scope);
    for (size_t i = 0; i < arms_count; i++)
        rn_chan_unref(sources[i].chan);
    bench_check(sum == arms_count * (each * (each - 1) / 2),
                "sum of the messages");
    return each * arms_count;
}

uint64_t
bench_select2(uint64_t n)
{
    return blocking(n, 2);
}

uint64_t
bench_select8(uint64_t n)
{
    return blocking(n, 8);
}

struct alternating {
    rn_chan *chans[2];
    uint64_t items;
};

static int
alternate(void *arg)
{
    struct alternating *a = arg;
    for (uint64_t i = 0; i < a->items; i++)
        bench_send(a->chans[i & 1], (int64_t)i);
    return 0;
}

uint64_t
bench_select2_send(uint64_t n)
{
    struct alternating a = {{bench_chan(0), bench_chan(0)}, n};
    int64_t value;
    uint64_t sum = 0;
    rn_arm arms[] = {RN_ARM_RECV(a.chans[0], &value),
                     RN_ARM_RECV(a.chans[1], &value)};
    rn_scope *scope = bench_open();
    bench_go(scope, alternate, &a);
    for (uint64_t i = 0; i < n; i++) {
        bench_check(rn_select(arms, 2, 0, RN_NEVER) >= 0, "rn_select");
        sum += (uint64_t)value;
    }
    bench_close(scope);
    rn_chan_unref(a.chans[0]);
    rn_chan_unref(a.chans[1]);
    bench_check(sum == n * (n - 1) / 2, "sum of the messages");
    return n;
}

/* Every channel holds its own index; what the select takes is put back. */
static uint64_t
ready(uint64_t n, size_t arms_count)
{
    rn_arm arms[ARMS_MAX];
    rn_chan *chans[ARMS_MAX];
    int64_t value;
    for (size_t i = 0; i < arms_count; i++) {
        chans[i] = bench_chan(1);
        arms[i] = (rn_arm)RN_ARM_RECV(chans[i], &value);
        bench_send(chans[i], (int64_t)i);
    }
    for (uint64_t i = 0; i < n; i++) {
        int arm = rn_select(arms, arms_count, 0, RN_NEVER);
        bench_check(arm >= 0 && value == arm, "value of the arm");
        bench_send(chans[arm], value);
    }
    for (size_t i = 0; i < arms_count; i++)
        rn_chan_unref(chans[i]);
    return n;
}

uint64_t
bench_select2_ready(uint64_t n)
{
    return ready(n, 2);
}

uint64_t
bench_select8_ready(uint64_t n)
{
    return ready(n, 8);
}

uint64_t
bench_select_default(uint64_t n)
{
    rn_chan *chan = bench_chan(1);
    rn_arm arm = RN_ARM_RECV(chan, NULL);
    uint64_t empty = 0;
    for (uint64_t i = 0; i < n; i++)
        empty += rn_select(&arm, 1, 0, RN_NOW) == -EAGAIN;
    rn_chan_unref(chan);
    return empty;
}
