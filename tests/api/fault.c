/* fault.c - tests of runnel/fault.h: faults as choices of the schedule. */
#include "world.h"

#include <errno.h>
#include <stdio.h>

static rn_sim_report
search(rn_sim_faults faults, rn_task_fn *fn, void *arg)
{
    rn_sim_report report;
    rn_sim_options options = {.schedules = 2000, .faults = faults};
    CHECK_EQ(rn_sim_explore(&options, fn, arg, &report), 0);
    fprintf(stderr, "%s: %s\n", rn_sim_verdict_name(report.verdict),
            report.text ? report.text : "");
    return report;
}

/* Found with the fault, told of, and repeated; not found without it. */
static void
must_need(rn_sim_faults faults, rn_task_fn *fn, const char *text)
{
    rn_sim_faults none = {0};
    rn_sim_report found = search(faults, fn, NULL), again;
    CHECK_EQ(found.verdict, RN_SIM_ASSERT);
    CHECK_GE(found.faults, 1);
    CHECK(test_has(found.text, "faults injected:"));
    CHECK(test_has(found.text, text));
    rn_sim_options options = {.token = found.token, .faults = faults};
    CHECK_EQ(rn_sim_run(&options, fn, NULL, &again), 0);
    CHECK_EQ(again.verdict, found.verdict);
    CHECK_EQ(again.digest, found.digest);
    CHECK_EQ(again.faults, found.faults);
    rn_sim_report_fini(&found);
    rn_sim_report_fini(&again);
    again = search(none, fn, NULL);
    CHECK_EQ(again.verdict, RN_SIM_PASS);
    CHECK_EQ(again.faults, 0);
    rn_sim_report_fini(&again);
}

/* ---- memory -------------------------------------------------------------- */

static int
forget_to_check(void *arg)
{
    rn_chan *c = NULL;
    (void)arg;
    for (int i = 0; i < 5; i++) {
        int e = rn_chan_new(1, 1, &c);
        rn_sim_assert(e == 0, "there is always memory");
        rn_chan_unref(c);
    }
    return 0;
}

TEST(fault_allocation_fails)
{
    must_need((rn_sim_faults){.alloc = {.most = 1}}, forget_to_check,
              "there is always memory|gets no memory");
    must_need((rn_sim_faults){.alloc = {.chance = 0.5}}, forget_to_check,
              "there is always memory|gets no memory");
}

static int
check_memory(void *arg)
{
    rn_chan *c = NULL;
    int failed = 0;
    for (int i = 0; i < 20; i++) {
        int e = rn_chan_new(1, 1, &c);
        CHECK(e == 0 || e == -ENOMEM);
        failed += e != 0;
        if (e == 0)
            rn_chan_unref(c);
    }
    if (failed > *(int *)arg)
        *(int *)arg = failed;
    return 0;
}

TEST(fault_budget_is_kept)
{
    for (int most = 1; most < 4; most++) {
        rn_sim_faults faults = {.alloc = {.most = (uint32_t)most}};
        int worst = 0;
        rn_sim_report r = search(faults, check_memory, &worst);
        CHECK_EQ(r.verdict, RN_SIM_PASS);
        CHECK_EQ(worst, most);
        CHECK_LE(r.faults, (uint64_t)most);
        rn_sim_report_fini(&r);
    }
}

TEST(fault_that_is_certain_always_happens)
{
    int worst = 0;
    rn_sim_faults faults = {.alloc = {.chance = 1}};
    rn_sim_report r = search(faults, check_memory, &worst);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(worst, 20);
    CHECK_EQ(r.faults, 20);
    rn_sim_report_fini(&r);
}

/* ---- locks --------------------------------------------------------------- */

struct box {
    rn_mutex lock;
    rn_cond full;
    rn_rwmutex table;
    rn_sema units;
    int items;
};

static int
put_item(void *arg)
{
    struct box *b = arg;
    CHECK_EQ(rn_mutex_lock(&b->lock, RN_NEVER), 0);
    b->items++;
    rn_cond_signal(&b->full);
    rn_mutex_unlock(&b->lock);
    return 0;
}

/* Waits once, without a loop. */
static int
take_item(void *arg)
{
    struct box b = {.lock = RN_MUTEX_INIT, .full = RN_COND_INIT};
    (void)arg;
    rn_task t = go_joinable(put_item, &b);
    CHECK_EQ(rn_mutex_lock(&b.lock, RN_NEVER), 0);
    if (b.items == 0)
        CHECK_EQ(rn_cond_wait(&b.full, &b.lock, RN_NEVER), 0);
    rn_sim_assert(b.items == 1, "after the wait there is an item");
    rn_mutex_unlock(&b.lock);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    return 0;
}

