/* main.c - a program of somebody who uses runnel: two tasks and a channel. */
#include <runnel/runnel.h>
#include <stdio.h>

static int
produce(void *arg)
{
    rn_chan *chan = arg;
    for (int i = 1; i <= 3; i++)
        rn_chan_send(chan, &i, RN_NEVER);
    rn_chan_close(chan);
    return 0;
}

static int
app(void *arg)
{
    rn_chan *chan;
    int value, e = rn_chan_new(sizeof(int), 0, &chan);
    if (e < 0)
        return e;
    e = rn_go(NULL, produce, chan);
    while (e == 0 && rn_chan_recv(chan, &value, RN_NEVER) == 0)
        *(int *)arg += value;
    rn_chan_unref(chan);
    return e;
}

int
main(void)
{
    int sum = 0;
    int e = rn_run(NULL, app, &sum);
    printf("runnel %s: %d\n", rn_version(), sum);
    return e < 0 || sum != 6;
}
