/* Select under four workers: crossed, with itself, with the same channel many
 * times, with closes; each value arrives once, and only what was sent.
 */
#include "core_run.h"

enum { CHANS = 4, TASKS = 6, ARMS = 6, SENDS = 1 << 17 };

static struct {
    rn_chan *chans[CHANS];
    rn_chan *enough; /* closed when there was enough */
    uint32_t chan_count;
    bool random_waits; /* deadlines, tries and times as well */
    long target;
    _Atomic long received;
    bool sent[TASKS][SENDS]; /* by the sender's own word */
    _Atomic uint8_t got[TASKS][SENDS];
} net;

/* Sender and number of a send. */
static uint32_t
value_of(uint32_t task, uint32_t number)
{
    return task << 20 | number;
}

static void
count_received(uint32_t value)
{
    CHECK_LT(value >> 20, TASKS);
    atomic_fetch_add(&net.got[value >> 20][value & 0xfffff], 1);
    if (atomic_fetch_add(&net.received, 1) + 1 == net.target)
        rn_chan_close(net.enough);
}

/* The body of a task: what it may choose from. */
struct body {
    uint32_t task, number; /* of its next send */
    uint64_t random;
    uint32_t sends, recvs; /* masks of channels */
    uint32_t value, taken[ARMS];
    rn_arm arms[ARMS];
};

/* A send or a receive on a channel of the mask. */
static rn_arm
draw_arm(struct body *b, bool send, uint32_t channel, uint32_t *taken)
{
    if (send && b->sends >> channel & 1)
        return (rn_arm)RN_ARM_SEND(net.chans[channel], &b->value);
    if (!send && b->recvs >> channel & 1)
        return (rn_arm)RN_ARM_RECV(net.chans[channel], taken);
    return (rn_arm)RN_ARM_NONE;
}

/* The first send and the first receive of the masks are always there, so that
 * any two (or two of each side) that wait could meet. */
static size_t
make_arms(struct body *b)
{
    size_t count = 2 + rn__prng_below(&b->random, ARMS - 1);
    size_t at = rn__prng_below(&b->random, (uint32_t)count);
    b->value = value_of(b->task, b->number);
    for (size_t i = 0; i < count; i++) {
        size_t k = (at + i) % count;
        bool send = i == 0 || (i > 1 && rn__prng_below(&b->random, 2));
        uint32_t mask = send ? b->sends : b->recvs;
        uint32_t channel = i < 2 ? (uint32_t)__builtin_ctz(mask)
                                 : rn__prng_below(&b->random, net.chan_count);
        b->arms[k] = draw_arm(b, send, channel, &b->taken[k]);
    }
    if (net.random_waits && rn__prng_below(&b->random, 4) == 0)
        b->arms[at] =
            (rn_arm)RN_ARM_AT(rn_now() + rn__prng_below(&b->random, 20000));
    return count;
}

static rn_time
draw_deadline(struct body *b)
{
    if (!net.random_waits || rn__prng_below(&b->random, 2))
        return RN_NEVER;
    if (rn__prng_below(&b->random, 2))
        return RN_NOW;
    return rn_now() - 1000 + rn__prng_below(&b->random, 20000);
}

/* Returns false when a channel is closed. */
static bool
account(struct body *b, int index)
{
    if (index < 0) {
        CHECK(index == -EAGAIN || index == -ETIMEDOUT);
        return true;
    }
    rn_arm *arm = &b->arms[index];
    if (arm->result == -EPIPE)
        return false;
    CHECK_EQ(arm->result, 0);
    if (arm->kind == RN_ARM_KIND_SEND) {
        net.sent[b->task][b->number++] = true;
    } else if (arm->kind == RN_ARM_KIND_RECV) {
        CHECK_NE(b->taken[index], b->value); /* never its own */
        count_received(b->taken[index]);
        b->taken[index] = UINT32_MAX;
    }
    for (int i = 0; i < ARMS; i++)
        CHECK_EQ(b->taken[i], UINT32_MAX); /* other arms did nothing */
    return true;
}

static int
select_often(struct body *b)
{
    for (int i = 0; i < ARMS; i++)
        b->taken[i] = UINT32_MAX;
    while (atomic_load(&net.received) < net.target) {
        CHECK_LT(b->number, SENDS);
        size_t count = make_arms(b);
        int index = rn_select(b->arms, count, rn__prng_below(&b->random, 2),
                              draw_deadline(b));
        if (!account(b, index))
            break;
    }
    return 0;
}

static int
any_way(void *arg)
{
    uint32_t task = (uint32_t)(uintptr_t)arg;
    struct body b = {
        .task = task, .random = task, .sends = UINT32_MAX, .recvs = UINT32_MAX};
    return select_often(&b);
}

/* Even tasks send where odd ones receive, and the other way round. */
static int
crossed(void *arg)
{
    uint32_t task = (uint32_t)(uintptr_t)arg;
    struct body b = {.task = task,
                     .random = task,
                     .sends = task % 2 ? 1 : 2,
                     .recvs = task % 2 ? 2 : 1};
    return select_often(&b);
}

