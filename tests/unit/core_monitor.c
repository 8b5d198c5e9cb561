/* What the monitor makes of what workers do, tick by tick. */
#include "core/monitor.h"

#include "core/core.h"
#include "test.h"

#include <stdlib.h>

enum { WORKERS = 2 };

static struct rn__rt rt;
static struct rn__worker workers[WORKERS];
static struct rn__sight sights[WORKERS];
static struct rn__task tasks[4];

/* The first worker runs a task, the second sleeps. */
static void
open_rt(void)
{
    rt.worker_count = WORKERS;
    rt.workers = workers;
    rt.monitor.sights = sights;
    for (int i = 0; i < WORKERS; i++) {
        workers[i].rt = &rt;
        workers[i].index = i;
        atomic_store(&workers[i].timers.next, RN_NEVER);
    }
    atomic_fetch_add(&rn__parallel, 1);
    atomic_store(&workers[0].current, &tasks[0]);
    workers[1].asleep = true;
    rt.sleepers = &workers[1];
    atomic_store(&rt.asleep, 1);
}

static bool
woken(void)
{
    return atomic_load(&workers[1].wake);
}

TEST(monitor_counts_ticks_without_progress)
{
    open_rt();
    rn__monitor_look(&rt);
    CHECK(!atomic_load(&workers[0].stuck)); /* seen once only */
    for (uint32_t i = 1; i < 5; i++) {
        rn__monitor_look(&rt);
        CHECK(atomic_load(&workers[0].stuck));
        CHECK_EQ(sights[0].ticks, i);
    }
    CHECK(!atomic_load(&workers[1].stuck));
    CHECK(!woken()); /* nothing to do for it */
}

static void
check_progress(void)
{
    rn__monitor_look(&rt);
    CHECK_EQ(sights[0].ticks, 0);
    CHECK(!atomic_load(&workers[0].stuck));
    rn__monitor_look(&rt);
    CHECK_EQ(sights[0].ticks, 1);
}

TEST(monitor_sees_progress)
{
    open_rt();
    check_progress();
    rn__count(&workers[0], switches); /* to the same task */
    check_progress();
    rn__count(&workers[0], parks); /* fired meanwhile: no switch */
    check_progress();
    rn__count(&workers[0], passes);
    check_progress();
    atomic_store(&workers[0].current, &tasks[1]);
    check_progress();
    atomic_store(&workers[0].current, NULL);
    for (int i = 0; i < 3; i++) {
        rn__monitor_look(&rt);
        CHECK_EQ(sights[0].ticks, 0);
    }
}

/* Two looks, so that the first worker is stuck. */
static void
look_twice(void)
{
    rn__monitor_look(&rt);
    CHECK(!woken());
    rn__monitor_look(&rt);
}

TEST(monitor_wakes_for_a_slot)
{
    open_rt();
    atomic_store(&workers[0].queue.slot, &tasks[2]);
    look_twice();
    CHECK(woken());
    CHECK_EQ(rt.asleep, 0);
    CHECK_EQ(rt.searching, 1);
}

TEST(monitor_wakes_for_a_queue)
{
    open_rt();
    struct rn__task *places[RN__RING_FIRST];
    rn__ring_grow(&workers[0].queue.woken, places);
    CHECK(rn__ring_push(&workers[0].queue.woken, &tasks[2]));
    look_twice();
    CHECK(woken());
}

TEST(monitor_wakes_for_the_global_queue)
{
    open_rt();
    atomic_store(&rt.injected_count, 1);
    look_twice();
    CHECK(woken());
}

TEST(monitor_wakes_for_an_overdue_timer)
{
    open_rt();
    atomic_store(&workers[0].timers.next, rn__os_now() + RN_SEC * 3600);
    rn__monitor_look(&rt);
    CHECK(!woken());
    atomic_store(&workers[0].timers.next, rn__os_now() - RN_SEC);
    rn__monitor_look(&rt);
    CHECK(woken());
}

