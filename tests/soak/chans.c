/* chans.c - soak work of channels: many to many until closed, selects with
 * several arms and time-outs, selects that join.
 */
#include "soak.h"

#include <errno.h>

enum { CHANS = 3, ITEMS = 200 };

struct hub {
    rn_chan *chans[CHANS];
    int producers; /* each sends ITEMS numbers */
    _Atomic int producing;
    _Atomic int64_t sent, got, sum_sent, sum_got;
    uint64_t seed;
    _Atomic int next;    /* for the seeds of its tasks */
    _Atomic int readers; /* that have begun */
};

static uint64_t
own_seed(struct hub *h)
{
    return rn__mix64(h->seed + (uint64_t)atomic_fetch_add(&h->next, 1));
}

static void
open_hub(struct hub *h, uint64_t *prng)
{
    h->seed = rn__prng_next(prng);
    h->producers = 1 + below(prng, 6);
    atomic_store(&h->producing, h->producers);
    for (int i = 0; i < CHANS; i++)
        need(rn_chan_new(sizeof(int64_t), (size_t)below(prng, 5),
                         &h->chans[i]) == 0);
}

static void
produced(struct hub *h)
{
    if (atomic_fetch_sub(&h->producing, 1) == 1)
        for (int i = 0; i < CHANS; i++)
            rn_chan_close(h->chans[i]);
}

static void
note_sent(struct hub *h, int64_t value)
{
    atomic_fetch_add(&h->sent, 1);
    atomic_fetch_add(&h->sum_sent, value);
    tick();
}

static void
note_got(struct hub *h, int64_t value)
{
    atomic_fetch_add(&h->got, 1);
    atomic_fetch_add(&h->sum_got, value);
}

static int
run_hub(void *arg, rn_task_fn *producer, rn_task_fn *consumer)
{
    uint64_t prng = *(uint64_t *)arg;
    struct hub h = {.seed = 0};
    rn_scope *scope;
    open_hub(&h, &prng);
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = CHANS + below(&prng, 6); i > 0; i--)
        need(rn_go(scope, consumer, &h) == 0);
    for (int i = 0; i < h.producers; i++)
        need(rn_go(scope, producer, &h) == 0);
    need(rn_scope_close(scope) == 0);
    need(h.sent == (int64_t)h.producers * ITEMS);
    need(h.got == h.sent && h.sum_got == h.sum_sent);
    for (int i = 0; i < CHANS; i++)
        rn_chan_unref(h.chans[i]);
    return 0;
}

/* ---- plain sends and receives ------------------------------------------- */

static int
send_some(void *arg)
{
    struct hub *h = arg;
    uint64_t prng = own_seed(h);
    for (int i = 0; i < ITEMS; i++) {
        int64_t value = below(&prng, 1000000);
        rn_chan *chan = h->chans[below(&prng, CHANS)];
        rn_time deadline = below(&prng, 3) ? rn_after(20000) : RN_NOW;
        int error = rn_chan_send(chan, &value, deadline);
        while (error == (deadline == RN_NOW ? -EAGAIN : -ETIMEDOUT))
            error = rn_chan_send(chan, &value, RN_NEVER);
        need(error == 0);
        note_sent(h, value);
    }
    produced(h);
    return 0;
}

/* The first CHANS consumers have a channel each, others take any. */
static int
receive_some(void *arg)
{
    struct hub *h = arg;
    int number = atomic_fetch_add(&h->readers, 1);
    rn_chan *chan = h->chans[number % CHANS];
    int64_t value;
    for (int i = 0;; i++) {
        int error = rn_chan_recv(chan, &value, i % 3 ? RN_NEVER : RN_NOW);
        if (error == -EPIPE)
            return 0;
        need(error == 0 || (error == -EAGAIN && i % 3 == 0));
        if (error == 0)
            note_got(h, value);
    }
}

int
work_chan(void *arg)
{
    return run_hub(arg, send_some, receive_some);
}

/* ---- selects ------------------------------------------------------------ */

static int
select_send(void *arg)
{
    struct hub *h = arg;
    uint64_t prng = own_seed(h);
    for (int i = 0; i < ITEMS;) {
        int64_t value = below(&prng, 1000000);
        rn_arm arms[] = {
            RN_ARM_SEND(h->chans[0], &value),
            RN_ARM_SEND(h->chans[1], &value),
            RN_ARM_SEND(h->chans[2], &value),
            RN_ARM_AT(rn_after(below(&prng, 100) * RN_US)),
        };
        int arm = rn_select(arms, 4, 0, RN_NEVER);
        need(arm >= 0 && arm <= CHANS && arms[arm].result == 0);
        if (arm == CHANS)
            continue;
        note_sent(h, value);
        i++;
    }
    produced(h);
    return 0;
}

static int
select_receive(void *arg)
{
    struct hub *h = arg;
    rn_chan *open[CHANS] = {h->chans[0], h->chans[1], h->chans[2]};
    uint64_t prng = own_seed(h);
    while (open[0] || open[1] || open[2]) {
        int64_t values[CHANS];
        rn_arm arms[] = {
            RN_ARM_RECV(open[0], &values[0]),
            RN_ARM_RECV(open[1], &values[1]),
            RN_ARM_RECV(open[2], &values[2]),
        };
        bool tries = below(&prng, 4) == 0;
        int arm =
            rn_select(arms, CHANS, 0,
                      tries ? RN_NOW : rn_after(below(&prng, 200) * RN_US));
        if (arm == (tries ? -EAGAIN : -ETIMEDOUT)) {
            need(rn_yield() == 0);
            continue;
        }
        need(arm >= 0 && arm < CHANS);
        if (arms[arm].result == 0)
            note_got(h, values[arm]);
        else
            open[arm] = NULL;
    }
    return 0;
}

int
work_select(void *arg)
{
    return run_hub(arg, select_send, select_receive);
}

/* ---- selects that join -------------------------------------------------- */

static int
linger(void *arg)
{
    uint64_t prng = (uintptr_t)arg;
    for (int i = below(&prng, 4); i > 0; i--)
        rn_yield();
    if (below(&prng, 2))
        need(rn_sleep(below(&prng, 100) * RN_US) == 0);
    return 7;
}

int
work_join(void *arg)
{
    enum { TASKS = 4 };
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int round = 0; round < 30; round++) {
        rn_arm arms[TASKS + 1];
        int results[TASKS];
        for (int i = 0; i < TASKS; i++) {
            rn_task task;
            need(!rn_task_spawn(scope, linger,
                                (void *)(uintptr_t)rn__prng_next(&prng), NULL,
                                &task));
            arms[i] = (rn_arm)RN_ARM_JOIN(task, &results[i]);
        }
        for (int left = TASKS; left > 0;) {
            arms[TASKS] = (rn_arm)RN_ARM_AT(rn_after(50000));
            int arm = rn_select(arms, TASKS + 1, 0, RN_NEVER);
            need(arm >= 0 && arm <= TASKS);
            if (arm == TASKS)
                continue;
            need(arms[arm].result == 0 && results[arm] == 7);
            arms[arm] = (rn_arm)RN_ARM_NONE;
            left--;
            tick();
        }
    }
    return rn_scope_close(scope);
}
