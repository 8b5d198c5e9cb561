/* etcd_9446.c - an entry of a map is deleted while another task looks it up.
 *
 * A transaction buffer keeps a map without a lock. A test A fills it and starts
 * two tasks: B deletes the entry, C reads it.
 *
 * Shows: race on the entry. Twin: B and C hold one lock meanwhile.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup tasks; /* A, B and C */
    rn_mutex lock;      /* twin only: over entry */
    rn_cell entry;      /* a map with one key; 0: it is not there */
};

/* B: deletes the entry if it is there. */
static int
deleter(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (rn_cell_read(&k->entry) != 0)
        rn_cell_write(&k->entry, 0);
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->lock);
    rn_waitgroup_done(&k->tasks);
    return 0;
}

/* C: looks the entry up. */
static int
reader(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->lock, RN_NEVER));
    (void)rn_cell_read(&k->entry);
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->lock);
    rn_waitgroup_done(&k->tasks);
    return 0;
}

/* A: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    rn_cell_write(&k->entry, 1);
    must(rn_task_spawn(NULL, deleter, k, &(rn_task_options){"B"}, NULL));
    must(rn_task_spawn(NULL, reader, k, &(rn_task_options){"C"}, NULL));
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
