/* When a worker wakes others, who searches, and who is robbed: by hand, with
 * what has been measured set.
 */
#include "core/core.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS = 4, TASKS = 200 };

static struct rn__rt rt;
static struct rn__worker workers[WORKERS];
static struct rn__task tasks[TASKS];
static struct rn__task *places[WORKERS][2][RN__RING_FIRST];

/* The calling thread is the first worker, and the others are awake. */
static void
open_rt(rn_time pace)
{
    rt.worker_count = rt.awake = WORKERS;
    rt.workers = workers;
    rt.injected_end = &rt.injected;
    rt.trim_at = RN_NEVER;
    atomic_fetch_add(&rn__parallel, 1);
    for (int i = 0; i < WORKERS; i++) {
        struct rn__worker *w = &workers[i];
        w->rt = &rt;
        w->index = i;
        w->prng = (uint64_t)i;
        w->wake = 1;
        rn__ring_grow(&w->queue.woken, places[i][0]);
        rn__ring_grow(&w->queue.fresh, places[i][1]);
        rn__timers_init(&w->timers, rn__os_now());
        rn__sched_set_pace(w, pace);
    }
    rn__os_set_self(&workers[0]);
}

/* All but the first two lie down. */
static void
sleep_the_others(void)
{
    for (int i = 2; i < WORKERS; i++) {
        workers[i].asleep = true;
        workers[i].wake = 0;
        workers[i].idle_next = rt.sleepers;
        rt.sleepers = &workers[i];
        rt.asleep++;
    }
}

static struct rn__stack stack; /* of all that have begun */

static void
begin_all(void)
{
    for (int i = 0; i < TASKS; i++)
        tasks[i].stack = &stack;
}

static void
ready(int count)
{
    for (int i = 0; i < count; i++)
        rn__sched_ready(&tasks[i]);
}

static int
woken(void)
{
    int count = 0;
    for (int i = 2; i < WORKERS; i++)
        count += workers[i].wake == 1;
    return count;
}

/* ---- wake-ups ------------------------------------------------------------ */

/* A monitor that wants a look takes rounds away; what has run is measured. */
TEST(worker_pace_is_measured_after_a_nudge)
{
    open_rt(200);
    struct rn__worker *w = &workers[0];
    for (int i = 1; i <= 2; i++) { /* the smaller of two looks */
        w->count.switches += 16;
        w->pace.rounds = 1;
        rn__sched_measure(w, w->clock + 16 * 60 * RN_US);
        CHECK_EQ(w->pace.measured, 60 * RN_US);
    }
    CHECK_EQ(w->pace.ns, 60 * RN_US);
    CHECK_EQ(w->pace.rounds, w->pace.given);
    w->pace.rounds = 0;
    rn__sched_measure(w, w->clock + RN_SEC); /* nothing has run */
    CHECK_EQ(w->pace.ns, 60 * RN_US);
    CHECK_EQ(w->pace.rounds, w->pace.given);
}

TEST(worker_little_work_wakes_nobody)
{
    open_rt(100); /* RN__WAKE_WORTH is 500 of these */
    begin_all();  /* or they would not count at all */
    sleep_the_others();
    ready(TASKS);
    CHECK_EQ(woken(), 0);
    CHECK_EQ(rt.asleep, 2);
}

TEST(worker_long_tasks_wake_one)
{
    open_rt(RN__WAKE_WORTH);
    sleep_the_others();
    ready(1); /* in the slot: it runs next here */
    CHECK_EQ(woken(), 0);
    ready(2);
    CHECK_EQ(woken(), 1);
    CHECK_EQ(rt.searching, 1);
    CHECK_EQ(rt.asleep, 1);
}

/* The border is where the work is worth it. */
TEST(worker_wakes_at_what_a_wake_up_is_worth)
{
    enum { MANY = 50 };
    open_rt(RN__WAKE_WORTH / MANY);
    sleep_the_others();
    ready(MANY); /* one of them is in the slot */
    CHECK_EQ(woken(), 0);
    ready(1);
    CHECK_EQ(woken(), 1);
}

/* One searches already, and will wake the next if there is more. */
TEST(worker_much_work_wakes_no_herd)
{
    open_rt(RN__WAKE_WORTH);
    sleep_the_others();
    ready(TASKS);
    CHECK_EQ(woken(), 1);
    CHECK_EQ(rt.searching, 1);
    CHECK_EQ(rt.asleep, 1);
}

TEST(worker_that_finds_work_wakes_the_next)
{
    open_rt(RN__WAKE_WORTH);
    sleep_the_others();
    ready(TASKS);
    struct rn__worker *first = workers[2].wake ? &workers[2] : &workers[3];
    CHECK(first->searching);
    rn__os_set_self(first);
    CHECK(rn__worker_find(first));
    CHECK(!first->searching);
    CHECK_EQ(woken(), 2);
    CHECK_EQ(rt.searching, 1); /* the next one */
}

