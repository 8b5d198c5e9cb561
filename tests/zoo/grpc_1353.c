/* grpc_1353.c - an update is handed over with the lock its receiver needs.
 *
 * A balancer B hands updates to L, with the balancer's lock held. For each
 * update L looks at two connections, and for that it needs the balancer's lock.
 * While it looks, B is back with the lock and waits for L to receive. H, which
 * closes the balancer at the end, needs the lock, too.
 *
 * Shows: leak of 3, B, L and H. Twin: there is a slot for one update, and B
 * takes an old one out before it puts a new one in.
 */
#include "zoo.h"

#define UPDATES 3
#define CONNS 2

struct kernel {
    struct zoo zoo;
    rn_mutex balancer;
    rn_mutex conns[CONNS]; /* before the balancer's */
    rn_chan *updates;      /* values without content, B to L; closed by H */
    rn_chan *no_more;      /* closed by B */
};

/* B: hands updates over. */
static int
balance(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < UPDATES; i++) {
        must(rn_mutex_lock(&k->balancer, RN_NEVER));
        if (k->zoo.fixed)
            (void)rn_chan_recv(k->updates, NULL, RN_NOW);
        must(rn_chan_send(k->updates, NULL, RN_NEVER));
        rn_mutex_unlock(&k->balancer);
    }
    rn_chan_close(k->no_more);
    return 0;
}

/* L: looks at the connections after each update. */
static int
look(void *arg)
{
    struct kernel *k = arg;

    while (rn_chan_recv(k->updates, NULL, RN_NEVER) == 0) {
        for (int i = 0; i < CONNS; i++) {
            must(rn_mutex_lock(&k->conns[i], RN_NEVER));
            must(rn_mutex_lock(&k->balancer, RN_NEVER));
            rn_mutex_unlock(&k->balancer);
            rn_mutex_unlock(&k->conns[i]);
        }
    }
    return 0;
}

/* H: closes the balancer when there are no more updates. */
static int
closer(void *arg)
{
    struct kernel *k = arg;

    zoo_await(k->no_more);
    must(rn_mutex_lock(&k->balancer, RN_NEVER));
    rn_chan_close(k->updates);
    rn_mutex_unlock(&k->balancer);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->updates = zoo_chan(&k->zoo, 0, k->zoo.fixed ? 1 : 0);
    k->no_more = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, balance, k, &(rn_task_options){"B"}, NULL));
    must(rn_task_spawn(NULL, look, k, &(rn_task_options){"L"}, NULL));
    must(rn_task_spawn(NULL, closer, k, &(rn_task_options){"H"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
