/* serving_4908.c - a log line after the end of the test it belongs to.
 *
 * A sub-test has a log that panics once the test has ended. Its body B starts a
 * task L that logs, and does not wait for it; the runner then marks the test
 * as ended.
 *
 * Shows: race on the mark, or the panic. Twin: B waits for L.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_waitgroup test; /* A */
    rn_cell ended;     /* the sub-test has */
};

/* L: logs a line. */
static int
logger(void *arg)
{
    struct kernel *k = arg;

    if (rn_cell_read(&k->ended) != 0)
        rn_panic("logged after the test has ended");
    return 0;
}

/* B: the body of the sub-test. */
static int
body(void *arg)
{
    struct kernel *k = arg;
    rn_task task;

    must(rn_task_spawn(NULL, logger, k, &(rn_task_options){"L"}, &task));
    if (k->zoo.fixed)
        must(rn_task_join(task, RN_NEVER, NULL));
    return 0;
}

/* The runner of the sub-test. */
static int
sub_test(void *arg)
{
    struct kernel *k = arg;
    rn_task task;

    must(rn_task_spawn(NULL, body, k, &(rn_task_options){"B"}, &task));
    must(rn_task_join(task, RN_NEVER, NULL));
    rn_cell_write(&k->ended, 1);
    return 0;
}

/* A: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;
    rn_task task;

    must(rn_task_spawn(NULL, sub_test, k, &(rn_task_options){"S"}, &task));
    must(rn_task_join(task, RN_NEVER, NULL));
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
