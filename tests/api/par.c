/* par.c - parallel operators: what they call, how often, how many at once.
 * R2 .. R15 are rules of operators: R2 all that began has ended, R6 results and
 * outcomes, R7 limits, R8 empty input, R15 nesting.
 */
#include "par.h"

static size_t
many(size_t n)
{
    return rn_sim_active() && n > 200 ? 200 : n;
}

/* ---- every item once ---------------------------------------------------- */

struct seen {
    atomic_int *count;
    size_t n;
    atomic_int active, peak, started;
    size_t limit;
    bool waits;
};

static void
enter(struct seen *s)
{
    int now = atomic_fetch_add(&s->active, 1) + 1;
    int peak = atomic_load(&s->peak);
    while (peak < now && !atomic_compare_exchange_weak(&s->peak, &peak, now))
        ;
    atomic_fetch_add(&s->started, 1);
}

static int
see(size_t i, void *ctx)
{
    struct seen *s = ctx;
    CHECK(i < s->n);
    enter(s);
    if (s->waits)
        dawdle(i);
    atomic_fetch_add(&s->count[i], 1);
    atomic_fetch_sub(&s->active, 1);
    return (int)(i % 3);
}

static void
all_once(size_t n, bool waits, const rn_par_options *o)
{
    struct seen s = {
        .count = calloc(n + 1, sizeof(atomic_int)), .n = n, .waits = waits};
    CHECK_EQ(rn_par_for(n, see, &s, o), 0);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(atomic_load(&s.count[i]), 1);
    CHECK_EQ(atomic_load(&s.active), 0);
    if (o && o->limit)
        CHECK_LE(atomic_load(&s.peak), o->limit);
    free(s.count);
    at_rest();
}

API_TEST_SCHEDULES(par_for_calls_each_once, 1000)
{
    for (size_t n = 0; n < 8; n++) {
        all_once(n, false, NULL);
        all_once(n, true, NULL);
    }
    all_once(40, true, &(rn_par_options){.flags = RN_PAR_LEAF});
    all_once(40, true, &(rn_par_options){.chunk = 7});
}

/* R7: at most so many are active, those that wait included. */
API_TEST_SCHEDULES(par_limit_is_kept, 1000)
{
    for (size_t limit = 1; limit < 5; limit++) {
        rn_par_options o = {.limit = limit};
        all_once(9, false, &o);
        all_once(9, true, &o);
    }
}

API_TEST_SCHEDULES(par_for_of_a_million, 2)
{
    all_once(rn_sim_active() ? 5000 : (size_t)test_count(1000000), false, NULL);
}

struct order {
    size_t next;
    rn_mutex lock;
    bool waits;
};

static int
in_order(size_t i, void *ctx)
{
    struct order *o = ctx;
    CHECK_EQ(i, o->next); /* one at a time gets here */
    o->next++;
    if (o->waits)
        dawdle(i);
    return 0;
}

/* R7: with a limit items begin in order; with one, each after the other. */
API_TEST_SCHEDULES(par_limit_of_one_is_a_loop, 1000)
{
    for (int waits = 0; waits < 2; waits++) {
        struct order o = {.waits = waits};
        CHECK_EQ(
            rn_par_for(many(500), in_order, &o, &(rn_par_options){.limit = 1}),
            0);
        CHECK_EQ(o.next, many(500));
    }
    at_rest();
}

struct lower {
    atomic_int ended[40];
    rn_chan *done[40];
};

/* Waits for the one before it. */
static int
after_the_one_before(size_t i, void *ctx)
{
    struct lower *l = ctx;
    int v;
    if (i > 0)
        CHECK_EQ(rn_chan_recv(l->done[i - 1], &v, RN_NEVER), -EPIPE);
    rn_chan_close(l->done[i]);
    return 0;
}

/* R7: an item may wait for those before it, whatever the limit. */
API_TEST_SCHEDULES(par_items_may_wait_for_lower_ones, 1000)
{
    for (size_t limit = 1; limit < 4; limit++) {
        struct lower l;
        for (int i = 0; i < 12; i++)
            l.done[i] = new_chan(sizeof(int), 0);
        CHECK_EQ(rn_par_for(12, after_the_one_before, &l,
                            &(rn_par_options){.limit = limit}),
                 0);
        for (int i = 0; i < 12; i++)
            rn_chan_unref(l.done[i]);
    }
    at_rest();
}

