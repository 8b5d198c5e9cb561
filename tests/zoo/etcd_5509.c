/* etcd_5509.c - an early exit that keeps a read lock.
 *
 * A looks at a client under its read lock, round after round, and stops when
 * the client is closed: that exit forgets to unlock. main closes the client
 * under the write lock and then takes that lock once more. If A looks in
 * between it ends as a reader for ever, and main waits for it.
 *
 * Shows: deadlock of 1, main. If A looks later nobody waits, and only the lock
 * is left held. Twin: the early exit unlocks.
 */
#include "zoo.h"

#define ROUNDS 3

struct kernel {
    struct zoo zoo;
    rn_rwmutex client;
    rn_cell open;  /* guarded by client */
    rn_mutex user; /* what A really wants to do */
    rn_chan *done; /* closed by A */
};

/* A: uses the client until it is closed. */
static int
use(void *arg)
{
    struct kernel *k = arg;

    for (int round = 0; round < ROUNDS; round++) {
        bool open;

        must(rn_rwmutex_read_lock(&k->client, RN_NEVER));
        open = rn_cell_read(&k->open);
        must(rn_mutex_lock(&k->user, RN_NEVER));
        rn_mutex_unlock(&k->user);
        if (open || k->zoo.fixed)
            rn_rwmutex_read_unlock(&k->client);
        if (!open)
            break;
    }
    rn_chan_close(k->done);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .open = RN_CELL_INIT(1)};
    k->done = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, use, k, &(rn_task_options){"A"}, NULL));
    must(rn_rwmutex_lock(&k->client, RN_NEVER));
    rn_cell_write(&k->open, 0);
    rn_rwmutex_unlock(&k->client);
    must(rn_rwmutex_lock(&k->client, RN_NEVER));
    rn_rwmutex_unlock(&k->client);
    zoo_await(k->done);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
