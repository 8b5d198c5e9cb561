/* kubernetes_81091.c - a counter in a filter that runs on many workers.
 *
 * A scheduler hands pieces of work to a pool of two workers; a fake filter
 * counts its calls, plainly. If each worker gets a piece, both count at once.
 *
 * Shows: race on the count. Twin: the count is atomic.
 */
#include "zoo.h"

#define WORKERS 2

struct kernel {
    struct zoo zoo;
    rn_waitgroup test;    /* A */
    rn_waitgroup workers; /* P0 and P1 */
    rn_chan *work;        /* two pieces; closed */
    rn_cell count;
    rn_atomic count_fixed; /* instead, in the twin */
};

/* P0 and P1: work off the pieces. */
static int
worker(void *arg)
{
    struct kernel *k = arg;

    while (rn_chan_recv(k->work, NULL, RN_NEVER) == 0) {
        if (k->zoo.fixed)
            rn_atomic_fetch_add(&k->count_fixed, 1);
        else
            rn_cell_write(&k->count, rn_cell_read(&k->count) + 1);
    }
    rn_waitgroup_done(&k->workers);
    return 0;
}

/* A: the test, runs the pool. */
static int
test(void *arg)
{
    static const rn_task_options named[WORKERS] = {{"P0"}, {"P1"}};
    struct kernel *k = arg;

    rn_waitgroup_add(&k->workers, WORKERS);
    for (int i = 0; i < WORKERS; i++)
        must(rn_task_spawn(NULL, worker, k, &named[i], NULL));
    must(rn_waitgroup_wait(&k->workers, RN_NEVER));
    rn_waitgroup_done(&k->test);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->work = zoo_chan(&k->zoo, 0, 2);
    for (int i = 0; i < 2; i++)
        must(rn_chan_send(k->work, NULL, RN_NEVER));
    rn_chan_close(k->work);
    rn_waitgroup_add(&k->test, 1);
    must(rn_task_spawn(NULL, test, k, &(rn_task_options){"A"}, NULL));
    must(rn_waitgroup_wait(&k->test, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
