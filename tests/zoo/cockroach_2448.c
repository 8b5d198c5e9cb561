/* cockroach_2448.c - an event loop and a callback loop wait for each other.
 *
 * A processor P takes events and answers each with a callback; a queue Q runs
 * callbacks and puts events out. Both channels hand over directly. When P has
 * an event and offers its callback while Q has just gone on to offer the next
 * event, each waits for the other to receive, and nobody is left to close
 * stop.
 *
 * Shows: leak of 2, P and Q. Twin: the events go into a queue with room for
 * all of them, so Q never waits to put one out.
 */
#include "zoo.h"

#define EVENTS 3

struct kernel {
    struct zoo zoo;
    rn_chan *events;    /* int, Q to P */
    rn_chan *callbacks; /* int, P to Q: the event that it answers */
    rn_chan *stop;      /* closed by Q */
};

/* P: answers events until stop is closed. */
static int
processor(void *arg)
{
    struct kernel *k = arg;
    int event;

    for (;;) {
        rn_arm next[] = {RN_ARM_RECV(k->events, &event),
                         RN_ARM_RECV(k->stop, NULL)};
        rn_arm answer[] = {RN_ARM_SEND(k->callbacks, &event),
                           RN_ARM_RECV(k->stop, NULL)};

        if (must(rn_select(next, 2, 0, RN_NEVER)) == 1)
            return 0;
        must(rn_select(answer, 2, 0, RN_NEVER));
    }
}

/* Run a callback if there is one.
 * Returns: whether the loop must look again before it puts out an event;
 * *stopped says that stop is closed. */
static bool
run_callback(struct kernel *k, bool *stopped)
{
    int event;
    rn_arm arms[] = {RN_ARM_RECV(k->stop, NULL),
                     RN_ARM_RECV(k->callbacks, &event)};
    int i = rn_select(arms, 2, 0, RN_NOW);

    *stopped = i == 0;
    return i != -EAGAIN;
}

/* Q: runs callbacks, and puts out events when there are none. */
static int
queue(void *arg)
{
    struct kernel *k = arg;
    int event = 0;
    bool stopped;

    while (event < EVENTS) {
        rn_arm arms[] = {RN_ARM_SEND(k->events, &event),
                         RN_ARM_RECV(k->stop, NULL)};

        if (run_callback(k, &stopped)) {
            if (stopped)
                return 0;
            continue;
        }
        if (must(rn_select(arms, 2, 0, RN_NEVER)) == 1)
            return 0;
        event++;
    }
    rn_chan_close(k->stop);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->events = zoo_chan(&k->zoo, sizeof(int), k->zoo.fixed ? EVENTS : 0);
    k->callbacks = zoo_chan(&k->zoo, sizeof(int), 0);
    k->stop = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, processor, k, &(rn_task_options){"P"}, NULL));
    must(rn_task_spawn(NULL, queue, k, &(rn_task_options){"Q"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
