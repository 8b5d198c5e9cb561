/* serving_2137.c - tokens of a breaker, taken in another order than expected.
 *
 * A breaker lets two requests queue and one of them be active. main starts two
 * requests and holds each back with a lock; then it lets them go one after the
 * other and waits for the result of each. It takes for granted that the first
 * one started is the first one active. If request 1 gets the active token,
 * it waits for the lock that main only opens once request 0 is finished, and
 * request 0 waits for the token.
 *
 * Shows: deadlock of 3, main, T0 and T1; seldom. Twin: request 0 reports that
 * it is active before main starts request 1.
 */
#include "zoo.h"

#define REQUESTS 2

struct kernel;

struct request {
    struct kernel *kernel;
    rn_mutex hold;     /* held by main until the request may finish */
    rn_chan *accepted; /* bool, one slot: the result */
};

struct kernel {
    struct zoo zoo;
    struct request requests[REQUESTS];
    rn_chan *pending;   /* two slots: tokens of queued requests */
    rn_chan *active;    /* one slot: token of the active request */
    rn_chan *is_active; /* one slot, twin only: request 0 is active */
    rn_waitgroup start; /* the request that was just started runs */
};

/* Go through the breaker.
 * Returns: whether there was room for the request. */
static bool
pass_breaker(struct request *r)
{
    struct kernel *k = r->kernel;

    if (rn_chan_send(k->pending, NULL, RN_NOW) == -EAGAIN)
        return false;
    must(rn_chan_send(k->active, NULL, RN_NEVER));
    if (k->zoo.fixed && r == &k->requests[0])
        must(rn_chan_send(k->is_active, NULL, RN_NEVER));
    must(rn_mutex_lock(&r->hold, RN_NEVER));
    rn_mutex_unlock(&r->hold);
    must(rn_chan_recv(k->active, NULL, RN_NEVER));
    must(rn_chan_recv(k->pending, NULL, RN_NEVER));
    return true;
}

/* T0 and T1: one request each. */
static int
request(void *arg)
{
    struct request *r = arg;
    bool accepted;

    rn_waitgroup_done(&r->kernel->start);
    accepted = pass_breaker(r);
    must(rn_chan_send(r->accepted, &accepted, RN_NEVER));
    return 0;
}

/* Start request j, held back. */
static void
start_request(struct kernel *k, int j)
{
    static const rn_task_options named[REQUESTS] = {{"T0"}, {"T1"}};
    struct request *r = &k->requests[j];

    r->kernel = k;
    r->accepted = zoo_chan(&k->zoo, sizeof(bool), 1);
    must(rn_mutex_lock(&r->hold, RN_NEVER));
    rn_waitgroup_add(&k->start, 1);
    must(rn_task_spawn(NULL, request, r, &named[j], NULL));
    must(rn_waitgroup_wait(&k->start, RN_NEVER));
    if (k->zoo.fixed && j == 0)
        must(rn_chan_recv(k->is_active, NULL, RN_NEVER));
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    bool accepted;

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->pending = zoo_chan(&k->zoo, 0, 2);
    k->active = zoo_chan(&k->zoo, 0, 1);
    k->is_active = zoo_chan(&k->zoo, 0, 1);
    for (int j = 0; j < REQUESTS; j++)
        start_request(k, j);
    for (int j = 0; j < REQUESTS; j++) {
        rn_mutex_unlock(&k->requests[j].hold);
        must(rn_chan_recv(k->requests[j].accepted, &accepted, RN_NEVER));
        must(rn_chan_send(k->requests[j].accepted, &accepted, RN_NEVER));
    }
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
