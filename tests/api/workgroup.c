/* workgroup.c - tests of runnel/workgroup.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

static rn_workgroup *
open_in(rn_workgroup *g, size_t limit, const rn_scope_options *options)
{
    CHECK_EQ(rn_workgroup_open(g, limit, options), 0);
    return g;
}

static void
add(rn_workgroup *g, rn_task_fn *fn, void *arg)
{
    CHECK_EQ(rn_workgroup_go(g, fn, arg, RN_NEVER), 0);
}

/* ---- the limit ---------------------------------------------------------- */

struct count {
    atomic_int active, most, ran;
};

static int
leave(void *arg, int outcome)
{
    struct count *c = arg;
    (void)outcome;
    CHECK_EQ(rn_yield(), 0); /* still in its place */
    atomic_fetch_sub(&c->active, 1);
    return 0;
}

static int
take_part(void *arg)
{
    struct count *c = arg;
    int active = atomic_fetch_add(&c->active, 1) + 1;
    int most = atomic_load(&c->most);
    while (active > most &&
           !atomic_compare_exchange_weak(&c->most, &most, active))
        ;
    CHECK_EQ(rn_defer(leave, c), 0);
    CHECK_EQ(rn_yield(), 0);
    atomic_fetch_add(&c->ran, 1);
    return 0;
}

static void
limited(int tasks, size_t limit, int most)
{
    struct count c = {.active = 0};
    rn_workgroup g;
    open_in(&g, limit, NULL);
    for (int i = 0; i < tasks; i++)
        add(&g, take_part, &c);
    CHECK_EQ(rn_workgroup_wait(&g, 0), 0);
    CHECK_EQ(atomic_load(&c.active), 0);
    CHECK_EQ(atomic_load(&c.ran), tasks);
    CHECK_LE(atomic_load(&c.most), most);
    CHECK(rn_workgroup_scope(&g) == NULL);
}

API_TEST_SCHEDULES(workgroup_keeps_its_limit, 1000)
{
    limited(6, 1, 1);
    limited(7, 3, 3);
    limited(5, 0, 5); /* no limit */
}

API_TEST_SCHEDULES(workgroup_of_1024_keeps_a_limit_of_10, 10)
{
    limited(1024, 10, 10);
}

static int
wait_for_more(void *arg)
{
    CHECK_EQ(rn_chan_recv(arg, NULL, RN_NEVER), 0);
    return 0;
}

