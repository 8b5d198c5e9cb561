/* moby_29733.c - a condition nobody makes true.
 *
 * main checks twice that a plugin gets active: a task A waits on the plugin's
 * condition variable until its flag is set, and main waits for A. Between the
 * checks main clears the flag while it registers the plugin. The part that
 * activates it was never written.
 *
 * Shows: deadlock of 2, main and A, in the first check. Twin: the plugin is
 * activated, with a broadcast, before the first check, and stays active.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_mutex registry; /* a second lock, around the clearing */
    rn_mutex lock;     /* the plugin's */
    rn_cond activated; /* active was set */
    bool active;       /* guarded by lock; not so where main clears it */
    rn_chan *done;     /* closed by A: the current check is over */
};

/* Make the plugin active; what the buggy program lacks. */
static void
activate(struct kernel *k)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    k->active = true;
    rn_cond_broadcast(&k->activated);
    rn_mutex_unlock(&k->lock);
}

/* A: waits until the plugin is active. */
static int
wait_active(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    while (!k->active)
        must(rn_cond_wait(&k->activated, &k->lock, RN_NEVER));
    rn_mutex_unlock(&k->lock);
    rn_chan_close(k->done);
    return 0;
}

/* Wait until the plugin is active, in a task of its own. */
static void
check_active(struct kernel *k)
{
    k->done = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, wait_active, k, &(rn_task_options){"A"}, NULL));
    if (rn_chan_recv(k->done, NULL, RN_NEVER) != -EPIPE)
        rn_panic("done is only ever closed");
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    if (k->zoo.fixed)
        activate(k);
    check_active(k);
    must(rn_mutex_lock(&k->registry, RN_NEVER));
    if (!k->zoo.fixed)
        k->active = false;
    rn_mutex_unlock(&k->registry);
    check_active(k);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
