/* twostage.c - two words that belong together, under two locks.
 *
 * A writer sets the first word under the first lock and then the second word
 * under the second lock. A reader that finds the first one set looks at the
 * second, and may come there before any writer.
 *
 * The argument is the number of tasks.
 * Shows: assert in a reader; the rarer, the more writers. Twin: writers and
 * readers hold the first lock over both.
 */
#include "zoo.h"

#define MOST 100

struct kernel {
    struct zoo zoo;
    rn_mutex p;
    rn_mutex q;
    rn_atomic d1; /* under p; writers read it under q only */
    rn_atomic d2; /* under q; 1 more than d1 */
    rn_task tasks[MOST];
};

/* Between the stages: change locks. */
static void
next_stage(struct kernel *k)
{
    if (k->zoo.fixed)
        return;
    rn_mutex_unlock(&k->p);
    must(rn_mutex_lock(&k->q, RN_NEVER));
}

static int
writer(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->p, RN_NEVER));
    rn_atomic_store(&k->d1, 1);
    next_stage(k);
    rn_atomic_store(&k->d2, rn_atomic_load(&k->d1) + 1);
    rn_mutex_unlock(k->zoo.fixed ? &k->p : &k->q);
    return 0;
}

static int
reader(void *arg)
{
    struct kernel *k = arg;
    int64_t x, y;

    must(rn_mutex_lock(&k->p, RN_NEVER));
    if (rn_atomic_load(&k->d1) == 0) {
        rn_mutex_unlock(&k->p);
        return 0;
    }
    x = rn_atomic_load(&k->d1);
    next_stage(k);
    y = rn_atomic_load(&k->d2);
    rn_mutex_unlock(k->zoo.fixed ? &k->p : &k->q);
    rn_sim_assert(y == x + 1, "both stages are done");
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    int size = k->zoo.size;
    int readers = size == 20 || size == 50 ? 10 : 1;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .zoo.size = size};
    for (int i = 0; i < size - readers; i++)
        must(rn_task_spawn(NULL, writer, k, &(rn_task_options){"writer"},
                           &k->tasks[i]));
    for (int i = size - readers; i < size; i++)
        must(rn_task_spawn(NULL, reader, k, &(rn_task_options){"reader"},
                           &k->tasks[i]));
    for (int i = 0; i < size; i++)
        must(rn_task_join(k->tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    static const int sizes[] = {2, 20, 50, MOST, 0};
    struct kernel k;

    return zoo_main_sized(argc, argv, kernel_main, &k.zoo, sizes);
}
