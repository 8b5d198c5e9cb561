/* sim_shrink.c - findings are made simpler and stay findings. */
#include "world.h"

#include <errno.h>
#include <runnel/cell.h>
#include <runnel/fault.h>

static rn_sim_report
explore(rn_sim_options options, rn_task_fn *fn, void *arg)
{
    rn_sim_report report;
    int error = rn_sim_explore(&options, fn, arg, &report);
    if (error)
        test_fail(__FILE__, __LINE__, "%d: %s", error,
                  report.text ? report.text : "");
    return report;
}

/* The token of a report repeats it. */
static void
check_token(const rn_sim_report *r, rn_sim_options options, rn_task_fn *fn,
            void *arg)
{
    rn_sim_report again;
    options.token = r->token;
    options.flags &= ~RN_SIM_SHRINK;
    CHECK_EQ(rn_sim_run(&options, fn, arg, &again), 0);
    CHECK_EQ(again.verdict, r->verdict);
    CHECK_EQ(again.digest, r->digest);
    CHECK_EQ(again.steps, r->steps);
    CHECK_EQ(again.faults, r->faults);
    CHECK_EQ(again.diverged, 0);
    rn_sim_report_fini(&again);
}

/* ---- one preemption ----------------------------------------------------- */

enum { BYSTANDERS = 6, TURNS = 5 };

struct pair {
    rn_mutex one, two;
    rn_atomic aside;
};

static int
one_then_two(void *arg)
{
    struct pair *p = arg;
    CHECK_EQ(rn_mutex_lock(&p->one, RN_NEVER), 0);
    CHECK_EQ(rn_mutex_lock(&p->two, RN_NEVER), 0);
    rn_mutex_unlock(&p->two);
    rn_mutex_unlock(&p->one);
    return 0;
}

static int
two_then_one(void *arg)
{
    struct pair *p = arg;
    CHECK_EQ(rn_mutex_lock(&p->two, RN_NEVER), 0);
    CHECK_EQ(rn_mutex_lock(&p->one, RN_NEVER), 0);
    rn_mutex_unlock(&p->one);
    rn_mutex_unlock(&p->two);
    return 0;
}

static int
bystander(void *arg)
{
    struct pair *p = arg;
    for (int i = 0; i < TURNS; i++) {
        rn_atomic_fetch_add(&p->aside, 1);
        rn_yield();
    }
    return 0;
}

static int
crossed(void *arg)
{
    struct pair *p = arg;
    rn_scope *scope;
    *p = (struct pair){.aside = RN_ATOMIC_INIT(0)};
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    CHECK_EQ(rn_go(scope, one_then_two, p), 0);
    CHECK_EQ(rn_go(scope, two_then_one, p), 0);
    for (int i = 0; i < BYSTANDERS; i++)
        CHECK_EQ(rn_go(scope, bystander, p), 0);
    return rn_scope_close(scope);
}

TEST(sim_shrinks_to_one_preemption_among_bystanders)
{
    static const char *const strategies[] = {"random", "pos", "pct:3"};
    for (int i = 0; i < 3; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct pair pair;
            rn_sim_options o = {.strategy = strategies[i],
                                .seed = seed,
                                .schedules = 100000,
                                .flags = RN_SIM_SHRINK};
            rn_sim_report r = explore(o, crossed, &pair);
            CHECK_EQ(r.verdict, RN_SIM_DEADLOCK);
            CHECK_EQ(r.preemptions, 1);
            CHECK_GT(r.deviations, 0);
            CHECK_LT(r.deviations, 4);
            CHECK_GT(r.shrinking, 0);
            check_token(&r, o, crossed, &pair);
            rn_sim_report_fini(&r);
        }
}

TEST(sim_shrinking_counts_what_was_found_only)
{
    struct pair pair;
    rn_sim_options o = {.strategy = "random", .seed = 5, .schedules = 100000};
    rn_sim_report found = explore(o, crossed, &pair);
    o.flags = RN_SIM_SHRINK;
    rn_sim_report shrunk = explore(o, crossed, &pair);
    CHECK_EQ(shrunk.schedules, found.schedules);
    CHECK_EQ(shrunk.distinct, found.distinct);
    CHECK_EQ(shrunk.seed, found.seed);
    CHECK_EQ(shrunk.failing, 1);
    CHECK_EQ(found.shrinking, 0);
    CHECK_EQ(found.preemptions, -1);
    CHECK_EQ(found.deviations, -1);
    CHECK(!found.contrast);
    CHECK_LE(strlen(shrunk.token), strlen(found.token));
    rn_sim_report_fini(&shrunk);
    rn_sim_report_fini(&found);
}

