/* cockroach_13197.c - a transaction is begun and forgotten.
 *
 * Beginning a transaction starts a task A that waits for its end, to roll it
 * back. main begins one and neither commits nor rolls back.
 *
 * Shows: leak of 1, A. Twin: main rolls back.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_chan *ended; /* closed at the transaction's end */
};

/* A: waits for the end of the transaction. */
static int
await_end(void *arg)
{
    struct kernel *k = arg;

    zoo_await(k->ended);
    return 0;
}

static void
begin(struct kernel *k)
{
    k->ended = zoo_chan(&k->zoo, 0, 0);
    must(rn_task_spawn(NULL, await_end, k, &(rn_task_options){"A"}, NULL));
}

static void
roll_back(struct kernel *k)
{
    rn_chan_close(k->ended);
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    begin(k);
    if (k->zoo.fixed)
        roll_back(k);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
