/* kubernetes_5316.c - a request that answers after its time is up.
 *
 * A starts G, which works on a request, and waits for its result or its error,
 * but not for ever. G takes longer than A waits, and has nobody to hand its
 * result to.
 *
 * Shows: leak of 1, G. Twin: both channels have a slot.
 */
#include "zoo.h"

#define PATIENCE (1000 * ZOO_TICK)

struct kernel {
    struct zoo zoo;
    rn_chan *ok;  /* values without content */
    rn_chan *err; /* values without content */
};

/* G: works for too long. */
static int
work(void *arg)
{
    struct kernel *k = arg;

    must(rn_sleep(2 * PATIENCE));
    must(rn_chan_send(rn_sim_choose(2) ? k->err : k->ok, NULL, RN_NEVER));
    return 0;
}

/* A: waits for the outcome. */
static int
finish_request(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, work, k, &(rn_task_options){"G"}, NULL));
    rn_arm arms[] = {RN_ARM_RECV(k->ok, NULL), RN_ARM_RECV(k->err, NULL),
                     RN_ARM_AT(rn_after(PATIENCE))};
    must(rn_select(arms, 3, 0, RN_NEVER));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->ok = zoo_chan(&k->zoo, 0, k->zoo.fixed ? 1 : 0);
    k->err = zoo_chan(&k->zoo, 0, k->zoo.fixed ? 1 : 0);
    must(rn_task_spawn(NULL, finish_request, k, &(rn_task_options){"A"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
