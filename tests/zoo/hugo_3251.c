/* hugo_3251.c - a table of locks is locked while one of its locks is awaited.
 *
 * Fetching an address is guarded by a lock for each address, kept in a table
 * that has a read-write lock. Locking an address waits for its lock with the
 * table locked for writing; unlocking it needs the table for reading. One task
 * has the address and wants to read the table, the other has the table and
 * wants the address; main waits for both.
 *
 * Shows: deadlock of 3, main, A0 and A1. Twin: the lock is looked up in the
 * table and taken when the table is free again.
 */
#include "zoo.h"

#define TASKS 2
#define ROUNDS 2

struct kernel {
    struct zoo zoo;
    rn_rwmutex table;
    bool made;        /* guarded by table: address is in the table */
    rn_mutex address; /* the lock of the one address */
    rn_waitgroup wg;  /* A0 and A1 */
};

static void
lock_address(struct kernel *k)
{
    must(rn_rwmutex_lock(&k->table, RN_NEVER));
    k->made = true;
    if (k->zoo.fixed)
        rn_rwmutex_unlock(&k->table);
    must(rn_mutex_lock(&k->address, RN_NEVER));
    if (!k->zoo.fixed)
        rn_rwmutex_unlock(&k->table);
}

static void
unlock_address(struct kernel *k)
{
    must(rn_rwmutex_read_lock(&k->table, RN_NEVER));
    rn_mutex_unlock(&k->address);
    rn_rwmutex_read_unlock(&k->table);
}

/* A0 and A1: fetch the address. */
static int
fetch(void *arg)
{
    struct kernel *k = arg;

    for (int round = 0; round < ROUNDS; round++) {
        lock_address(k);
        unlock_address(k);
    }
    rn_waitgroup_done(&k->wg);
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[TASKS] = {{"A0"}, {"A1"}};
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    rn_waitgroup_add(&k->wg, TASKS);
    for (int i = 0; i < TASKS; i++)
        must(rn_task_spawn(NULL, fetch, k, &named[i], NULL));
    must(rn_waitgroup_wait(&k->wg, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
