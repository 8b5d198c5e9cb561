/* kubernetes_38669.c - the first events, before anybody is told to stop.
 *
 * P watches a store: it hands two initial events out and then passes on what
 * comes in, until that channel is closed. main stops the watch by closing it,
 * and never reads. P hangs at its first event and does not see the stop.
 *
 * Shows: leak of 1, P. Twin: stopping also closes a channel `done`, and P
 * gives up its event then.
 */
#include "zoo.h"

#define INITIAL 2

struct kernel {
    struct zoo zoo;
    rn_chan *in;   /* values without content; closed to stop P */
    rn_chan *out;  /* values without content; closed by P */
    rn_chan *done; /* closed with in */
    rn_mutex lock;
    bool stopped; /* guarded by lock */
};

static void
stop(struct kernel *k)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (!k->stopped) {
        k->stopped = true;
        rn_chan_close(k->done);
        rn_chan_close(k->in);
    }
    rn_mutex_unlock(&k->lock);
}

/* Hand one event out. */
static void
hand_out(struct kernel *k)
{
    rn_arm arms[] = {RN_ARM_SEND(k->out, NULL), RN_ARM_RECV(k->done, NULL)};

    if (k->zoo.fixed)
        must(rn_select(arms, 2, 0, RN_NEVER));
    else
        must(rn_chan_send(k->out, NULL, RN_NEVER));
}

/* P: the watch. */
static int
watch(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < INITIAL; i++)
        hand_out(k);
    while (rn_chan_recv(k->in, NULL, RN_NEVER) == 0)
        ;
    stop(k);
    rn_chan_close(k->out);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->in = zoo_chan(&k->zoo, 0, 0);
    k->out = zoo_chan(&k->zoo, 0, 0);
    k->done = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, watch, k, &(rn_task_options){"P"}, NULL));
    stop(k);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
