/* serving_3068.c - a pool is closed while jobs are still handed in.
 *
 * A pool has a channel of jobs, a wait group of jobs in work and one worker K.
 * P hands in a job every ten ticks; main waits for the pool, which closes the
 * channel of jobs first. The next job is sent on a closed channel.
 *
 * Shows: panic in P. Twin: a lock and a flag; a job that comes after the flag
 * is refused, and the channel is closed once all that came before are done.
 */
#include "zoo.h"

#define JOBS 5

struct kernel {
    struct zoo zoo;
    rn_waitgroup handed_in; /* jobs of P, done or refused */
    rn_waitgroup in_work;   /* jobs in the pool */
    rn_chan *work;          /* room for all */
    rn_once closing_once;
    rn_mutex lock;   /* twin only: over closing */
    bool closing;    /* twin only */
    rn_atomic count; /* jobs done */
};

/* K: the worker. */
static int
worker(void *arg)
{
    struct kernel *k = arg;

    while (rn_chan_recv(k->work, NULL, RN_NEVER) == 0) {
        rn_atomic_fetch_add(&k->count, 1);
        rn_waitgroup_done(&k->in_work);
    }
    return 0;
}

/* Twin: say that there is one more job in the pool.
 * Returns: whether there may be. */
static bool
admit(struct kernel *k)
{
    bool open;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    open = !k->closing;
    if (open)
        rn_waitgroup_add(&k->in_work, 1);
    rn_mutex_unlock(&k->lock);
    return open;
}

/* Hand a job in. */
static void
pool_go(struct kernel *k)
{
    if (k->zoo.fixed) {
        if (!admit(k))
            return;
    } else {
        rn_waitgroup_add(&k->in_work, 1);
    }
    if (rn_chan_send(k->work, NULL, RN_NEVER) == -EPIPE)
        rn_panic("send on closed channel");
}

/* P: hands jobs in. */
static int
producer(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < JOBS; i++) {
        pool_go(k);
        must(rn_sleep(10 * ZOO_TICK));
        rn_waitgroup_done(&k->handed_in);
    }
    return 0;
}

/* Z: waits for the jobs in the pool. */
static int
finisher(void *arg)
{
    struct kernel *k = arg;

    must(rn_waitgroup_wait(&k->in_work, RN_NEVER));
    if (k->zoo.fixed)
        rn_chan_close(k->work);
    return 0;
}

/* Close the pool. */
static void
pool_close(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        k->closing = true;
        rn_mutex_unlock(&k->lock);
    } else {
        rn_chan_close(k->work);
    }
    must(rn_task_spawn(NULL, finisher, k, &(rn_task_options){"Z"}, NULL));
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->work = zoo_chan(&k->zoo, 0, JOBS);
    rn_waitgroup_add(&k->handed_in, JOBS);
    must(rn_task_spawn(NULL, worker, k, &(rn_task_options){"K"}, NULL));
    must(rn_task_spawn(NULL, producer, k, &(rn_task_options){"P"}, NULL));
    must(rn_once_do(&k->closing_once, pool_close, k, RN_NEVER));
    must(rn_waitgroup_wait(&k->handed_in, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
