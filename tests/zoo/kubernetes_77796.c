/* kubernetes_77796.c - a list is emptied under a lock and walked without.
 *
 * A cache dispatches its events: it empties a list of watchers that block,
 * under a write lock, and walks it after the lock is given up. One dispatch
 * runs in the background, A, and one for each of three objects, B.
 *
 * Shows: race on the list. Twin: the walk is under the lock, too.
 */
#include "zoo.h"

#define OBJECTS 3

struct kernel {
    struct zoo zoo;
    rn_rwmutex lock;
    rn_cell buffer; /* the list's header */
};

/* A and B: one dispatch each. */
static int
dispatch(void *arg)
{
    struct kernel *k = arg;

    must(rn_rwmutex_lock(&k->lock, RN_NEVER));
    rn_cell_write(&k->buffer, 0);
    if (!k->zoo.fixed)
        rn_rwmutex_unlock(&k->lock);
    (void)rn_cell_read(&k->buffer);
    if (k->zoo.fixed)
        rn_rwmutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, dispatch, k, &(rn_task_options){"A"}, NULL));
    for (int i = 0; i < OBJECTS; i++) {
        must(rn_task_spawn(NULL, dispatch, k, &(rn_task_options){"B"}, NULL));
        must(rn_sleep(10 * ZOO_TICK));
    }
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