TEST(fault_condition_wakes_for_nothing)
{
    must_need((rn_sim_faults){.spurious = {.most = 1}}, take_item,
              "there is an item|wakes for nothing|fault.c");
}

static int
take_item_in_a_loop(void *arg)
{
    struct box b = {.lock = RN_MUTEX_INIT, .full = RN_COND_INIT};
    (void)arg;
    rn_task t = go_joinable(put_item, &b);
    CHECK_EQ(rn_mutex_lock(&b.lock, RN_NEVER), 0);
    while (b.items == 0)
        CHECK_EQ(rn_cond_wait(&b.full, &b.lock, RN_NEVER), 0);
    rn_mutex_unlock(&b.lock);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    return 0;
}

TEST(fault_condition_in_a_loop_is_right)
{
    rn_sim_faults faults = {.spurious = {.chance = 0.3}};
    rn_sim_report r = search(faults, take_item_in_a_loop, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

static int
try_mutex(void *arg)
{
    struct box b = {.lock = RN_MUTEX_INIT};
    (void)arg;
    int e = rn_mutex_lock(&b.lock, RN_NOW);
    rn_sim_assert(e == 0, "nobody else has it");
    rn_mutex_unlock(&b.lock);
    return 0;
}

static int
try_reading(void *arg)
{
    struct box b = {.table = RN_RWMUTEX_INIT};
    (void)arg;
    int e = rn_rwmutex_read_lock(&b.table, RN_NOW);
    rn_sim_assert(e == 0, "nobody else has it");
    rn_rwmutex_read_unlock(&b.table);
    return 0;
}

static int
try_writing(void *arg)
{
    struct box b = {.table = RN_RWMUTEX_INIT};
    (void)arg;
    int e = rn_rwmutex_lock(&b.table, RN_NOW);
    rn_sim_assert(e == 0, "nobody else has it");
    rn_rwmutex_unlock(&b.table);
    return 0;
}

static int
try_units(void *arg)
{
    struct box b = {.units = RN_SEMA_INIT(3)};
    (void)arg;
    int e = rn_sema_acquire(&b.units, 2, RN_NOW);
    rn_sim_assert(e == 0, "nobody else has it");
    rn_sema_release(&b.units, 2);
    return 0;
}

TEST(fault_try_of_a_free_lock_fails)
{
    rn_task_fn *const tries[] = {try_mutex, try_reading, try_writing,
                                 try_units};
    for (int i = 0; i < 4; i++)
        must_need((rn_sim_faults){.trylock = {.most = 1}}, tries[i],
                  "nobody else has it|try fails|fault.c");
}

/* A lock that may wait is not tried: nothing fails. */
static int
lock_and_wait(void *arg)
{
    struct box b = {RN_MUTEX_INIT, RN_COND_INIT, RN_RWMUTEX_INIT,
                    RN_SEMA_INIT(1), 0};
    (void)arg;
    CHECK_EQ(rn_mutex_lock(&b.lock, rn_after(RN_SEC)), 0);
    CHECK_EQ(rn_rwmutex_lock(&b.table, RN_NEVER), 0);
    CHECK_EQ(rn_sema_acquire(&b.units, 1, RN_NEVER), 0);
    rn_sema_release(&b.units, 1);
    rn_rwmutex_unlock(&b.table);
    rn_mutex_unlock(&b.lock);
    return 0;
}

TEST(fault_lock_that_waits_does_not_fail)
{
    rn_sim_faults faults = {.trylock = {.chance = 1}};
    rn_sim_report r = search(faults, lock_and_wait, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.faults, 0);
    rn_sim_report_fini(&r);
}

/* ---- time ---------------------------------------------------------------- */

struct clocks {
    int order[2], count;
};

static int
ring_first(void *arg)
{
    struct clocks *c = arg;
    CHECK_EQ(rn_sleep(10 * RN_US), 0);
    c->order[c->count++] = 1;
    return 0;
}

static int
ring_second(void *arg)
{
    struct clocks *c = arg;
    CHECK_EQ(rn_sleep(20 * RN_US), 0);
    c->order[c->count++] = 2;
    return 0;
}

/* 10 us apart; only jitter turns them round. */
static int
rely_on_the_clock(void *arg)
{
    struct clocks c = {{0, 0}, 0};
    rn_scope *s = open_scope(RN_NEVER);
    (void)arg;
    go(ring_first, &c);
    go(ring_second, &c);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_sim_assert(c.order[0] == 1, "the earlier comes first");
    return 0;
}

TEST(fault_timers_across_instants_change_places)
{
    must_need((rn_sim_faults){.late = {.most = 1}}, rely_on_the_clock,
              "the earlier comes first|timers are late");
}

TEST(fault_timers_are_no_later_than_asked)
{
    rn_sim_faults faults = {.late = {.chance = 1}, .late_by = 9 * RN_US};
    rn_sim_report r = search(faults, rely_on_the_clock, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.time, 29 * RN_US);
    rn_sim_report_fini(&r);
}

/* ---- killed tasks -------------------------------------------------------- */

static int
bow_out(void *arg)
{
    int e = rn_mutex_lock(arg, RN_NEVER);
    if (e == 0)
        rn_mutex_unlock(arg);
    return e < 0 ? e : 0;
}

static int
rely_on_a_task(void *arg)
{
    rn_mutex m = RN_MUTEX_INIT;
    int result = -1;
    (void)arg;
    rn_task t = go_named("worker", bow_out, &m);
    CHECK_EQ(rn_task_join(t, RN_NEVER, &result), 0);
    rn_sim_assert(result == 0, "a task that cannot fail succeeds");
    return 0;
}

TEST(fault_task_is_killed)
{
    must_need((rn_sim_faults){.kill = {.most = 1}}, rely_on_a_task,
              "that cannot fail|worker|is cancelled");
}

/* Main is not killed: it has nobody above it to notice. */
static int
do_steps(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++)
        CHECK_EQ(rn_yield(), 0);
    return 0;
}

TEST(fault_main_is_not_killed)
{
    rn_sim_faults faults = {.kill = {.chance = 1}};
    rn_sim_report r = search(faults, do_steps, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.faults, 0);
    rn_sim_report_fini(&r);
}

/* Everything at once, and a program that expects it. */
static int
do_steps_if_let(void *arg)
{
    (void)arg;
    for (int i = 0; i < 10; i++)
        if (rn_yield() < 0)
            return 0;
    return 0;
}

static int
survive_all(void *arg)
{
    rn_scope *s = NULL;
    (void)arg;
    int e = rn_scope_open(RN_NEVER, &s);
    if (e < 0)
        return 0;
    for (int i = 0; i < 3; i++)
        if (rn_go(s, do_steps_if_let, NULL) < 0)
            break;
    rn_sim_fair_begin(0);
    e = rn_scope_close(s);
    CHECK(e == 0 || e == -ECANCELED);
    return 0;
}

TEST(fault_all_kinds_at_once)
{
    rn_sim_faults faults;
    CHECK_EQ(rn_sim_faults_parse("alloc:5%,spurious:1,trylock:2,late:10%,"
                                 "kill:2@20%,late_by:5us",
                                 &faults),
             0);
    rn_sim_report r = search(faults, survive_all, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

/* ---- options ------------------------------------------------------------- */

TEST(fault_list_is_read)
{
    rn_sim_faults f = {0};
    CHECK_EQ(rn_sim_faults_parse("alloc:1", &f), 0);
    CHECK_EQ(f.alloc.most, 1);
    CHECK(f.alloc.chance == 0 && f.kill.most == 0);
    CHECK_EQ(rn_sim_faults_parse("kill:2@50%,late:25%,late_by:20ms", &f), 0);
    CHECK_EQ(f.kill.most, 2);
    CHECK(f.kill.chance == 0.5 && f.late.chance == 0.25);
    CHECK_EQ(f.late.most, 0);
    CHECK_EQ(f.late_by, 20 * RN_MS);
    CHECK_EQ(f.alloc.most, 0); /* forgotten */
    CHECK_EQ(rn_sim_faults_parse("trylock:0.5%,spurious:3", &f), 0);
    CHECK(f.trylock.chance == 0.005);
    CHECK_EQ(f.spurious.most, 3);
}

TEST(fault_list_that_is_none_is_refused)
{
    static const char *const wrong[] = {
        "",          "alloc",      "alloc:",      "alloc:x",     "alloc:-1",
        "alloc:1,",  "allocs:1",   "alloc:101%",  "alloc:1@",    "alloc:1@5",
        "alloc:5%x", "late_by:10", "late_by:0ms", "late_by:-1s", ",",
        "kill:1 ",   ":1",         "al:1",        "kill:1@200%", "late_by:1h"};
    rn_sim_faults f = {.kill = {.most = 7}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fprintf(stderr, "\"%s\"\n", wrong[i]);
        CHECK_EQ(rn_sim_faults_parse(wrong[i], &f), -EINVAL);
        CHECK_EQ(f.kill.most, 7);
    }
}

TEST(fault_options_out_of_range_are_refused)
{
    static const rn_sim_faults wrong[] = {{.alloc = {.chance = 1.5}},
                                          {.kill = {.chance = -0.1}},
                                          {.late_by = -1}};
    for (int i = 0; i < 3; i++) {
        rn_sim_options options = {.faults = wrong[i]};
        rn_sim_report r;
        CHECK_EQ(rn_sim_run(&options, do_steps, NULL, &r), -EINVAL);
        CHECK(r.text != NULL && r.text[0]);
        rn_sim_report_fini(&r);
    }
}
