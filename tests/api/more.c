/* more.c - the library under odd loads: wait groups used again at once, tasks
 * that move between OS threads, calls of the OS that block, timers that start
 * timers, times that are equal, past or never.
 */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* ---- a wait group for many generations ----------------------------------- */

enum { GENERATIONS = 3000, DOERS = 4, LOOKERS = 3 };

static struct {
    rn_waitgroup group;
    uint8_t plain[GENERATIONS][DOERS]; /* ordered by the group alone */
    atomic_int done;                   /* in all */
} reuse;

static int
do_one(void *arg)
{
    if ((uintptr_t)arg % 3 == 0)
        CHECK_EQ(rn_yield(), 0);
    ((uint8_t *)reuse.plain)[(uintptr_t)arg] = 1;
    atomic_fetch_add(&reuse.done, 1);
    rn_waitgroup_done(&reuse.group);
    return 0;
}

/* When it returns this may be any number of generations ago. */
static int
look_at(void *arg)
{
    uintptr_t generation = (uintptr_t)arg;
    CHECK_EQ(rn_waitgroup_wait(&reuse.group, RN_NEVER), 0);
    CHECK_GE(atomic_load(&reuse.done), (generation + 1) * DOERS);
    for (int i = 0; i < DOERS; i++)
        CHECK_EQ(reuse.plain[generation][i], 1);
    return 0;
}

API_TEST_SCHEDULES(waitgroup_is_used_again_while_waiters_return, 100)
{
    uintptr_t count = rn_sim_active() ? 5 : (uintptr_t)test_count(GENERATIONS);
    memset(&reuse, 0, sizeof reuse);
    rn_scope *s = open_scope(RN_NEVER);
    for (uintptr_t g = 0; g < count; g++) {
        rn_waitgroup_add(&reuse.group, DOERS);
        for (uintptr_t i = 0; i < LOOKERS; i++)
            go(look_at, (void *)g);
        for (uintptr_t i = 0; i < DOERS; i++)
            go(do_one, (void *)(g * DOERS + i));
        CHECK_EQ(rn_waitgroup_wait(&reuse.group, RN_NEVER), 0);
        for (int i = 0; i < DOERS; i++)
            CHECK_EQ(reuse.plain[g][i], 1);
    }
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(atomic_load(&reuse.done), count * DOERS);
    CHECK_EQ(rn_waitgroup_wait(&reuse.group, RN_NOW), 0);
}

/* ---- tasks that move between workers ------------------------------------- */

enum { MOVERS = 8, DEPTH = 12 };

static struct {
    rn_chan *chan; /* of addresses where an answer is to be put */
    long moves;
    atomic_long moved; /* times a task was on another thread than before */
} travel;

/* Where a task's answer goes: its own stack. */
struct question {
    uint64_t number, *answer;
    rn_chan *done;
};

static int
answer_all(void *arg)
{
    struct question q;
    (void)arg;
    while (rn_chan_recv(travel.chan, &q, RN_NEVER) == 0) {
        *q.answer = q.number * 3;
        CHECK_EQ(rn_chan_send(q.done, NULL, RN_NEVER), 0);
    }
    return 0;
}

static void
ask(uint64_t number, rn_chan *done)
{
    uint64_t answer = 0;
    struct question q = {number, &answer, done};
    rn_arm arms[] = {RN_ARM_NONE, RN_ARM_SEND(travel.chan, &q)};
    CHECK_EQ(rn_select(arms, 2, 0, RN_NEVER), 1);
    CHECK_EQ(rn_chan_recv(done, NULL, RN_NEVER), 0);
    CHECK_EQ(answer, number * 3);
}

static void
roam(uint64_t seed, rn_chan *done)
{
    volatile uint64_t kept[DEPTH];
    volatile uint64_t *const where = kept;
    double real = (double)seed + 0.5;
    pid_t thread = gettid();
    for (int i = 0; i < DEPTH; i++)
        kept[i] = seed * 31 + (uint64_t)i;
    for (long n = 0; n < travel.moves; n++) {
        if (n % 8 == 0)
            ask(seed + (uint64_t)n, done);
        else
            CHECK_EQ(rn_yield(), 0);
        CHECK(where == kept);
        CHECK_EQ(kept[n % DEPTH], seed * 31 + (uint64_t)(n % DEPTH));
        CHECK(real == (double)seed + 0.5 + (double)n);
        real += 1;
        pid_t now = gettid();
        atomic_fetch_add(&travel.moved, now != thread);
        thread = now;
    }
}

