/* par_deadline.c - parallel operators: deadlines and finalizers. R4 .. R14 are
 * rules of scopes and operators.
 */
#include "par_jobs.h"

/* ---- deadlines ---------------------------------------------------------- */

static int
must_not_run(void *arg)
{
    (void)arg;
    FAIL("it was called");
}

/* R10: expired at entry: nothing begins. */
API_TEST_SCHEDULES(par_deadline_of_the_past, 1000)
{
    rn_time past[] = {RN_NOW, -1, RN_NOW + 1};
    for (int i = 0; i < 3; i++) {
        rn_par_job jobs[] = {{must_not_run, NULL, 0}, {must_not_run, NULL, 0}};
        rn_outcome outcomes[2];
        rn_report r = RN_REPORT_INIT;
        rn_par_options o = {
            .deadline = past[i], .outcomes = outcomes, .report = &r};
        CHECK_EQ(rn_par_call(jobs, 2, &o), -ETIMEDOUT);
        CHECK_EQ(outcomes[0], RN_OUTCOME_NOT_RUN);
        CHECK_EQ(outcomes[1], RN_OUTCOME_NOT_RUN);
        CHECK_EQ(r.not_run, 2);
        CHECK_EQ(r.trigger, RN_REASON_DEADLINE);
        CHECK_EQ(jobs[0].result, -ECANCELED);
    }
    at_rest();
}

/* R10: it passes while they run; finalizers run. R4: an error is more. */
API_TEST_SCHEDULES(par_deadline_passes, 1000)
{
    rn_report r = RN_REPORT_INIT;
    rn_par_options o = {.report = &r};
    rn_par_job waits[] = {{wait_for_ever, NULL, 0}, {wait_for_ever, NULL, 0}};
    atomic_store(&ended, 0);
    o.deadline = rn_now() + RN_MS;
    CHECK_EQ(rn_par_call(waits, 2, &o), -ETIMEDOUT);
    CHECK_EQ(r.trigger, RN_REASON_DEADLINE);
    CHECK_EQ(r.cancelled, atomic_load(&ended));
    CHECK_EQ(r.cancelled + r.not_run, 2);
    if (rn_sim_active())
        CHECK_EQ(r.cancelled, 2);
    o.deadline = rn_now() + 3600 * RN_SEC;
    CHECK_EQ(rn_par_call(
                 (rn_par_job[]){{wait_for_ever, NULL, 0}, {give_up, NULL, 0}},
                 2, &o),
             -ECANCELED);
    at_rest();
}

SIM_TEST(par_error_beats_its_deadline)
{
    rn_par_job jobs[] = {{fail_when_cancelled, NULL, 0},
                         {wait_for_ever, NULL, 0}};
    rn_report r = RN_REPORT_INIT;
    rn_par_options o = {.report = &r, .deadline = 1000};
    CHECK_EQ(rn_par_call(jobs, 2, &o), -ENOSPC);
    CHECK_EQ(r.trigger, RN_REASON_DEADLINE);
}

static int
deadline_inside(void *arg)
{
    rn_time *when = arg;
    rn_par_job jobs[] = {{wait_for_ever, NULL, 0}, {wait_for_ever, NULL, 0}};
    rn_par_options o = {.deadline = when[1]};
    int e = rn_par_call(jobs, 2, &o);
    CHECK_EQ(e, when[0] < when[1] ? -ECANCELED : -ETIMEDOUT);
    return e;
}

/* R10: only the owner of a deadline sees it as one. */
SIM_TEST(par_deadlines_of_two_layers)
{
    rn_time when[][2] = {{1000, 2000}, {2000, 1000}, {1000, RN_NEVER}};
    for (int i = 0; i < 3; i++) {
        rn_time at[] = {rn_now() + when[i][0], when[i][1] == RN_NEVER
                                                   ? RN_NEVER
                                                   : rn_now() + when[i][1]};
        rn_par_job job = {deadline_inside, at, 0};
        int e = rn_par_call(&job, 1, &(rn_par_options){.deadline = at[0]});
        CHECK_EQ(e, -ETIMEDOUT);
    }
}

static int
sleep_until_1000(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    return rn_sleep_until(1000);
}

