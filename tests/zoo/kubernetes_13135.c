/* kubernetes_13135.c - two callbacks take two locks in opposite orders.
 *
 * A cacher has a lock and a watch cache with a lock of its own, which calls the
 * cacher back. B refills the watch cache: it has the cacher's lock, takes the
 * cache's, and the callback gives the cacher's back. C hands in an event: it
 * has the cache's lock when the callback asks for the cacher's. main starts C
 * once B has been through a first round; the next one can meet C.
 *
 * Shows: leak of 2, B and C. Twin: C only looks the callback up under the
 * cache's lock and calls it without.
 */
#include "zoo.h"

#define ROUNDS 3

struct kernel;
typedef void callback_fn(struct kernel *k);

struct kernel {
    struct zoo zoo;
    rn_mutex cacher;
    rn_rwmutex cache;
    callback_fn *on_replace; /* guarded by cache */
    callback_fn *on_event;   /* guarded by cache */
    rn_once first;           /* the first refill */
    rn_waitgroup filled;     /* the cache was filled once */
    rn_chan *stop;           /* closed by D */
};

static void
tell_filled(void *arg)
{
    struct kernel *k = arg;

    rn_waitgroup_done(&k->filled);
}

/* The cache was refilled. The caller has locked the cacher. */
static void
replaced(struct kernel *k)
{
    must(rn_once_do(&k->first, tell_filled, k, RN_NEVER));
    rn_mutex_unlock(&k->cacher);
}

/* An event has come. */
static void
event(struct kernel *k)
{
    must(rn_mutex_lock(&k->cacher, RN_NEVER));
    rn_mutex_unlock(&k->cacher);
}

/* B: refills the cache again and again. */
static int
refill(void *arg)
{
    struct kernel *k = arg;

    for (int round = 0; round < ROUNDS; round++) {
        if (rn_chan_recv(k->stop, NULL, RN_NOW) == -EPIPE)
            break;
        must(rn_mutex_lock(&k->cacher, RN_NEVER));
        must(rn_rwmutex_lock(&k->cache, RN_NEVER));
        k->on_replace(k);
        rn_rwmutex_unlock(&k->cache);
        must(rn_yield());
    }
    return 0;
}

/* C: hands one event in. */
static int
hand_in(void *arg)
{
    struct kernel *k = arg;
    callback_fn *callback;

    must(rn_rwmutex_lock(&k->cache, RN_NEVER));
    callback = k->on_event;
    if (k->zoo.fixed)
        rn_rwmutex_unlock(&k->cache);
    callback(k);
    if (!k->zoo.fixed)
        rn_rwmutex_unlock(&k->cache);
    return 0;
}

/* D: stops the refills. */
static int
stopper(void *arg)
{
    struct kernel *k = arg;

    rn_chan_close(k->stop);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stop = zoo_chan(&k->zoo, 0, 0);
    rn_waitgroup_add(&k->filled, 1);
    must(rn_rwmutex_lock(&k->cache, RN_NEVER));
    k->on_replace = replaced;
    rn_rwmutex_unlock(&k->cache);
    must(rn_rwmutex_lock(&k->cache, RN_NEVER));
    k->on_event = event;
    rn_rwmutex_unlock(&k->cache);
    must(rn_task_spawn(NULL, refill, k, &(rn_task_options){"B"}, NULL));
    must(rn_waitgroup_wait(&k->filled, RN_NEVER));
    must(rn_task_spawn(NULL, hand_in, k, &(rn_task_options){"C"}, NULL));
    must(rn_task_spawn(NULL, stopper, k, &(rn_task_options){"D"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
