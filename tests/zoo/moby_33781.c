/* moby_33781.c - stopped while a probe is under way.
 *
 * A monitor A probes every 50 ticks: a task G does it and hands its result
 * over. When A is stopped while it waits for that, it ends at once, and G has
 * nobody to hand its result to.
 *
 * Shows: leak of 1, G. Twin: a monitor that is stopped takes the result first.
 */
#include "zoo.h"

#define PERIOD (50 * ZOO_TICK)

struct kernel {
    struct zoo zoo;
    rn_chan *stop; /* values without content, B to A */
};

/* G: a probe; it owns a reference to the channel. */
static int
probe(void *arg)
{
    rn_chan *result = arg;

    must(rn_chan_send(result, NULL, RN_NEVER));
    rn_chan_close(result);
    rn_chan_unref(result);
    return 0;
}

/* Probe once.
 * Returns: whether the monitor was stopped. */
static bool
probe_once(struct kernel *k)
{
    rn_chan *result;
    int i;

    must(rn_chan_new(0, 0, &result));
    must(rn_task_spawn(NULL, probe, rn_chan_ref(result),
                       &(rn_task_options){"G"}, NULL));
    rn_arm arms[] = {RN_ARM_RECV(k->stop, NULL), RN_ARM_RECV(result, NULL),
                     RN_ARM_AT(rn_after(PERIOD))};
    i = must(rn_select(arms, 3, 0, RN_NEVER));
    if (i == 2 || (i == 0 && k->zoo.fixed))
        must(rn_chan_recv(result, NULL, RN_NEVER));
    rn_chan_unref(result);
    return i == 0;
}

/* A: the monitor. */
static int
monitor(void *arg)
{
    struct kernel *k = arg;

    for (;;) {
        rn_arm arms[] = {RN_ARM_RECV(k->stop, NULL),
                         RN_ARM_AT(rn_after(PERIOD))};

        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 0 || probe_once(k))
            return 0;
    }
}

/* B: stops the monitor when the first probe is due. */
static int
stopper(void *arg)
{
    struct kernel *k = arg;

    must(rn_sleep(PERIOD));
    must(rn_chan_send(k->stop, NULL, RN_NEVER));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stop = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, monitor, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, stopper, k, &(rn_task_options){"B"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
