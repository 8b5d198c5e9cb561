/* carter01.c - a lock that the first in takes and the last out gives back.
 *
 * Two groups of tasks share a resource: the first of a group to come locks it,
 * the last to go unlocks it. Both groups count under the same lock, and wait
 * for the resource while they hold that. T1 has the resource; T2, of the
 * other group, waits for it with the lock of the counts; T1 needs that lock to
 * give the resource back.
 *
 * Shows: deadlock of 3, main, T1 and T2. Twin: each group counts under a lock
 * of its own.
 */
#include "zoo.h"

#define TASKS 4

struct kernel;

struct group {
    struct kernel *kernel;
    rn_mutex own;    /* twin only: over here */
    rn_atomic count; /* tasks of the group inside */
};

struct kernel {
    struct zoo zoo;
    rn_mutex counts;   /* over both counts */
    rn_mutex resource; /* held for a group while its count is above 0 */
    struct group groups[2];
};

/* T1 and T2: in and out, one of each group. */
static int
visitor(void *arg)
{
    struct group *g = arg;
    struct kernel *k = g->kernel;
    rn_mutex *lock = k->zoo.fixed ? &g->own : &k->counts;

    must(rn_mutex_lock(lock, RN_NEVER));
    rn_atomic_store(&g->count, rn_atomic_load(&g->count) + 1);
    if (rn_atomic_load(&g->count) == 1)
        must(rn_mutex_lock(&k->resource, RN_NEVER));
    rn_mutex_unlock(lock);

    must(rn_mutex_lock(lock, RN_NEVER));
    rn_atomic_store(&g->count, rn_atomic_load(&g->count) - 1);
    if (rn_atomic_load(&g->count) == 0)
        rn_mutex_unlock(&k->resource);
    rn_mutex_unlock(lock);
    return 0;
}

/* T3 and T4: bystanders. */
static int
bystander(void *arg)
{
    (void)arg;
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[TASKS] = {
        {"T1"}, {"T2"}, {"T3"}, {"T4"}};
    struct kernel *k = arg;
    rn_task tasks[TASKS];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    for (int i = 0; i < 2; i++) {
        k->groups[i].kernel = k;
        must(rn_task_spawn(NULL, visitor, &k->groups[i], &named[i], &tasks[i]));
    }
    for (int i = 2; i < TASKS; i++)
        must(rn_task_spawn(NULL, bystander, NULL, &named[i], &tasks[i]));
    for (int i = 0; i < TASKS; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