/* ---- parallel really is parallel ---------------------------------------- */

struct meeting {
    rn_chan *chan;
    int n;
    atomic_int here;
    rn_waitgroup all;
};

/* Goes on when all have come. */
static int
meet(size_t i, void *ctx)
{
    struct meeting *m = ctx;
    (void)i;
    rn_waitgroup_done(&m->all);
    CHECK_EQ(rn_waitgroup_wait(&m->all, RN_NEVER), 0);
    return 0;
}

API_TEST_SCHEDULES(par_items_may_wait_for_each_other, 1000)
{
    for (size_t n = 1; n < 12; n += 5) {
        struct meeting m = {.all = RN_WAITGROUP_INIT};
        rn_waitgroup_add(&m.all, (int)n);
        CHECK_EQ(rn_par_for(n, meet, &m, NULL), 0);
        rn_waitgroup_add(&m.all, (int)n);
        CHECK_EQ(rn_par_for(n, meet, &m, &(rn_par_options){.limit = n}), 0);
    }
    at_rest();
}

API_TEST_SCHEDULES(par_many_items_may_wait, 20)
{
    int n = many_tasks(rn_sim_active() ? 100 : 10000);
    struct meeting m = {.all = RN_WAITGROUP_INIT};
    rn_waitgroup_add(&m.all, n);
    CHECK_EQ(rn_par_for((size_t)n, meet, &m, NULL), 0);
    at_rest();
}

/* Polls until all have come, and lets others run by yields only. */
static int
poll_for_all(size_t i, void *ctx)
{
    struct meeting *m = ctx;
    (void)i;
    atomic_fetch_add(&m->here, 1);
    while (atomic_load(&m->here) < m->n)
        CHECK_EQ(rn_yield(), 0);
    return 0;
}

API_TEST_SCHEDULES(par_a_yield_lets_others_begin, 100)
{
    struct meeting m = {.n = 5};
    CHECK_EQ(rn_par_for(5, poll_for_all, &m, NULL), 0);
    at_rest();
}

static atomic_int inside;

static int
alone(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    rn_sim_assert(atomic_fetch_add(&inside, 1) == 0, "two at once");
    rn_cancel_requested(); /* a step, no wait */
    atomic_fetch_sub(&inside, 1);
    return 0;
}

/* Items overlap though they never wait. */
SIM_FINDS_TEXT(par_items_overlap, RN_SIM_ASSERT, "two at once")
{
    atomic_store(&inside, 0);
    rn_par_for(2, alone, NULL, NULL);
}

SIM_FINDS_TEXT(par_items_overlap_within_a_limit, RN_SIM_ASSERT, "two at once")
{
    atomic_store(&inside, 0);
    rn_par_for(3, alone, NULL, &(rn_par_options){.limit = 2});
}

/* ---- empty, one --------------------------------------------------------- */

static int
never(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    FAIL("it was called");
}

/* R8 */
API_TEST_SCHEDULES(par_of_nothing, 1000)
{
    rn_report report = RN_REPORT_INIT;
    rn_par_options o = {.report = &report, .limit = 3};
    rn_stats before, after;
    rn_stats_get(&before);
    CHECK_EQ(rn_par_for(0, never, NULL, &o), 0);
    CHECK_EQ(rn_par_call(NULL, 0, NULL), 0);
    CHECK_EQ(rn_par_all_outcomes(0, never, NULL, NULL, NULL), 0);
    rn_stats_get(&after);
    CHECK_EQ(after.tasks, before.tasks);
    CHECK_EQ(after.switches, before.switches);
    CHECK_EQ(report.status, 0);
    rn_scope *s = open_scope(RN_NEVER);
    rn_scope_cancel(s);
    CHECK_EQ(rn_par_for(0, never, NULL, &o), -ECANCELED);
    close_cancelled(s);
    at_rest();
}

static int
count_up(size_t i, void *ctx)
{
    (void)i;
    atomic_fetch_add((atomic_int *)ctx, 1);
    return 0;
}

