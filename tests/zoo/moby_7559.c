/* moby_7559.c - the next round begins with the lock still held.
 *
 * A forwards packets: in each round it locks the table of connections and dials
 * a new one. When that fails it goes straight to the next round, and locks
 * again what it has.
 *
 * Shows: leak of 1, A. Twin: a round that fails unlocks.
 */
#include "zoo.h"

#define ROUNDS 2

struct kernel {
    struct zoo zoo;
    rn_mutex lock; /* guards the table of connections */
};

/* Always fails here. */
static bool
dial(void)
{
    return false;
}

/* A: tries until a connection stands. */
static int
forward(void *arg)
{
    struct kernel *k = arg;
    bool held = false;

    for (int round = 0; round < ROUNDS; round++) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        held = true;
        if (dial())
            break;
        if (k->zoo.fixed) {
            rn_mutex_unlock(&k->lock);
            held = false;
        }
    }
    if (held)
        rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    must(rn_task_spawn(NULL, forward, k, &(rn_task_options){"A"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
