/* stack.c - a flag that says "not empty" and is never taken back.
 *
 * A producer P pushes ten elements and raises a flag with the first. A consumer
 * C pops ten times, whenever the flag is up. It stays up when C has popped all
 * that was pushed so far.
 *
 * Shows: assert in C. Twin: C looks at the height.
 */
#include "zoo.h"

#define ROUNDS 10

struct kernel {
    struct zoo zoo;
    rn_mutex lock; /* over all that follows */
    int64_t elements[ROUNDS];
    rn_atomic height; /* elements on the stack */
    rn_atomic pushed; /* there has been one */
};

/* P: pushes. */
static int
producer(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < ROUNDS; i++) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        k->elements[rn_atomic_load(&k->height)] = i;
        rn_atomic_store(&k->height, rn_atomic_load(&k->height) + 1);
        rn_atomic_store(&k->pushed, 1);
        rn_mutex_unlock(&k->lock);
    }
    return 0;
}

/* C: pops. */
static int
consumer(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < ROUNDS; i++) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        if (rn_atomic_load(k->zoo.fixed ? &k->height : &k->pushed)) {
            rn_sim_assert(rn_atomic_load(&k->height) > 0,
                          "there is something to pop");
            rn_atomic_store(&k->height, rn_atomic_load(&k->height) - 1);
        }
        rn_mutex_unlock(&k->lock);
    }
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    rn_task tasks[2];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, producer, k, &(rn_task_options){"P"}, &tasks[0]));
    must(rn_task_spawn(NULL, consumer, k, &(rn_task_options){"C"}, &tasks[1]));
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
