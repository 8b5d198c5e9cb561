/* cockroach_10790.c - a drainer waits for what is not sent after a cancel.
 *
 * B collects the answers of two commands from H, and for each that it gives up
 * because of a cancel it starts a task G that drains both channels. But H gives
 * up, too, and what it has not sent by then it never sends.
 *
 * Shows: leak of 1 or 2, the drainers. Twin: a drainer also ends when main
 * shuts down.
 */
#include "zoo.h"

#define COMMANDS 2

struct kernel {
    struct zoo zoo;
    rn_chan *answers[COMMANDS]; /* values without content, H to B or G */
    rn_chan *cancelled;         /* closed by C */
    rn_chan *quiesce;           /* closed by main */
};

/* H: answers the commands, one after the other. */
static int
answer(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < COMMANDS; i++) {
        rn_arm arms[] = {RN_ARM_SEND(k->answers[i], NULL),
                         RN_ARM_RECV(k->cancelled, NULL)};

        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
            break;
    }
    return 0;
}

/* G: takes what is still sent. */
static int
drain(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < COMMANDS; i++) {
        rn_arm arms[] = {RN_ARM_RECV(k->answers[i], NULL),
                         RN_ARM_RECV(k->quiesce, NULL)};

        if (!k->zoo.fixed)
            must(rn_chan_recv(k->answers[i], NULL, RN_NEVER));
        else if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
            break;
    }
    return 0;
}

/* B: collects the answers. */
static int
collect(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < COMMANDS; i++) {
        rn_arm arms[] = {RN_ARM_RECV(k->answers[i], NULL),
                         RN_ARM_RECV(k->cancelled, NULL)};

        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
            must(rn_task_spawn(NULL, drain, k, &(rn_task_options){"G"}, NULL));
    }
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
    for (int i = 0; i < COMMANDS; i++)
        k->answers[i] = zoo_chan(&k->zoo, 0, 0);
    k->cancelled = zoo_chan(&k->zoo, 0, 0);
    k->quiesce = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, answer, k, &(rn_task_options){"H"}, NULL));
    must(rn_task_spawn(NULL, collect, k, &(rn_task_options){"B"}, NULL));
    must(rn_task_spawn(NULL, canceller, k, &(rn_task_options){"C"}, NULL));
    rn_chan_close(k->quiesce);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
