/* lazy01.c - a check that holds only if it comes early.
 *
 * T1 adds 1 to a number and T2 adds 2; T3 takes for granted that it is below 3
 * when it looks. All hold the lock, nothing makes T3 come first.
 *
 * Shows: assert in T3. Twin: T3 allows for 3.
 */
#include "zoo.h"

#define TASKS 3

struct kernel {
    struct zoo zoo;
    rn_mutex lock;
    rn_atomic data; /* under lock */
};

/* Add to the number. */
static int
add(struct kernel *k, int64_t n)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    rn_atomic_store(&k->data, rn_atomic_load(&k->data) + n);
    rn_mutex_unlock(&k->lock);
    return 0;
}

/* T1. */
static int
add_one(void *arg)
{
    return add(arg, 1);
}

/* T2. */
static int
add_two(void *arg)
{
    return add(arg, 2);
}

/* T3: looks. */
static int
look(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    rn_sim_assert(rn_atomic_load(&k->data) < 3 + k->zoo.fixed,
                  "the number is small");
    rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[TASKS] = {{"T1"}, {"T2"}, {"T3"}};
    rn_task_fn *const fns[TASKS] = {add_one, add_two, look};
    struct kernel *k = arg;
    rn_task tasks[TASKS];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    for (int i = 0; i < TASKS; i++)
        must(rn_task_spawn(NULL, fns[i], k, &named[i], &tasks[i]));
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
