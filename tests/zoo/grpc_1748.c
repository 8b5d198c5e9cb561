/* grpc_1748.c - a test puts a setting back before all have read it.
 *
 * A test A changes the shortest time between two attempts to connect, starts a
 * balancer and puts the old value back on its way out. A watcher W starts a
 * task M for each connection once it sees the balancer, and M reads the value.
 *
 * Shows: race on the value, if W saw the balancer in time. Twin: A waits for W
 * and all its M before it puts the value back.
 */
#include "zoo.h"

#define ROUNDS 3

struct kernel {
    struct zoo zoo;
    rn_waitgroup test;     /* A */
    rn_waitgroup watchers; /* W and each M */
    rn_mutex lock;         /* over balancer */
    bool balancer;         /* there is one */
    rn_mutex connection;   /* of the connection */
    rn_cell min_wait;
};

/* M: connects. */
static int
connector(void *arg)
{
    struct kernel *k = arg;

    (void)rn_cell_read(&k->min_wait);
    rn_waitgroup_done(&k->watchers);
    return 0;
}

/* W: connects whenever there is a balancer. */
static int
watcher(void *arg)
{
    struct kernel *k = arg;

    for (int i = 0; i < ROUNDS; i++) {
        bool there;

        must(rn_mutex_lock(&k->lock, RN_NEVER));
        there = k->balancer;
        rn_mutex_unlock(&k->lock);
        if (!there)
            continue;
        must(rn_mutex_lock(&k->connection, RN_NEVER));
        rn_mutex_unlock(&k->connection);
        rn_waitgroup_add(&k->watchers, 1);
        must(rn_task_spawn(NULL, connector, k, &(rn_task_options){"M"}, NULL));
    }
    rn_waitgroup_done(&k->watchers);
    return 0;
}

/* A: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;
    int64_t before = rn_cell_read(&k->min_wait);

    rn_waitgroup_add(&k->watchers, 1);
    must(rn_task_spawn(NULL, watcher, k, &(rn_task_options){"W"}, NULL));
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    k->balancer = true;
    rn_mutex_unlock(&k->lock);
    if (k->zoo.fixed)
        must(rn_waitgroup_wait(&k->watchers, RN_NEVER));
    rn_cell_write(&k->min_wait, before);
    rn_waitgroup_done(&k->test);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
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
