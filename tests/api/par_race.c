/* par_race.c - races: who wins, and what becomes of the others (R9). */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static void
at_rest(void)
{
    CHECK_EQ(rn_task_count(), 1);
    CHECK_EQ(rn_cancel_requested(), 0);
}

/* What a racer does. */
enum act { WIN, FAIL_IT, GIVE_UP, FOR_EVER, LATE_ERROR, LATE_WIN };

struct course {
    enum act act[8];
    int order[8];   /* it goes on when so many before it have ended */
    rn_chan *start; /* NULL: at once */
    atomic_int finalized, live, began;
    atomic_int reason;
};

static int
finalizer(void *arg, int outcome)
{
    struct course *c = arg;
    (void)outcome;
    CHECK_EQ(rn_yield(), 0);
    atomic_fetch_add(&c->finalized, 1);
    return 0;
}

static int
race_on(struct course *c, enum act act)
{
    if (act == FAIL_IT)
        return -EIO;
    if (act == GIVE_UP)
        return -ECANCELED;
    if (act == WIN)
        return 0;
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    CHECK_EQ(e, -ECANCELED);
    atomic_store(&c->reason, (int)rn_cancel_reason(NULL));
    return act == LATE_ERROR ? -ENOSPC : act == LATE_WIN ? 0 : e;
}

static int
racer(size_t i, void *out, void *ctx)
{
    struct course *c = ctx;
    atomic_fetch_add(&c->began, 1);
    CHECK_EQ(rn_defer(finalizer, c), 0);
    int e = race_on(c, c->act[i]);
    if (e < 0)
        return e;
    *(int *)out = (int)i + 100;
    atomic_fetch_add(&c->live, 1);
    return 0;
}

static void
drop_value(void *value, void *ctx)
{
    struct course *c = ctx;
    CHECK_GE(*(int *)value, 100);
    atomic_fetch_sub(&c->live, 1);
}

/* Returns the status. */
static int
run(struct course *c, size_t n, rn_race *race, unsigned flags)
{
    static rn_report report;
    static int out[8];
    rn_par_options o = {.drop = drop_value, .report = &report, .flags = flags};
    race->out = out;
    race->stride = sizeof out[0];
    atomic_store(&c->began, 0);
    atomic_store(&c->finalized, 0);
    atomic_store(&c->live, 0);
    int e = rn_par_race(n, racer, c, race, &o);
    CHECK_EQ(atomic_load(&c->finalized), atomic_load(&c->began));
    if (e == 0) {
        CHECK_EQ(atomic_load(&c->live), race->count);
        CHECK_EQ(out[race->winner], race->winner + 100);
    } else {
        CHECK_EQ(atomic_load(&c->live), 0);
    }
    rn_report_fini(&report);
    at_rest();
    return e;
}

/* One that wins, wherever it is; the others never end, and are awaited. */
API_TEST_SCHEDULES(par_race_has_a_winner, 1000)
{
    for (size_t who = 0; who < 4; who++) {
        struct course c = {.act = {FOR_EVER, FOR_EVER, FOR_EVER, FOR_EVER}};
        rn_race race = {0};
        c.act[who] = WIN;
        CHECK_EQ(run(&c, 4, &race, 0), 0);
        CHECK_EQ(race.winner, who);
        CHECK_EQ(race.count, 1);
        CHECK(c.reason == RN_REASON_RACE_LOST || c.reason == RN_REASON_NONE);
        CHECK_EQ(run(&c, 4, &race, RN_PAR_FIRST_SUCCESS), 0);
        CHECK_EQ(race.winner, who);
    }
}

static int
fail_but_one(size_t i, void *out, void *ctx)
{
    (void)out;
    (void)ctx;
    return i == 4 ? rn_yield() : -EIO;
}

/* R9: where one may succeed a failure is none, so nobody need hear of it. */
API_TEST_SCHEDULES(par_race_R9_failures_on_the_way_are_no_news, 1000)
{
    rn_stats before, after;
    rn_race race = {0};
    rn_par_options o = {.flags = RN_PAR_FIRST_SUCCESS, .limit = 1};
    rn_stats_get(&before);
    CHECK_EQ(rn_par_race(5, fail_but_one, NULL, &race, &o), 0);
    rn_stats_get(&after);
    CHECK_EQ(race.winner, 4);
    CHECK_EQ(after.unheard, before.unheard);
}

