/* par_more.c - parallel operators: reductions, and items that come one by one.
 * R5 .. R7 are rules of operators: R6 results, R7 limits.
 */
#include "par.h"

/* ---- reduce ------------------------------------------------------------- */

/* The items in their order: associative, not commutative. */
struct run {
    size_t first, last;
    bool empty, broken;
};

static void
run_init(void *acc, void *ctx)
{
    (void)ctx;
    *(struct run *)acc = (struct run){.empty = true};
}

static void
run_combine(void *acc, void *next, void *ctx)
{
    struct run *a = acc, *b = next;
    (void)ctx;
    if (a->empty) {
        *a = *b;
    } else if (!b->empty) {
        a->broken = a->broken || b->broken || a->last + 1 != b->first;
        a->last = b->last;
    }
}

static int
run_item(size_t i, void *acc, void *ctx)
{
    struct run one = {.first = i, .last = i};
    if (ctx)
        dawdle(i);
    run_combine(acc, &one, NULL);
    return 0;
}

API_TEST_SCHEDULES(par_reduce_keeps_order, 1000)
{
    static const rn_par_reducer r = {sizeof(struct run), run_init, run_item,
                                     run_combine};
    for (int waits = 0; waits < 2; waits++)
        for (size_t n = 0; n < 80; n = n * 2 + 1) {
            struct run out = {0};
            CHECK_EQ(rn_par_reduce(n, &r, waits ? &out : NULL, &out, NULL), 0);
            CHECK_EQ(out.empty, n == 0);
            CHECK(!out.broken);
            if (n > 0) {
                CHECK_EQ(out.first, 0);
                CHECK_EQ(out.last, n - 1);
            }
        }
    at_rest();
}

static int
sum_item(size_t i, void *acc, void *ctx)
{
    (void)ctx;
    *(uint64_t *)acc += i;
    return 0;
}

static void
sum_combine(void *acc, void *next, void *ctx)
{
    (void)ctx;
    *(uint64_t *)acc += *(uint64_t *)next;
}

API_TEST_SCHEDULES(par_reduce_of_many, 2)
{
    static const rn_par_reducer r = {sizeof(uint64_t), NULL, sum_item,
                                     sum_combine};
    uint64_t sum = 1, n = rn_sim_active() ? 3000 : (uint64_t)test_count(300000);
    CHECK_EQ(rn_par_reduce(n, &r, NULL, &sum, NULL), 0);
    CHECK_EQ(sum, n * (n - 1) / 2);
    at_rest();
}

static int
run_fails(size_t i, void *acc, void *ctx)
{
    (void)ctx;
    run_item(i, acc, NULL);
    return i == 5 ? -EIO : rn_yield();
}

static void
live_init(void *acc, void *ctx)
{
    run_init(acc, NULL);
    atomic_fetch_add((atomic_int *)ctx, 1);
}

static void
live_drop(void *acc, void *ctx)
{
    (void)acc;
    atomic_fetch_sub((atomic_int *)ctx, 1);
}

static void
live_combine(void *acc, void *next, void *ctx)
{
    run_combine(acc, next, NULL);
    live_drop(next, ctx);
}

/* R6 */
API_TEST_SCHEDULES(par_reduce_drops_accumulators, 1000)
{
    static const rn_par_reducer r = {sizeof(struct run), live_init, run_fails,
                                     live_combine};
    atomic_int live = 0;
    struct run out = {.first = 42};
    rn_par_options o = {.drop = live_drop};
    CHECK_EQ(rn_par_reduce(9, &r, &live, &out, &o), -EIO);
    CHECK_EQ(out.first, 42);
    CHECK_EQ(atomic_load(&live), 0);
    at_rest();
}

/* ---- pull --------------------------------------------------------------- */

struct supply {
    int next, last, error;
    bool hurry; /* do not mind a cancel */
    atomic_int pulling, sum;
    atomic_int active, peak;
};

