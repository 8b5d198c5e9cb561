/* moby_4395.c - a result for a caller who does not care.
 *
 * A runs a function and hands its error to whoever has started it, through a
 * channel. main starts it and does not look at the channel.
 *
 * Shows: leak of 1, A. Twin: the channel has a slot.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *result; /* int, A to main */
};

/* A: runs a function that fails. */
static int
run(void *arg)
{
    struct kernel *k = arg;
    int error = -EIO;

    must(rn_chan_send(k->result, &error, RN_NEVER));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->result = zoo_chan(&k->zoo, sizeof(int), k->zoo.fixed ? 1 : 0);
    must(rn_task_spawn(NULL, run, k, &(rn_task_options){"A"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
