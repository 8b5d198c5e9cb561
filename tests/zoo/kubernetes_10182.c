/* kubernetes_10182.c - a status is handed over with the lock its reader needs.
 *
 * A status manager A starts G, which takes statuses from a channel and updates
 * them, under the lock of all statuses. Two tasks set a status: they send it
 * with that lock held. G has the first one and wants the lock; the second task
 * has the lock and sends.
 *
 * Shows: leak of 2, G and S1 or S2. Twin: the lock is given back before the
 * status is sent.
 */
#include "zoo.h"

#define STATUSES 2

struct kernel {
    struct zoo zoo;
    rn_rwmutex lock;
    int updates;      /* guarded by lock */
    rn_chan *changed; /* values without content, S to G */
};

/* G: updates what was set. */
static int
update(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < STATUSES; i++) {
        must(rn_chan_recv(k->changed, NULL, RN_NEVER));
        must(rn_rwmutex_lock(&k->lock, RN_NEVER));
        k->updates++;
        rn_rwmutex_unlock(&k->lock);
    }
    return 0;
}

/* A: starts G. */
static int
manager(void *arg)
{
    must(rn_task_spawn(NULL, update, arg, &(rn_task_options){"G"}, NULL));
    return 0;
}

/* S1 and S2: set a status. */
static int
set_status(void *arg)
{
    struct kernel *k = arg;

    must(rn_rwmutex_lock(&k->lock, RN_NEVER));
    if (k->zoo.fixed)
        rn_rwmutex_unlock(&k->lock);
    must(rn_chan_send(k->changed, NULL, RN_NEVER));
    if (!k->zoo.fixed)
        rn_rwmutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->changed = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, manager, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, set_status, k, &(rn_task_options){"S1"}, NULL));
    must(rn_task_spawn(NULL, set_status, k, &(rn_task_options){"S2"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
