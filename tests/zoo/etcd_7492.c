/* etcd_7492.c - adding a token waits for the keeper, with the lock he needs.
 *
 * A keeper K learns of new tokens through a channel with one slot, and at each
 * tick deletes the old ones from a store, under the store's lock. The users U
 * add their tokens with that lock held. When the slot is taken, a U waits for K
 * to receive, and K is at a tick and waits for the lock.
 *
 * Shows: deadlock of 3, main, K and a U. Twin: no channel: the tokens have a
 * lock of their own, which is always taken before the store's.
 */
#include "zoo.h"

#define USERS 3
#define TICKS 3

struct kernel {
    struct zoo zoo;
    rn_mutex store;
    rn_mutex keeper; /* twin only: guards tokens; before store */
    int tokens;      /* K's */
    rn_chan *added;  /* one slot, values without content, U to K */
    rn_chan *tick;   /* one slot, values without content, T to K */
    rn_chan *stop;   /* rn_chan *, where the reply goes */
    rn_waitgroup wg; /* U0 .. U2 */
};

/* Delete all tokens; the caller may touch them. */
static void
delete_tokens(struct kernel *k)
{
    for (; k->tokens > 0; k->tokens--) {
        must(rn_mutex_lock(&k->store, RN_NEVER));
        rn_mutex_unlock(&k->store);
    }
}

static void
at_tick(struct kernel *k)
{
    if (!k->zoo.fixed) {
        delete_tokens(k);
        return;
    }
    must(rn_mutex_lock(&k->keeper, RN_NEVER));
    delete_tokens(k);
    rn_mutex_unlock(&k->keeper);
}

/* K: keeps the tokens until it is stopped. */
static int
keep(void *arg)
{
    struct kernel *k = arg;
    rn_chan *reply;

    for (;;) {
        rn_arm arms[] = {RN_ARM_RECV(k->added, NULL),
                         RN_ARM_RECV(k->tick, NULL),
                         RN_ARM_RECV(k->stop, &reply)};

        switch (must(rn_select(arms, 3, 0, RN_NEVER))) {
        case 0:
            k->tokens++;
            break;
        case 1:
            at_tick(k);
            break;
        default:
            must(rn_chan_send(reply, NULL, RN_NEVER));
            return 0;
        }
    }
}

/* T: a ticker that drops ticks nobody has taken. */
static int
ticker(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < TICKS; i++)
        (void)rn_chan_send(k->tick, NULL, RN_NOW);
    return 0;
}

/* U0 .. U2: add a token. */
static int
user(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        must(rn_mutex_lock(&k->keeper, RN_NEVER));
    must(rn_mutex_lock(&k->store, RN_NEVER));
    if (k->zoo.fixed)
        k->tokens++;
    else
        must(rn_chan_send(k->added, NULL, RN_NEVER));
    rn_mutex_unlock(&k->store);
    if (k->zoo.fixed)
        rn_mutex_unlock(&k->keeper);
    rn_waitgroup_done(&k->wg);
    return 0;
}

/* Stop K and wait until it has. */
static void
stop_keeper(struct kernel *k)
{
    rn_chan *reply = zoo_chan(&k->zoo, 0, 0);

    must(rn_chan_send(k->stop, &reply, RN_NEVER));
    must(rn_chan_recv(reply, NULL, RN_NEVER));
    rn_chan_close(k->stop);
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[USERS] = {{"U0"}, {"U1"}, {"U2"}};
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->added = zoo_chan(&k->zoo, 0, 1);
    k->tick = zoo_chan(&k->zoo, 0, 1);
    k->stop = zoo_chan(&k->zoo, sizeof(rn_chan *), 0);
    rn_waitgroup_add(&k->wg, USERS);
    must(rn_task_spawn(NULL, keep, k, &(rn_task_options){"K"}, NULL));
    must(rn_task_spawn(NULL, ticker, k, &(rn_task_options){"T"}, NULL));
    for (int i = 0; i < USERS; i++)
        must(rn_task_spawn(NULL, user, k, &named[i], NULL));
    must(rn_waitgroup_wait(&k->wg, RN_NEVER));
    stop_keeper(k);
    must(rn_mutex_lock(&k->store, RN_NEVER));
    rn_mutex_unlock(&k->store);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
