/* moby_18412.c - the result of a command that may still run.
 *
 * main runs a command X with a time limit. A waiter W notes the exit code when
 * X has ended, and tells main. If the limit passes first, main reads what X
 * and W may still be writing, and nobody takes W's message.
 *
 * Shows: race on the output or the code, or else a leak of W. Twin: the code is
 * the message, and main, having given the command up, takes it first.
 */
#include "zoo.h"

struct kernel {
    struct zoo zoo;
    rn_cell output;
    rn_cell code;
    rn_chan *exited; /* closed by X */
    rn_chan *done;   /* the code, in the twin with one slot */
};

/* X: the command. */
static int
command(void *arg)
{
    struct kernel *k = arg;

    must(rn_sleep(ZOO_TICK));
    rn_cell_write(&k->output, 1);
    rn_chan_close(k->exited);
    return 0;
}

/* W: waits for the command. */
static int
waiter(void *arg)
{
    struct kernel *k = arg;
    int64_t code = 1;

    (void)rn_chan_recv(k->exited, NULL, RN_NEVER);
    if (!k->zoo.fixed)
        rn_cell_write(&k->code, code);
    must(rn_chan_send(k->done, &code, RN_NEVER));
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    int64_t code;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->exited = zoo_chan(&k->zoo, 0, 0);
    k->done = zoo_chan(&k->zoo, sizeof code, k->zoo.fixed ? 1 : 0);
    must(rn_task_spawn(NULL, command, k, &(rn_task_options){"X"}, NULL));
    must(rn_task_spawn(NULL, waiter, k, &(rn_task_options){"W"}, NULL));
    if (rn_chan_recv(k->done, &code, rn_now() + ZOO_TICK) == -ETIMEDOUT &&
        k->zoo.fixed)
        must(rn_chan_recv(k->done, &code, RN_NEVER));
    (void)rn_cell_read(&k->output);
    if (!k->zoo.fixed)
        (void)rn_cell_read(&k->code);
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