static int
fail_always(size_t i, void *out, void *ctx)
{
    (void)out;
    (void)ctx;
    return -EIO - (int)i;
}

/* R5: if nobody succeeds they are: all but the first, which is returned. */
API_TEST_SCHEDULES(par_race_R5_failures_of_a_race_that_fails_are_news, 1000)
{
    rn_stats before, after;
    rn_race race = {0};
    rn_par_options o = {.flags = RN_PAR_FIRST_SUCCESS, .limit = 1};
    rn_stats_get(&before);
    CHECK_EQ(rn_par_race(12, fail_always, NULL, &race, &o), -EIO);
    rn_stats_get(&after);
    CHECK_EQ(after.unheard, before.unheard + 11);
}

static int
fail_at_the_end(void *arg, int outcome)
{
    (void)arg;
    (void)outcome;
    return -ENOSPC;
}

static int
end_badly_but_one(size_t i, void *out, void *ctx)
{
    (void)out;
    (void)ctx;
    if (i == 0)
        CHECK_EQ(rn_defer(fail_at_the_end, NULL), 0);
    return i == 1 ? rn_yield() : 0;
}

/* R5: a deferred call that fails is news, whoever wins. */
API_TEST_SCHEDULES(par_race_R5_a_deferred_call_is_heard, 1000)
{
    rn_stats before, after;
    rn_race race = {0};
    rn_par_options o = {.flags = RN_PAR_FIRST_SUCCESS, .limit = 1};
    rn_stats_get(&before);
    CHECK_EQ(rn_par_race(2, end_badly_but_one, NULL, &race, &o), 0);
    rn_stats_get(&after);
    CHECK_EQ(race.winner, 1);
    CHECK_EQ(after.unheard, before.unheard + 1);
}

/* Values of those who come second are dropped; their errors do not count. */
API_TEST_SCHEDULES(par_race_losers, 1000)
{
    struct course c = {.act = {LATE_WIN, LATE_ERROR, WIN}};
    rn_race race = {0};
    CHECK_EQ(run(&c, 3, &race, 0), 0);
    CHECK_EQ(race.winner, 2);
    struct course all = {.act = {WIN, WIN, WIN, WIN}};
    CHECK_EQ(run(&all, 4, &race, 0), 0);
    CHECK_EQ(race.count, 1);
}

/* The first outcome decides, also if it is an error or a cancel. */
API_TEST_SCHEDULES(par_race_first_outcome, 1000)
{
    struct course error = {.act = {FOR_EVER, FAIL_IT}};
    struct course gone = {.act = {FOR_EVER, GIVE_UP, LATE_ERROR}};
    rn_race race = {0};
    CHECK_EQ(run(&error, 2, &race, 0), -EIO);
    CHECK_EQ(race.winner, 1);
    CHECK_EQ(run(&gone, 3, &race, 0), -ECANCELED);
    CHECK_EQ(race.winner, 1);
    /* cancel + ok, error + ok: whichever is first */
    struct course mixed = {.act = {GIVE_UP, WIN}};
    int e = run(&mixed, 2, &race, 0);
    CHECK(race.winner == 0 ? e == -ECANCELED : e == 0);
    mixed.act[0] = FAIL_IT;
    e = run(&mixed, 2, &race, 0);
    CHECK(race.winner == 0 ? e == -EIO : e == 0);
    mixed.act[1] = GIVE_UP;
    e = run(&mixed, 2, &race, 0);
    CHECK_EQ(e, race.winner == 0 ? -EIO : -ECANCELED);
}

/* The first success decides; if there is none, the errors do. */
API_TEST_SCHEDULES(par_race_first_success, 1000)
{
    struct course c = {.act = {FAIL_IT, GIVE_UP, WIN, FAIL_IT}};
    rn_race race = {0};
    CHECK_EQ(run(&c, 4, &race, RN_PAR_FIRST_SUCCESS), 0);
    CHECK_EQ(race.winner, 2);
    c.act[2] = GIVE_UP;
    CHECK_EQ(run(&c, 4, &race, RN_PAR_FIRST_SUCCESS), -EIO);
    CHECK(race.winner == RN_INDEX_NONE);
    CHECK_EQ(race.count, 0);
    c.act[0] = c.act[3] = GIVE_UP;
    CHECK_EQ(run(&c, 4, &race, RN_PAR_FIRST_SUCCESS), -ECANCELED);
}