static int
supply_next(void *item, void *ctx)
{
    struct supply *s = ctx;
    CHECK_EQ(atomic_fetch_add(&s->pulling, 1), 0); /* one at a time */
    if (s->next % 3 == 0 && !s->hurry)
        dawdle((size_t)s->next);
    else
        (void)rn_yield();
    int got = s->next < s->last ? 1 : s->error;
    if (got == 1)
        *(int *)item = ++s->next;
    atomic_fetch_sub(&s->pulling, 1);
    return got;
}

static int
supply_item(size_t i, void *item, void *ctx)
{
    struct supply *s = ctx;
    int now = atomic_fetch_add(&s->active, 1) + 1;
    int peak = atomic_load(&s->peak);
    while (peak < now && !atomic_compare_exchange_weak(&s->peak, &peak, now))
        ;
    CHECK_EQ(*(int *)item, i + 1);
    if (s->error) /* which may cancel it */
        (void)rn_yield();
    else if (i % 2)
        dawdle(i);
    CHECK_EQ(*(int *)item, i + 1);
    atomic_fetch_add(&s->sum, *(int *)item);
    atomic_fetch_sub(&s->active, 1);
    return 0;
}

/* R7 */
API_TEST_SCHEDULES(par_pull_takes_all, 1000)
{
    static const rn_par_source source = {supply_next, sizeof(int), supply_item};
    static const rn_par_source large = {supply_next, 1000, supply_item};
    for (size_t limit = 0; limit < 4; limit++) {
        struct supply s = {.last = 20};
        rn_report report = RN_REPORT_INIT;
        rn_par_options o = {.limit = limit, .report = &report};
        CHECK_EQ(rn_par_pull(limit == 2 ? &large : &source, &s, &o), 0);
        CHECK_EQ(atomic_load(&s.sum), 210);
        CHECK_EQ(report.ok, 20);
        if (limit)
            CHECK_LE(atomic_load(&s.peak), limit);
    }
    struct supply none = {.last = 0};
    CHECK_EQ(rn_par_pull(&source, &none, NULL), 0);
    at_rest();
}

static void
supply_drop(void *item, void *ctx)
{
    struct supply *s = ctx;
    atomic_fetch_add(&s->sum, *(int *)item);
}

static int
supply_item_failing(size_t i, void *item, void *ctx)
{
    supply_drop(item, ctx);
    return i == 3 ? -EIO : 0;
}

/* What has been pulled is run or dropped. */
API_TEST_SCHEDULES(par_pull_loses_no_item, 1000)
{
    static const rn_par_source source = {supply_next, sizeof(int),
                                         supply_item_failing};
    struct supply s = {.last = 20, .hurry = true};
    rn_par_options o = {.drop = supply_drop, .limit = 3};
    CHECK_EQ(rn_par_pull(&source, &s, &o), -EIO);
    CHECK_EQ(atomic_load(&s.sum), s.next * (s.next + 1) / 2);
    at_rest();
}

API_PANICS(par_pull_with_outcomes_panics, "place for outcomes")
{
    static const rn_par_source source = {supply_next, sizeof(int), supply_item};
    rn_outcome outcome;
    struct supply s = {.last = 1};
    rn_par_options o = {.outcomes = &outcome};
    rn_par_pull(&source, &s, &o);
}

API_TEST_SCHEDULES(par_pull_reports_its_source, 1000)
{
    static const rn_par_source source = {supply_next, sizeof(int), supply_item};
    int errors[] = {-EIO, -ECANCELED};
    for (int k = 0; k < 2; k++) {
        struct supply s = {.last = 7, .error = errors[k]};
        rn_report report = RN_REPORT_INIT;
        rn_par_options o = {.limit = 2, .report = &report};
        int e = rn_par_pull(&source, &s, &o);
        CHECK_EQ(e, errors[k]);
        CHECK_EQ(report.count, k == 0);
        if (k == 0)
            CHECK(report.failures[0].index == RN_INDEX_NONE);
    }
    at_rest();
}
