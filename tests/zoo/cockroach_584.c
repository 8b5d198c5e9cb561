/* cockroach_584.c - an early exit that keeps the lock.
 *
 * A makes two rounds. In each it takes the lock and looks at a flag that says
 * the work is closed already, and it is. The early exit from the round forgets
 * to unlock, so in the second round A waits for itself.
 *
 * Shows: leak of 1, A. Twin: the early exit unlocks.
 */
#include "zoo.h"

#define ROUNDS 2

struct kernel {
    struct zoo zoo;
    rn_mutex lock;
    bool closed; /* guarded by lock; true from the start */
};

/* One round: nothing to do when closed. */
static void
bootstrap(struct kernel *k)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (k->closed) {
        if (k->zoo.fixed)
            rn_mutex_unlock(&k->lock);
        return;
    }
    rn_mutex_unlock(&k->lock);
}

/* A: makes the rounds. */
static int
gossip(void *arg)
{
    struct kernel *k = arg;

    for (int round = 0; round < ROUNDS; round++)
        bootstrap(k);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .closed = true};
    must(rn_task_spawn(NULL, gossip, k, &(rn_task_options){"A"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
