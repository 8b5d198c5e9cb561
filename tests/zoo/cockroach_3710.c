/* cockroach_3710.c - a reader reads again, and a writer has come in between.
 *
 * A goes through the replicas of a store with the store's read lock held, and
 * asks each for its status, which takes the store's read lock once more. B
 * starts C, which wants to write. A writer that waits holds new readers back:
 * C waits for A to end reading, A's second read waits behind C.
 *
 * Shows: leak of 2, A and C. Twin: the status does not lock the store again.
 */
#include "zoo.h"

#define REPLICAS 2

struct kernel {
    struct zoo zoo;
    rn_rwmutex store;
    rn_mutex replica; /* of the one that is looked at */
    int size;         /* guarded by store */
    int copy;         /* C's, of size */
};

/* The status of a replica; it needs the store. */
static int
status(struct kernel *k)
{
    int size;

    if (k->zoo.fixed)
        return k->size;
    must(rn_rwmutex_read_lock(&k->store, RN_NEVER));
    size = k->size;
    rn_rwmutex_read_unlock(&k->store);
    return size;
}

/* A: asks all replicas. */
static int
force_check(void *arg)
{
    struct kernel *k = arg;

    must(rn_rwmutex_read_lock(&k->store, RN_NEVER));
    for (int i = 0; i < REPLICAS; i++) {
        must(rn_mutex_lock(&k->replica, RN_NEVER));
        (void)status(k);
        rn_mutex_unlock(&k->replica);
    }
    rn_rwmutex_read_unlock(&k->store);
    return 0;
}

/* C: copies the list of replicas. */
static int
copy_list(void *arg)
{
    struct kernel *k = arg;

    must(rn_rwmutex_lock(&k->store, RN_NEVER));
    k->copy = k->size;
    rn_rwmutex_unlock(&k->store);
    return 0;
}

/* B: starts C. */
static int
process(void *arg)
{
    must(rn_task_spawn(NULL, copy_list, arg, &(rn_task_options){"C"}, NULL));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, force_check, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, process, k, &(rn_task_options){"B"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
