/* grpc_862.c - a connection is given up, and its task goes on trying.
 *
 * D opens a connection: a task G tries to connect, with longer and longer
 * pauses, until the connection is cancelled. When D returns because its caller
 * has cancelled, it closes the connection it was to return; but there is none
 * yet, so nothing is closed and nobody ever tells G.
 *
 * Shows: G is alive for ever, on timers, after all others have ended: the limit
 * of virtual time. Twin: D cancels the connection whenever it returns none.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *cancelled; /* closed by C: the caller has cancelled */
    rn_chan *conn_done; /* closed to end G */
};

/* G: tries to connect until the connection is cancelled. */
static int
connect_again(void *arg)
{
    struct kernel *k = arg;

    for (int n = 1;; n++) {
        rn_arm arms[] = {RN_ARM_AT(rn_after(2 * n * ZOO_TICK)),
                         RN_ARM_RECV(k->conn_done, NULL)};

        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
            return 0;
    }
}

/* D: opens a connection and returns without one. */
static int
dial(void *arg)
{
    struct kernel *k = arg;
    const void *returned = NULL;

    must(rn_task_spawn(NULL, connect_again, k, &(rn_task_options){"G"}, NULL));
    if (rn_chan_recv(k->cancelled, NULL, RN_NOW) == -EPIPE && returned)
        rn_chan_close(k->conn_done);
    else if (k->zoo.fixed)
        rn_chan_close(k->conn_done);
    return 0;
}

/* C: the caller, cancels at any moment. */
static int
canceller(void *arg)
{
    struct kernel *k = arg;

    rn_chan_close(k->cancelled);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->cancelled = zoo_chan(&k->zoo, 0, 0);
    k->conn_done = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, dial, k, &(rn_task_options){"D"}, NULL));
    must(rn_task_spawn(NULL, canceller, k, &(rn_task_options){"C"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
