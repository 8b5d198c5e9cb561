/* sim_strategy.c - strategies of the simulator on programs whose schedules can
 * be counted by hand.
 */
#include "world.h"

#include <errno.h>
#include <runnel/cell.h>

static rn_sim_report
search(const char *strategy, uint64_t seed, uint64_t schedules, rn_task_fn *fn,
       void *arg)
{
    rn_sim_options options = {
        .strategy = strategy, .seed = seed, .schedules = schedules};
    rn_sim_report report;
    int error = rn_sim_explore(&options, fn, arg, &report);
    if (error)
        test_fail(__FILE__, __LINE__, "%s: %d: %s", strategy, error,
                  report.text ? report.text : "");
    return report;
}

/* ---- tasks that store --------------------------------------------------- */

/* Two tasks store into a word of their own or into one and the same; what the
 * order of the stores was is noted. */
struct stores {
    int count[2]; /* stores of each task */
    rn_atomic word;
    uint32_t order; /* a bit a store, after a first 1 */
    uint64_t *seen; /* how often each order has come; NULL: never mind */
};

struct storer {
    struct stores *stores;
    unsigned number;
};

static int
store(void *arg)
{
    struct storer *me = arg;
    struct stores *s = me->stores;
    for (int i = 0; i < s->count[me->number]; i++) {
        rn_atomic_store(&s->word, 1);
        s->order = s->order << 1 | me->number;
    }
    return 0;
}

static int
two_storers(void *arg)
{
    struct stores *s = arg;
    struct storer storers[2] = {{s, 0}, {s, 1}};
    rn_scope *scope;
    s->word = (rn_atomic)RN_ATOMIC_INIT(0);
    s->order = 1;
    rn_sim_atomic_begin();
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    CHECK_EQ(rn_go(NULL, store, &storers[0]), 0);
    CHECK_EQ(rn_go(NULL, store, &storers[1]), 0);
    CHECK_EQ(rn_scope_close(scope), 0);
    if (s->seen)
        s->seen[s->order]++;
    rn_sim_atomic_end();
    return 0;
}

static uint64_t
binomial(uint64_t n, uint64_t k)
{
    uint64_t result = 1;
    for (uint64_t i = 1; i <= k; i++)
        result = result * (n - k + i) / i;
    return result;
}

/* A task begins, stores, ends: so many orders there are of two of them. */
static uint64_t
orders(const struct stores *s)
{
    uint64_t a = (uint64_t)s->count[0] + 2, b = (uint64_t)s->count[1] + 2;
    return binomial(a + b, a);
}

TEST(sim_dfs_runs_each_schedule_once)
{
    for (int a = 0; a <= 3; a++)
        for (int b = 0; b <= 3; b++) {
            struct stores s = {.count = {a, b}};
            rn_sim_report r = search("dfs", 1, 100000, two_storers, &s);
            CHECK_EQ(r.verdict, RN_SIM_PASS);
            CHECK_EQ(r.complete, 1);
            CHECK_EQ(r.schedules, orders(&s));
            CHECK_EQ(r.distinct, orders(&s));
            CHECK_EQ(r.estimated, (double)orders(&s));
            CHECK_EQ(r.bound, -1);
            CHECK_STR(r.strategy, "dfs");
            rn_sim_report_fini(&r);
        }
}

TEST(sim_bounded_searches_end_with_all_schedules)
{
    static const char *const names[] = {"preemption", "delay"};
    for (int i = 0; i < 2; i++) {
        struct stores s = {.count = {2, 3}};
        rn_sim_report r = search(names[i], 1, 100000, two_storers, &s);
        CHECK_EQ(r.complete, 1);
        CHECK_EQ(r.schedules, orders(&s));
        CHECK_EQ(r.distinct, orders(&s));
        rn_sim_report_fini(&r);
    }
}

TEST(sim_search_says_when_it_is_not_complete)
{
    struct stores s = {.count = {2, 2}};
    rn_sim_report r = search("dfs", 1, orders(&s) - 1, two_storers, &s);
    CHECK_EQ(r.complete, 0);
    CHECK_GT(r.estimated, (double)r.schedules - 1);
    rn_sim_report_fini(&r);
}

/* With c preemptions: the first to go is free, then who is interrupted goes on
 * once the other has ended or is interrupted itself. Task A of a steps can be
 * interrupted at a-1 places (before its first it has not begun to run). */
TEST(sim_preemptions_are_bounded)
{
    struct stores s = {.count = {1, 2}};
    uint64_t a = 3, b = 4; /* steps */
    rn_sim_report r = search("preemption:0", 1, 100000, two_storers, &s);
    CHECK_EQ(r.schedules, 2);
    CHECK_EQ(r.bound, 0);
    CHECK_EQ(r.complete, 0);
    rn_sim_report_fini(&r);
    r = search("preemption:1", 1, 100000, two_storers, &s);
    CHECK_EQ(r.schedules, 2 + a - 1 + b - 1);
    CHECK_EQ(r.distinct, r.schedules);
    CHECK_EQ(r.bound, 1);
    rn_sim_report_fini(&r);
}

