/* reorder.c - two stores that somebody sees one of.
 *
 * Setters store 1 to a and then -1 to b. A checker expects to find either both
 * untouched or both set. It must come between the first store to a and the
 * first to b, of all the setters: the more there are, the rarer that is for a
 * search that chooses among them step by step.
 *
 * The argument is the number of tasks.
 * Shows: assert in a checker, rarely. Twin: all work under one lock.
 */
#include "zoo.h"

#define MOST 100

struct kernel {
    struct zoo zoo;
    rn_mutex lock; /* twin only: over both */
    rn_atomic a;
    rn_atomic b;
    rn_task tasks[MOST];
};

static int
setter(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->lock, RN_NEVER));
    rn_atomic_store(&k->a, 1);
    rn_atomic_store(&k->b, -1);
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->lock);
    return 0;
}

static int
checker(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->lock, RN_NEVER));
    rn_sim_assert(
        (rn_atomic_load(&k->a) == 0 && rn_atomic_load(&k->b) == 0) ||
            (rn_atomic_load(&k->a) == 1 && rn_atomic_load(&k->b) == -1),
        "both are set or none");
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    int size = k->zoo.size;
    int checkers = size == 20 || size == 50 ? 10 : 1;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .zoo.size = size};
    for (int i = 0; i < size - checkers; i++)
        must(rn_task_spawn(NULL, setter, k, &(rn_task_options){"setter"},
                           &k->tasks[i]));
    for (int i = size - checkers; i < size; i++)
        must(rn_task_spawn(NULL, checker, k, &(rn_task_options){"checker"},
                           &k->tasks[i]));
    for (int i = 0; i < size; i++)
        must(rn_task_join(k->tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    static const int sizes[] = {3, 4, 5, 10, 20, 50, MOST, 0};
    struct kernel k;

    return zoo_main_sized(argc, argv, kernel_main, &k.zoo, sizes);
}
