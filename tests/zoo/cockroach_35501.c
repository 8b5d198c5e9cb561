/* cockroach_35501.c - tasks that share the variable of a loop.
 *
 * A starts a task in each round of a loop and hands it the address of the
 * loop's variable, which the loop goes on changing.
 *
 * Shows: race on the variable. Twin: each task gets a copy.
 */
#include "zoo.h"

#define ROUNDS 3

struct kernel {
    struct zoo zoo;
    rn_waitgroup loop; /* A */
    rn_cell variable;
    rn_cell copies[ROUNDS]; /* twin only */
};

/* T0, T1, T2: read the value. */
static int
reader(void *arg)
{
    rn_cell *value = arg;

    (void)rn_cell_read(value);
    return 0;
}

/* A: the loop. */
static int
loop(void *arg)
{
    static const rn_task_options named[ROUNDS] = {{"T0"}, {"T1"}, {"T2"}};
    struct kernel *k = arg;

    for (int i = 0; i < ROUNDS; i++) {
        rn_cell *value = k->zoo.fixed ? &k->copies[i] : &k->variable;

        rn_cell_write(value, i);
        must(rn_task_spawn(NULL, reader, value, &named[i], NULL));
    }
    rn_waitgroup_done(&k->loop);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    rn_waitgroup_add(&k->loop, 1);
    must(rn_task_spawn(NULL, loop, k, &(rn_task_options){"A"}, NULL));
    must(rn_waitgroup_wait(&k->loop, RN_NEVER));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