/* ---- distributions ------------------------------------------------------ */

/* How often the rarest and the commonest order of the stores came. */
static void
spread(const char *strategy, int a, int b, uint64_t *least, uint64_t *most)
{
    uint64_t seen[1 << 10] = {0};
    struct stores s = {.count = {a, b}, .seen = seen};
    uint64_t schedules = 200 * binomial((uint64_t)(a + b), (uint64_t)a);
    rn_sim_report r = search(strategy, 3, schedules, two_storers, &s);
    *least = UINT64_MAX;
    *most = 0;
    for (uint32_t order = 1u << (a + b); order < 2u << (a + b); order++) {
        if (__builtin_popcount(order) - 1 != b)
            continue;
        *least = seen[order] < *least ? seen[order] : *least;
        *most = seen[order] > *most ? seen[order] : *most;
    }
    rn_sim_report_fini(&r);
}

/* 200 on average, deviation 14. */
TEST(sim_surw_is_uniform)
{
    static const int sizes[][2] = {{1, 1}, {2, 2}, {1, 5}, {3, 3}, {2, 6}};
    for (int i = 0; i < 5; i++) {
        uint64_t least, most;
        spread("surw", sizes[i][0], sizes[i][1], &least, &most);
        CHECK_GT(least, 140);
        CHECK_LT(most, 260);
    }
}

TEST(sim_random_walk_is_not)
{
    uint64_t least, most;
    spread("random", 1, 7, &least, &most);
    CHECK_LT(least, 100);
    CHECK_GT(most, 400);
}

TEST(sim_pos_takes_every_order)
{
    uint64_t least, most;
    spread("pos", 3, 3, &least, &most);
    CHECK_GT(least, 40);
}

/* ---- what finds a bug, and how often ------------------------------------ */

/* One task sets two words; the other must not see the first without the
 * second, which takes two orderings. */
static int
set_both(void *arg)
{
    rn_atomic *words = arg;
    rn_atomic_store(&words[0], 1);
    rn_atomic_store(&words[1], 1);
    return 0;
}

static int
see_both(void *arg)
{
    rn_atomic *words = arg;
    if (rn_atomic_load(&words[0]))
        rn_sim_assert((int)rn_atomic_load(&words[1]), "both are set");
    return 0;
}

static int
half_set(void *arg)
{
    rn_atomic words[2] = {RN_ATOMIC_INIT(0), RN_ATOMIC_INIT(0)};
    rn_scope *scope;
    (void)arg;
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    CHECK_EQ(rn_go(NULL, set_both, words), 0);
    CHECK_EQ(rn_go(NULL, see_both, words), 0);
    return rn_scope_close(scope);
}

/* The other takes so many steps between the two words: a random walk lets it
 * do so in fewer than one schedule in 2^STEPS_BETWEEN. */
enum { STEPS_BETWEEN = 14 };

static int
see_both_late(void *arg)
{
    rn_atomic *words = arg, own = RN_ATOMIC_INIT(0);
    if (!rn_atomic_load(&words[0]))
        return 0;
    for (int i = 0; i < STEPS_BETWEEN; i++)
        rn_atomic_store(&own, i);
    rn_sim_assert((int)rn_atomic_load(&words[1]), "both are set");
    return 0;
}

static int
half_set_for_long(void *arg)
{
    rn_atomic words[2] = {RN_ATOMIC_INIT(0), RN_ATOMIC_INIT(0)};
    rn_scope *scope;
    (void)arg;
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    CHECK_EQ(rn_go(NULL, set_both, words), 0);
    CHECK_EQ(rn_go(NULL, see_both_late, words), 0);
    return rn_scope_close(scope);
}

/* 3 tasks, at most 40 choices: at least one schedule in 120. */
TEST(sim_pct_keeps_its_promise)
{
    uint64_t schedules = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        rn_sim_report r =
            search("pct:2", seed * 1000, 10000, half_set_for_long, NULL);
        CHECK_EQ(r.verdict, RN_SIM_ASSERT);
        CHECK_STR(r.strategy, "pct:2");
        schedules += r.schedules;
        rn_sim_report_fini(&r);
    }
    CHECK_LT(schedules, 120 * 20);
}