__attribute__((noinline)) static uint64_t
roam_deep(int depth, uint64_t seed, rn_chan *done)
{
    if (depth == 0) {
        roam(seed, done);
        return seed;
    }
    volatile uint64_t here = seed + (uint64_t)depth;
    uint64_t below = roam_deep(depth - 1, seed, done);
    CHECK_EQ(here, seed + (uint64_t)depth);
    return below + here;
}

static int
run_mover(void *arg)
{
    uint64_t seed = (uint64_t)(uintptr_t)arg * 1000003;
    rn_chan *done = new_chan(0, 0);
    CHECK_EQ(roam_deep(DEPTH, seed, done),
             seed * (DEPTH + 1) + DEPTH * (DEPTH + 1) / 2);
    rn_chan_unref(done);
    return 0;
}

API_TEST_SCHEDULES(task_stack_stays_whole_when_it_moves, 10)
{
    rn_scope *helpers = open_scope(RN_NEVER);
    travel.chan = new_chan(sizeof(struct question), 0);
    travel.moves = rn_sim_active() ? 30 : test_count(20000);
    atomic_store(&travel.moved, 0);
    for (int i = 0; i < 3; i++)
        go(answer_all, NULL);
    rn_scope *s = open_scope(RN_NEVER);
    for (uintptr_t i = 0; i < MOVERS; i++)
        go(run_mover, (void *)i);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_chan_close(travel.chan);
    CHECK_EQ(rn_scope_close(helpers), 0);
    rn_chan_unref(travel.chan);
    if (rn_sim_active())
        CHECK_EQ(atomic_load(&travel.moved), 0);
    printf("on another thread %ld times\n", atomic_load(&travel.moved));
}

/* ---- calls of the OS that block ------------------------------------------ */

struct pipes {
    int ends[2];
    rn_chan *there, *back;
    atomic_bool reading;
};

/* Holds its worker until the other task has written. */
static int
read_byte(void *arg)
{
    struct pipes *p = arg;
    char byte = 0;
    atomic_store(&p->reading, true);
    CHECK_EQ(read(p->ends[0], &byte, 1), 1);
    CHECK_EQ(byte, 'x');
    return 0;
}

static int
send_back(void *arg)
{
    struct pipes *p = arg;
    int v;
    while (rn_chan_recv(p->there, &v, RN_NEVER) == 0)
        send_int(p->back, v);
    return 0;
}

/* Only after all of this the reader goes on. */
static int
work_and_write(void *arg)
{
    struct pipes *p = arg;
    rn_timer *t;
    while (!atomic_load(&p->reading))
        CHECK_EQ(rn_yield(), 0);
    for (int i = 0; i < 200; i++) {
        send_int(p->there, i);
        CHECK_EQ(recv_int(p->back), i);
    }
    CHECK_EQ(rn_sleep(RN_US), 0);
    CHECK_EQ(rn_timer_new(rn_after(RN_US), 0, &t), 0);
    CHECK_EQ(rn_chan_recv(rn_timer_chan(t), NULL, RN_NEVER), 0);
    rn_timer_free(t);
    CHECK_EQ(write(p->ends[1], "x", 1), 1);
    return 0;
}

static int
block_one_worker(void *arg)
{
    struct pipes p = {.there = new_chan(sizeof(int), 0),
                      .back = new_chan(sizeof(int), 0)};
    CHECK_EQ(pipe(p.ends), 0);
    for (long round = test_count(50); round > 0; round--) {
        rn_scope *helper = open_scope(RN_NEVER), *s;
        go(send_back, &p);
        s = open_scope(RN_NEVER);
        atomic_store(&p.reading, false);
        go(round % 2 ? read_byte : work_and_write, &p);
        go(round % 2 ? work_and_write : read_byte, &p);
        CHECK_EQ(rn_scope_close(s), 0);
        rn_scope_cancel(helper);
        close_cancelled(helper);
    }
    close(p.ends[0]);
    close(p.ends[1]);
    rn_chan_unref(p.there);
    rn_chan_unref(p.back);
    return arg ? -EIO : 0;
}