static void
check_conserved(void)
{
    for (uint32_t c = 0; c < net.chan_count; c++) {
        uint32_t value;
        while (rn_chan_recv(net.chans[c], &value, RN_NOW) == 0)
            atomic_fetch_add(&net.got[value >> 20][value & 0xfffff], 1);
        rn_chan_unref(net.chans[c]);
    }
    for (int task = 0; task < TASKS; task++)
        for (int i = 0; i < SENDS; i++)
            CHECK_EQ(net.got[task][i], net.sent[task][i]);
}

static int
run_net(rn_task_fn *fn, const size_t *capacities, uint32_t count)
{
    net.chan_count = count;
    net.target = test_count(120000);
    net.enough = new_chan(0, 0);
    for (uint32_t c = 0; c < count; c++)
        net.chans[c] = new_chan(sizeof(uint32_t), capacities[c]);
    rn_scope *scope = open_scope();
    for (uintptr_t i = 0; i < TASKS; i++)
        go(scope, fn, (void *)i);
    CHECK_EQ(rn_chan_recv(net.enough, NULL, RN_NEVER), -EPIPE);
    for (uint32_t c = 0; c < count; c++)
        rn_chan_close(net.chans[c]);
    CHECK_EQ(rn_scope_close(scope), 0);
    check_conserved();
    rn_chan_unref(net.enough);
    return 0;
}

RUN_TEST(select_crossed)
{
    return run_net(crossed, (const size_t[]){0, 0}, 2);
}

RUN_TEST(select_crossed_with_deadlines)
{
    net.random_waits = true;
    return run_net(crossed, (const size_t[]){0, 0}, 2);
}

/* All arms on one channel, in both directions. */
RUN_TEST(select_self_and_duplicates)
{
    return run_net(any_way, (const size_t[]){0}, 1);
}

RUN_TEST(select_self_and_duplicates_with_deadlines)
{
    net.random_waits = true;
    return run_net(any_way, (const size_t[]){0}, 1);
}

RUN_TEST(select_any_way_on_buffers)
{
    return run_net(any_way, (const size_t[]){1, 3, 0, 2}, 4);
}

RUN_TEST(select_any_way_with_deadlines)
{
    net.random_waits = true;
    return run_net(any_way, (const size_t[]){0, 1, 0, 3}, 4);
}

RUN_TEST(select_alone_never_meets_itself)
{
    rn_chan *chan = new_chan(sizeof(int), 0);
    int out = 1, in = 2;
    for (long i = test_count(1000); i > 0; i--) {
        rn_arm arms[] = {RN_ARM_SEND(chan, &out), RN_ARM_RECV(chan, &in),
                         RN_ARM_SEND(chan, &out), RN_ARM_RECV(chan, &in)};
        CHECK_EQ(rn_select(arms, 4, 0, RN_NOW), -EAGAIN);
        CHECK_EQ(rn_select(arms, 4, 0, rn_now() + i % 10 * 100), -ETIMEDOUT);
        CHECK_EQ(in, 2);
    }
    rn_chan_unref(chan);
    return 0;
}

/* ---- closes ------------------------------------------------------------- */

static int
select_until_closed(void *arg)
{
    (void)arg;
    uint32_t value = 0, taken = 7;
    rn_arm arms[] = {RN_ARM_SEND(net.chans[0], &value),
                     RN_ARM_RECV(net.chans[1], &taken),
                     RN_ARM_RECV(net.chans[1], &taken)};
    int index = rn_select(arms, 3, 0, RN_NEVER);
    CHECK_GE(index, 0);
    CHECK_EQ(arms[index].result, -EPIPE);
    CHECK_EQ(taken, index == 0 ? 7 : 0);
    atomic_fetch_add(&net.received, 1);
    return 0;
}

/* Both are closed at once, by two tasks; each select ends once. */
static int
close_one(void *arg)
{
    rn_chan_close(arg);
    return 0;
}

RUN_TEST(select_wakes_once_from_two_closes)
{
    enum { WAITERS = 10 };
    long rounds = test_count(3000);
    for (long i = 0; i < rounds; i++) {
        net.chans[0] = new_chan(sizeof(uint32_t), 0);
        net.chans[1] = new_chan(sizeof(uint32_t), 0);
        rn_scope *scope = open_scope();
        for (int k = 0; k < WAITERS; k++)
            go(scope, select_until_closed, NULL);
        for (long k = i % 5; k > 0; k--)
            rn_yield();
        go(scope, close_one, net.chans[0]);
        go(scope, close_one, net.chans[1]);
        CHECK_EQ(rn_scope_close(scope), 0);
        rn_chan_unref(net.chans[0]);
        rn_chan_unref(net.chans[1]);
    }
    CHECK_EQ(net.received, rounds * WAITERS);
    return 0;
}
