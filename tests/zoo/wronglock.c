/* wronglock.c - one task guards a number with another lock than the rest.
 *
 * A adds 1 to a number under one lock and checks that this is what it has
 * got. The B do the same under another lock, so one may store in between.
 *
 * The argument is the number of B.
 * Shows: assert in A. Twin: the B take the lock of A.
 */
#include "zoo.h"

#define MOST 7

struct kernel {
    struct zoo zoo;
    rn_mutex right;
    rn_mutex wrong;
    rn_atomic value;
};

/* A: adds and checks. */
static int
checker(void *arg)
{
    struct kernel *k = arg;
    int64_t x;

    must(rn_mutex_lock(&k->right, RN_NEVER));
    x = rn_atomic_load(&k->value);
    rn_atomic_store(&k->value, rn_atomic_load(&k->value) + 1);
    rn_sim_assert(rn_atomic_load(&k->value) == x + 1, "one was added");
    rn_mutex_unlock(&k->right);
    return 0;
}

/* B: adds. */
static int
adder(void *arg)
{
    struct kernel *k = arg;
    rn_mutex *lock = k->zoo.fixed ? &k->right : &k->wrong;

    must(rn_mutex_lock(lock, RN_NEVER));
    rn_atomic_store(&k->value, rn_atomic_load(&k->value) + 1);
    rn_mutex_unlock(lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    int size = k->zoo.size;
    rn_task tasks[1 + MOST];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .zoo.size = size};
    must(rn_task_spawn(NULL, checker, k, &(rn_task_options){"A"}, &tasks[0]));
    for (int i = 1; i <= size; i++)
        must(rn_task_spawn(NULL, adder, k, &(rn_task_options){"B"}, &tasks[i]));
    for (int i = 0; i <= size; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    static const int sizes[] = {1, 3, MOST, 0};
    struct kernel k;

    return zoo_main_sized(argc, argv, kernel_main, &k.zoo, sizes);
}
