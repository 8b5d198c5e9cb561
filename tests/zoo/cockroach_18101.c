/* cockroach_18101.c - a cancel stops the reader and not the writer.
 *
 * B splits a restore into eight pieces and queues them in a channel with six
 * slots; A works on them until it is cancelled, here after the first. One piece
 * is taken and six fit: B hangs at the eighth.
 *
 * Shows: leak of 1, B. Twin: B is cancelled as well.
 */
#include "zoo.h"

#define PIECES 8
#define SLOTS 6

struct kernel {
    struct zoo zoo;
    rn_chan *pieces;    /* values without content, B to A; closed by B */
    rn_chan *cancelled; /* closed by C */
};

/* B: queues the pieces. */
static int
split(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < PIECES; i++) {
        rn_arm arms[] = {RN_ARM_SEND(k->pieces, NULL),
                         RN_ARM_RECV(k->cancelled, NULL)};

        if (!k->zoo.fixed)
            must(rn_chan_send(k->pieces, NULL, RN_NEVER));
        else if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
            break;
    }
    rn_chan_close(k->pieces);
    return 0;
}

/* A: works on a piece until it is cancelled. */
static int
restore(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, split, k, &(rn_task_options){"B"}, NULL));
    if (rn_chan_recv(k->pieces, NULL, RN_NEVER) == 0)
        zoo_await(k->cancelled);
    return 0;
}

/* C: cancels, at any moment. */
static int
canceller(void *arg)
{
    struct kernel *k = arg;

    rn_chan_close(k->cancelled);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->pieces = zoo_chan(&k->zoo, 0, SLOTS);
    k->cancelled = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, restore, k, &(rn_task_options){"A"}, NULL));
    must(rn_task_spawn(NULL, canceller, k, &(rn_task_options){"C"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