/* R4, R13 */
API_TEST_SCHEDULES(par_deadline_and_success_in_one_instant, 1000)
{
    if (!rn_sim_active())
        return;
    rn_report r = RN_REPORT_INIT;
    rn_par_options o = {.deadline = 1000, .report = &r};
    int e = rn_par_for(3, sleep_until_1000, NULL, &o);
    CHECK_EQ(rn_now(), 1000);
    CHECK(e == 0 || e == -ETIMEDOUT);
    if (e == 0)
        CHECK_EQ(r.ok, 3);
}

static int
end_at_once(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    return 0;
}

/* R4: all had succeeded before the deadline passed, whatever comes between. */
API_TEST_SCHEDULES(par_success_beats_a_late_deadline, 1000)
{
    rn_par_options o = {.deadline = rn_now() + 3600 * RN_SEC};
    for (size_t n = 1; n < 5; n++)
        CHECK_EQ(rn_par_for(n, end_at_once, NULL, &o), 0);
    at_rest();
}

/* ---- finalizers --------------------------------------------------------- */

struct level {
    int depth;
    int log[8], count;
    rn_chan *deepest; /* told when the innermost level has begun */
};

static int
log_level(void *arg, int outcome)
{
    struct level *l = arg;
    CHECK_EQ(outcome, -ECANCELED);
    CHECK_EQ(rn_yield(), 0);
    l->log[l->count++] = l->depth++;
    return 0;
}

static int
descend(size_t i, void *ctx)
{
    struct level *l = ctx;
    (void)i;
    CHECK_EQ(rn_defer(log_level, l), 0);
    if (l->depth-- > 1)
        return rn_par_for(1, descend, l, NULL);
    CHECK_EQ(rn_chan_send(l->deepest, &l->depth, RN_NEVER), 0);
    return rn_chan_recv(NULL, NULL, RN_NEVER);
}

static int
fail_when_deep(void *arg)
{
    struct level *l = arg;
    int depth;
    CHECK_EQ(rn_chan_recv(l->deepest, &depth, RN_NEVER), 0);
    return -EIO;
}

static int
descend_first(void *arg)
{
    return descend(0, arg);
}

/* R14: over three levels, the innermost first. */
API_TEST_SCHEDULES(par_finalizers_of_three_levels, 1000)
{
    struct level l = {.depth = 3};
    rn_par_job jobs[] = {{descend_first, &l, 0}, {fail_when_deep, &l, 0}};
    CHECK_EQ(rn_chan_new(sizeof(int), 1, &l.deepest), 0);
    CHECK_EQ(rn_par_call(jobs, 2, NULL), -EIO);
    CHECK_EQ(l.count, 3);
    CHECK(l.log[0] < l.log[1] && l.log[1] < l.log[2]);
    rn_chan_unref(l.deepest);
    at_rest();
}

struct taken {
    atomic_int now;
};

static int
put_back(void *arg, int outcome)
{
    (void)outcome;
    atomic_fetch_sub(&((struct taken *)arg)->now, 1);
    return 0;
}

static int
take_one(size_t i, void *ctx)
{
    struct taken *t = ctx;
    (void)i;
    CHECK_EQ(atomic_fetch_add(&t->now, 1), 0);
    CHECK_EQ(rn_defer(put_back, t), 0);
    return i % 2 ? rn_yield() : 0;
}

/* R7: an item is active until its finalizers have ended. */
API_TEST_SCHEDULES(par_finalizers_run_at_the_end_of_the_item, 1000)
{
    struct taken t = {0};
    rn_par_options o = {.limit = 1};
    CHECK_EQ(rn_par_for(8, take_one, &t, &o), 0);
    CHECK_EQ(atomic_load(&t.now), 0);
    at_rest();
}

static int
defers_too(void *arg, int outcome)
{
    CHECK_EQ(outcome, 7);
    *(int *)arg += 1;
    return 0;
}

static int
with_own_defers(void *arg)
{
    atomic_store(&ended, 0);
    CHECK_EQ(rn_defer(defers_too, arg), 0);
    rn_par_job jobs[] = {{succeed, NULL, 0}, {succeed, NULL, 0}};
    CHECK_EQ(rn_par_call(jobs, 2, NULL), 0);
    CHECK_EQ(atomic_load(&ended), 2);
    CHECK_EQ(*(int *)arg, 0); /* not yet */
    return 7;
}

/* Deferred calls of the caller are not those of its items. */
API_TEST_SCHEDULES(par_leaves_the_callers_finalizers, 1000)
{
    int ran = 0;
    rn_task t = go_joinable(with_own_defers, &ran);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    CHECK_EQ(ran, 1);
    at_rest();
}
