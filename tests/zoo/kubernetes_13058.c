/* kubernetes_13058.c - a wait group is counted down before it is raised.
 *
 * A controller C ticks off one round of work on a wait group and sleeps, again
 * and again until it is stopped. main starts it and only then adds the three
 * rounds it wants to wait for. If C is quick, it counts below zero.
 *
 * Shows: panic in C. Twin: the rounds are added before C starts. (A fourth
 * round comes only if main is held up for longer than C sleeps. In the
 * simulator time stands still while main can run, so it never comes.)
 */
#include "zoo.h"

#define ROUNDS 3

struct kernel {
    struct zoo zoo;
    rn_waitgroup rounds;  /* rounds of C that main waits for */
    rn_waitgroup workers; /* tasks T0 .. T2 */
    rn_chan *stop;        /* closed by main */
};

/* C: a round every ten ticks until stop is closed. */
static int
controller(void *arg)
{
    struct kernel *k = arg;

    while (rn_chan_recv(k->stop, NULL, RN_NOW) != -EPIPE) {
        rn_waitgroup_done(&k->rounds);
        must(rn_sleep(10 * ZOO_TICK));
    }
    return 0;
}

/* T0, T1, T2: bystanders. */
static int
worker(void *arg)
{
    struct kernel *k = arg;

    rn_waitgroup_done(&k->workers);
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[ROUNDS] = {{"T0"}, {"T1"}, {"T2"}};
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stop = zoo_chan(&k->zoo, 0, 0);
    if (k->zoo.fixed)
        rn_waitgroup_add(&k->rounds, ROUNDS);
    must(rn_task_spawn(NULL, controller, k, &(rn_task_options){"C"}, NULL));
    rn_waitgroup_add(&k->workers, ROUNDS);
    if (!k->zoo.fixed)
        rn_waitgroup_add(&k->rounds, ROUNDS);
    for (int i = 0; i < ROUNDS; i++)
        must(rn_task_spawn(NULL, worker, k, &named[i], NULL));
    must(rn_waitgroup_wait(&k->workers, RN_NEVER));
    must(rn_waitgroup_wait(&k->rounds, RN_NEVER));
    rn_chan_close(k->stop);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
