/* par_cancel.c - parallel operators: errors, cancels, shields, and what is said
 * of them. R1 .. R18 are rules of scopes and operators.
 */
#include "par_jobs.h"

/* ---- errors ------------------------------------------------------------- */

/* R1: seen whichever fails, though the other never ends. */
API_TEST_SCHEDULES(par_error_left_right, 1000)
{
    rn_reason reason = RN_REASON_NONE;
    rn_report r = RN_REPORT_INIT;
    CHECK_EQ(both(fail_eio, wait_for_ever, &reason, &r), -EIO);
    CHECK_EQ(r.trigger, RN_REASON_SIBLING);
    CHECK_EQ(r.trigger_index, 0);
    CHECK_EQ(r.trigger_code, -EIO);
    CHECK(reason == RN_REASON_NONE || reason == RN_REASON_SIBLING);
    CHECK_EQ(both(wait_for_ever, fail_second, &reason, &r), -EIO);
    CHECK_EQ(r.trigger_index, 1);
    CHECK_EQ(reason, RN_REASON_SIBLING);
    CHECK_EQ(both(fail_eio, succeed, NULL, &r), -EIO);
    CHECK_EQ(both(succeed, fail_eio, NULL, &r), -EIO);
    CHECK_EQ(r.count, 1);
    CHECK_EQ(r.failures[0].index, 1);
    CHECK_EQ(r.failures[0].phase, RN_PHASE_TASK);
}

/* R5: both errors are said, the first recorded first. */
API_TEST_SCHEDULES(par_both_error, 1000)
{
    rn_report r = RN_REPORT_INIT;
    CHECK_EQ(both(fail_when_cancelled, fail_second, NULL, &r), -EIO);
    CHECK_EQ(r.count, 2);
    CHECK_EQ(r.failures[0].index, 1);
    CHECK_EQ(r.failures[0].code, -EIO);
    CHECK_EQ(r.failures[1].index, 0);
    CHECK_EQ(r.failures[1].code, -ENOSPC);
    CHECK_EQ(r.trigger_index, 1);
    CHECK_EQ(both(fail_eio, fail_eio, NULL, &r), -EIO);
    CHECK_GE(r.count, 1);
}

/* R3: a self-cancel ends it, shielded caller or not. */
API_TEST_SCHEDULES(par_self_cancel, 1000)
{
    rn_report r = RN_REPORT_INIT;
    for (int shielded = 0; shielded < 2; shielded++) {
        rn_shield shield = {0};
        if (shielded)
            shield = rn_shield_push();
        CHECK_EQ(both(give_up, wait_for_ever, NULL, &r), -ECANCELED);
        CHECK_EQ(r.trigger, RN_REASON_SELF);
        CHECK_EQ(r.trigger_index, 0);
        CHECK_EQ(both(wait_for_ever, give_up, NULL, &r), -ECANCELED);
        CHECK_EQ(r.trigger_index, 1);
        CHECK_EQ(both(give_up, give_up, NULL, &r), -ECANCELED);
        CHECK_EQ(both(give_up, succeed, NULL, &r), -ECANCELED);
        /* R4: an error is more */
        CHECK_EQ(both(fail_when_cancelled, give_up_second, NULL, &r), -ENOSPC);
        CHECK_EQ(r.trigger, RN_REASON_SELF);
        CHECK_EQ(r.count, 1);
        if (shielded)
            rn_shield_restore(shield);
    }
}

static int
bad_finalizer(void *arg)
{
    static int code = -EPIPE;
    CHECK_EQ(rn_defer(finalizer, &code), 0);
    return arg ? *(int *)arg : 0;
}

/* R5, R14: a finalizer's error is that of its item. */
API_TEST_SCHEDULES(par_finalizer_error, 1000)
{
    rn_report r = RN_REPORT_INIT;
    CHECK_EQ(both(bad_finalizer, wait_for_ever, NULL, &r), -EPIPE);
    CHECK_EQ(r.count, 1);
    CHECK_EQ(r.failures[0].phase, RN_PHASE_FINALIZER);
    CHECK_EQ(r.failures[0].index, 0);
    int code = -EIO;
    rn_par_job job = {bad_finalizer, &code, 0};
    CHECK_EQ(rn_par_call(&job, 1, &(rn_par_options){.report = &r}), -EIO);
    CHECK_EQ(r.count, 2);
    CHECK_EQ(r.failures[0].phase, RN_PHASE_TASK);
    CHECK_EQ(r.failures[1].phase, RN_PHASE_FINALIZER);
    at_rest();
}

