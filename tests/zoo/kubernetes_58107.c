/* kubernetes_58107.c - waiting for work with the right to work.
 *
 * Two workers take items from a queue each. A worker holds the worker lock for
 * reading, so that S, which syncs and locks it for writing, finds none at work;
 * but it holds it also while it waits for an item. W1 waits for an item, S
 * waits for W1, W2 is held back by S though its item is there; and main puts an
 * item into W1's queue only when W2 is done.
 *
 * Shows: deadlock of 4, main, W1, W2 and S. Twin: a worker takes an item first
 * and holds the lock only while it works on it.
 */
#include "zoo.h"

#define WORKERS 2
#define SYNCS 2

struct kernel;

struct queue {
    struct kernel *kernel;
    rn_mutex lock;
    rn_cond filled; /* items is no longer 0 */
    int items;      /* guarded by lock */
};

struct kernel {
    struct zoo zoo;
    rn_rwmutex worker_lock;
    struct queue queues[WORKERS]; /* of W1 and W2 */
    rn_chan *ack;                 /* one slot: W2 is done */
};

static void
put(struct queue *queue)
{
    must(rn_mutex_lock(&queue->lock, RN_NEVER));
    queue->items++;
    rn_cond_signal(&queue->filled);
    rn_mutex_unlock(&queue->lock);
}

static void
take(struct queue *queue)
{
    must(rn_mutex_lock(&queue->lock, RN_NEVER));
    while (queue->items == 0)
        must(rn_cond_wait(&queue->filled, &queue->lock, RN_NEVER));
    queue->items--;
    rn_mutex_unlock(&queue->lock);
}

/* W1 and W2: work on one item. */
static int
worker(void *arg)
{
    struct queue *queue = arg;
    struct kernel *k = queue->kernel;

    if (k->zoo.fixed)
        take(queue);
    must(rn_rwmutex_read_lock(&k->worker_lock, RN_NEVER));
    if (!k->zoo.fixed)
        take(queue);
    rn_rwmutex_read_unlock(&k->worker_lock);
    if (queue == &k->queues[1])
        must(rn_chan_send(k->ack, NULL, RN_NEVER));
    return 0;
}

/* S: syncs while no worker is at work. */
static int
sync_all(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < SYNCS; i++) {
        must(rn_rwmutex_lock(&k->worker_lock, RN_NEVER));
        must(rn_yield());
        rn_rwmutex_unlock(&k->worker_lock);
    }
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[WORKERS] = {{"W1"}, {"W2"}};
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->ack = zoo_chan(&k->zoo, 0, 1);
    for (int i = 0; i < WORKERS; i++) {
        k->queues[i].kernel = k;
        must(rn_task_spawn(NULL, worker, &k->queues[i], &named[i], NULL));
    }
    must(rn_task_spawn(NULL, sync_all, k, &(rn_task_options){"S"}, NULL));
    put(&k->queues[1]);
    must(rn_chan_recv(k->ack, NULL, RN_NEVER));
    put(&k->queues[0]);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