TEST(task_that_blocks_its_thread_does_not_stop_others)
{
    for (int workers = 2; workers <= 4; workers++) {
        rn_options options = {.workers = workers};
        CHECK_EQ(rn_run(&options, block_one_worker, NULL), 0);
    }
}

/* ---- equal times --------------------------------------------------------- */

enum { EQUALS = 32 };

static struct {
    rn_timer *timers[EQUALS];
    uintptr_t order[EQUALS], count;
} equal;

static int
note_order(void *arg)
{
    rn_chan *c = rn_timer_chan(equal.timers[(uintptr_t)arg]);
    CHECK_EQ(rn_chan_recv(c, NULL, RN_NEVER), 0);
    equal.order[equal.count++] = (uintptr_t)arg;
    return 0;
}

/* All wait before any is started; the one worker starts them all before it
 * looks at the time. */
static int
start_equals(void *arg)
{
    rn_scope *s = open_scope(RN_NEVER);
    for (uintptr_t i = 0; i < EQUALS; i++) {
        CHECK_EQ(rn_timer_new(RN_NEVER, 0, &equal.timers[i]), 0);
        go(note_order, (void *)i);
    }
    settle();
    rn_time when = rn_after(*(rn_time *)arg);
    equal.count = 0;
    for (int i = 0; i < EQUALS; i++)
        CHECK_EQ(rn_timer_reset(equal.timers[i], when, 0), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    for (int i = 0; i < EQUALS; i++)
        rn_timer_free(equal.timers[i]);
    return 0;
}

/* What was woken last runs first, because it is warm; so the last one is out
 * of turn, and the others are in order. */
TEST(timer_equal_times_fire_in_order)
{
    rn_options options = {.workers = 1};
    for (rn_time span = 0; span <= 100 * RN_US; span += 10 * RN_US) {
        CHECK_EQ(rn_run(&options, start_equals, &span), 0);
        CHECK_EQ(equal.count, EQUALS);
        uintptr_t next = 0;
        for (int i = 0; i < EQUALS; i++)
            if (equal.order[i] != EQUALS - 1)
                CHECK_EQ(equal.order[i], next++);
        CHECK_EQ(next, EQUALS - 1);
    }
}

/* ---- timers that start timers -------------------------------------------- */

struct chain {
    rn_timer *timer;
    int left; /* expiries to come */
    struct chain *other;
};

/* Each expiry starts the timer of the other link. */
static int
run_link(void *arg)
{
    struct chain *c = arg;
    rn_time v;
    while (rn_chan_recv(rn_timer_chan(c->timer), &v, RN_NEVER) == 0) {
        CHECK_GE(rn_now(), v);
        if (rn_sim_active())
            CHECK_EQ(rn_now(), v);
        rn_time next = rn_after(c->left % 5);
        CHECK_EQ(rn_timer_reset(c->other->timer, next, 0), 0);
        if (--c->left == 0)
            break;
    }
    return 0;
}

API_TEST_SCHEDULES(timer_started_by_a_timer, 50)
{
    int rounds = rn_sim_active() ? 10 : (int)test_count(5000);
    struct chain links[2] = {{.left = rounds, .other = &links[1]},
                             {.left = rounds, .other = &links[0]}};
    for (int i = 0; i < 2; i++)
        CHECK_EQ(rn_timer_new(RN_NEVER, 0, &links[i].timer), 0);
    rn_scope *s = open_scope(RN_NEVER);
    go(run_link, &links[0]);
    go(run_link, &links[1]);
    CHECK_EQ(rn_timer_reset(links[0].timer, RN_NOW, 0), 0);
    CHECK_EQ(rn_scope_close(s), 0);
    /* the last expiry of the second started the first once more */
    CHECK_EQ(rn_chan_recv(rn_timer_chan(links[0].timer), NULL, RN_NEVER), 0);
    for (int i = 0; i < 2; i++)
        rn_timer_free(links[i].timer);
}

/* Each expiry makes two more, with tasks of their own. */
struct tree {
    int depth;
    atomic_int *fired;
};

static int
grow_tree(void *arg)
{
    struct tree *t = arg, below = {t->depth - 1, t->fired};
    rn_time when = rn_after(t->depth * 100), v;
    rn_timer *timer;
    CHECK_EQ(rn_timer_new(when, 0, &timer), 0);
    CHECK_EQ(rn_chan_recv(rn_timer_chan(timer), &v, RN_NEVER), 0);
    CHECK_EQ(v, when);
    atomic_fetch_add(t->fired, 1);
    rn_timer_free(timer);
    if (below.depth == 0)
        return 0;
    rn_scope *s = open_scope(RN_NEVER);
    go(grow_tree, &below);
    go(grow_tree, &below);
    return rn_scope_close(s);
}

API_TEST_SCHEDULES(timer_tree_grows, 50)
{
    atomic_int fired = 0;
    struct tree top = {rn_sim_active() ? 4 : 10, &fired};
    rn_time start = rn_now();
    CHECK_EQ(grow_tree(&top), 0);
    CHECK_EQ(atomic_load(&fired), (1 << top.depth) - 1);
    if (rn_sim_active())
        CHECK_EQ(rn_now() - start, 400 + 300 + 200 + 100);
}

/* ---- timers at the ends of time ------------------------------------------ */

static void
expect_ticks(rn_timer *t, rn_time first, rn_time period)
{
    for (int i = 0; i < 5; i++) {
        rn_time v = -1;
        CHECK_EQ(rn_chan_recv(rn_timer_chan(t), &v, RN_NEVER), 0);
        CHECK_EQ(v, first + i * period);
        CHECK_EQ(rn_now(), v);
    }
}

SIM_TEST(ticker_started_now_ticks_at_once_and_every_period)
{
    static const rn_time past[] = {RN_NOW, RN_NOW + 1, -1};
    for (rn_time start = 0; start < 3000; start += 1000) {
        for (int i = 0; i < 3; i++) {
            rn_timer *t;
            rn_time now = rn_now();
            CHECK_EQ(rn_timer_new(past[i], 7 + i, &t), 0);
            expect_ticks(t, now, 7 + i);
            now = rn_now();
            CHECK_EQ(rn_timer_reset(t, past[i], 3 * RN_SEC), 1);
            expect_ticks(t, now, 3 * RN_SEC);
            rn_timer_free(t);
        }
        CHECK_EQ(rn_sleep(1000), 0);
    }
}

REAL_TEST(ticker_started_now_ticks)
{
    rn_timer *t;
    rn_time v, last, start = rn_now();
    CHECK_EQ(rn_timer_new(RN_NOW, RN_US, &t), 0);
    for (int i = 0; i < 5; i++, last = v) {
        CHECK_EQ(rn_chan_recv(rn_timer_chan(t), &v, RN_NEVER), 0);
        CHECK_GE(v, i ? last + RN_US : start);
        CHECK_LE(v, rn_now());
    }
    rn_timer_free(t);
}

SIM_FINDS_TEXT(timer_never_is_no_hope_in_a_deadlock, RN_SIM_DEADLOCK, "main")
{
    rn_timer *t;
    CHECK_EQ(rn_timer_new(RN_NEVER, 0, &t), 0);
    rn_chan_recv(rn_timer_chan(t), NULL, RN_NEVER);
}

SIM_FINDS_TEXT(timer_reset_to_never_is_no_hope, RN_SIM_DEADLOCK, "main")
{
    rn_timer *t;
    CHECK_EQ(rn_timer_new(rn_now() + 3600 * RN_SEC, 0, &t), 0);
    CHECK_EQ(rn_timer_reset(t, RN_NEVER, RN_SEC), 1);
    rn_chan_recv(rn_timer_chan(t), NULL, RN_NEVER);
}

static int
wait_for_never(void *arg)
{
    rn_timer *t;
    CHECK_EQ(rn_timer_new(RN_NEVER, 0, &t), 0);
    return rn_chan_recv(rn_timer_chan(t), arg, RN_NEVER);
}

TEST_DIES_WITH(run_timer_at_never_is_a_deadlock, "deadlock|main",
               RN_EXIT_DEADLOCK)
{
    rn_run(NULL, wait_for_never, NULL);
}
