/* kubernetes_82550.c - a lazily made object, made by whoever comes first.
 *
 * Three tasks ask for a provider of credentials. Who finds none makes one and
 * stores it, without a lock.
 *
 * Shows: race on the provider. Twin: a lock around it.
 */
#include "zoo.h"

#define TASKS 3

struct kernel {
    struct zoo zoo;
    rn_mutex lock;    /* twin only: over provider */
    rn_cell provider; /* 0: none yet */
};

/* B0, B1, B2: use the provider. */
static int
user(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (rn_cell_read(&k->provider) == 0)
        rn_cell_write(&k->provider, 1);
    (void)rn_cell_read(&k->provider);
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[TASKS] = {{"B0"}, {"B1"}, {"B2"}};
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    for (int i = 0; i < TASKS; i++)
        must(rn_task_spawn(NULL, user, k, &named[i], NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