API_TEST(workgroup_go_keeps_its_deadline)
{
    rn_workgroup g;
    rn_chan *c = new_chan(0, 0);
    open_in(&g, 2, NULL);
    CHECK_EQ(rn_workgroup_go(&g, wait_for_more, c, RN_NOW), 0);
    CHECK_EQ(rn_workgroup_go(&g, wait_for_more, c, -1), 0);
    CHECK_EQ(rn_workgroup_go(&g, wait_for_more, c, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_workgroup_go(&g, wait_for_more, c, rn_now()), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_workgroup_go(&g, wait_for_more, c, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    CHECK_EQ(rn_chan_send(c, NULL, RN_NEVER), 0);
    add(&g, wait_for_more, c);
    CHECK_EQ(rn_chan_send(c, NULL, RN_NEVER), 0);
    CHECK_EQ(rn_chan_send(c, NULL, RN_NEVER), 0);
    CHECK_EQ(rn_workgroup_wait(&g, 0), 0);
    rn_chan_unref(c);
}

struct tree {
    rn_workgroup group;
    atomic_int ran;
};

static int
grow(void *arg)
{
    struct tree *t = arg;
    int n = atomic_fetch_add(&t->ran, 1);
    if (n < 4) {
        int e = rn_workgroup_go(&t->group, grow, t, RN_NOW);
        CHECK(e == 0 || e == -EAGAIN);
    }
    return 0;
}

/* Tasks of the group add others, while its opener waits for their end. */
API_TEST_SCHEDULES(workgroup_grows_from_inside, 1000)
{
    struct tree t = {.ran = 0};
    open_in(&t.group, 2, NULL);
    add(&t.group, grow, &t);
    CHECK_EQ(rn_workgroup_wait(&t.group, 0), 0);
    CHECK_GE(atomic_load(&t.ran), 2);
}

/* ---- failure ------------------------------------------------------------ */

static int
fail_with(void *arg)
{
    return *(int *)arg;
}

static int
wait_to_be_cancelled(void *arg)
{
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    if (arg)
        atomic_fetch_add((atomic_int *)arg, 1);
    return -ECANCELED;
}

/* R1: the first failure is kept and cancels the rest. */
API_TEST_SCHEDULES(workgroup_first_error_cancels, 1000)
{
    int codes[] = {-EIO, -ENOENT};
    rn_workgroup g;
    open_in(&g, 0, NULL);
    for (int i = 0; i < 3; i++)
        add(&g, wait_to_be_cancelled, NULL);
    CHECK_EQ(rn_workgroup_go(&g, fail_with, &codes[0], RN_NEVER), 0);
    rn_yield();
    CHECK_EQ(rn_workgroup_wait(&g, 0), -EIO);
}

static int
wait_and_fail(void *arg)
{
    CHECK_EQ(rn_chan_recv(NULL, NULL, RN_NEVER), -ECANCELED);
    return *(int *)arg;
}

/* R5: those told to cancel fail in their own ways; all of it is in the report,
 * the first first. */
API_TEST_SCHEDULES(workgroup_reports_all_errors, 1000)
{
    int codes[] = {-ENOENT, -EPERM, -EIO};
    rn_report report = RN_REPORT_INIT;
    rn_scope_options options = {.report = &report};
    rn_workgroup g;
    open_in(&g, 0, &options);
    add(&g, wait_and_fail, &codes[0]);
    add(&g, wait_to_be_cancelled, NULL);
    settle();
    add(&g, fail_with, &codes[2]);
    int e = rn_workgroup_wait(&g, 0);
    CHECK_EQ(e, report.failures[0].code);
    CHECK_EQ(e, -EIO);
    CHECK_EQ(report.status, -EIO);
    CHECK_EQ(report.trigger, RN_REASON_SIBLING);
    CHECK_EQ(report.trigger_index, 2);
    CHECK_GE(report.count, 1);
    if (report.count == 2) /* it had begun before it was cancelled */
        CHECK_EQ(report.failures[1].code, -ENOENT);
    CHECK_EQ(report.more, 0);
    CHECK_EQ(report.count + report.cancelled, 3);
    rn_report_fini(&report);
}

/* With RN_SCOPE_COLLECT none is cancelled; places come free all the same. */
API_TEST_SCHEDULES(workgroup_collects_all, 1000)
{
    int codes[] = {-EIO, 0, -ENOENT, 1, -EPERM, 0};
    rn_report report = RN_REPORT_INIT;
    rn_scope_options options = {.flags = RN_SCOPE_COLLECT, .report = &report};
    rn_workgroup g;
    open_in(&g, 2, &options);
    for (int i = 0; i < 6; i++)
        add(&g, fail_with, &codes[i]);
    CHECK_EQ(rn_workgroup_wait(&g, 0), report.failures[0].code);
    CHECK_EQ(report.count, 3);
    CHECK_EQ(report.ok, 3);
    int left = -EIO - ENOENT - EPERM;
    for (int i = 0; i < 3; i++)
        left -= report.failures[i].code;
    CHECK_EQ(left, 0);
    rn_report_fini(&report);
}

/* A failure of the code between open and wait cancels and counts. */
API_TEST_SCHEDULES(workgroup_body_failure_cancels, 1000)
{
    rn_workgroup g;
    atomic_int cancelled = 0;
    open_in(&g, 2, NULL);
    add(&g, wait_to_be_cancelled, &cancelled);
    add(&g, wait_to_be_cancelled, &cancelled);
    CHECK_EQ(rn_workgroup_wait(&g, -ENOSPC), -ENOSPC);
    CHECK_LE(atomic_load(&cancelled), 2);
    CHECK_EQ(rn_workgroup_wait(open_in(&g, 1, NULL), 5), 5);
}

/* ---- cancel ------------------------------------------------------------- */

struct cancelled {
    rn_scope *outer;
    atomic_int ran;
};

static int
count_run(void *arg)
{
    struct cancelled *c = arg;
    atomic_fetch_add(&c->ran, 1);
    (void)!rn_chan_recv(NULL, NULL, RN_NEVER);
    return 0;
}

static int
cancel_outer(void *arg)
{
    struct cancelled *c = arg;
    rn_scope_cancel(c->outer);
    return 0;
}

/* A cancel from outside ends the tasks, and who waits for a place. Nothing is
 * taken by what was cancelled (R13): after it all places are free again. */
API_TEST_SCHEDULES(workgroup_parent_cancel_ends_all, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 300); i++) {
        struct cancelled c = {.outer = open_scope(RN_NEVER)};
        rn_workgroup g;
        int spawned = 0, e;
        go(cancel_outer, &c);
        open_in(&g, 2, NULL);
        while ((e = rn_workgroup_go(&g, count_run, &c, RN_NEVER)) == 0)
            spawned++;
        CHECK_EQ(e, -ECANCELED);
        CHECK_LE(spawned, 2);
        CHECK_LE(atomic_load(&c.ran), spawned);
        e = rn_workgroup_wait(&g, 0);
        CHECK(e == 0 || e == -ECANCELED);
        close_cancelled(c.outer);
    }
}

/* Tasks that never began give their places back, too. */
API_TEST_SCHEDULES(workgroup_unbegun_tasks_leave_their_places, 1000)
{
    struct cancelled c = {.ran = 0};
    rn_workgroup g;
    open_in(&g, 3, NULL);
    for (int i = 0; i < 3; i++)
        add(&g, count_run, &c);
    rn_scope_cancel(rn_workgroup_scope(&g));
    CHECK_EQ(rn_workgroup_go(&g, count_run, &c, RN_NEVER), -ECANCELED);
    int e = rn_workgroup_go(&g, count_run, &c, RN_NOW);
    CHECK(e == -EAGAIN || e == -ECANCELED);
    e = rn_workgroup_wait(&g, 0);
    CHECK(e == 0 || e == -ECANCELED);
}

API_TEST(workgroup_deadline_of_the_whole)
{
    rn_scope_options options = {.deadline = rn_now() + RN_MS};
    rn_workgroup g;
    open_in(&g, 1, &options);
    int e = rn_workgroup_go(&g, wait_to_be_cancelled, NULL, RN_NEVER);
    CHECK(e == 0 || e == -ECANCELED);
    CHECK_EQ(rn_workgroup_go(&g, wait_to_be_cancelled, NULL, RN_NEVER),
             -ECANCELED);
    CHECK_EQ(rn_workgroup_wait(&g, 0), -ETIMEDOUT);
}

/* ---- lifetime, memory --------------------------------------------------- */

static int
do_nothing(void *arg)
{
    (void)arg;
    return 0;
}

API_TEST_SCHEDULES(workgroup_may_be_unmapped_after_wait, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(3000)); i++) {
        rn_workgroup *g = page_new();
        open_in(g, 2, NULL);
        for (int k = 0; k < 3; k++)
            add(g, do_nothing, NULL);
        CHECK_EQ(rn_workgroup_wait(g, 0), 0);
        page_free(g);
    }
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(workgroup_go_after_wait_panics, "not open")
{
    rn_workgroup g;
    open_in(&g, 1, NULL);
    CHECK_EQ(rn_workgroup_wait(&g, 0), 0);
    rn_workgroup_go(&g, do_nothing, NULL, RN_NEVER);
}

