/* etcd_4876.c - a setting is changed while a late reader starts up.
 *
 * A test A starts two tasks. B changes the interval of keep-alive messages; C
 * starts a proxy D, which reads the interval, and does not wait for it.
 *
 * Shows: race on the interval. Twin: the interval is atomic.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup tasks; /* A, B and C */
    rn_cell interval;
    rn_atomic interval_fixed; /* instead, in the twin */
};

/* B: changes the interval. */
static int
changer(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        rn_atomic_store(&k->interval_fixed, 1);
    else
        rn_cell_write(&k->interval, 1);
    rn_waitgroup_done(&k->tasks);
    return 0;
}

/* D: reads the interval. */
static int
proxy(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        (void)rn_atomic_load(&k->interval_fixed);
    else
        (void)rn_cell_read(&k->interval);
    return 0;
}

/* C: starts D. */
static int
starter(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, proxy, k, &(rn_task_options){"D"}, NULL));
    rn_waitgroup_done(&k->tasks);
    return 0;
}

/* A: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, changer, k, &(rn_task_options){"B"}, NULL));
    must(rn_task_spawn(NULL, starter, k, &(rn_task_options){"C"}, NULL));
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
