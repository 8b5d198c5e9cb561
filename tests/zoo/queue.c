/* queue.c - what was stored in a round is compared with another round's.
 *
 * A producer P puts numbers into a queue and notes each in a list by its round;
 * a consumer C takes them out and looks them up in the list by its own. A flag
 * gives the turn to one of the two, and a round without the turn does nothing.
 * So the rounds of the two drift apart, and the queue is blamed for it.
 *
 * Shows: assert in C, nearly always. Twin: C compares with the number of
 * elements it has taken, which is what P has put in.
 */
#include "zoo.h"

#define ROOM 20

struct kernel {
    struct zoo zoo;
    rn_mutex lock;      /* over all that follows */
    rn_atomic may_put;  /* P's turn */
    rn_atomic may_take; /* C's turn */
    int64_t elements[ROOM];
    int put, taken;       /* elements put and taken, in all */
    int64_t stored[ROOM]; /* what P put, by round */
};

/* Put an element and note it for a round. */
static void
put(struct kernel *k, int round, int64_t value)
{
    k->elements[k->put++ % ROOM] = value;
    k->stored[round] = value;
}

/* P: one element, then one more each time it has the turn. */
static int
producer(void *arg)
{
    struct kernel *k = arg;
    int64_t value = 0;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    put(k, 0, value);
    rn_mutex_unlock(&k->lock);
    for (int i = 0; i < ROOM - 1; i++) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        if (rn_atomic_load(&k->may_put)) {
            put(k, i + 1, ++value);
            rn_atomic_store(&k->may_put, 0);
            rn_atomic_store(&k->may_take, 1);
        }
        rn_mutex_unlock(&k->lock);
    }
    return 0;
}

/* C: takes one element each time it has the turn. */
static int
consumer(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < ROOM; i++) {
        must(rn_mutex_lock(&k->lock, RN_NEVER));
        if (rn_atomic_load(&k->may_take)) {
            int64_t expected = k->zoo.fixed ? k->taken : k->stored[i];
            int64_t value = k->elements[k->taken++ % ROOM];

            rn_sim_assert(value == expected, "the element is the one stored");
            rn_atomic_store(&k->may_take, 0);
            rn_atomic_store(&k->may_put, 1);
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
    k->may_put = (rn_atomic)RN_ATOMIC_INIT(1);
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
