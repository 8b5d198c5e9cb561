/* moby_21233.c - a test stops reading what others go on to send.
 *
 * Three transfers W report progress through one channel that C reads and
 * checks. T starts them, releases them one by one and waits for each, then
 * closes the channel and waits for C. When a check fails C ends at once: who
 * has something to report hangs, and so does T, in its wait for that transfer
 * or for C.
 *
 * Shows: leak of 1 to 4, T and none to three W. Twin: C remembers that a check
 * has failed, and says so when the channel is closed.
 */
#include "zoo.h"

#define TRANSFERS 3

struct kernel;

struct transfer {
    struct kernel *kernel;
    rn_mutex lock;
    rn_chan *signal;   /* something has changed; never in this test */
    rn_chan *released; /* closed by T: no more is wanted */
    rn_chan *running;  /* closed by W when it ends */
};

struct kernel {
    struct zoo zoo;
    struct transfer transfers[TRANSFERS];
    rn_chan *progress; /* values without content, W to C; closed by T */
    rn_chan *checked;  /* closed by C when progress is closed */
    bool failed;       /* C's: a check has failed */
};

/* W0 .. W2: report progress until released. */
static int
transfer(void *arg)
{
    struct transfer *t = arg;
    bool done = false;

    for (;;) {
        rn_arm arms[] = {RN_ARM_RECV(t->signal, NULL),
                         RN_ARM_RECV(t->released, NULL)};

        must(rn_mutex_lock(&t->lock, RN_NEVER));
        rn_mutex_unlock(&t->lock);
        if (rn_sim_choose(2) == 1)
            must(rn_chan_send(t->kernel->progress, NULL, RN_NEVER));
        if (done)
            break;
        done = must(rn_select(arms, 2, 0, RN_NEVER)) == 1;
    }
    rn_chan_close(t->running);
    return 0;
}

/* C: checks the progress. */
static int
checker(void *arg)
{
    struct kernel *k = arg;

    while (rn_chan_recv(k->progress, NULL, RN_NEVER) == 0) {
        if (rn_sim_choose(2) == 1)
            continue;
        if (!k->zoo.fixed)
            return 0;
        k->failed = true;
    }
    rn_chan_close(k->checked);
    return 0;
}

static void
start_transfer(struct kernel *k, int i)
{
    static const rn_task_options named[TRANSFERS] = {{"W0"}, {"W1"}, {"W2"}};
    struct transfer *t = &k->transfers[i];

    must(rn_mutex_lock(&t->lock, RN_NEVER));
    must(rn_task_spawn(NULL, transfer, t, &named[i], NULL));
    rn_mutex_unlock(&t->lock);
}

/* T: the test. */
static int
test(void *arg)
{
    struct kernel *k = arg;

    must(rn_task_spawn(NULL, checker, k, &(rn_task_options){"C"}, NULL));
    for (int i = 0; i < TRANSFERS; i++)
        start_transfer(k, i);
    for (int i = 0; i < TRANSFERS; i++) {
        rn_chan_close(k->transfers[i].released);
        zoo_await(k->transfers[i].running);
    }
    rn_chan_close(k->progress);
    zoo_await(k->checked);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->progress = zoo_chan(&k->zoo, 0, 0);
    k->checked = zoo_chan(&k->zoo, 0, 0);
    for (int i = 0; i < TRANSFERS; i++) {
        k->transfers[i].kernel = k;
        k->transfers[i].signal = zoo_chan(&k->zoo, 0, 0);
        k->transfers[i].released = zoo_chan(&k->zoo, 0, 0);
        k->transfers[i].running = zoo_chan(&k->zoo, 0, 0);
    }
    must(rn_task_spawn(NULL, test, k, &(rn_task_options){"T"}, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
