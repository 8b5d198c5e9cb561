/* grpc_1687.c - a write to a channel its own handler has closed.
 *
 * A handler H writes a response through a channel that main drains: Do() hands
 * one piece over, unless `closed` says that the connection is gone. Writing
 * the status closes the channel of the pieces; the handler then writes once
 * more. `closed` is never closed, so the last Do() sends on a closed channel.
 *
 * Shows: panic in H. Sending on a closed channel is an error code here, which
 * Do() does not expect. Twin: the status closes `closed` before it closes the
 * pieces, and the last Do() returns early.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *pieces; /* values without content, H to main */
    rn_chan *closed; /* the connection is gone */
};

/* Hand one piece over. */
static void
handler_do(struct kernel *k)
{
    rn_arm arms[] = {RN_ARM_SEND(k->pieces, NULL),
                     RN_ARM_RECV(k->closed, NULL)};

    if (rn_chan_recv(k->closed, NULL, RN_NOW) == -EPIPE)
        return;
    if (must(rn_select(arms, 2, 0, RN_NEVER)) == 0 && arms[0].result == -EPIPE)
        rn_panic("send on closed channel");
}

/* H: writes the status, then a body that should not be there. */
static int
handler(void *arg)
{
    struct kernel *k = arg;

    handler_do(k);
    if (k->zoo.fixed)
        rn_chan_close(k->closed);
    rn_chan_close(k->pieces);
    handler_do(k);
    return 0;
}

/* Take pieces until there can be no more. */
static void
drain(struct kernel *k)
{
    for (;;) {
        rn_arm arms[] = {RN_ARM_RECV(k->pieces, NULL),
                         RN_ARM_RECV(k->closed, NULL)};
        int i = must(rn_select(arms, 2, 0, RN_NEVER));

        if (i == 1 || arms[0].result == -EPIPE)
            return;
    }
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->pieces = zoo_chan(&k->zoo, 0, 0);
    k->closed = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, handler, k, &(rn_task_options){"H"}, NULL));
    drain(k);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
