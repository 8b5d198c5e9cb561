/* gtest.cc - search all schedules of a test body under GoogleTest.
 *
 * EXPECT_ and ASSERT_ stay outside of the body: it says rn_sim_assert, which
 * ends the schedule. No exception may leave a task.
 */
#include <gtest/gtest.h>
#include <runnel/runnel.h>

namespace {

struct Table {
    rn_mutex forks[2];
    bool ordered; /* all take fork 0 first: the repair */
};

template <int who>
int
dine(void *table)
{
    auto *t = static_cast<Table *>(table);
    int first = t->ordered ? 0 : who;
    int e = rn_mutex_lock(&t->forks[first], RN_NEVER);

    if (e < 0)
        return e;
    e = rn_mutex_lock(&t->forks[1 - first], RN_NEVER);
    if (e == 0)
        rn_mutex_unlock(&t->forks[1 - first]);
    rn_mutex_unlock(&t->forks[first]);
    return e;
}

/* The test body: two philosophers. The scope ends before the table does. */
int
dinner(void *ordered)
{
    Table t = {{RN_MUTEX_INIT, RN_MUTEX_INIT}, *static_cast<bool *>(ordered)};
    rn_scope *s;
    int e = rn_scope_open(RN_NEVER, &s);

    if (e < 0)
        return e;
    rn_go(s, dine<0>, &t);
    rn_go(s, dine<1>, &t);
    return rn_scope_close(s);
}

/* Each order of what meets, once. A failure prints the story and its token. */
void
expect(rn_sim_verdict verdict, bool ordered)
{
    rn_sim_options options = {};
    rn_sim_report r;

    options.schedules = 10000;
    options.strategy = "dpor";
    int e = rn_sim_explore(&options, dinner, &ordered, &r);
    std::string text = r.text ? r.text : "nothing was found";
    bool complete = r.complete;
    auto found = r.verdict;
    rn_sim_report_fini(&r);
    ASSERT_EQ(e, 0) << text;
    EXPECT_STREQ(rn_sim_verdict_name(found), rn_sim_verdict_name(verdict))
        << text;
    EXPECT_TRUE(complete || found) << "not all schedules were run";
}

TEST(Philosophers, MayWaitForEachOther)
{
    expect(RN_SIM_DEADLOCK, false);
}

TEST(Philosophers, AllDineIfForksAreOrdered)
{
    expect(RN_SIM_PASS, true);
}

} // namespace
