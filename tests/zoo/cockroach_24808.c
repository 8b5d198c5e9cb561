/* cockroach_24808.c - a message is queued before there is a reader.
 *
 * main puts a suggestion into a channel with one slot and then starts a
 * compactor. Starting it begins with another suggestion, sent before the task
 * that reads them exists. The slot is taken, so main waits for ever in its own
 * start-up.
 *
 * Shows: deadlock of 1, main. Twin: the second suggestion is only tried; one
 * that is waiting already says the same.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *suggestions; /* one slot, values without content */
    rn_chan *stop;        /* closed by main */
};

/* W: takes suggestions until stop is closed. */
static int
compactor(void *arg)
{
    struct kernel *k = arg;

    for (;;) {
        rn_arm arms[] = {RN_ARM_RECV(k->stop, NULL),
                         RN_ARM_RECV(k->suggestions, NULL)};

        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 0)
            return 0;
    }
}

/* Suggest a first round, then start the task that does it. */
static void
start_compactor(struct kernel *k)
{
    if (k->zoo.fixed) {
        if (rn_chan_send(k->suggestions, NULL, RN_NOW) != -EAGAIN)
            rn_panic("the slot was free");
    } else {
        must(rn_chan_send(k->suggestions, NULL, RN_NEVER));
    }
    must(rn_task_spawn(NULL, compactor, k, &(rn_task_options){"W"}, NULL));
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->suggestions = zoo_chan(&k->zoo, 0, 1);
    k->stop = zoo_chan(&k->zoo, 0, 0);
    must(rn_chan_send(k->suggestions, NULL, RN_NEVER));
    start_compactor(k);
    rn_chan_close(k->stop);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
