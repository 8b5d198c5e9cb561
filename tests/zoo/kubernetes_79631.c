/* kubernetes_79631.c - a test looks into a queue that is in use.
 *
 * A priority queue runs a flusher F that deletes from its map under a lock
 * until it is stopped. A test A looks at the map without the lock, and nobody
 * stops the queue.
 *
 * Shows: race on the items; F is left waiting as well. Twin: A looks under the
 * lock and then stops the queue.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup test; /* A */
    rn_rwmutex lock;   /* over items */
    rn_cell items;     /* a map */
    rn_chan *stop;
};

/* F: flushes until stopped. */
static int
flusher(void *arg)
{
    struct kernel *k = arg;

    if (rn_chan_recv(k->stop, NULL, RN_NOW) == -EPIPE)
        return 0;
    must(rn_rwmutex_lock(&k->lock, RN_NEVER));
    rn_cell_write(&k->items, 0);
    rn_rwmutex_unlock(&k->lock);
    (void)rn_chan_recv(k->stop, NULL, RN_NEVER);
    return 0;
}

/* A: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    rn_waitgroup_done(&k->test);
    must(rn_task_spawn(NULL, flusher, k, &(rn_task_options){"F"}, NULL));
    if (k->zoo.fixed)
        must(rn_rwmutex_read_lock(&k->lock, RN_NEVER));
    (void)rn_cell_read(&k->items);
    if (k->zoo.fixed) {
        rn_rwmutex_read_unlock(&k->lock);
        rn_chan_close(k->stop);
    }
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stop = zoo_chan(&k->zoo, 0, 0);
    rn_waitgroup_add(&k->test, 1);
    must(rn_task_spawn(NULL, test, k, &(rn_task_options){"A"}, NULL));
    must(rn_waitgroup_wait(&k->test, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