/* One that searches finds it. */
TEST(monitor_wakes_nobody_while_one_searches)
{
    open_rt();
    atomic_store(&workers[0].queue.slot, &tasks[2]);
    atomic_store(&rt.searching, 1);
    look_twice();
    CHECK(!woken());
}

TEST(monitor_wakes_nobody_while_there_is_progress)
{
    open_rt();
    atomic_store(&workers[0].queue.slot, &tasks[2]);
    for (int i = 0; i < 5; i++) {
        rn__monitor_look(&rt);
        rn__count(&workers[0], switches);
    }
    CHECK(!woken());
}

/* ---- early looks --------------------------------------------------------- */

TEST(monitor_early_looks_wake_for_one_that_is_stuck)
{
    open_rt();
    atomic_store(&workers[0].queue.slot, &tasks[2]);
    rn__count(&workers[0], switches); /* it has begun */
    rn__monitor_look_early(&rt);
    CHECK(!atomic_load(&workers[0].stuck));
    CHECK(!woken());
    rn__monitor_look_early(&rt);
    CHECK(atomic_load(&workers[0].stuck));
    CHECK(woken());
}

/* Or others could rob its slot until the next tick. */
TEST(monitor_early_looks_see_who_goes_on)
{
    open_rt();
    for (int i = 0; i < 3; i++) {
        rn__monitor_look_early(&rt);
        CHECK(atomic_load(&workers[0].stuck));
        rn__count(&workers[0], switches);
        rn__monitor_look_early(&rt);
        CHECK(!atomic_load(&workers[0].stuck));
    }
    rn__monitor_look_early(&rt);
    CHECK(atomic_load(&workers[0].stuck));
    atomic_store(&workers[0].current, NULL); /* asleep by now */
    rn__monitor_look_early(&rt);
    CHECK(!atomic_load(&workers[0].stuck));
}

TEST(monitor_early_looks_nudge_who_has_long_tasks)
{
    open_rt();
    for (uint32_t steps = 0; steps < 100; steps++) {
        atomic_store(&workers[0].pace.rounds, 128);
        for (uint32_t i = 0; i < steps; i++)
            rn__count(&workers[0], switches);
        rn__monitor_look_early(&rt);
        CHECK_EQ(atomic_load(&workers[0].pace.rounds), steps < 25 ? 1 : 128);
    }
}

/* ---- reports ------------------------------------------------------------- */

static int reports;

static void
count_report(const char *task, void *arg)
{
    (void)task;
    (void)arg;
    reports++;
}

/* However often it is seen with the same task, if it goes on in between. */
TEST(monitor_reports_nobody_who_yields)
{
    open_rt();
    rt.monitor.limit = 1;
    rt.options.on_slow = count_report;
    for (int i = 0; i < 1000; i++) {
        rn__monitor_look(&rt);
        CHECK_EQ(sights[0].ticks, 0);
        CHECK(!sights[0].reported);
        rn__count(&workers[0], switches);
    }
    CHECK_EQ(reports, 0);
}

/* Its progress is asked for once more, on its own thread. */
static int
report_self(void *arg)
{
    struct rn__worker *self = rn__worker_self();
    uint64_t progress = rn__worker_progress(self);
    CHECK_EQ(rn_yield(), 0); /* nobody else: counted as a pass */
    CHECK_GT(rn__worker_progress(self), progress);
    CHECK(!rn__watchdog_report(self, progress, RN_SEC));
    CHECK_EQ(reports, 0);
    progress = rn__worker_progress(self);
    CHECK(rn__watchdog_report(self, progress, RN_SEC));
    CHECK_EQ(reports, 1);
    return arg ? 1 : 0;
}

TEST(monitor_reports_nobody_who_has_just_yielded)
{
    rn_options options = {
        .workers = 1, .watchdog = RN_SEC * 3600, .on_slow = count_report};
    CHECK_EQ(rn_run(&options, report_self, NULL), 0);
}
