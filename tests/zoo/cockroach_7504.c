/* cockroach_7504.c - a cache and a table lock one lease in opposite orders.
 *
 * Leases stand in a table; a cache finds them by name. A looks a lease up in
 * the cache and locks it while it still holds the cache. B takes the same
 * lease out of the table: it holds the lease while it asks for the cache, to
 * remove it there as well. When each has its first lock, neither gets its
 * second, and main waits for both.
 *
 * Shows: deadlock of 3, main, A and B. Twin: A gives the cache back before it
 * locks the lease.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_mutex table;  /* guards in_table; first of all locks */
    rn_mutex cache;  /* guards in_cache */
    rn_mutex lease;  /* guards uses */
    bool in_table;   /* the lease is in the table */
    bool in_cache;   /* the lease is in the cache */
    int uses;        /* of the lease */
    rn_waitgroup wg; /* A and B */
};

/* A: gets the lease by its name. */
static int
acquire(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->cache, RN_NEVER));
    if (!k->in_cache) {
        rn_mutex_unlock(&k->cache);
    } else {
        if (k->zoo.fixed)
            rn_mutex_unlock(&k->cache);
        must(rn_mutex_lock(&k->lease, RN_NEVER));
        k->uses++;
        rn_mutex_unlock(&k->lease);
        if (!k->zoo.fixed)
            rn_mutex_unlock(&k->cache);
    }
    rn_waitgroup_done(&k->wg);
    return 0;
}

/* B: removes the lease from the table and then from the cache. */
static int
release(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->table, RN_NEVER));
    if (k->in_table) {
        must(rn_mutex_lock(&k->lease, RN_NEVER));
        k->in_table = false;
        must(rn_mutex_lock(&k->cache, RN_NEVER));
        k->in_cache = false;
        rn_mutex_unlock(&k->cache);
        rn_mutex_unlock(&k->lease);
    }
    rn_mutex_unlock(&k->table);
    rn_waitgroup_done(&k->wg);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->in_table = true;
    k->in_cache = true;
    rn_waitgroup_add(&k->wg, 2);
    must(rn_task_spawn(NULL, acquire, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, release, k, &(rn_task_options){"B"}, NULL));
    must(rn_waitgroup_wait(&k->wg, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
