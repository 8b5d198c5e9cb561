/* sema.c - tests of runnel/sema.h. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>

static void
acquire(rn_sema *s, size_t n)
{
    CHECK_EQ(rn_sema_acquire(s, n, RN_NEVER), 0);
}

/* ---- counting ----------------------------------------------------------- */

struct hammer {
    rn_sema sema;
    atomic_int taken;
    int rounds;
};

struct hammerer {
    struct hammer *hammer;
    int weight;
};

static int
hammer(void *arg)
{
    struct hammerer *one = arg;
    struct hammer *h = one->hammer;
    for (int i = 0; i < h->rounds; i++) {
        int n = 1 + (one->weight + i) % 5;
        acquire(&h->sema, (size_t)n);
        CHECK_LE(atomic_fetch_add(&h->taken, n) + n, 5);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        atomic_fetch_sub(&h->taken, n);
        rn_sema_release(&h->sema, (size_t)n);
    }
    return 0;
}

API_TEST_SCHEDULES(sema_gives_no_more_than_it_has, 1000)
{
    struct hammer h = {.sema = RN_SEMA_INIT(5),
                       .rounds = rn_sim_active() ? 4 : (int)test_count(5000)};
    struct hammerer hammerers[5];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 5; i++) {
        hammerers[i] = (struct hammerer){&h, i};
        go(hammer, &hammerers[i]);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_sema_acquire(&h.sema, 5, RN_NOW), 0); /* all are back */
}

API_TEST(sema_counts_to_its_size)
{
    rn_sema s = RN_SEMA_INIT(UINT32_MAX);
    CHECK_EQ(rn_sema_acquire(&s, UINT32_MAX, RN_NEVER), 0);
    CHECK_EQ(rn_sema_acquire(&s, 1, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_sema_acquire(&s, 0, RN_NOW), 0);
    rn_sema_release(&s, 0);
    rn_sema_release(&s, 1);
    CHECK_EQ(rn_sema_acquire(&s, 2, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_sema_acquire(&s, 1, RN_NOW), 0);
    rn_sema_release(&s, UINT32_MAX);
    CHECK_EQ(rn_sema_acquire(&s, UINT32_MAX, RN_NOW), 0);
}

API_TEST(sema_never_gives_more_than_its_size)
{
    rn_sema s = RN_SEMA_INIT(3), none = RN_SEMA_INIT(0);
    CHECK_EQ(rn_sema_acquire(&s, 4, RN_NEVER), -EINVAL);
    CHECK_EQ(rn_sema_acquire(&s, (size_t)-1, RN_NEVER), -EINVAL);
    CHECK_EQ(rn_sema_acquire(&s, 4, RN_NOW), -EINVAL);
    CHECK_EQ(rn_sema_acquire(&none, 1, RN_NEVER), -EINVAL);
    CHECK_EQ(rn_sema_acquire(&none, 0, RN_NEVER), 0);
    CHECK_EQ(rn_sema_acquire(&s, 3, RN_NOW), 0);
}

API_TEST(sema_acquire_keeps_its_deadline)
{
    rn_sema s = RN_SEMA_INIT(3);
    CHECK_EQ(rn_sema_acquire(&s, 2, -1), 0); /* free: past does not matter */
    CHECK_EQ(rn_sema_acquire(&s, 2, RN_NOW), -EAGAIN);
    CHECK_EQ(rn_sema_acquire(&s, 2, rn_now()), -ETIMEDOUT);
    CHECK_EQ(rn_sema_acquire(&s, 2, -1), -ETIMEDOUT);
    rn_time when = rn_now() + RN_MS;
    CHECK_EQ(rn_sema_acquire(&s, 2, when), -ETIMEDOUT);
    CHECK_GE(rn_now(), when);
    CHECK_EQ(rn_sema_acquire(&s, 1, RN_NOW), 0); /* nothing was taken */
}

/* ---- order -------------------------------------------------------------- */

struct line {
    rn_sema sema;
    char order[16];
    int count;
};

struct place {
    struct line *line;
    size_t n;
};

static int
take_in_turn(void *arg)
{
    struct place *p = arg;
    acquire(&p->line->sema, p->n);
    rn_sim_atomic_begin();
    p->line->order[p->line->count++] = (char)('0' + p->n);
    rn_sim_atomic_end();
    return 0;
}

static void
line_up(struct line *line, struct place *places, const char *wanted)
{
    for (int i = 0; wanted[i]; i++) {
        places[i] = (struct place){line, (size_t)(wanted[i] - '0')};
        go(take_in_turn, &places[i]);
        settle();
    }
}

/* There is enough for those behind the large one, and yet they wait. */
SIM_TEST(sema_serves_in_order)
{
    struct line line = {.sema = RN_SEMA_INIT(9)};
    struct place places[8];
    rn_scope *s = open_scope(RN_NEVER);
    acquire(&line.sema, 6);
    line_up(&line, places, "2412");
    CHECK_STR(line.order, "2"); /* 1 is left, and 4 are wanted */
    CHECK_EQ(rn_sema_acquire(&line.sema, 1, RN_NOW), -EAGAIN);
    rn_sema_release(&line.sema, 2);
    settle();
    CHECK_EQ(line.count, 1);
    rn_sema_release(&line.sema, 1);
    settle();
    CHECK_STR(line.order, "24");
    rn_sema_release(&line.sema, 3); /* both of them at once */
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_STR(line.order + 2, line.order[2] == '1' ? "12" : "21");
}

struct hogs {
    rn_sema sema;
    atomic_int over;
    rn_chan *started;
};

static int
hog_some(void *arg)
{
    struct hogs *h = arg;
    send_int(h->started, 1);
    while (!atomic_load(&h->over)) {
        acquire(&h->sema, 1);
        CHECK_EQ(rn_yield(), 0);
        rn_sema_release(&h->sema, 1);
    }
    return 0;
}

/* Some units are always taken by others; who wants all must get them. */
API_TEST_SCHEDULES(sema_large_acquire_is_not_starved, 1000)
{
    struct hogs h = {.sema = RN_SEMA_INIT(2),
                     .started = new_chan(sizeof(int), 0)};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(hog_some, &h);
    for (int i = 0; i < 3; i++)
        recv_int(h.started);
    for (int i = 0; i < 5; i++) {
        acquire(&h.sema, 2);
        rn_sema_release(&h.sema, 2);
    }
    atomic_store(&h.over, 1);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_unref(h.started);
}

/* ---- cancel ------------------------------------------------------------- */

static int
take_cancelled(void *arg)
{
    int e = rn_sema_acquire(arg, 3, RN_NEVER);
    if (e == 0)
        rn_sema_release(arg, 3);
    CHECK(e == 0 || e == -ECANCELED);
    return 0;
}

static int
take_one(void *arg)
{
    acquire(arg, 1);
    rn_sema_release(arg, 1);
    return 0;
}

static int
cancel_it(void *arg)
{
    rn_scope_cancel(arg);
    return 0;
}

/* R13: what is cancelled takes nothing, and those behind it go on. */
API_TEST_SCHEDULES(sema_cancelled_acquire_starves_nobody, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : 500); i++) {
        rn_sema sema = RN_SEMA_INIT(3);
        rn_scope *outer = open_scope(RN_NEVER), *s = open_scope(RN_NEVER);
        acquire(&sema, 1);
        go(take_cancelled, &sema);
        if (i % 2)
            rn_yield();
        CHECK_EQ(rn_go(outer, take_one, &sema), 0);
        CHECK_EQ(rn_go(outer, take_one, &sema), 0);
        go(cancel_it, s);
        close_cancelled(s);
        CHECK_EQ(rn_scope_close(outer), 0); /* would hang behind it */
        rn_sema_release(&sema, 1);
        CHECK_EQ(rn_sema_acquire(&sema, 3, RN_NOW), 0);
    }
}