API_TEST_SCHEDULES(par_race_of_several_winners, 1000)
{
    struct course c = {.act = {WIN, FOR_EVER, WIN, LATE_WIN, WIN}};
    size_t winners[4];
    rn_race race = {.wanted = 2, .winners = winners};
    CHECK_EQ(run(&c, 5, &race, 0), 0);
    CHECK_EQ(race.count, 2);
    CHECK_EQ(race.winner, winners[0]);
    CHECK_NE(winners[0], winners[1]);
    CHECK(c.act[winners[0]] == WIN && c.act[winners[1]] == WIN);
    /* three of three, one fails: nobody need go on */
    struct course hard = {.act = {FAIL_IT, WIN, FOR_EVER}};
    race.wanted = 3;
    CHECK_EQ(run(&hard, 3, &race, RN_PAR_FIRST_SUCCESS), -EIO);
    race.wanted = 4;
    CHECK_EQ(run(&hard, 3, &race, 0), -EINVAL);
    race = (rn_race){.wanted = 2};
    CHECK_EQ(run(&hard, 3, &race, 0), -EINVAL); /* no room for winners */
}

API_TEST_SCHEDULES(par_race_of_few, 1000)
{
    struct course c = {.act = {WIN}};
    rn_race race = {0};
    CHECK_EQ(run(&c, 1, &race, 0), 0);
    CHECK_EQ(race.winner, 0);
    race = (rn_race){0};
    CHECK_EQ(rn_par_race(0, racer, &c, &race, NULL), 0);
    CHECK_EQ(race.count, 0);
    CHECK(race.winner == RN_INDEX_NONE);
    at_rest();
}

/* ---- time --------------------------------------------------------------- */

static int
sleeper(size_t i, void *out, void *ctx)
{
    rn_time *spans = ctx;
    int e = rn_sleep(spans[i]);
    if (e == 0)
        *(int *)out = (int)i;
    return e;
}

/* The faster wins, and nobody waits for the slower one's time. */
API_TEST_SCHEDULES(par_race_the_faster_wins, 1000)
{
    if (!rn_sim_active())
        return;
    rn_time spans[] = {3000, 1000, 2000}, start = rn_now();
    int out[3];
    rn_race race = {.out = out, .stride = sizeof out[0]};
    CHECK_EQ(rn_par_race(3, sleeper, spans, &race, NULL), 0);
    CHECK_EQ(race.winner, 1);
    CHECK_EQ(out[1], 1);
    CHECK_EQ(rn_now(), start + 1000);
}

/* A race that is cancelled before it is decided has no winner. */
API_TEST_SCHEDULES(par_race_deadline, 1000)
{
    struct course c = {.act = {FOR_EVER, FOR_EVER}};
    int out[2];
    rn_race race = {.out = out, .stride = sizeof out[0]};
    rn_par_options o = {.deadline = rn_now() + RN_MS};
    CHECK_EQ(rn_par_race(2, racer, &c, &race, &o), -ETIMEDOUT);
    CHECK(race.winner == RN_INDEX_NONE);
    CHECK_EQ(race.count, 0);
    at_rest();
}

/* ---- races in races ----------------------------------------------------- */

struct outer {
    atomic_int inner_ended;
    rn_chan *inside;
};

static int
stay(size_t i, void *out, void *ctx)
{
    struct outer *o = ctx;
    (void)out;
    if (i == 0)
        send_int(o->inside, 1);
    return rn_chan_recv(NULL, NULL, RN_NEVER);
}

static int
inner_race(size_t i, void *out, void *ctx)
{
    struct outer *o = ctx;
    (void)out;
    if (i == 1)
        return recv_int(o->inside) == 1 ? 0 : -EIO;
    rn_race race = {0};
    int e = rn_par_race(2, stay, o, &race, NULL);
    CHECK_EQ(e, -ECANCELED);
    CHECK_EQ(race.count, 0);
    atomic_fetch_add(&o->inner_ended, 1);
    return e;
}

/* An inner race is cancelled by the winner of the outer one. */
API_TEST_SCHEDULES(par_race_in_a_race, 1000)
{
    struct outer o = {.inside = new_chan(sizeof(int), 0)};
    rn_race race = {0};
    CHECK_EQ(rn_par_race(2, inner_race, &o, &race, NULL), 0);
    CHECK_EQ(race.winner, 1);
    CHECK_EQ(atomic_load(&o.inner_ended), 1);
    rn_chan_unref(o.inside);
    at_rest();
}
