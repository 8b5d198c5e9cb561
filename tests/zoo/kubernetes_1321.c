/* kubernetes_1321.c - events for a watcher who only wants to stop.
 *
 * L distributes events to all watchers, with the lock of the mux held. T adds a
 * watcher and stops it without reading; stopping takes the lock of the mux. L
 * waits for T to read, T for the lock.
 *
 * Shows: leak of 2, L and T. Twin: a watcher has a second channel that is
 * closed first of all when it stops, and L gives up its event then.
 */
#include "zoo.h"

#define EVENTS 3

struct kernel {
    struct zoo zoo;
    rn_mutex mux;      /* around a distribution, and around stopping */
    rn_mutex watchers; /* around the set of watchers; after mux */
    bool watched;      /* the one watcher is in the set */
    rn_chan *result;   /* values without content, L to the watcher */
    rn_chan *stopped;  /* twin only: closed when the watcher stops */
};

/* Send one event to the watcher, if there is one. */
static void
distribute(struct kernel *k)
{
    rn_arm arms[] = {RN_ARM_SEND(k->result, NULL),
                     RN_ARM_RECV(k->stopped, NULL)};

    if (!k->watched)
        return;
    if (k->zoo.fixed)
        must(rn_select(arms, 2, 0, RN_NEVER));
    else
        must(rn_chan_send(k->result, NULL, RN_NEVER));
}

/* L: distributes events. */
static int
loop(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < EVENTS; i++) {
        must(rn_mutex_lock(&k->mux, RN_NEVER));
        must(rn_mutex_lock(&k->watchers, RN_NEVER));
        distribute(k);
        rn_mutex_unlock(&k->watchers);
        rn_mutex_unlock(&k->mux);
    }
    return 0;
}

static void
stop_watcher(struct kernel *k)
{
    if (k->zoo.fixed)
        rn_chan_close(k->stopped);
    must(rn_mutex_lock(&k->mux, RN_NEVER));
    k->watched = false;
    rn_chan_close(k->result);
    rn_mutex_unlock(&k->mux);
}

/* T: adds a watcher and stops it. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, loop, k, &(rn_task_options){"L"}, NULL));
    must(rn_mutex_lock(&k->watchers, RN_NEVER));
    k->watched = true;
    rn_mutex_unlock(&k->watchers);
    stop_watcher(k);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->result = zoo_chan(&k->zoo, 0, 0);
    k->stopped = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, test, k, &(rn_task_options){"T"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
