/* grpc_3090.c - a callback comes before its owner knows the caller.
 *
 * A builds a resolver under a lock, which starts a task N that reports
 * addresses, and stores the resolver once it is built. N takes the lock, reads
 * the resolver and calls through it; that may be before A has stored it.
 *
 * Shows: race on the resolver, or a call through a null pointer. Twin: A holds
 * a second lock from before the build until after the store, and N takes that.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup test; /* A */
    rn_mutex build;    /* over the build */
    rn_mutex wrapper;  /* twin only: over resolver */
    rn_cell resolver;  /* 0: null */
};

/* N: reports addresses. */
static int
notifier(void *arg)
{
    struct kernel *k = arg;
    rn_mutex *lock = k->zoo.fixed ? &k->wrapper : &k->build;

    must(rn_mutex_lock(lock, RN_NEVER));
    if (rn_cell_read(&k->resolver) == 0)
        rn_panic("call through null");
    rn_mutex_unlock(lock);
    return 0;
}

/* A: builds the resolver. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->wrapper, RN_NEVER));
    must(rn_mutex_lock(&k->build, RN_NEVER));
    must(rn_task_spawn(NULL, notifier, k, &(rn_task_options){"N"}, NULL));
    rn_mutex_unlock(&k->build);
    rn_cell_write(&k->resolver, 1);
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->wrapper);
    must(rn_sleep(5 * ZOO_TICK));
    rn_waitgroup_done(&k->test);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    rn_waitgroup_add(&k->test, 1);
    must(rn_task_spawn(NULL, test, k, &(rn_task_options){"A"}, NULL));
    must(rn_waitgroup_wait(&k->test, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