struct all_fail {
    rn_waitgroup here;
    atomic_int dropped;
};

static atomic_int *dropped;

static void
drop_payload(void *payload)
{
    free(payload);
    atomic_fetch_add(dropped, 1);
}

static int
fail_together(size_t i, void *ctx)
{
    struct all_fail *a = ctx;
    int *payload = malloc(sizeof *payload);
    *payload = (int)i;
    rn_waitgroup_done(&a->here);
    rn_waitgroup_wait(&a->here, RN_NEVER);
    return rn_fail(-EIO, payload, drop_payload);
}

/* R5: none is lost: eight are listed, the others are counted; payloads have
 * one owner. */
API_TEST_SCHEDULES(par_reports_all_errors, 1000)
{
    struct all_fail a = {.here = RN_WAITGROUP_INIT};
    rn_report r = RN_REPORT_INIT;
    dropped = &a.dropped;
    rn_waitgroup_add(&a.here, 11);
    CHECK_EQ(rn_par_for(11, fail_together, &a, &(rn_par_options){.report = &r}),
             -EIO);
    CHECK_EQ(r.count, RN_REPORT_ROOM);
    CHECK_EQ(r.count + r.more, 11);
    CHECK_EQ(atomic_load(&a.dropped), r.more);
    CHECK_EQ(r.trigger, RN_REASON_SIBLING);
    for (size_t i = 0; i < r.count; i++) {
        CHECK_EQ(*(int *)r.failures[i].payload, r.failures[i].index);
        if (i > 1)
            CHECK_LT(r.failures[i - 1].index, r.failures[i].index);
    }
    rn_report_fini(&r);
    CHECK_EQ(atomic_load(&a.dropped), 11);
    at_rest();
}

static int
forgotten_payload(size_t i, void *ctx)
{
    (void)ctx;
    rn_fail(-EIO, malloc(4), drop_payload);
    return i == 2 ? -ENOSPC : 0;
}

/* A payload is of its item, and not of a later one of the same task. */
API_TEST_SCHEDULES(par_payload_of_an_item_that_did_not_fail, 1000)
{
    atomic_int count = 0;
    rn_report r = RN_REPORT_INIT;
    dropped = &count;
    rn_par_options o = {.report = &r, .limit = 1};
    CHECK_EQ(rn_par_for(5, forgotten_payload, NULL, &o), -ENOSPC);
    CHECK_EQ(r.count, 1);
    CHECK(r.failures[0].payload == NULL);
    CHECK_EQ(atomic_load(&count), 3);
    at_rest();
}

/* ---- what has not begun ------------------------------------------------- */

struct late {
    atomic_bool triggered;
    atomic_int started;
    size_t bad;
};

static int
start_late(size_t i, void *ctx)
{
    struct late *l = ctx;
    CHECK(!rn_cancel_requested() || atomic_load(&l->triggered));
    atomic_fetch_add(&l->started, 1);
    if (i == l->bad) {
        atomic_store(&l->triggered, true);
        return -EIO;
    }
    int e = rn_yield();
    return e < 0 ? e : 0;
}

/* R6, R7: after the trigger nothing begins, and the outcomes say so. */
API_TEST_SCHEDULES(par_outcomes_are_valid_when_it_fails, 1000)
{
    for (size_t bad = 0; bad < 9; bad += 4) {
        struct late l = {.bad = bad};
        rn_outcome outcomes[30];
        rn_report r = RN_REPORT_INIT;
        size_t count[4] = {0};
        rn_par_options o = {.limit = 4, .outcomes = outcomes, .report = &r};
        memset(outcomes, 0x55, sizeof outcomes);
        CHECK_EQ(rn_par_for(30, start_late, &l, &o), -EIO);
        for (int i = 0; i < 30; i++)
            count[outcomes[i]]++;
        CHECK_EQ(outcomes[bad], RN_OUTCOME_ERR);
        CHECK_EQ(count[RN_OUTCOME_ERR], 1);
        CHECK_EQ(count[RN_OUTCOME_OK], r.ok);
        CHECK_EQ(count[RN_OUTCOME_CANCELLED], r.cancelled);
        CHECK_EQ(count[RN_OUTCOME_NOT_RUN], r.not_run);
        CHECK_EQ(30 - r.not_run, (size_t)atomic_load(&l.started));
    }
    at_rest();
}

