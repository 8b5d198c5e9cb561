/* syncthing_4829.c - telling of a change under the lock that guards it.
 *
 * A service keeps a list of mappings, and each mapping a list of addresses,
 * both behind a read-write lock. Removing a mapping takes its addresses out
 * and then tells those who listen; for that the mapping is locked for reading,
 * by the task that has it for writing.
 *
 * Shows: a deadlock of main with itself, which our read-write mutex notices and
 * makes a panic. Twin: the mapping is unlocked before anybody is told.
 */
#include "zoo.h"

struct mapping {
    rn_rwmutex lock;
    int addresses; /* guarded by lock */
};

struct kernel {
    struct zoo zoo;
    rn_rwmutex service; /* guards the list; before a mapping's lock */
    struct mapping mapping;
    bool listed;   /* guarded by service: the mapping is in the list */
    int last_told; /* addresses, when somebody was told last */
};

static void
notify(struct kernel *k)
{
    must(rn_rwmutex_read_lock(&k->mapping.lock, RN_NEVER));
    k->last_told = k->mapping.addresses;
    rn_rwmutex_read_unlock(&k->mapping.lock);
}

/* Take the address out of the mapping. */
static void
clear_addresses(struct kernel *k)
{
    bool removed;

    must(rn_rwmutex_lock(&k->mapping.lock, RN_NEVER));
    removed = k->mapping.addresses > 0;
    k->mapping.addresses = 0;
    if (k->zoo.fixed)
        rn_rwmutex_unlock(&k->mapping.lock);
    if (removed)
        notify(k);
    if (!k->zoo.fixed)
        rn_rwmutex_unlock(&k->mapping.lock);
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .mapping.addresses = 1};
    must(rn_rwmutex_lock(&k->service, RN_NEVER));
    k->listed = true;
    rn_rwmutex_unlock(&k->service);

    must(rn_rwmutex_lock(&k->service, RN_NEVER));
    clear_addresses(k);
    k->listed = false;
    rn_rwmutex_unlock(&k->service);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
