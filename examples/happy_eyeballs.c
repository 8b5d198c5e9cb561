/* happy_eyeballs.c - connect to whichever address answers first. Attempts begin
 * a little apart, or as soon as the one before has failed; losers hang up. */
#include <errno.h>
#include <runnel/runnel.h>
#include <stdio.h>
#include <string.h>

enum { ADDRESSES = 4 };
#define APART (50 * RN_MS)

/* Here the network only sleeps. */
static const struct address {
    const char *name;
    rn_time takes;
    int answer;
} addresses[ADDRESSES] = {{"2001:db8::1", 5 * RN_MS, -ECONNREFUSED},
                          {"2001:db8::2", 3600 * RN_SEC, 0},
                          {"192.0.2.1", 20 * RN_MS, 0},
                          {"192.0.2.2", 20 * RN_MS, 0}};
static rn_chan *failed[ADDRESSES]; /* closed when the attempt has failed */
static _Atomic int open_sockets;

static int
hang_up(void *address, int outcome)
{
    printf("  %s: %s\n", ((struct address *)address)->name, strerror(-outcome));
    open_sockets -= outcome < 0; /* the winner's stays open */
    return 0;
}

/* The value of a racer that connected, too, but came second. */
static void
drop(void *value, void *ctx)
{
    (void)ctx;
    hang_up(*(struct address **)value, -ECANCELED);
}

static int
attempt(size_t i, void *value, void *start)
{
    const struct address *address = &addresses[i];
    rn_time turn = *(rn_time *)start + (rn_time)i * APART;
    int e = i ? rn_chan_recv(failed[i - 1], NULL, turn) : 0;
    if (e == -ECANCELED || (e = rn_defer(hang_up, (void *)address)) < 0)
        return e; /* after -EPIPE and -ETIMEDOUT it is our turn */
    open_sockets++;
    if ((e = rn_sleep(address->takes)) == 0 && (e = address->answer) < 0)
        rn_chan_close(failed[i]);
    *(const struct address **)value = address;
    return e;
}

static int
app(void *arg)
{
    const struct address *values[ADDRESSES];
    rn_report report = RN_REPORT_INIT; /* of those that fail */
    rn_par_options options = {
        .flags = RN_PAR_FIRST_SUCCESS, .drop = drop, .report = &report};
    rn_race race = {.out = values, .stride = sizeof *values};
    rn_time start = rn_now();
    int e = arg ? -EINVAL : 0;
    for (int i = 0; i < ADDRESSES && e == 0; i++)
        e = rn_chan_new(0, 0, &failed[i]);
    e = e ? e : rn_par_race(ADDRESSES, attempt, &start, &race, &options);
    if (e == 0)
        printf("connected to %s\n", values[race.winner]->name);
    rn_sim_assert(e || (race.winner >= 2 && open_sockets == 1), "one is open");
    for (int i = 0; i < ADDRESSES; i++)
        rn_chan_unref(failed[i]);
    return e;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}
