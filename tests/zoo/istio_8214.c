/* istio_8214.c - a counter is added to atomically and copied plainly.
 *
 * Two tasks store into a cache, which counts its writes atomically; each then
 * copies the statistics as any struct, the counter with them.
 *
 * A plain access of an atomic word cannot be written down here, so the add is
 * what it is to a plain reader: a write, under a lock that only adders take.
 *
 * Shows: race on the counter. Twin: the copy takes part in the lock, which is
 * what an atomic load would be.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup tasks; /* A, B and C */
    rn_mutex atomic;    /* what makes an add one step */
    rn_cell writes;
};

/* B and C: store, then look at the statistics. */
static int
user(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->atomic, RN_NEVER));
    rn_cell_write(&k->writes, rn_cell_read(&k->writes) + 1);
    rn_mutex_unlock(&k->atomic);

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->atomic, RN_NEVER));
    (void)rn_cell_read(&k->writes);
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->atomic);
    rn_waitgroup_done(&k->tasks);
    return 0;
}

/* A: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, user, k, &(rn_task_options){"B"}, NULL));
    must(rn_task_spawn(NULL, user, k, &(rn_task_options){"C"}, NULL));
    rn_waitgroup_done(&k->tasks);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    rn_waitgroup_add(&k->tasks, 3);
    must(rn_task_spawn(NULL, test, k, &(rn_task_options){"A"}, NULL));
    must(rn_waitgroup_wait(&k->tasks, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
