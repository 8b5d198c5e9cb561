/* kubernetes_26980.c - waiting to be stopped, with the lock held.
 *
 * P takes notifications from a list and delivers them until it is stopped; it
 * keeps the list locked while it waits. Q locks the list and then says that it
 * has come so far; main waits for that before it stops P. If P gets the lock
 * first, Q waits for P, main for Q, and P for main.
 *
 * Shows: deadlock of 3, main, P and Q. Twin: P takes the notification, unlocks
 * and only then waits.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_rwmutex list;
    int notifications; /* guarded by list */
    rn_chan *stop;     /* closed by main */
    rn_chan *result;   /* closed by Q */
};

/* P: delivers a notification until it is stopped. */
static int
pop(void *arg)
{
    struct kernel *k = arg;

    must(rn_rwmutex_lock(&k->list, RN_NEVER));
    rn_sim_assert(k->notifications > 0, "there is a notification");
    k->notifications--;
    if (k->zoo.fixed)
        rn_rwmutex_unlock(&k->list);
    zoo_await(k->stop);
    if (!k->zoo.fixed)
        rn_rwmutex_unlock(&k->list);
    return 0;
}

/* Q: has the list for a moment. */
static int
look(void *arg)
{
    struct kernel *k = arg;

    must(rn_rwmutex_lock(&k->list, RN_NEVER));
    rn_chan_close(k->result);
    rn_rwmutex_unlock(&k->list);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->stop = zoo_chan(&k->zoo, 0, 0);
    k->result = zoo_chan(&k->zoo, 0, 0);
    must(rn_rwmutex_lock(&k->list, RN_NEVER));
    k->notifications++;
    rn_rwmutex_unlock(&k->list);
    must(rn_task_spawn(NULL, pop, k, &(rn_task_options){"P"}, NULL));
    must(rn_task_spawn(NULL, look, k, &(rn_task_options){"Q"}, NULL));
    zoo_await(k->result);
    rn_chan_close(k->stop);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
