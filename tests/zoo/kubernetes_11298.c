/* kubernetes_11298.c - a signal is lost because the waiter is not there yet.
 *
 * A service loop S waits for changes by starting a task W that waits on a
 * condition, with the lock that S took, and tells S by closing a channel. When
 * the node is to end, S signals the condition to get its W back. If W has not
 * joined the wait list yet, the signal is lost, and the producer P that
 * signals all the time has ended: W waits for a signal and S for W.
 *
 * The lock is unlocked by W for S and the other way round, which our mutex
 * forbids. So it is a channel with one slot, and the condition's wait list is
 * made by hand.
 *
 * Shows: deadlock of 3, main, N (which runs S) and W; seldom. Twin: no
 * condition: P offers "changed" with a try, and S waits for that or the end.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *lock;    /* one slot, full while locked */
    rn_chan *waiters; /* the wait list; room for the one W there can be */
    rn_chan *wake;    /* one slot: the signal, to the W on the list */
    rn_chan *changed; /* twin only: P offers a change */
    rn_chan *done;    /* closed by K: the node is to end */
    rn_chan *fin;     /* closed by P: no more changes */
    rn_chan *ended;   /* closed by N */
    rn_chan *woken;   /* closed by the W that was started last */
};

static bool
is_closed(rn_chan *chan)
{
    return rn_chan_recv(chan, NULL, RN_NOW) == -EPIPE;
}

/* Wait until a channel is closed. */
static void
await(rn_chan *chan)
{
    if (rn_chan_recv(chan, NULL, RN_NEVER) != -EPIPE)
        rn_panic("this channel is only ever closed");
}

/* Wake the waiter on the list; without one the signal is lost. */
static void
signal_change(struct kernel *k)
{
    if (rn_chan_recv(k->waiters, NULL, RN_NOW) == 0)
        must(rn_chan_send(k->wake, NULL, RN_NEVER));
}

/* W: waits for one signal, with the lock that S took. */
static int
waiter(void *arg)
{
    struct kernel *k = arg;
    rn_chan *woken = k->woken;

    must(rn_chan_send(k->waiters, NULL, RN_NEVER));
    must(rn_chan_recv(k->lock, NULL, RN_NEVER)); /* unlocks */
    must(rn_chan_recv(k->wake, NULL, RN_NEVER));
    must(rn_chan_send(k->lock, NULL, RN_NEVER)); /* locks */
    rn_chan_close(woken);
    rn_chan_unref(woken);
    return 0;
}

/* P: signals changes until done is closed. */
static int
producer(void *arg)
{
    struct kernel *k = arg;

    while (!is_closed(k->done)) {
        if (k->zoo.fixed) {
            (void)rn_chan_send(k->changed, NULL, RN_NOW);
            continue;
        }
        must(rn_chan_send(k->lock, NULL, RN_NEVER));
        signal_change(k);
        must(rn_chan_recv(k->lock, NULL, RN_NEVER));
    }
    rn_chan_close(k->fin);
    return 0;
}

/* One wait of S for a change, by a W of its own.
 * Returns: whether S goes on. */
static bool
wait_change(struct kernel *k)
{
    bool again = true;
    rn_chan *woken;

    must(rn_chan_new(0, 0, &woken));
    k->woken = rn_chan_ref(woken);
    must(rn_task_spawn(NULL, waiter, k, &(rn_task_options){"W"}, NULL));

    rn_arm arms[] = {RN_ARM_RECV(k->fin, NULL), RN_ARM_RECV(woken, NULL)};
    if (must(rn_select(arms, 2, 0, RN_NEVER)) == 0) {
        signal_change(k);
        await(woken);
        again = false;
    }
    rn_chan_unref(woken);
    return again;
}

/* S: handles changes until there are no more. */
static void
serve(struct kernel *k)
{
    must(rn_chan_send(k->lock, NULL, RN_NEVER));
    while (!is_closed(k->fin) && wait_change(k))
        ;
    must(rn_chan_recv(k->lock, NULL, RN_NEVER));
}

/* S of the twin. */
static void
serve_fixed(struct kernel *k)
{
    rn_arm arms[] = {RN_ARM_RECV(k->fin, NULL), RN_ARM_RECV(k->changed, NULL)};

    while (!is_closed(k->fin) && must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
        ;
}

/* N: runs the service until the node is to end. */
static int
node(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, producer, k, &(rn_task_options){"P"}, NULL));
    while (!is_closed(k->done)) {
        if (k->zoo.fixed)
            serve_fixed(k);
        else
            serve(k);
        await(k->done);
    }
    rn_chan_close(k->ended);
    return 0;
}

/* K: ends the node, at any moment. */
static int
killer(void *arg)
{
    struct kernel *k = arg;

    rn_chan_close(k->done);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->lock = zoo_chan(&k->zoo, 0, 1);
    k->waiters = zoo_chan(&k->zoo, 0, 1);
    k->wake = zoo_chan(&k->zoo, 0, 1);
    k->changed = zoo_chan(&k->zoo, 0, 0);
    k->done = zoo_chan(&k->zoo, 0, 0);
    k->fin = zoo_chan(&k->zoo, 0, 0);
    k->ended = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, node, k, &(rn_task_options){"N"}, NULL));
    must(rn_task_spawn(NULL, killer, k, &(rn_task_options){"K"}, NULL));
    await(k->ended);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
