/* moby_25384.c - waiting for all, inside the loop that starts them.
 *
 * A restores two plugins, each in a task of its own, and waits for both: but
 * the wait stands in the loop. After the first round there is one task and two
 * are waited for.
 *
 * Shows: leak of 1, A. Twin: it waits after the loop.
 */
#include "zoo.h"

#define PLUGINS 2

struct kernel {
    struct zoo zoo;
    rn_waitgroup plugins; /* not restored yet */
};

/* P0 and P1: restore a plugin. */
static int
restore(void *arg)
{
    struct kernel *k = arg;

    rn_waitgroup_done(&k->plugins);
    return 0;
}

/* A: restores all plugins. */
static int
init(void *arg)
{
    static const rn_task_options named[PLUGINS] = {{"P0"}, {"P1"}};
    struct kernel *k = arg;

    rn_waitgroup_add(&k->plugins, PLUGINS);
    for (int i = 0; i < PLUGINS; i++) {
        must(rn_task_spawn(NULL, restore, k, &named[i], NULL));
        if (!k->zoo.fixed)
            must(rn_waitgroup_wait(&k->plugins, RN_NEVER));
    }
    if (k->zoo.fixed)
        must(rn_waitgroup_wait(&k->plugins, RN_NEVER));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, init, k, &(rn_task_options){"A"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
