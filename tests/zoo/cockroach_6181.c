/* cockroach_6181.c - printing a cache locks it for reading a second time.
 *
 * Three tasks look something up in a cache of ranges, print the cache, and
 * change it. The lookup prints with its read lock held, and printing locks for
 * reading again. If another task has come to write meanwhile, it waits for the
 * reader, and the reader's second lock waits behind it.
 *
 * Shows: leak of 3 or 4, G, which waits for the three, and two or three of
 * them. Twin: the printing does not lock.
 */
#include "zoo.h"

#define TASKS 3

struct kernel {
    struct zoo zoo;
    rn_rwmutex cache;
    int ranges;      /* guarded by cache */
    rn_waitgroup wg; /* X0 .. X2 */
};

static void
print_cache(struct kernel *k)
{
    if (!k->zoo.fixed)
        must(rn_rwmutex_read_lock(&k->cache, RN_NEVER));
    (void)k->ranges;
    if (!k->zoo.fixed)
        rn_rwmutex_read_unlock(&k->cache);
}

/* X0 .. X2: a lookup, then a change. */
static int
look_up(void *arg)
{
    struct kernel *k = arg;

    must(rn_rwmutex_read_lock(&k->cache, RN_NEVER));
    print_cache(k);
    rn_rwmutex_read_unlock(&k->cache);
    must(rn_rwmutex_lock(&k->cache, RN_NEVER));
    k->ranges++;
    rn_rwmutex_unlock(&k->cache);
    rn_waitgroup_done(&k->wg);
    return 0;
}

/* G: starts the three and waits for them. */
static int
group(void *arg)
{
    static const rn_task_options named[TASKS] = {{"X0"}, {"X1"}, {"X2"}};
    struct kernel *k = arg;

    rn_waitgroup_add(&k->wg, TASKS);
    for (int i = 0; i < TASKS; i++)
        must(rn_task_spawn(NULL, look_up, k, &named[i], NULL));
    must(rn_waitgroup_wait(&k->wg, RN_NEVER));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, group, k, &(rn_task_options){"G"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