/* R8: one item needs no other task, and wakes nobody. */
API_TEST_SCHEDULES(par_of_one, 1000)
{
    atomic_int count = 0;
    rn_stats before, after;
    rn_stats_get(&before);
    CHECK_EQ(rn_par_for(1, count_up, &count, NULL), 0);
    rn_stats_get(&after);
    CHECK_EQ(atomic_load(&count), 1);
    CHECK_EQ(after.tasks, before.tasks);
    CHECK_EQ(after.wakes, before.wakes);
    at_rest();
}

/* ---- ranges ------------------------------------------------------------- */

static int
see_range(size_t lo, size_t hi, void *ctx)
{
    CHECK_LT(lo, hi);
    for (size_t i = lo; i < hi; i++)
        see(i, ctx);
    return 0;
}

API_TEST_SCHEDULES(par_for_range_covers_all, 1000)
{
    size_t sizes[] = {0, 1, 2, 17, 100, 1000};
    for (int k = 0; k < (rn_sim_active() ? 5 : 6); k++) {
        size_t n = sizes[k];
        rn_outcome outcomes[1000];
        rn_par_options o = {.outcomes = outcomes, .chunk = (size_t)k};
        struct seen s = {.count = calloc(n + 1, sizeof(atomic_int)), .n = n};
        CHECK_EQ(rn_par_for_range(n, see_range, &s, &o), 0);
        for (size_t i = 0; i < n; i++) {
            CHECK_EQ(atomic_load(&s.count[i]), 1);
            CHECK_EQ(outcomes[i], RN_OUTCOME_OK);
        }
        free(s.count);
    }
    at_rest();
}

/* ---- map ---------------------------------------------------------------- */

static int
square(size_t i, void *out, void *ctx)
{
    (void)ctx;
    dawdle(i);
    *(long *)out = (long)(i * i);
    return 0;
}

/* R6: each result is in its place, whoever is fast. */
API_TEST_SCHEDULES(par_map_keeps_places, 1000)
{
    struct {
        long value;
        char other[24];
    } out[30];
    memset(out, 7, sizeof out);
    CHECK_EQ(rn_par_map(30, square, NULL, out, sizeof out[0], NULL), 0);
    for (long i = 0; i < 30; i++) {
        CHECK_EQ(out[i].value, i * i);
        CHECK_EQ(out[i].other[0], 7);
    }
    at_rest();
}

struct values {
    atomic_int live;
    size_t bad;
};

static int
make_value(size_t i, void *out, void *ctx)
{
    struct values *v = ctx;
    if (i == v->bad) {
        dawdle(5);
        return -EIO;
    }
    *(void **)out = malloc(8);
    atomic_fetch_add(&v->live, 1);
    return 0;
}

static void
drop_value(void *value, void *ctx)
{
    free(*(void **)value);
    atomic_fetch_sub(&((struct values *)ctx)->live, 1);
}

/* R6: values of items that ended well are dropped if the operator fails. */
API_TEST_SCHEDULES(par_map_drops_values, 1000)
{
    for (size_t bad = 0; bad < 8; bad++) {
        struct values v = {.bad = bad};
        void *out[7];
        rn_outcome outcomes[7];
        rn_par_options o = {.drop = drop_value,
                            .outcomes = bad % 2 ? outcomes : NULL};
        int e = rn_par_map(7, make_value, &v, out, sizeof out[0], &o);
        CHECK_EQ(e, bad < 7 ? -EIO : 0);
        CHECK_EQ(atomic_load(&v.live), bad < 7 ? 0 : 7);
        for (int i = 0; bad == 7 && i < 7; i++)
            free(out[i]);
    }
    at_rest();
}

/* ---- calls -------------------------------------------------------------- */

static int
answer(void *arg)
{
    dawdle((size_t)(*(int *)arg));
    return *(int *)arg;
}

static int
swap_through(void *arg)
{
    rn_chan **chans = arg;
    send_int(chans[0], 5);
    return recv_int(chans[1]);
}

static int
swap_back(void *arg)
{
    rn_chan **chans = arg;
    int v = recv_int(chans[0]);
    send_int(chans[1], v + 1);
    return v;
}

