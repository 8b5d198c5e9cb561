/* moby_17176.c - nothing to do, so return: with the lock.
 *
 * main cleans up deleted devices under a lock. There are none, and the early
 * return keeps the lock. A wants it to report something to main, which waits a
 * while for the report and gives up.
 *
 * Shows: leak of 1, A. Twin: the early return unlocks, and the channel has a
 * slot for a report that nobody waits for any more.
 */
#include "zoo.h"

#define PATIENCE (1000 * ZOO_TICK)

struct kernel {
    struct zoo zoo;
    rn_mutex lock;
    int deleted;      /* guarded by lock: devices to clean up */
    rn_chan *reports; /* values without content, A to main */
};

static void
clean_up(struct kernel *k)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (k->deleted == 0) {
        if (k->zoo.fixed)
            rn_mutex_unlock(&k->lock);
        return;
    }
    k->deleted = 0;
    rn_mutex_unlock(&k->lock);
}

/* A: reports. */
static int
report(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    must(rn_chan_send(k->reports, NULL, RN_NEVER));
    rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->reports = zoo_chan(&k->zoo, 0, k->zoo.fixed ? 1 : 0);
    clean_up(k);
    must(rn_task_spawn(NULL, report, k, &(rn_task_options){"A"}, NULL));

    rn_arm arms[] = {RN_ARM_RECV(k->reports, NULL),
                     RN_ARM_AT(rn_after(PATIENCE))};
    must(rn_select(arms, 2, 0, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
