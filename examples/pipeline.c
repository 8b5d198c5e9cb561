/* pipeline.c - a server: clients -> requests -> workers -> results, and a
 * channel for the replies to each client, all in a scope with a deadline. */
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 4, WORKERS = 3, QUEUE = 16 };
enum { REQUESTS, RESULTS, REPLIES, CHANS = REPLIES + CLIENTS };

struct job {
    char text[24]; /* a number */
    long twice;    /* what the worker makes of it */
    int reply_to;  /* the channel for the answer */
};

struct server {
    long each;              /* requests of a client */
    _Atomic int next_reply; /* channel of the next client to begin */
    rn_chan *chans[CHANS];  /* of struct job */
};

static int
client(void *arg)
{
    struct server *s = arg;
    struct job job = {.reply_to = s->next_reply++};
    int e = 0;
    for (long i = 1; i <= s->each && e == 0; i++) {
        snprintf(job.text, sizeof job.text, "%ld", i);
        e = rn_chan_send(s->chans[REQUESTS], &job, RN_NEVER);
        e = e ? e : rn_chan_recv(s->chans[job.reply_to], &job, RN_NEVER);
        rn_sim_assert(e || job.twice == i + i, "a client gets its answer");
    }
    return e;
}

static int
worker(void *arg) /* until the requests are closed, or all is cancelled */
{
    struct server *s = arg;
    struct job job;
    while (rn_chan_recv(s->chans[REQUESTS], &job, RN_NEVER) == 0) {
        job.twice = 2 * strtol(job.text, NULL, 10);
        rn_chan_send(s->chans[RESULTS], &job, RN_NEVER);
        rn_chan_send(s->chans[job.reply_to], &job, RN_NEVER);
    }
    return 0;
}

static int
app(void *arg)
{
    long count = arg ? atol(arg) : rn_sim_active() ? 8 : 200000;
    struct server s = {.each = count / CLIENTS, .next_reply = REPLIES};
    rn_time start = rn_now();
    rn_scope *scope;
    int closed, e = rn_scope_open(rn_after(60 * RN_SEC), &scope);
    if (e < 0)
        return e;
    for (int i = 0; i < CHANS && e == 0; i++)
        e = rn_chan_new(sizeof(struct job), QUEUE, &s.chans[i]);
    for (int i = 0; i < WORKERS + CLIENTS && e == 0; i++)
        e = rn_go(scope, i < WORKERS ? worker : client, &s);
    for (long i = 0; i < s.each * CLIENTS && e == 0; i++)
        e = rn_chan_recv(s.chans[RESULTS], NULL, RN_NEVER);
    e < 0 ? rn_scope_cancel(scope) : rn_chan_close(s.chans[REQUESTS]);
    closed = rn_scope_close(scope);
    if (e == 0 && closed == 0 && !rn_sim_active())
        printf("%.0f requests/s\n", count * 1e9 / (rn_now() - start));
    for (int i = 0; i < CHANS; i++)
        rn_chan_unref(s.chans[i]);
    return closed < 0 ? closed : e;
}

int
main(int argc, char **argv)
{
    return rn_run(NULL, app, argc > 1 ? argv[1] : NULL) < 0;
}
