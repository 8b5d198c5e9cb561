/* grpc_660.c - a result that nobody waits for any more.
 *
 * A makes calls, one after the other. Each is a task G with a channel of its
 * own for the outcome. H stops A. When A leaves because of that, the G of the
 * last call has nobody to hand its outcome to.
 *
 * Shows: leak of 1, the last G. Twin: the channel of a call has a slot.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *stop; /* values without content, H to A */
};

/* G: one call; it owns a reference to the channel. */
static int
call(void *arg)
{
    rn_chan *outcome = arg;
    bool ok = rn_sim_choose(2) == 1;

    must(rn_chan_send(outcome, &ok, RN_NEVER));
    rn_chan_unref(outcome);
    return 0;
}

/* A: makes calls until it is stopped. */
static int
make_calls(void *arg)
{
    struct kernel *k = arg;
    int done;

    do {
        rn_chan *outcome;
        bool ok;

        must(rn_chan_new(sizeof ok, k->zoo.fixed ? 1 : 0, &outcome));
        must(rn_task_spawn(NULL, call, rn_chan_ref(outcome),
                           &(rn_task_options){"G"}, NULL));
        rn_arm arms[] = {RN_ARM_RECV(k->stop, NULL), RN_ARM_RECV(outcome, &ok)};
        done = must(rn_select(arms, 2, 0, RN_NEVER)) == 0;
        rn_chan_unref(outcome);
    } while (!done);
    return 0;
}

/* H: stops A. */
static int
stopper(void *arg)
{
    struct kernel *k = arg;

    must(rn_chan_send(k->stop, NULL, RN_NEVER));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stop = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, make_calls, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, stopper, k, &(rn_task_options){"H"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
