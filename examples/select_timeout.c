/* select_timeout.c - wait for whichever comes first: work, a tick, an end.
 *
 * One select over a channel, a ticker and a point in time. In the simulator
 * the same program takes no real time at all.
 */
#include <errno.h>
#include <runnel/runnel.h>
#include <stdio.h>

/* Sends a few numbers, slower and slower, and then nothing more. */
static int
source(void *numbers)
{
    for (int i = 1; i <= 4; i++) {
        int e = rn_sleep(i * 4 * RN_MS);

        if (e < 0 || (e = rn_chan_send(numbers, &i, RN_NEVER)) < 0)
            return e;
    }
    return 0;
}

/* Takes what comes until the end. */
static void
watch(rn_chan *numbers, rn_timer *ticker, rn_time end)
{
    int number, ticks = 0;

    for (;;) {
        rn_arm arms[] = {RN_ARM_RECV(numbers, &number),
                         RN_ARM_RECV(rn_timer_chan(ticker), NULL),
                         RN_ARM_AT(end)};

        switch (rn_select(arms, 3, 0, RN_NEVER)) {
        case 0:
            printf("number %d after %d ticks\n", number, ticks);
            break;
        case 1:
            ticks++;
            break;
        default:
            printf("time is up after %d ticks\n", ticks);
            return;
        }
    }
}

static int
app(void *arg)
{
    rn_chan *numbers;
    rn_timer *ticker;
    rn_scope *s;
    int number, e = rn_chan_new(sizeof number, 0, &numbers);

    (void)arg;
    if (e < 0 || (e = rn_scope_open(RN_NEVER, &s)) < 0)
        return e;
    e = rn_timer_new(rn_after(5 * RN_MS), 5 * RN_MS, &ticker);
    if (e == 0) {
        if ((e = rn_go(s, source, numbers)) == 0)
            watch(numbers, ticker, rn_after(62 * RN_MS));
        rn_timer_free(ticker);
    }
    /* For a single wait a deadline is enough. */
    if (e == 0 && rn_chan_recv(numbers, &number, rn_after(RN_MS)) < 0)
        printf("and nothing more came\n");
    rn_scope_cancel(s); /* the source, should it be late */
    rn_scope_close(s);
    rn_chan_unref(numbers);
    return e;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}
