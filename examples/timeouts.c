/* timeouts.c - three deadlines, one around the other: of a call, of the request
 * that makes it, and of the program. Each layer tells which has passed. */
#include <errno.h>
#include <runnel/runnel.h>
#include <stdio.h>

#define SOON (5 * RN_MS)
#define LATE (3600 * RN_SEC)

/* How long each layer may take, and what comes of it. */
struct limits {
    rn_time program, request, call;
    int want[3];           /* what they return, in that order */
    rn_reason want_reason; /* of the cancel, as the call sees it */
};

/* Say what has ended a layer. */
static void
tell(const char *layer, int got, int want)
{
    printf("  %s: %s\n", layer,
           got == 0            ? "goes on"
           : got == -ETIMEDOUT ? "my own deadline has passed"
                               : "a deadline around mine has passed");
    rn_sim_assert(got == want, "each layer knows its own deadline");
}

/* A single wait takes a deadline of its own. The server never answers. */
static int
call(const struct limits *l, rn_chan *server)
{
    int e = rn_chan_recv(server, NULL, rn_after(l->call));
    tell("call", e, l->want[2]);
    rn_sim_assert(rn_cancel_reason(NULL) == l->want_reason, "the reason");
    return e;
}

/* All waits of a request share the deadline of its scope. */
static int
request(const struct limits *l, rn_chan *server)
{
    rn_scope *s;
    int e = rn_scope_open(rn_after(l->request), &s);
    if (e < 0)
        return e;
    e = call(l, server);
    e = rn_scope_close_with(s, e == -ETIMEDOUT ? 0 : e); /* do without it */
    tell("request", e, l->want[1]);
    return e == -ETIMEDOUT ? 0 : e; /* the client is told; others are served */
}

static int
app(void *arg)
{
    static const struct limits limits[] = {
        {LATE, LATE, SOON, {0, 0, -ETIMEDOUT}, RN_REASON_NONE},
        {LATE, SOON, LATE, {0, -ETIMEDOUT, -ECANCELED}, RN_REASON_DEADLINE},
        {SOON,
         LATE,
         LATE,
         {-ETIMEDOUT, -ECANCELED, -ECANCELED},
         RN_REASON_PARENT}};
    rn_scope *s;
    rn_chan *server = arg; /* NULL: never ready */
    int e = 0;
    for (int i = 0; i < 3 && e == 0; i++) {
        printf("The %s is out of time first:\n",
               (const char *[]){"call", "request", "program"}[i]);
        if ((e = rn_scope_open(rn_after(limits[i].program), &s)) == 0)
            tell("program", rn_scope_close_with(s, request(&limits[i], server)),
                 limits[i].want[0]);
    }
    return e;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}
