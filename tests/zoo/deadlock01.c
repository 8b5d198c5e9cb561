/* deadlock01.c - two locks, taken in two orders.
 *
 * T1 locks a and then b, T2 locks b and then a. Each may hold its first while
 * it waits for its second.
 *
 * Shows: deadlock of 3, main, T1 and T2. Twin: both lock a first.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_mutex a;
    rn_mutex b;
    rn_atomic counter; /* under both */
};

/* T1: counts up. */
static int
up(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->a, RN_NEVER));
    must(rn_mutex_lock(&k->b, RN_NEVER));
    rn_atomic_store(&k->counter, rn_atomic_load(&k->counter) + 1);
    rn_mutex_unlock(&k->b);
    rn_mutex_unlock(&k->a);
    return 0;
}

/* T2: counts down. */
static int
down(void *arg)
{
    struct kernel *k = arg;
    rn_mutex *first = k->zoo.fixed ? &k->a : &k->b;
    rn_mutex *second = k->zoo.fixed ? &k->b : &k->a;

    must(rn_mutex_lock(first, RN_NEVER));
    must(rn_mutex_lock(second, RN_NEVER));
    rn_atomic_store(&k->counter, rn_atomic_load(&k->counter) - 1);
    rn_mutex_unlock(second);
    rn_mutex_unlock(first);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    rn_task tasks[2];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, up, k, &(rn_task_options){"T1"}, &tasks[0]));
    must(rn_task_spawn(NULL, down, k, &(rn_task_options){"T2"}, &tasks[1]));
    for (int i = 0; i < 2; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