TEST(sim_shrinks_a_token)
{
    struct pair pair;
    rn_sim_options o = {.strategy = "random", .seed = 7, .schedules = 100000};
    rn_sim_report found = explore(o, crossed, &pair), r;
    rn_sim_options again = {.token = found.token, .flags = RN_SIM_SHRINK};
    CHECK_EQ(rn_sim_run(&again, crossed, &pair, &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_DEADLOCK);
    CHECK_EQ(r.preemptions, 1);
    check_token(&r, o, crossed, &pair);
    rn_sim_report_fini(&r);
    rn_sim_report_fini(&found);
}

TEST(sim_shrinking_finds_the_order_that_decides)
{
    struct pair pair;
    rn_sim_options o = {.schedules = 100000, .flags = RN_SIM_SHRINK};
    rn_sim_report r = explore(o, crossed, &pair);
    CHECK(r.contrast && strstr(r.contrast, "it passes if"));
    CHECK(r.contrast && strstr(r.contrast, "lock mutex#"));
    CHECK(r.contrast && strstr(r.contrast, "sim_shrink.c"));
    CHECK(strstr(r.text, r.contrast));
    CHECK(strstr(r.text, "what happened"));
    rn_sim_report_fini(&r);
}

/* ---- no preemption, and what passes ------------------------------------- */

static int
always_wrong(void *arg)
{
    (void)arg;
    for (int i = 0; i < TURNS; i++)
        rn_yield();
    rn_sim_assert(0, "never right");
    return 0;
}

TEST(sim_shrinks_to_the_default)
{
    rn_sim_options o = {.flags = RN_SIM_SHRINK};
    rn_sim_report r = explore(o, always_wrong, NULL);
    CHECK_EQ(r.verdict, RN_SIM_ASSERT);
    CHECK_EQ(r.preemptions, 0);
    CHECK_EQ(r.deviations, 0);
    CHECK_EQ(r.fewest, 1);
    CHECK(!r.contrast);
    check_token(&r, o, always_wrong, NULL);
    rn_sim_report_fini(&r);
}

static int
always_right(void *arg)
{
    (void)arg;
    return 0;
}

TEST(sim_shrinks_nothing_that_passes)
{
    rn_sim_options o = {.flags = RN_SIM_SHRINK};
    rn_sim_report r = explore(o, always_right, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.shrinking, 0);
    CHECK_EQ(r.deviations, -1);
    rn_sim_report_fini(&r);
}

/* ---- which finding ------------------------------------------------------ */

/* The first to come fails with 1, but only if the choice is made so; else
 * there is another failure that is easier to come by. */
static int
two_failures(void *arg)
{
    (void)arg;
    uint32_t choice = rn_sim_choose(4);
    rn_sim_assert(choice != 3, "the rare one");
    rn_sim_assert(choice != 0, "the default one");
    return 0;
}

TEST(sim_shrinking_keeps_to_the_finding)
{
    int rare = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        rn_sim_options o = {
            .strategy = "random", .seed = seed, .flags = RN_SIM_SHRINK};
        rn_sim_report r = explore(o, two_failures, NULL);
        bool is_rare = strstr(r.text, "the rare one") != NULL;
        CHECK_EQ(r.deviations, is_rare);
        CHECK_EQ(r.preemptions, 0);
        rare += is_rare;
        rn_sim_report_fini(&r);
    }
    CHECK_GT(rare, 0);
    CHECK_LT(rare, 40);
}

/* ---- faults ------------------------------------------------------------- */

/* Fails if the third try of ten does; others do not matter. */
static int
third_try(void *arg)
{
    rn_mutex *mutex = arg;
    for (int i = 0; i < 10; i++) {
        bool got = rn_mutex_lock(mutex, RN_NOW) == 0;
        if (got)
            rn_mutex_unlock(mutex);
        rn_sim_assert(got || i != 3, "the third try");
    }
    return 0;
}

TEST(sim_shrinks_to_one_fault)
{
    rn_mutex mutex = RN_MUTEX_INIT;
    rn_sim_options o = {.flags = RN_SIM_SHRINK,
                        .strategy = "random",
                        .schedules = 100000,
                        .faults = {.trylock = {.most = 10, .chance = 0.7}}};
    rn_sim_report r = explore(o, third_try, &mutex);
    CHECK_EQ(r.verdict, RN_SIM_ASSERT);
    CHECK_EQ(r.faults, 1);
    CHECK_EQ(r.deviations, 1);
    CHECK_EQ(r.preemptions, 0);
    check_token(&r, o, third_try, &mutex);
    rn_sim_report_fini(&r);
}

/* ---- a program that is not the same twice ------------------------------- */

/* Fails once, whatever the schedule: there is nothing to shrink. */
static int
fails_once(void *arg)
{
    int *runs = arg;
    rn_sim_assert((*runs)++ > 0, "the first time");
    return 0;
}

TEST(sim_keeps_a_finding_that_does_not_come_again)
{
    int runs = 0;
    rn_sim_options o = {.flags = RN_SIM_SHRINK};
    rn_sim_report r = explore(o, fails_once, &runs);
    CHECK_EQ(r.verdict, RN_SIM_ASSERT);
    CHECK_EQ(r.deviations, -1);
    CHECK(strstr(r.text, "the first time"));
    CHECK(r.token);
    rn_sim_report_fini(&r);
}
