/* istio_8144.c - a test reads a counter that its evicter still counts up.
 *
 * A cache evicts in a task E of its own, which calls back for each entry it
 * finds; the callback counts. A test A stores one entry and reads the count.
 *
 * Shows: race on the count, if E finds the entry. Twin: the count is atomic.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup test; /* A */
    rn_mutex lock;     /* over entries */
    int entries;       /* in the cache */
    rn_cell calls;
    rn_atomic calls_fixed; /* instead, in the twin */
};

/* The callback: an entry is evicted. */
static void
on_evict(struct kernel *k)
{
    if (k->zoo.fixed)
        rn_atomic_fetch_add(&k->calls_fixed, 1);
    else
        rn_cell_write(&k->calls, rn_cell_read(&k->calls) + 1);
}

/* E: evicts what it finds. */
static int
evicter(void *arg)
{
    struct kernel *k = arg;
    int found;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    found = k->entries;
    rn_mutex_unlock(&k->lock);
    for (int i = 0; i < found; i++)
        on_evict(k);
    return 0;
}

/* A: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, evicter, k, &(rn_task_options){"E"}, NULL));
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    k->entries++;
    rn_mutex_unlock(&k->lock);
    if (k->zoo.fixed)
        (void)rn_atomic_load(&k->calls_fixed);
    else
        (void)rn_cell_read(&k->calls);
    rn_waitgroup_done(&k->test);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    rn_waitgroup_add(&k->test, 1);
    must(rn_task_spawn(NULL, test, k, &(rn_task_options){"A"}, NULL));
    must(rn_waitgroup_wait(&k->test, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
