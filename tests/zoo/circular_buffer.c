/* circular_buffer.c - a round without a result is counted as one with it.
 *
 * A producer P puts 0, 1, 2 and so on into a ring and a consumer C takes them
 * out, in turns: a flag says to each whether it may. C expects its own
 * round number as the value, but a round in which it may not take anything is
 * one, too, and after it C is ahead of P.
 *
 * Shows: assert in C. Twin: C expects the value that P has put in last.
 */
#include "zoo.h"

#define RING 10
#define ROUNDS 7

struct kernel {
    struct zoo zoo;
    rn_mutex lock;      /* over all that follows */
    rn_atomic may_send; /* P's turn */
    rn_atomic may_recv; /* C's turn */
    int64_t ring[RING];
    int sent, taken; /* values put in and taken out, in all */
    int64_t last;    /* twin only: the value put in last */
};

/* P: puts in its round's number. */
static int
producer(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < ROUNDS; i++) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        if (rn_atomic_load(&k->may_send)) {
            k->ring[k->sent++ % RING] = k->last = i;
            rn_atomic_store(&k->may_send, 0);
            rn_atomic_store(&k->may_recv, 1);
        }
        rn_mutex_unlock(&k->lock);
    }
    return 0;
}

/* C: takes out and compares. */
static int
consumer(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < ROUNDS; i++) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        if (rn_atomic_load(&k->may_recv)) {
            int64_t value = k->ring[k->taken++ % RING];

            rn_sim_assert(value == (k->zoo.fixed ? k->last : i),
                          "the value is the expected one");
            rn_atomic_store(&k->may_send, 1);
            rn_atomic_store(&k->may_recv, 0);
        }
        rn_mutex_unlock(&k->lock);
    }
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    rn_task tasks[2];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->may_send = (rn_atomic)RN_ATOMIC_INIT(1);
    must(rn_task_spawn(NULL, producer, k, &(rn_task_options){"P"}, &tasks[0]));
    must(rn_task_spawn(NULL, consumer, k, &(rn_task_options){"C"}, &tasks[1]));
    for (int i = 0; i < 2; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
