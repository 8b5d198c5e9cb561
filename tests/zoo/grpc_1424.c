/* grpc_1424.c - the one who was to say "done" just ends.
 *
 * D opens a connection: it starts W, which starts a reader L of addresses and
 * waits until L is done. D closes the channel of addresses, so L ends; but on
 * that way out it does not say that it is done.
 *
 * Shows: leak of 1, W. Twin: L says so on every way out.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *addresses; /* values without content, closed by D */
    rn_chan *done;      /* closed by L in the twin only */
    rn_chan *waited;    /* closed by W */
};

/* L: handles addresses until there are no more. */
static int
load_balance(void *arg)
{
    struct kernel *k = arg;

    while (rn_chan_recv(k->addresses, NULL, RN_NEVER) == 0)
        ;
    if (k->zoo.fixed)
        rn_chan_close(k->done);
    return 0;
}

/* W: waits until the reader is done. */
static int
wait_ready(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, load_balance, k, &(rn_task_options){"L"}, NULL));
    zoo_await(k->done);
    rn_chan_close(k->waited);
    return 0;
}

/* D: opens the connection, without any address. */
static int
dial(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, wait_ready, k, &(rn_task_options){"W"}, NULL));
    rn_chan_close(k->addresses);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->addresses = zoo_chan(&k->zoo, 0, 0);
    k->done = zoo_chan(&k->zoo, 0, 0);
    k->waited = zoo_chan(&k->zoo, 0, 1);
    must(rn_task_spawn(NULL, dial, k, &(rn_task_options){"D"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
