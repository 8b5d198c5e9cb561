/* bluetooth_driver.c - a driver is stopped while a request is let in.
 *
 * A driver counts what is pending: the driver itself, and each request inside.
 * Who leaves last raises an event, and then the driver may stop. main comes
 * with a request, S stops the driver. main looks whether the driver is
 * stopping, finds that it is not, and counts itself in; in between S may have
 * begun and ended, and main works with a driver that has stopped.
 *
 * Shows: assert in main, seldom. Twin: main counts itself in first and then
 * looks whether the driver is stopping.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_atomic pending;  /* the driver, and requests inside */
    rn_atomic stopping; /* let no request in */
    rn_atomic event;    /* nothing is pending */
    rn_atomic stopped;  /* the driver is gone */
};

/* Count down what is pending. */
static void
leave(struct kernel *k)
{
    if (rn_atomic_fetch_add(&k->pending, -1) == 1)
        rn_atomic_store(&k->event, 1);
}

/* Let a request in.
 * Returns: whether it is. */
static bool
enter(struct kernel *k)
{
    if (rn_atomic_load(&k->stopping))
        return false;
    rn_atomic_fetch_add(&k->pending, 1);
    return true;
}

/* The same of the twin. */
static bool
enter_fixed(struct kernel *k)
{
    rn_atomic_fetch_add(&k->pending, 1);
    if (!rn_atomic_load(&k->stopping))
        return true;
    leave(k);
    return false;
}

/* S: stops the driver. */
static int
stopper(void *arg)
{
    struct kernel *k = arg;

    rn_atomic_store(&k->stopping, 1);
    leave(k);
    if (rn_atomic_load(&k->event))
        rn_atomic_store(&k->stopped, 1);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    bool inside;
    rn_task task;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->pending = (rn_atomic)RN_ATOMIC_INIT(1);
    must(rn_task_spawn(NULL, stopper, k, &(rn_task_options){"S"}, &task));
    inside = k->zoo.fixed ? enter_fixed(k) : enter(k);
    if (inside)
        rn_sim_assert(!rn_atomic_load(&k->stopped), "the driver is there");
    if (inside || !k->zoo.fixed)
        leave(k);
    must(rn_task_join(task, RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
