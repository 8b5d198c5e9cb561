/* cockroach_1462.c - the receiver stops while a send is under way.
 *
 * T1 sends events as long as the program is not to stop, T2 receives them until
 * then. main drains, that is, waits for jobs under way, then stops and waits
 * for both. T1 has looked at stop and goes to send; T2 sees stop and ends: T1
 * sends to nobody.
 *
 * Shows: deadlock of 2, main and T1. Twin: a send is a job, so main stops only
 * when none is under way.
 */
#include "zoo.h"

#define EVENTS 3

struct kernel {
    struct zoo zoo;
    rn_chan *stop;   /* closed by main */
    rn_chan *events; /* values without content, T1 to T2 */
    rn_waitgroup wg; /* T1 and T2 */
    rn_mutex lock;
    rn_cond drained; /* jobs is 0 */
    bool draining;   /* guarded by lock: no new jobs */
    int jobs;        /* guarded by lock */
};

/* Begin a job.
 * Returns: whether that is still allowed. */
static bool
begin_job(struct kernel *k)
{
    bool allowed;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    allowed = !k->draining;
    k->jobs += allowed;
    rn_mutex_unlock(&k->lock);
    return allowed;
}

static void
end_job(struct kernel *k)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    k->jobs--;
    rn_cond_broadcast(&k->drained);
    rn_mutex_unlock(&k->lock);
}

/* T1: sends events until stop is closed. */
static int
sender(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < EVENTS; i++) {
        if (rn_chan_recv(k->stop, NULL, RN_NOW) == -EPIPE)
            break;
        if (k->zoo.fixed && !begin_job(k))
            break;
        must(rn_chan_send(k->events, NULL, RN_NEVER));
        if (k->zoo.fixed)
            end_job(k);
    }
    rn_waitgroup_done(&k->wg);
    return 0;
}

/* T2: receives events until stop is closed. */
static int
receiver(void *arg)
{
    struct kernel *k = arg;
    int i;

    do {
        rn_arm arms[] = {RN_ARM_RECV(k->events, NULL),
                         RN_ARM_RECV(k->stop, NULL)};
        i = must(rn_select(arms, 2, 0, RN_NEVER));
    } while (i == 0);
    rn_waitgroup_done(&k->wg);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stop = zoo_chan(&k->zoo, 0, 0);
    k->events = zoo_chan(&k->zoo, 0, 0);
    rn_waitgroup_add(&k->wg, 2);
    must(rn_task_spawn(NULL, sender, k, &(rn_task_options){"T1"}, NULL));
    must(rn_task_spawn(NULL, receiver, k, &(rn_task_options){"T2"}, NULL));
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    k->draining = true;
    while (k->jobs > 0)
        must(rn_cond_wait(&k->drained, &k->lock, RN_NEVER));
    rn_mutex_unlock(&k->lock);
    rn_chan_close(k->stop);
    must(rn_waitgroup_wait(&k->wg, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
