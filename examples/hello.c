/* hello.c - two tasks and a channel; the smallest useful program. */
#include <runnel/runnel.h>
#include <stdio.h>

static int
greeter(void *channel)
{
    for (int i = 1; i <= 3; i++)
        rn_chan_send(channel, &i, RN_NEVER);
    rn_chan_close(channel);
    return 0;
}

static int
app(void *arg)
{
    rn_chan *c;
    int i, e = rn_chan_new(sizeof i, 0, &c);

    (void)arg;
    if (e < 0)
        return e;
    e = rn_go(NULL, greeter, c);
    while (e == 0 && rn_chan_recv(c, &i, RN_NEVER) == 0)
        printf("hello from a task, %d\n", i);
    rn_chan_unref(c);
    return e;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}