/* ---- searches ------------------------------------------------------------ */

enum { LOOKS = 100 };

/* Posts itself again each time it arrives, so that who looks for work never
 * sleeps; the last time it lets the worker find some. */
static struct rn__outside item;
static int looks;
static void (*let)(void);

static void
arrive(struct rn__outside *self)
{
    rn__outside_expect(&rt);
    rn__outside_post(&rt, self);
    if (++looks == LOOKS) {
        CHECK_EQ(workers[0].count.steals, 0);
        let();
    }
}

/* The first worker finds something: not before it is let. */
static void
find_only_once(void (*fn)(void))
{
    let = fn;
    item.arrive = arrive;
    rn__outside_expect(&rt);
    rn__outside_post(&rt, &item);
    CHECK(rn__worker_find(&workers[0]));
    CHECK_GE(looks, LOOKS);
    CHECK_EQ(workers[0].count.steals, 1);
}

static void
ready_with(int index, int count)
{
    rn__os_set_self(&workers[index]);
    ready(count);
    rn__os_set_self(&workers[0]);
}

static void
end_a_search(void)
{
    rt.searching--;
}

TEST(worker_half_of_them_search)
{
    open_rt(RN__ROB_WORTH);
    ready_with(1, TASKS);
    rt.searching = WORKERS / 2;
    find_only_once(end_a_search);
    CHECK_EQ(rt.searching, WORKERS / 2 - 1);
}

/* ---- robberies ----------------------------------------------------------- */

static void
be_stuck(void)
{
    workers[1].stuck = true;
}

TEST(worker_little_work_is_not_robbed_unless_stuck)
{
    open_rt(RN__ROB_WORTH / 5);
    ready_with(1, 5); /* one of them in the slot */
    find_only_once(be_stuck);
}

TEST(worker_slot_is_not_robbed_unless_stuck)
{
    open_rt(RN__ROB_WORTH * 100);
    ready_with(1, 1);
    find_only_once(be_stuck);
    CHECK(!workers[1].queue.slot);
}

static void
ready_one_more(void)
{
    ready_with(1, 1);
}

TEST(worker_work_that_is_worth_it_is_robbed)
{
    open_rt(RN__ROB_WORTH / 5);
    ready_with(1, 5);
    find_only_once(ready_one_more);
    CHECK(workers[1].queue.slot);
}

/* ---- short tasks that have not begun ------------------------------------- */

static void
ready_woken(void)
{
    begin_all();
    ready_with(1, RN__ROB_WORTH / (RN__MOVE_COST - 1) + 2);
}

TEST(worker_short_tasks_are_robbed_once_they_have_begun)
{
    open_rt(RN__MOVE_COST - 1);
    ready_with(1, TASKS);
    find_only_once(ready_woken);
    CHECK_EQ(rn__ring_length(&workers[1].queue.fresh), TASKS - 1);
}

TEST(worker_long_tasks_are_robbed_before_they_begin)
{
    open_rt(RN__MOVE_COST);
    ready_with(1, RN__ROB_WORTH / RN__MOVE_COST);
    find_only_once(ready_one_more);
}

TEST(worker_wakes_for_short_tasks_that_have_begun)
{
    open_rt(RN__MOVE_COST - 1);
    sleep_the_others();
    ready(TASKS);
    CHECK_EQ(woken(), 0);
    begin_all();
    ready(RN__WAKE_WORTH / (RN__MOVE_COST - 1) + 2);
    CHECK_EQ(woken(), 1);
}

/* ---- timers ------------------------------------------------------------- */

/* So many timers expire, and it lies down again. */
static rn_time
slack_after(struct rn__worker *w, uint64_t expired, rn_time next)
{
    w->count.timers += expired;
    return rn__worker_slack(w, next) - next;
}

/* A wake-up for each of many timers would cost more than they do; a few are
 * exact, and so is the first of many. */
TEST(worker_sleeps_longer_if_many_timers_expire)
{
    struct rn__worker *w = &workers[0];
    CHECK_EQ(slack_after(w, 0, 1000), 0);
    CHECK_EQ(slack_after(w, 7, 1000), 0);
    CHECK_EQ(slack_after(w, 7, 1000), 0); /* since it last lay down */
    CHECK_EQ(slack_after(w, 8, 1000), 150 * RN_US);
    CHECK_EQ(slack_after(w, 0, 1000), 0);
    CHECK_EQ(slack_after(w, 1000, 1000), 150 * RN_US);
    CHECK_EQ(slack_after(w, 1000, RN_NEVER), 0);
    CHECK_EQ(slack_after(w, 1000, RN_NEVER - 1), 0); /* no overflow */
}