/* The same with a deadline: when it passes, the next is looked at. */
static int
take_until_later(void *arg)
{
    CHECK_EQ(rn_sema_acquire(arg, 3, rn_now() + RN_MS), -ETIMEDOUT);
    return 0;
}

API_TEST_SCHEDULES(sema_timed_out_acquire_starves_nobody, 1000)
{
    rn_sema sema = RN_SEMA_INIT(3);
    rn_scope *s = open_scope(RN_NEVER);
    acquire(&sema, 1);
    go(take_until_later, &sema);
    settle();
    go(take_one, &sema);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_sema_release(&sema, 1);
    CHECK_EQ(rn_sema_acquire(&sema, 3, RN_NOW), 0);
}

/* ---- lifetime ----------------------------------------------------------- */

static int
release_two(void *arg)
{
    rn_sema_release(arg, 2);
    return 0;
}

API_TEST_SCHEDULES(sema_may_be_unmapped_after_acquire, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(5000)); i++) {
        rn_sema *sema = page_new();
        *sema = (rn_sema)RN_SEMA_INIT(4);
        rn_scope *s = open_scope(RN_NEVER);
        acquire(sema, 4);
        go(release_two, sema);
        go(release_two, sema);
        if (i % 2)
            CHECK_EQ(rn_yield(), 0);
        acquire(sema, 4);
        page_free(sema);
        CHECK_EQ(rn_scope_close(s), 0);
    }
}

/* ---- misuse ------------------------------------------------------------- */

API_PANICS(sema_release_beyond_its_size_panics, "semaphore")
{
    rn_sema s = RN_SEMA_INIT(2);
    acquire(&s, 1);
    rn_sema_release(&s, 2);
}

API_PANICS(sema_release_of_less_than_nothing_panics, "semaphore")
{
    rn_sema s = RN_SEMA_INIT(2);
    acquire(&s, 1);
    rn_sema_release(&s, (size_t)-1);
}

SIM_FINDS_TEXT(sema_never_released_is_a_deadlock, RN_SIM_DEADLOCK,
               "main|for units of sema")
{
    rn_sema s = RN_SEMA_INIT(1);
    acquire(&s, 1);
    acquire(&s, 1);
}

TEST_DIES_WITH(sema_acquire_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_sema s = RN_SEMA_INIT(1);
    (void)!rn_sema_acquire(&s, 1, RN_NOW);
}

TEST_DIES_WITH(sema_release_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_sema s = RN_SEMA_INIT(1);
    rn_sema_release(&s, 1);
}
