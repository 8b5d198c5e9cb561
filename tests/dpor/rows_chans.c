/* dpor/rows_chans.c - channels of several capacities. */
#include "rows.h"

static rn_chan *chan;
static int senders, receivers, sends, receives;

static int
send_or_receive(void *number)
{
    int k = crew_number(number);
    if (k <= senders)
        for (int i = 0; i < sends; i++)
            crew_send(chan, k);
    else
        for (int i = 0; i < receives; i++)
            crew_recv(chan);
    return 0;
}

static int
talk(int s, int r, int sent, int received, int capacity)
{
    senders = s;
    receivers = r;
    sends = sent;
    receives = received;
    if (rn_chan_new(sizeof(int), (size_t)capacity, &chan) < 0)
        return -1;
    crew_run(s + r, send_or_receive);
    rn_chan_unref(chan);
    return 0;
}

static int
pipe_of(void *arg)
{
    const struct size *s = arg;
    return talk(1, 1, s->n, s->n, s->m);
}

static int
to_one(void *arg)
{
    const struct size *s = arg;
    return talk(s->n, 1, 1, s->n, s->m);
}

static int
to_many(void *arg)
{
    const struct size *s = arg;
    return talk(s->n, s->n, 1, 1, s->m);
}

static const struct row rows[] = {
    {"producer, consumer, capacity 0", pipe_of, 5, 0, 1, 0, 0, 0, {0}},
    {"producer, consumer, capacity 1", pipe_of, 5, 1, 1, 0, 0, 0, {0}},
    {"producer, consumer, capacity 3", pipe_of, 5, 3, 1, 0, 0, 0, {0}},
    {"senders, a receiver, capacity 0", to_one, 3, 0, 6, 0, 0, 0, {0}},
    {"senders, a receiver, capacity 1", to_one, 3, 1, 6, 0, 0, 0, {0}},
    {"senders, a receiver, capacity 3", to_one, 3, 3, 6, 0, 0, 0, {0}},
    {"senders, receivers, capacity 0", to_many, 2, 0, 4, 0, 0, 0, {0}},
    {"senders, receivers, capacity 0", to_many, 3, 0, 36, 0, 0, 0, {0}},
    {"senders, receivers, capacity 1", to_many, 3, 1, 36, 0, 0, 0, {0}},
    {"senders, receivers, capacity 2", to_many, 3, 2, 36, 0, 0, 0, {0}},
    {"senders, receivers, capacity 0", to_many, 4, 0, 576, 0, 0, 0, {0}},
    {"senders, receivers, capacity 2", to_many, 4, 2, 576, 0, 0, 0, {0}},
};

const struct rows chan_rows = {rows, sizeof rows / sizeof *rows};
