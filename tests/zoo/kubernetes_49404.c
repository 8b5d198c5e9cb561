/* kubernetes_49404.c - a test reads what its server's callback writes.
 *
 * main starts a server S, which runs its handler C in a task of its own; C
 * notes that it was called. main looks at the note without having waited for
 * anything: the wait group that S counts out of is never waited for.
 *
 * Shows: race on the note. Twin: the note is atomic.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup server; /* S; nobody waits */
    rn_cell called;
    rn_atomic called_fixed; /* instead, in the twin */
};

/* C: the handler. */
static int
handler(void *arg)
{
    struct kernel *k = arg;

    if (k->zoo.fixed)
        rn_atomic_store(&k->called_fixed, 1);
    else
        rn_cell_write(&k->called, 1);
    return 0;
}

/* S: the server. */
static int
server(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, handler, k, &(rn_task_options){"C"}, NULL));
    rn_waitgroup_done(&k->server);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    rn_waitgroup_add(&k->server, 1);
    must(rn_task_spawn(NULL, server, k, &(rn_task_options){"S"}, NULL));
    if (k->zoo.fixed)
        (void)rn_atomic_load(&k->called_fixed);
    else
        (void)rn_cell_read(&k->called);
    must(rn_sleep(10 * ZOO_TICK));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
