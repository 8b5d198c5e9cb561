/* cockroach_35931.c - telling everyone to stop blocks on one who is busy.
 *
 * A registry knows two receivers of a flow, each a channel with one slot. main
 * is still sending rows to the left one, whose slot is full, when it cancels
 * the flow: it collects both channels under the registry's lock and sends each
 * a last message, in the order a hash table happens to give. The message to
 * the left waits for a reader that does not come; in one of the two orders the
 * right one never hears of the cancel.
 *
 * Shows: deadlock of 1, main. Twin: a task for each message; main then reads
 * both channels empty.
 */
#include "zoo.h"

enum { ROW, CANCEL };

struct kernel {
    struct zoo zoo;
    rn_mutex lock; /* guards the registry */
    rn_chan *left; /* int, one slot; in the registry */
    rn_chan *right;
};

/* Send the last message to the channel that is the argument. */
static int
tell(void *arg)
{
    int message = CANCEL;

    must(rn_chan_send(arg, &message, RN_NEVER));
    return 0;
}

/* Tell all receivers that the flow is cancelled. */
static void
cancel_flow(struct kernel *k)
{
    rn_chan *receivers[2];
    uint32_t first = rn_sim_choose(2);

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    receivers[first] = k->left;
    receivers[1 - first] = k->right;
    rn_mutex_unlock(&k->lock);

    for (int i = 0; i < 2; i++) {
        rn_task_options named = {receivers[i] == k->left ? "left" : "right"};

        if (k->zoo.fixed)
            must(rn_task_spawn(NULL, tell, receivers[i], &named, NULL));
        else
            tell(receivers[i]);
    }
}

/* The next message of a channel. */
static int
next(rn_chan *chan)
{
    int message;

    must(rn_chan_recv(chan, &message, RN_NEVER));
    return message;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    int row = ROW;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->left = zoo_chan(&k->zoo, sizeof(int), 1);
    k->right = zoo_chan(&k->zoo, sizeof(int), 1);
    must(rn_chan_send(k->left, &row, RN_NEVER));
    cancel_flow(k);
    if (k->zoo.fixed) {
        rn_sim_assert(next(k->right) == CANCEL, "right is cancelled");
        rn_sim_assert(next(k->left) == ROW, "left gets its row");
        rn_sim_assert(next(k->left) == CANCEL, "left is cancelled");
    }
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
