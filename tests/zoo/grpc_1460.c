/* grpc_1460.c - waiting for a wake-up with the lock the waker needs.
 *
 * A keep-alive A goes dormant while a connection has no streams: it waits on
 * an awakening channel, with the connection's lock held. B opens the first
 * stream: it takes the lock, counts the stream and only tries to awaken A. If
 * A comes first, B never gets the lock.
 *
 * Shows: leak of 2, A and B. Twin: A unlocks before it waits, and the channel
 * has a slot in which B's try leaves its token.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_mutex lock;
    int streams;    /* guarded by lock */
    rn_chan *awake; /* values without content, B to A */
};

/* A: waits while there is no stream. */
static int
keep_alive(void *arg)
{
    struct kernel *k = arg;
    bool dormant;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    dormant = k->streams == 0;
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->lock);
    if (dormant)
        must(rn_chan_recv(k->awake, NULL, RN_NEVER));
    if (!k->zoo.fixed)
        rn_mutex_unlock(&k->lock);
    return 0;
}

/* B: opens a stream. */
static int
open_stream(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (++k->streams == 1)
        (void)rn_chan_send(k->awake, NULL, RN_NOW);
    rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->awake = zoo_chan(&k->zoo, 0, k->zoo.fixed ? 1 : 0);
    must(rn_task_spawn(NULL, keep_alive, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, open_stream, k, &(rn_task_options){"B"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