static int
fail_at_once(size_t i, void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
    return i == 0 ? -EIO : rn_sleep(3600 * RN_SEC);
}

/* R7: of a million only those that had begun. */
API_TEST_SCHEDULES(par_abort_is_early, 1000)
{
    atomic_int started = 0;
    rn_par_options o = {.limit = 16};
    CHECK_EQ(rn_par_for(1000000, fail_at_once, &started, &o), -EIO);
    CHECK_LE(atomic_load(&started), 16);
    at_rest();
}

static int
wait_or_fail(size_t i, void *ctx)
{
    struct all_fail *a = ctx;
    rn_waitgroup_done(&a->here);
    if (i > 0)
        return rn_chan_recv(NULL, NULL, RN_NEVER);
    rn_waitgroup_wait(&a->here, RN_NEVER);
    return -EIO;
}

/* R7: mass cancel. If each that ends looked at all others, time would be up. */
API_TEST_SCHEDULES(par_mass_cancel, 20)
{
    int n = many_tasks(rn_sim_active() ? 200 : 100000);
    struct all_fail a = {.here = RN_WAITGROUP_INIT};
    rn_report r = RN_REPORT_INIT;
    rn_waitgroup_add(&a.here, n);
    CHECK_EQ(rn_par_for((size_t)n, wait_or_fail, &a,
                        &(rn_par_options){.report = &r}),
             -EIO);
    CHECK_EQ(r.cancelled, n - 1);
    at_rest();
}

/* R18 */
static int
fail_some(size_t i, void *ctx)
{
    (void)ctx;
    int e = rn_yield();
    if (e < 0)
        return e;
    return i % 3 == 0 ? -EIO : i % 3 == 1 ? -ECANCELED : (int)i;
}

API_TEST_SCHEDULES(par_all_outcomes_collects, 1000)
{
    int results[9];
    rn_outcome outcomes[9];
    rn_report r = RN_REPORT_INIT;
    rn_par_options o = {.outcomes = outcomes, .report = &r};
    CHECK_EQ(rn_par_all_outcomes(9, fail_some, NULL, results, &o), -EIO);
    for (int i = 0; i < 9; i++) {
        CHECK_EQ(results[i], i % 3 == 0 ? -EIO : i % 3 == 1 ? -ECANCELED : i);
        CHECK_EQ(outcomes[i], i % 3 == 0   ? RN_OUTCOME_ERR
                              : i % 3 == 1 ? RN_OUTCOME_CANCELLED
                                           : RN_OUTCOME_OK);
    }
    CHECK_EQ(r.count, 3);
    CHECK_EQ(r.ok, 3);
    CHECK_EQ(r.cancelled, 3);
    CHECK_EQ(r.trigger, RN_REASON_NONE);
    at_rest();
}

/* ---- cancel from outside ------------------------------------------------ */

