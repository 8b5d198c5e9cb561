/* etcd_6857.c - a question to a server that has just stopped.
 *
 * R serves status requests: each is a channel for the reply. T stops R and
 * waits until it is done. Q asks for the status without looking whether R
 * still serves. If R takes the stop first, nobody ever takes Q's request.
 *
 * Shows: leak of 1, Q. Twin: Q gives up when R is done.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *requests; /* rn_chan *, where the int reply goes */
    rn_chan *stop;     /* asks R to stop */
    rn_chan *done;     /* closed by R when it has stopped */
};

/* R: answers requests until it is stopped. */
static int
server(void *arg)
{
    struct kernel *k = arg;
    rn_chan *reply;
    int status = 1;

    for (;;) {
        rn_arm arms[] = {RN_ARM_RECV(k->requests, &reply),
                         RN_ARM_RECV(k->stop, NULL)};

        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1) {
            rn_chan_close(k->done);
            return 0;
        }
        must(rn_chan_send(reply, &status, RN_NEVER));
    }
}

/* Q: asks for the status once. */
static int
question(void *arg)
{
    struct kernel *k = arg;
    rn_chan *reply = zoo_chan(&k->zoo, sizeof(int), 0);
    int status;

    if (k->zoo.fixed) {
        rn_arm arms[] = {RN_ARM_SEND(k->requests, &reply),
                         RN_ARM_RECV(k->done, NULL)};

        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
            return 0;
    } else {
        must(rn_chan_send(k->requests, &reply, RN_NEVER));
    }
    must(rn_chan_recv(reply, &status, RN_NEVER));
    return 0;
}

/* T: stops the server and waits until it has stopped. */
static int
stopper(void *arg)
{
    struct kernel *k = arg;
    rn_arm arms[] = {RN_ARM_SEND(k->stop, NULL), RN_ARM_RECV(k->done, NULL)};

    if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
        return 0;
    if (rn_chan_recv(k->done, NULL, RN_NEVER) != -EPIPE)
        rn_panic("done is only ever closed");
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->requests = zoo_chan(&k->zoo, sizeof(rn_chan *), 0);
    k->stop = zoo_chan(&k->zoo, 0, 0);
    k->done = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, server, k, &(rn_task_options){"R"}, NULL));
    must(rn_task_spawn(NULL, question, k, &(rn_task_options){"Q"}, NULL));
    must(rn_task_spawn(NULL, stopper, k, &(rn_task_options){"T"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
