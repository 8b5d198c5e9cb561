/* section.c - select's section: a worker that is alone locks nothing, and what
 * it has seen without locks still holds if it has been alone since. Others wake
 * up, send, and lie down again, at any moment: no value is missed, and none is
 * taken twice. (base/atomic.h; select.c; worker.c.)
 */
#include "machine.h"

static inline bool
section_enter(void)
{
    if (model_broken("nobody waits for a section"))
        return rn__alone();
    return rn__section_enter();
}

static inline bool
alone_since(struct rn__solitude then)
{
    if (model_broken("who is alone has always been"))
        return then.alone;
    return rn__alone_since(then);
}

#define rn__section_enter section_enter
#define rn__alone_since alone_since

#include "sync/select.c"

enum { CHANS = 2 };

/* With room for one value, which is the channel's number and one. */
static struct {
    rn_chan chan;
    long ring;
} chans[CHANS];
static int taken[CHANS];

static void
setup(void)
{
    machine_setup();
    machine.worker_count = 3;
    rn__parallel = rn__joined = 0;
    machine.windows = true;
    model_place("parallel", -1, &rn__parallel, sizeof rn__parallel);
    model_place("joined", -1, &rn__joined, sizeof rn__joined);
    model_place("idle_lock", -1, &machine.idle_lock.held,
                sizeof machine.idle_lock.held);
    for (int i = 0; i < 3; i++)
        model_share_inside(i);
    memset(chans, 0, sizeof chans);
    for (int i = 0; i < CHANS; i++) {
        rn_chan *chan = &chans[i].chan;
        chan->elem_bytes = sizeof(long);
        chan->capacity = 1;
        chan->ring = (char *)&chans[i].ring;
        rn__list_init(&chan->senders);
        rn__list_init(&chan->receivers);
        model_place("chan.lock", i, &chan->lock.held, sizeof chan->lock.held);
        model_place("chan.count", i, &chan->count, sizeof chan->count);
        taken[i] = 0;
    }
}

static void
receive(void)
{
    long values[CHANS] = {0};
    rn_arm arms[CHANS] = {RN_ARM_RECV(&chans[0].chan, &values[0]),
                          RN_ARM_RECV(&chans[1].chan, &values[1])};
    int i = rn_select(arms, CHANS, RN_SELECT_ORDERED, RN_NEVER);
    model_check(i >= 0 && i < CHANS && arms[i].result == 0);
    model_check(values[i] == i + 1 && values[CHANS - 1 - i] == 0);
    taken[i]++;
}

static void
send(int i)
{
    struct rn__waiter *wake;
    rn_chan *chan = &chans[i].chan;
    long value = i + 1;
    rn__lock(&chan->lock);
    model_check(rn__chan_try_send(chan, &value, &wake) == 0);
    rn__unlock(&chan->lock);
    if (wake)
        rn__fire(wake->task);
}

static void
receiver(void)
{
    rn__worker_begin(&machine_workers[model_self()]);
    receive();
    rn__worker_end(&machine_workers[model_self()]);
}

static void
send_first(void)
{
    rn__worker_begin(&machine_workers[model_self()]);
    send(0);
    rn__worker_end(&machine_workers[model_self()]);
}

static void
send_second(void)
{
    rn__worker_begin(&machine_workers[model_self()]);
    send(1);
    rn__worker_end(&machine_workers[model_self()]);
}

/* What was sent has been taken, or is in its channel; nobody is queued. */
static void
check_sent(int count)
{
    machine_check();
    model_check(machine.awake == 0 && rn__parallel == 0);
    for (int i = 0; i < CHANS; i++) {
        model_check(taken[i] + (int)chans[i].chan.count == (i < count));
        model_check(rn__list_empty(&chans[i].chan.receivers));
    }
}

static void
check_one(void)
{
    check_sent(1);
    model_check(taken[0] == 1);
}

static void
check_two(void)
{
    check_sent(2);
    model_check(taken[0] + taken[1] == 1);
}

#define BREAKS                                                     \
    .breaks = {                                                    \
        {"who is alone has always been", MODEL_OTHER, NULL, NULL}, \
        {"nobody waits for a section", MODEL_OTHER, NULL, NULL},   \
        {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},            \
    }

MODEL(section_one_sender, .setup = setup, .threads = {receiver, send_first},
      .check = check_one, .bound = 3, BREAKS);
MODEL(section_two_senders, .setup = setup,
      .threads = {receiver, send_first, send_second}, .check = check_two,
      .some = 50000, BREAKS);