API_TEST_SCHEDULES(par_call_calls_all, 1000)
{
    rn_chan *chans[] = {new_chan(sizeof(int), 0), new_chan(sizeof(int), 0)};
    int three = 3;
    rn_par_job jobs[] = {
        {swap_through, chans, 0}, {answer, &three, 0}, {swap_back, chans, 0}};
    CHECK_EQ(rn_par_call(jobs, 3, NULL), 0);
    CHECK_EQ(jobs[0].result, 6);
    CHECK_EQ(jobs[1].result, 3);
    CHECK_EQ(jobs[2].result, 5);
    rn_chan_unref(chans[0]);
    rn_chan_unref(chans[1]);
    at_rest();
}

/* ---- nested ------------------------------------------------------------- */

struct nest {
    int depth;
    size_t width;
    atomic_int *leaves;
};

static int
nest(size_t i, void *ctx)
{
    struct nest *n = ctx, below = {n->depth - 1, n->width, n->leaves};
    dawdle(i);
    if (n->depth == 0) {
        atomic_fetch_add(n->leaves, 1);
        return 0;
    }
    int e =
        rn_par_for(n->width, nest, &below, &(rn_par_options){.limit = i % 3});
    dawdle(i);
    return e;
}

/* R15: an operation in an item of another. */
API_TEST_SCHEDULES(par_nests, 1000)
{
    atomic_int leaves = 0;
    struct nest n = {2, 4, &leaves};
    CHECK_EQ(rn_par_for(4, nest, &n, NULL), 0);
    CHECK_EQ(atomic_load(&leaves), 64);
    CHECK_EQ(rn_par_for(4, nest, &n, &(rn_par_options){.limit = 2}), 0);
    CHECK_EQ(atomic_load(&leaves), 128);
    at_rest();
}

/* All items of all inner operations at once: the outer item waits, too, when
 * one of its inner items does. */
struct inner {
    struct meeting *meeting;
    size_t n;
};

static int
meet_inside(size_t i, void *ctx)
{
    struct inner *in = ctx;
    (void)i;
    return rn_par_for(in->n, meet, in->meeting, NULL);
}

API_TEST_SCHEDULES(par_nested_items_may_meet, 1000)
{
    struct meeting m = {.all = RN_WAITGROUP_INIT};
    struct inner in = {&m, 3};
    rn_waitgroup_add(&m.all, 9);
    CHECK_EQ(rn_par_for(3, meet_inside, &in, NULL), 0);
    at_rest();
}

static int
spawned(void *arg)
{
    dawdle(3);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static int
spawns(size_t i, void *ctx)
{
    (void)i;
    return rn_go(NULL, spawned, ctx);
}

/* R2: what an item spawns is waited for, also for one item. */
API_TEST_SCHEDULES(par_waits_for_spawned_tasks, 1000)
{
    for (size_t n = 1; n < 4; n++) {
        atomic_int count = 0;
        CHECK_EQ(rn_par_for(n, spawns, &count, NULL), 0);
        CHECK_EQ(atomic_load(&count), n);
    }
    at_rest();
}

/* ---- misuse ------------------------------------------------------------- */

API_TEST(par_refuses_unknown_flags)
{
    rn_outcome outcome = RN_OUTCOME_OK;
    rn_par_options o = {.flags = 1u << 31, .outcomes = &outcome};
    CHECK_EQ(rn_par_for(1, never, NULL, &o), -EINVAL);
    CHECK_EQ(outcome, RN_OUTCOME_NOT_RUN); /* R6: valid on every return */
    at_rest();
}

static int
leave_open(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    open_scope(RN_NEVER);
    return 0;
}

API_PANICS(par_item_that_leaves_a_scope_open_panics, "scope still open")
{
    rn_par_for(2, leave_open, NULL, NULL);
}

static int
move_away(size_t i, void *ctx)
{
    (void)i;
    int e = rn_yield(); /* the others are in tasks of their own now */
    return e < 0 ? e : rn_task_move(ctx);
}

API_PANICS(par_item_that_moves_panics, "rn_task_move")
{
    rn_par_for(3, move_away, open_scope(RN_NEVER), NULL);
}

TEST_DIES_WITH(par_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_par_for(1, never, NULL, NULL);
}
