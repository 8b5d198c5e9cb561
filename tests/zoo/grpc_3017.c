/* grpc_3017.c - a timer that comes too late takes the lock and keeps it.
 *
 * Removed connections stay in a cache for a while; a timer F takes them out at
 * last. A removes one and wants it back at the moment the timer fires. If A
 * gets the lock first it cannot stop the timer any more, so it tells F to do
 * nothing; and F does nothing, not even unlock.
 *
 * Shows: deadlock of 2 or 3, main, A and perhaps a later F. In the last round
 * nobody wants the lock any more. Twin: F always unlocks.
 */
#include "zoo.h"

#define ROUNDS 3

struct kernel;

struct entry {
    struct kernel *kernel;
    rn_task timer;
    bool abort; /* guarded by lock: the timer is to do nothing */
};

struct kernel {
    struct zoo zoo;
    rn_mutex lock;
    struct entry *cached; /* guarded by lock; NULL: the cache is empty */
    struct entry entries[ROUNDS];
    rn_chan *done; /* closed by A */
};

/* F: takes an entry out of the cache. */
static int
expire(void *arg)
{
    struct entry *entry = arg;
    struct kernel *k = entry->kernel;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (entry->abort) {
        if (k->zoo.fixed)
            rn_mutex_unlock(&k->lock);
        return 0;
    }
    k->cached = NULL;
    rn_mutex_unlock(&k->lock);
    return 0;
}

/* Put an entry into the cache. */
static void
retire(struct kernel *k, struct entry *entry)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (!k->cached) {
        entry->kernel = k;
        k->cached = entry;
        must(rn_after_func(NULL, rn_after(ZOO_TICK), expire, entry,
                           &entry->timer));
    }
    rn_mutex_unlock(&k->lock);
}

/* Take it out again, if it is still there. */
static void
reuse(struct kernel *k)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (k->cached && rn_after_stop(k->cached->timer) == 0)
        k->cached->abort = true;
    k->cached = NULL;
    rn_mutex_unlock(&k->lock);
}

/* A: removes a connection and wants it back, again and again. */
static int
churn(void *arg)
{
    struct kernel *k = arg;

    for (int round = 0; round < ROUNDS; round++) {
        retire(k, &k->entries[round]);
        must(rn_sleep(ZOO_TICK));
        reuse(k);
    }
    rn_chan_close(k->done);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->done = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, churn, k, &(rn_task_options){"A"}, NULL));
    zoo_await(k->done);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
