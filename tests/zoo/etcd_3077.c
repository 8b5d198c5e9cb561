/* etcd_3077.c - channels that are made by the wrong task.
 *
 * A server S starts a loop R, which makes the two channels by which S later
 * stops it. Nothing says that R has made them by then: S may send on a channel
 * that is not there, which waits for ever.
 *
 * Shows: race on the cell that says whether the channels are there, or deadlock
 * of 3, main, S and R. Twin: S makes them before it starts R.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_cell ready; /* stopped and done are there */
    rn_chan *stopped;
    rn_chan *done;
    rn_chan *never;          /* stands for a channel that is not there */
    rn_chan *stop_server;    /* main to S */
    rn_chan *server_stopped; /* closed by S */
};

static void
make_channels(struct kernel *k)
{
    rn_cell_write(&k->ready, 1);
}

/* R: the loop. */
static int
loop(void *arg)
{
    struct kernel *k = arg;

    if (!k->zoo.fixed)
        make_channels(k);
    must(rn_chan_recv(k->stopped, NULL, RN_NEVER));
    rn_chan_close(k->done);
    return 0;
}

/* S: the server. */
static int
server(void *arg)
{
    struct kernel *k = arg;
    bool ready;

    if (k->zoo.fixed)
        make_channels(k);
    must(rn_task_spawn(NULL, loop, k, &(rn_task_options){"R"}, NULL));
    must(rn_yield());
    must(rn_chan_recv(k->stop_server, NULL, RN_NEVER));
    ready = rn_cell_read(&k->ready) != 0;
    must(rn_chan_send(ready ? k->stopped : k->never, NULL, RN_NEVER));
    (void)rn_chan_recv(k->done, NULL, RN_NEVER);
    rn_chan_close(k->server_stopped);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stopped = zoo_chan(&k->zoo, 0, 0);
    k->done = zoo_chan(&k->zoo, 0, 0);
    k->never = zoo_chan(&k->zoo, 0, 0);
    k->stop_server = zoo_chan(&k->zoo, 0, 0);
    k->server_stopped = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, server, k, &(rn_task_options){"S"}, NULL));

    rn_arm arms[] = {RN_ARM_SEND(k->stop_server, NULL),
                     RN_ARM_RECV(k->server_stopped, NULL)};
    if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
        return 0;
    (void)rn_chan_recv(k->server_stopped, NULL, RN_NEVER);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