TEST(sim_strategies_find_and_repeat)
{
    const char *name;
    for (int i = 0; (name = rn_sim_strategy_name(i, NULL, NULL)); i++) {
        rn_sim_report r = search(name, 1, 1000, half_set, NULL), again;
        if (strcmp(name, "default") == 0) {
            CHECK_EQ(r.verdict, RN_SIM_PASS);
            CHECK_EQ(r.schedules, 1);
        } else {
            CHECK_EQ(r.verdict, RN_SIM_ASSERT);
            rn_sim_options options = {.token = r.token};
            CHECK_EQ(rn_sim_run(&options, half_set, NULL, &again), 0);
            CHECK_EQ(again.verdict, RN_SIM_ASSERT);
            CHECK_EQ(again.digest, r.digest);
            CHECK_EQ(again.diverged, 0);
            rn_sim_report_fini(&again);
        }
        rn_sim_report_fini(&r);
    }
}

/* ---- spinning ----------------------------------------------------------- */

static int
spin(void *arg)
{
    rn_atomic *flag = arg;
    while (!rn_atomic_load(flag))
        rn_yield();
    return 0;
}

static int
spin_hard(void *arg)
{
    rn_atomic *flag = arg;
    while (!rn_atomic_load(flag))
        ;
    return 0;
}

static int
raise_flag(void *arg)
{
    rn_atomic_store(arg, 1);
    return 0;
}

static int
wait_for_a_flag(void *arg)
{
    rn_task_fn *fn = arg ? spin_hard : spin;
    rn_atomic flag = RN_ATOMIC_INIT(0);
    rn_scope *scope;
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    CHECK_EQ(rn_go(NULL, fn, &flag), 0);
    CHECK_EQ(rn_go(NULL, fn, &flag), 0);
    CHECK_EQ(rn_go(NULL, raise_flag, &flag), 0);
    return rn_scope_close(scope);
}

TEST(sim_strategies_are_fair_to_who_spins)
{
    const char *name;
    for (int i = 0; (name = rn_sim_strategy_name(i, NULL, NULL)); i++)
        for (int hard = 0; hard < 2; hard++) {
            rn_sim_report r =
                search(name, 1, 200, wait_for_a_flag, hard ? "hard" : NULL);
            /* dpor: there is no end of orders without an end */
            if (hard &&
                (strcmp(name, "default") == 0 || strcmp(name, "dpor") == 0))
                CHECK_EQ(r.verdict, RN_SIM_NO_PROGRESS);
            else
                CHECK_EQ(r.verdict, RN_SIM_PASS);
            rn_sim_report_fini(&r);
        }
}

/* Who spins for a flag operates on a word after it, and the one to raise the
 * flag before it: whoever is drawn to be the first on the word, they both end.
 */
struct two_words {
    rn_atomic flag, word;
};

static int
spin_then_add(void *arg)
{
    struct two_words *w = arg;
    while (!rn_atomic_load(&w->flag))
        rn_yield();
    rn_atomic_fetch_add(&w->word, 1);
    return 0;
}

static int
add_then_raise(void *arg)
{
    struct two_words *w = arg;
    rn_atomic_fetch_add(&w->word, 1);
    rn_atomic_store(&w->flag, 1);
    return 0;
}

static int
wait_with_a_word(void *arg)
{
    struct two_words w = {RN_ATOMIC_INIT(0), RN_ATOMIC_INIT(0)};
    rn_scope *scope;
    (void)arg;
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    CHECK_EQ(rn_go(NULL, spin_then_add, &w), 0);
    CHECK_EQ(rn_go(NULL, add_then_raise, &w), 0);
    return rn_scope_close(scope);
}

TEST(sim_surw_withholds_nobody_for_who_spins)
{
    rn_sim_options options = {
        .strategy = "surw", .schedules = 500, .max_steps = 300};
    rn_sim_report r;
    CHECK_EQ(rn_sim_explore(&options, wait_with_a_word, NULL, &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
}

/* ---- names -------------------------------------------------------------- */

TEST(sim_strategy_names)
{
    const char *what = NULL, *parameter = "";
    CHECK_STR(rn_sim_strategy_name(0, &what, &parameter), "portfolio");
    CHECK(what && what[0]);
    CHECK(!parameter);
    CHECK(!rn_sim_strategy_name(-1, NULL, NULL));
    CHECK(!rn_sim_strategy_name(1000, NULL, NULL));
}

TEST(sim_wrong_strategies_are_refused)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"best", "unknown"}, {"", "unknown"},      {"pc", "unknown"},
        {"pct3", "unknown"}, {"pct:", "1 to 8"},   {"pct:0", "1 to 8"},
        {"pct:9", "1 to 8"}, {"pct:-1", "1 to 8"}, {"pct:3x", "1 to 8"},
        {"pos:1", "number"}, {"dfs:", "number"},
    };
    struct stores s = {.count = {0, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rn_sim_options options = {.strategy = wrong[i].text};
        rn_sim_report r;
        CHECK_EQ(rn_sim_explore(&options, two_storers, &s, &r), -EINVAL);
        CHECK(r.text && strstr(r.text, wrong[i].why));
        rn_sim_report_fini(&r);
    }
}