static int
cancel_scope(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

/* R2, R15: an outer cancel reaches all, and both finalizers run. */
API_TEST_SCHEDULES(par_outer_cancel, 1000)
{
    rn_reason reasons[2] = {RN_REASON_NONE, RN_REASON_NONE};
    rn_par_job jobs[] = {{wait_for_ever, &reasons[0], 0},
                         {wait_for_ever, &reasons[1], 0}};
    rn_report r = RN_REPORT_INIT;
    rn_outcome outcomes[2];
    rn_par_options o = {.report = &r, .outcomes = outcomes};
    atomic_store(&ended, 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(cancel_scope, s);
    CHECK_EQ(rn_par_call(jobs, 2, &o), -ECANCELED);
    CHECK_EQ(atomic_load(&ended), r.cancelled);
    CHECK_EQ(r.cancelled + r.not_run, 2);
    CHECK_EQ(r.trigger, RN_REASON_PARENT);
    for (size_t i = 0; i < 2; i++) /* either may have begun alone */
        CHECK_EQ(reasons[i], outcomes[i] == RN_OUTCOME_CANCELLED
                                 ? RN_REASON_PARENT
                                 : RN_REASON_NONE);
    CHECK_EQ(rn_yield(), -ECANCELED); /* R12: still there */
    close_cancelled(s);
    at_rest();
}

static int
ignore_cancel(size_t i, void *ctx)
{
    (void)i;
    rn_scope_cancel(ctx);
    return 0;
}

/* R4: that all has succeeded is more than a cancel, which stays pending. */
API_TEST_SCHEDULES(par_success_beats_a_late_cancel, 1000)
{
    rn_scope *s = open_scope(RN_NEVER);
    CHECK_EQ(rn_par_for(1, ignore_cancel, s, NULL), 0);
    CHECK_EQ(rn_yield(), -ECANCELED);
    CHECK_EQ(rn_par_for(1, ignore_cancel, s, NULL), -ECANCELED);
    close_cancelled(s);
    at_rest();
}

/* A loop that never waits but looks. */
static int
poll_cancel(void *arg)
{
    (void)arg;
    while (!rn_cancel_requested())
        if (!rn_sim_active())
            rn_yield();
    return -ECANCELED;
}

static int
just_fail(void *arg)
{
    (void)arg;
    return -EIO;
}

API_TEST_SCHEDULES(par_busy_loop_polls, 1000)
{
    rn_par_job jobs[] = {{poll_cancel, NULL, 0}, {just_fail, NULL, 0}};
    CHECK_EQ(rn_par_call(jobs, 2, NULL), -EIO);
    at_rest();
}

/* ---- shields ------------------------------------------------------------ */

static int
unaware(size_t i, void *ctx)
{
    (void)i;
    rn_chan *told = ctx;
    int v;
    CHECK_EQ(rn_chan_recv(told, &v, RN_NEVER), -EPIPE);
    CHECK_EQ(rn_cancel_requested(), 0);
    CHECK_EQ(rn_yield(), 0);
    return 0;
}

/* R11: what is outside of the caller's shield does not get through; errors and
 * the own deadline do. */
API_TEST_SCHEDULES(par_of_a_shielded_caller, 1000)
{
    rn_report r = RN_REPORT_INIT;
    rn_chan *told = new_chan(1, 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_shield shield = rn_shield_push();
    rn_scope_cancel(s);
    rn_chan_close(told);
    CHECK_EQ(rn_par_for(4, unaware, told, NULL), 0);
    CHECK_EQ(both(fail_eio, wait_for_ever, NULL, &r), -EIO);
    CHECK_EQ(both(wait_for_ever, fail_eio, NULL, &r), -EIO);
    rn_par_job job = {wait_for_ever, NULL, 0};
    CHECK_EQ(rn_par_call(&job, 1, &(rn_par_options){.deadline = rn_now() + 1}),
             -ETIMEDOUT);
    rn_shield_restore(shield);
    CHECK_EQ(rn_cancel_requested(), 1);
    CHECK_EQ(rn_par_for(4, unaware, told, NULL), -ECANCELED);
    close_cancelled(s);
    rn_chan_unref(told);
    at_rest();
}

static int
shielded_work(void *arg)
{
    rn_chan *go_on = arg;
    int v;
    rn_shield shield = rn_shield_push();
    CHECK_EQ(rn_chan_recv(go_on, &v, RN_NEVER), 0);
    rn_shield_restore(shield);
    return rn_cancel_requested() ? -ECANCELED : 0;
}

static int
send_and_fail(void *arg)
{
    CHECK_EQ(
        rn_defer_on_error((rn_finalizer_fn *)(void (*)(void))finalizer, NULL),
        0);
    send_int(arg, 1);
    return -EIO;
}

/* R2: an error while a sibling is shielded waits for it. */
API_TEST_SCHEDULES(par_waits_for_a_shielded_sibling, 1000)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_par_job jobs[] = {{shielded_work, c, 0}, {send_and_fail, c, 0}};
    CHECK_EQ(rn_par_call(jobs, 2, NULL), -EIO);
    CHECK(jobs[0].result == -ECANCELED || jobs[0].result == 0);
    rn_chan_unref(c);
    at_rest();
}

static int
leave_shield(size_t i, void *ctx)
{
    (void)ctx;
    (void)!rn_shield_push().rn__number;
    return i == 3 ? -EIO : 0;
}

/* A shield ends with the item that has pushed it. */
API_TEST_SCHEDULES(par_shield_left_by_an_item, 1000)
{
    rn_shield shield = rn_shield_push();
    CHECK_EQ(rn_par_for(6, leave_shield, NULL, NULL), -EIO);
    rn_shield_restore(shield);
    at_rest();
}

static int
touch_then_wait(size_t i, void *ctx)
{
    (void)ctx;
    if (i < 3) { /* odd ones, one for each carrier */
        finally();
        return rn_yield();
    }
    return i == 5 ? -EIO : wait_for_ever(NULL);
}

/* R11: so do those that have had an item which deferred a call: for what is
 * inside the operation no carrier is shielded. */
API_TEST_SCHEDULES(par_carriers_of_a_shielded_caller_see_a_failure, 1000)
{
    rn_shield shield = rn_shield_push();
    CHECK_EQ(
        rn_par_for(6, touch_then_wait, NULL, &(rn_par_options){.limit = 3}),
        -EIO);
    rn_shield_restore(shield);
    at_rest();
}

static int
cancel_own_task(size_t i, void *ctx)
{
    (void)ctx;
    if (i == 2)
        rn_task_cancel(rn_task_self());
    return rn_chan_recv(NULL, NULL, RN_NEVER);
}

/* What a task of an operator is told alone ends its item, and that the rest. */
API_TEST_SCHEDULES(par_item_cancels_its_task, 1000)
{
    rn_scope *s = open_scope(RN_NEVER);
    rn_outcome outcomes[4];
    rn_par_options o = {.outcomes = outcomes};
    CHECK_EQ(rn_par_for(4, cancel_own_task, NULL, &o), -ECANCELED);
    CHECK_EQ(outcomes[2], RN_OUTCOME_CANCELLED);
    (void)!rn_scope_close(s);
    CHECK_EQ(rn_task_count(), 1);
}

struct self_cancel {
    rn_task caller;
    bool by_caller; /* item 2 was run by it */
};

static int
cancel_own_or_yield(size_t i, void *ctx)
{
    struct self_cancel *c = ctx;
    if (i != 2)
        return rn_yield();
    c->by_caller = rn_task_self().id == c->caller.id;
    rn_task_cancel(rn_task_self());
    return rn_yield();
}

/* R18: where all is collected, too, it is told from then on, and gives up; the
 * others begin all the same, unless the operator is inside the task. */
API_TEST_SCHEDULES(par_R18_item_cancels_its_task_where_all_is_collected, 1000)
{
    struct self_cancel c = {.caller = rn_task_self()};
    rn_outcome outcomes[6];
    rn_report r = RN_REPORT_INIT;
    rn_par_options o = {
        .outcomes = outcomes, .report = &r, .flags = RN_PAR_COLLECT};
    CHECK_EQ(rn_par_for(6, cancel_own_or_yield, &c, &o), -ECANCELED);
    CHECK_EQ(outcomes[2], RN_OUTCOME_CANCELLED);
    size_t of[4] = {0};
    for (size_t i = 0; i < 6; i++)
        of[outcomes[i]]++;
    CHECK_EQ(of[RN_OUTCOME_OK], r.ok);
    CHECK_EQ(of[RN_OUTCOME_CANCELLED], r.cancelled);
    CHECK_EQ(of[RN_OUTCOME_NOT_RUN], r.not_run);
    CHECK_EQ(r.count, 0);
    CHECK_EQ(rn_cancel_requested(), c.by_caller);
    if (!c.by_caller) {
        CHECK_EQ(r.not_run, 0);
        CHECK_EQ(r.trigger, RN_REASON_NONE);
    }
    CHECK_EQ(rn_task_count(), 1);
}