API_PANICS(workgroup_wait_twice_panics, "not open")
{
    rn_workgroup g;
    open_in(&g, 1, NULL);
    CHECK_EQ(rn_workgroup_wait(&g, 0), 0);
    rn_workgroup_wait(&g, 0);
}

API_PANICS(workgroup_wait_inside_another_scope_panics, "rn_workgroup_wait of")
{
    rn_workgroup g;
    open_in(&g, 1, NULL);
    open_scope(RN_NEVER);
    rn_workgroup_wait(&g, 0);
}

API_TEST(workgroup_open_wants_known_flags)
{
    rn_scope_options options = {.flags = 1u << 30};
    rn_workgroup g;
    CHECK_EQ(rn_workgroup_open(&g, 1, &options), -EINVAL);
}

static int
add_another(void *arg)
{
    CHECK_EQ(rn_workgroup_go(arg, do_nothing, NULL, RN_NEVER), 0);
    return 0;
}

SIM_FINDS_TEXT(workgroup_all_places_wait_for_one_is_a_deadlock, RN_SIM_DEADLOCK,
               "for a place in workgroup")
{
    rn_workgroup g;
    open_in(&g, 1, NULL);
    add(&g, add_another, &g);
    rn_workgroup_wait(&g, 0);
}

TEST_DIES_WITH(workgroup_open_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_workgroup g;
    (void)!rn_workgroup_open(&g, 1, NULL);
}
