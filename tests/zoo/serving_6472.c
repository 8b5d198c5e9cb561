/* serving_6472.c - an item is changed after it was handed over.
 *
 * A prober puts items into a queue with a lock, and workers P take them out and
 * count their probes down. main puts an item in and only then adds to its
 * counter; a worker may have it by then.
 *
 * The workers count atomically, which a plain add does not respect: here they
 * hold a lock that main does not take.
 *
 * Shows: race on the item's counter. Twin: main sets the counter before it puts
 * the item in.
 */
#include "zoo.h"

#define WORKERS 2
#define ROOM 2

struct item {
    rn_cell probes; /* still to be made */
};

struct kernel {
    struct zoo zoo;
    rn_waitgroup workers; /* P0 and P1 */
    rn_chan *end;         /* closed when they are done */
    rn_mutex queue;       /* over what follows */
    struct item *waiting[ROOM];
    int count;       /* items that wait */
    rn_mutex atomic; /* what makes counting down one step */
    struct item old, fresh;
};

/* P0 and P1: one item each, if there is one. */
static int
worker(void *arg)
{
    struct kernel *k = arg;
    struct item *item = NULL;

    must(rn_mutex_lock(&k->queue, RN_NEVER));
    if (k->count > 0) {
        item = k->waiting[0];
        k->waiting[0] = k->waiting[1];
        k->count--;
    }
    rn_mutex_unlock(&k->queue);
    if (item != NULL) {
        must(rn_mutex_lock(&k->atomic, RN_NEVER));
        rn_cell_write(&item->probes, rn_cell_read(&item->probes) - 1);
        rn_mutex_unlock(&k->atomic);
    }
    rn_waitgroup_done(&k->workers);
    return 0;
}

/* C: tells that the workers are done. */
static int
closer(void *arg)
{
    struct kernel *k = arg;

    must(rn_waitgroup_wait(&k->workers, RN_NEVER));
    rn_chan_close(k->end);
    return 0;
}

/* Put an item into the queue. */
static void
put(struct kernel *k, struct item *item)
{
    must(rn_mutex_lock(&k->queue, RN_NEVER));
    k->waiting[k->count++] = item;
    rn_mutex_unlock(&k->queue);
}

static void
add_probe(struct item *item)
{
    rn_cell_write(&item->probes, rn_cell_read(&item->probes) + 1);
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[WORKERS] = {{"P0"}, {"P1"}};
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->end = zoo_chan(&k->zoo, 0, 0);
    put(k, &k->old);
    rn_waitgroup_add(&k->workers, WORKERS);
    for (int i = 0; i < WORKERS; i++)
        must(rn_task_spawn(NULL, worker, k, &named[i], NULL));
    must(rn_task_spawn(NULL, closer, k, &(rn_task_options){"C"}, NULL));
    if (k->zoo.fixed)
        add_probe(&k->fresh);
    put(k, &k->fresh);
    if (!k->zoo.fixed)
        add_probe(&k->fresh);
    (void)rn_chan_recv(k->end, NULL, RN_NEVER);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
