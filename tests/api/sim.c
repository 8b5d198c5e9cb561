/* sim.c - tests of runnel/sim.h: searches inside this process. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
nothing(void *arg)
{
    (void)arg;
    return 0;
}

/* ---- programs to search ------------------------------------------------- */

struct shared {
    int cell;
    rn_mutex touch[2]; /* locked and unlocked only to let others run */
    int atomic;
};

static int
add_one(void *arg)
{
    struct shared *s = arg;
    rn_mutex *mine = &s->touch[rn_task_self().id & 1];
    if (s->atomic)
        rn_sim_atomic_begin();
    int cell = s->cell;
    CHECK_EQ(rn_mutex_lock(mine, RN_NEVER), 0);
    rn_mutex_unlock(mine);
    s->cell = cell + 1;
    if (s->atomic)
        rn_sim_atomic_end();
    return 0;
}

static int
lose_an_update(void *arg)
{
    struct shared s = {.atomic = arg != NULL};
    rn_scope *scope = open_scope(RN_NEVER);
    go(add_one, &s);
    go(add_one, &s);
    CHECK_EQ(rn_scope_close(scope), 0);
    rn_sim_assert(s.cell == 2, "both were counted");
    return 0;
}

static int
ask_the_clock(void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn_sleep(RN_MS), 0);
    return 0;
}

/* ---- digests, seeds, tokens --------------------------------------------- */

TEST(sim_same_seed_same_digest)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        rn_sim_options options = {.seed = seed};
        rn_sim_report a, b;
        CHECK_EQ(rn_sim_run(&options, lose_an_update, NULL, &a), 0);
        CHECK_EQ(rn_sim_run(&options, lose_an_update, NULL, &b), 0);
        CHECK_EQ(a.verdict, b.verdict);
        CHECK_EQ(a.digest, b.digest);
        CHECK_EQ(a.steps, b.steps);
        CHECK_EQ(a.schedules, 1);
        CHECK_GT(a.steps, 0);
        CHECK_EQ(a.token != NULL, a.verdict != RN_SIM_PASS);
        if (a.token)
            CHECK_STR(a.token, b.token);
        rn_sim_report_fini(&a);
        rn_sim_report_fini(&b);
    }
}

TEST(sim_explore_is_repeatable)
{
    rn_sim_options options = {.seed = 7, .strategy = "random"};
    rn_sim_report a, b, c;
    CHECK_EQ(rn_sim_explore(&options, lose_an_update, NULL, &a), 0);
    CHECK_EQ(a.verdict, RN_SIM_ASSERT);
    CHECK_EQ(rn_sim_explore(&options, lose_an_update, NULL, &b), 0);
    CHECK_EQ(a.schedules, b.schedules);
    CHECK_EQ(a.digest, b.digest);
    CHECK_STR(a.token, b.token);
    CHECK_EQ(a.seed, b.seed);
    options.seed = a.seed; /* of that schedule: the same without a search */
    CHECK_EQ(rn_sim_run(&options, lose_an_update, NULL, &c), 0);
    CHECK_EQ(c.verdict, a.verdict);
    CHECK_EQ(c.digest, a.digest);
    rn_sim_report_fini(&a);
    rn_sim_report_fini(&b);
    rn_sim_report_fini(&c);
}

TEST(sim_explore_counts_what_it_ran)
{
    rn_sim_options options = {.schedules = 123};
    rn_sim_report r;
    CHECK_EQ(rn_sim_explore(&options, lose_an_update, "atomic", &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.schedules, 123);
    CHECK_GT(r.distinct, 1);
    CHECK_LE(r.distinct, 123);
    CHECK(r.token == NULL);
    CHECK_GE(r.seconds, 0);
    rn_sim_report_fini(&r);
    CHECK_EQ(rn_sim_explore(&options, ask_the_clock, NULL, &r), 0);
    CHECK_EQ(r.schedules, 123);
    CHECK_EQ(r.distinct, 1); /* alone: there is nothing to choose */
    CHECK_EQ(r.time, 3 * RN_MS);
    rn_sim_report_fini(&r);
    CHECK_EQ(rn_sim_explore(NULL, nothing, NULL, &r), 0);
    CHECK_EQ(r.schedules, 1000);
    rn_sim_report_fini(&r);
}

TEST(sim_token_from_a_file)
{
    rn_sim_options options = {.seed = 3};
    rn_sim_report found, again;
    char path[] = "/tmp/test-token-XXXXXX", at[64];
    CHECK_EQ(rn_sim_explore(&options, lose_an_update, NULL, &found), 0);
    CHECK_EQ(found.verdict, RN_SIM_ASSERT);
    int fd = mkstemp(path);
    CHECK_GE(fd, 0);
    CHECK_EQ(dprintf(fd, "%s\n", found.token), strlen(found.token) + 1);
    close(fd);
    snprintf(at, sizeof at, "@%s", path);
    options.token = at;
    CHECK_EQ(rn_sim_run(&options, lose_an_update, NULL, &again), 0);
    CHECK_EQ(again.verdict, RN_SIM_ASSERT);
    CHECK_EQ(again.digest, found.digest);
    rn_sim_report_fini(&found);
    rn_sim_report_fini(&again);
    unlink(path);
}

TEST(sim_wrong_tokens_are_refused)
{
    static const char *const wrong[] = {
        "",  "x",        "nonsense",    "@/nonexistent/f",
        "@", "\xff\xff", "1:1:1:1:1:1", " "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rn_sim_options options = {.token = wrong[i]};
        rn_sim_report r;
        CHECK_EQ(rn_sim_run(&options, nothing, NULL, &r), -EINVAL);
        CHECK(r.text != NULL && r.text[0]);
        rn_sim_report_fini(&r);
    }
    /* a damaged one: another run or a refusal, no crash */
    rn_sim_options options = {.seed = 3};
    rn_sim_report found, r;
    CHECK_EQ(rn_sim_explore(&options, lose_an_update, NULL, &found), 0);
    char *token = strdup(found.token);
    CHECK(token != NULL);
    options.token = token;
    for (size_t i = 0; i < strlen(found.token); i++) {
        strcpy(token, found.token);
        token[i] = token[i] == '3' ? '4' : '3';
        int e = rn_sim_run(&options, lose_an_update, NULL, &r);
        CHECK(e == 0 || e == -EINVAL);
        rn_sim_report_fini(&r);
        token[i] = 0;
        e = rn_sim_run(&options, lose_an_update, NULL, &r);
        CHECK(e == 0 || e == -EINVAL);
        rn_sim_report_fini(&r);
    }
    free(token);
    rn_sim_report_fini(&found);
}

TEST(sim_refuses_options_out_of_range)
{
    static const rn_sim_options wrong[] = {
        {.flags = 0x80000000u},
        {.max_time = -1},
        {.jobs = -1},
        {.seconds = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        rn_sim_report r;
        CHECK_EQ(rn_sim_explore(&wrong[i], nothing, NULL, &r), -EINVAL);
        CHECK(r.text != NULL && r.text[0]);
        rn_sim_report_fini(&r);
    }
}

/* ---- verdicts ----------------------------------------------------------- */

static rn_sim_report
search(rn_sim_options options, rn_task_fn *fn, void *arg)
{
    rn_sim_report report;
    CHECK_EQ(rn_sim_explore(&options, fn, arg, &report), 0);
    fprintf(stderr, "%s: %s\n", rn_sim_verdict_name(report.verdict),
            report.text ? report.text : "");
    return report;
}

/* The verdict wanted, found again from the token. */
static void
must_find(rn_sim_options options, rn_task_fn *fn, void *arg,
          rn_sim_verdict verdict)
{
    rn_sim_report found = search(options, fn, arg), again;
    CHECK_EQ(found.verdict, verdict);
    CHECK_HAS(found.text, rn_sim_verdict_name(verdict));
    options.token = found.token;
    CHECK_EQ(rn_sim_run(&options, fn, arg, &again), 0);
    CHECK_EQ(again.verdict, verdict);
    CHECK_EQ(again.digest, found.digest);
    CHECK_EQ(again.time, found.time);
    rn_sim_report_fini(&found);
    rn_sim_report_fini(&again);
}

TEST(sim_verdicts_have_names)
{
    CHECK_STR(rn_sim_verdict_name(RN_SIM_DEADLOCK), "deadlock");
    for (int i = RN_SIM_PASS; i <= RN_SIM_STARVATION; i++) {
        CHECK(*rn_sim_verdict_name((rn_sim_verdict)i));
        for (int k = RN_SIM_PASS; k < i; k++)
            CHECK(strcmp(rn_sim_verdict_name((rn_sim_verdict)i),
                         rn_sim_verdict_name((rn_sim_verdict)k)));
    }
    CHECK(rn_sim_verdict_name((rn_sim_verdict)999) != NULL);
}

SIM_FINDS_TEXT(sim_finds_a_failed_assertion, RN_SIM_ASSERT, "both were counted")
{
    lose_an_update(NULL);
}

static int
wait_for_ever(void *arg)
{
    int e = rn_chan_recv(arg, NULL, RN_NEVER);
    CHECK_LE(e, 0); /* no tail call: the site is here */
    return e;
}

static int
leave_one_behind(void *arg)
{
    go_named("alice", wait_for_ever, arg);
    return 0;
}

SIM_FINDS_TEXT(sim_finds_a_leaked_task, RN_SIM_LEAK, "alice|sim.c")
{
    leave_one_behind(NULL);
}

TEST(sim_leak_may_be_a_note)
{
    rn_sim_report r =
        search((rn_sim_options){.schedules = 10, .flags = RN_SIM_LEAKS_OK},
               leave_one_behind, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(r.schedules, 10);
    CHECK_EQ(r.waiting, 1);
    rn_sim_report_fini(&r);
}

static int
fail_at_times(void *arg)
{
    (void)arg;
    return rn_sim_choose(10) == 7 ? -EIO : 0;
}

TEST(sim_finds_a_failed_main)
{
    must_find((rn_sim_options){.seed = 1}, fail_at_times, NULL, RN_SIM_FAILED);
}

static int
panic_at_times(void *arg)
{
    (void)arg;
    if (rn_sim_choose(10) == 7)
        rn_panic("seven of ten");
    return 0;
}

TEST(sim_finds_a_panic)
{
    must_find((rn_sim_options){.seed = 1}, panic_at_times, NULL, RN_SIM_PANIC);
    rn_sim_report r = search((rn_sim_options){.seed = 1}, panic_at_times, NULL);
    CHECK_HAS(r.text, "seven of ten");
    CHECK_HAS(r.text, r.token);
    rn_sim_report_fini(&r);
}

/* ---- limits are results ------------------------------------------------- */

static int
yield_for_ever(void *arg)
{
    (void)arg;
    for (;;)
        CHECK_EQ(rn_yield(), 0);
}

static int
sleep_for_ever(void *arg)
{
    for (;;)
        CHECK_EQ(rn_sleep(*(rn_time *)arg), 0);
}

TEST(sim_limit_of_steps_in_an_instant)
{
    must_find((rn_sim_options){.max_instant_steps = 200}, yield_for_ever, NULL,
              RN_SIM_NO_PROGRESS);
    must_find((rn_sim_options){.seed = 1}, yield_for_ever, NULL,
              RN_SIM_NO_PROGRESS);
}

TEST(sim_limit_of_steps)
{
    rn_time span = 1;
    must_find((rn_sim_options){.max_steps = 200}, sleep_for_ever, &span,
              RN_SIM_STEP_LIMIT);
    must_find((rn_sim_options){.seed = 1}, sleep_for_ever, &span,
              RN_SIM_STEP_LIMIT);
}

TEST(sim_limit_of_time)
{
    rn_time span = 600;
    must_find((rn_sim_options){.max_time = 5000}, sleep_for_ever, &span,
              RN_SIM_TIME_LIMIT);
    span = 3600 * RN_SEC;
    must_find((rn_sim_options){.seed = 1}, sleep_for_ever, &span,
              RN_SIM_TIME_LIMIT);
}

static int
eat_memory(void *arg)
{
    (void)arg;
    rn_chan *c;
    while (rn_chan_new(4096, 16, &c) == 0)
        ;
    return 0;
}

TEST(sim_limit_of_memory)
{
    must_find((rn_sim_options){.max_bytes = 64 << 20}, eat_memory, NULL,
              RN_SIM_MEMORY_LIMIT);
}

TEST(sim_limit_of_seconds)
{
    rn_sim_report r =
        search((rn_sim_options){.schedules = UINT64_MAX, .seconds = 0.05},
               nothing, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_GE(r.schedules, 1);
    CHECK_LT(r.schedules, INT64_MAX);
    rn_sim_report_fini(&r);
}

static atomic_int progress_calls;

static void
note_progress(const rn_sim_progress *progress, void *arg)
{
    CHECK_EQ(*(int *)arg, 77);
    CHECK_EQ(progress->limit, UINT64_MAX - 1);
    CHECK_GE(progress->schedules, progress->distinct);
    CHECK_GE(progress->seconds, 0);
    progress_calls++;
}

static int
fail_after_progress(void *arg)
{
    (void)arg;
    return progress_calls >= 2 ? -EIO : 0;
}

TEST(sim_tells_its_progress)
{
    int arg = 77;
    rn_sim_report r = search((rn_sim_options){.schedules = UINT64_MAX - 1,
                                              .progress = note_progress,
                                              .progress_arg = &arg},
                             fail_after_progress, NULL);
    CHECK_EQ(r.verdict, RN_SIM_FAILED); /* else it would go on for ever */
    rn_sim_report_fini(&r);
}

/* ---- hidden non-determinism --------------------------------------------- */

static int
depend_on_a_static(void *arg)
{
    static int calls;
    rn_chan *c = new_chan(sizeof(int), 1);
    (void)arg;
    if (++calls % 2)
        send_int(c, 1);
    rn_chan_unref(c);
    return 0;
}

TEST(sim_verify_finds_hidden_state)
{
    rn_sim_report r = search((rn_sim_options){.flags = RN_SIM_VERIFY},
                             depend_on_a_static, NULL);
    CHECK_EQ(r.verdict, RN_SIM_NONDETERMINISM);
    CHECK_HAS(r.text, "sim.c"); /* the step that differs */
    rn_sim_report_fini(&r);
    r = search((rn_sim_options){.schedules = 10}, depend_on_a_static, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS); /* not asked for */
    rn_sim_report_fini(&r);
}

static int
everything(void *arg)
{
    rn_chan *c = new_chan(sizeof(int), 1);
    rn_timer *t = NULL;
    CHECK_EQ(rn_timer_new(100, 10, &t), 0);
    rn_scope *s = open_scope(5000);
    go(lose_an_update, "atomic");
    go(wait_for_ever, arg);
    for (int i = 0; i < 5; i++) {
        rn_arm arms[] = {RN_ARM_SEND(c, &i), RN_ARM_RECV(c, NULL),
                         RN_ARM_RECV(rn_timer_chan(t), NULL),
                         RN_ARM_AT(105 + i)};
        CHECK_GE(rn_select(arms, 4, 0, RN_NEVER), 0);
    }
    CHECK_EQ(rn_scope_close(s), -ETIMEDOUT);
    rn_timer_free(t);
    rn_chan_unref(c);
    return 0;
}

TEST(sim_verify_is_silent_about_clean_programs)
{
    rn_sim_report r =
        search((rn_sim_options){.schedules = 500, .flags = RN_SIM_VERIFY},
               everything, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_GT(r.distinct, 10);
    rn_sim_report_fini(&r);
}

/* ---- regions and choices ------------------------------------------------ */

SIM_TEST(sim_atomic_regions_are_not_preempted)
{
    lose_an_update("atomic");
}

SIM_TEST(sim_atomic_regions_nest_and_may_wait)
{
    rn_chan *c = new_chan(sizeof(int), 0);
    rn_sim_atomic_begin();
    rn_sim_atomic_begin();
    rn_task t = go_joinable(wait_for_ever, c);
    rn_sim_atomic_end();
    CHECK_EQ(rn_chan_send(c, &(int){1}, RN_NEVER), 0); /* waits: goes on */
    rn_sim_atomic_end();
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    rn_chan_unref(c);
}

REAL_TEST(sim_regions_are_nothing_for_real)
{
    rn_sim_atomic_begin();
    CHECK_EQ(rn_yield(), 0);
    rn_sim_atomic_end();
    rn_sim_explore_wait();
    rn_sim_explore_begin();
    rn_sim_assert(1, "true");
    CHECK_EQ(rn_sim_active(), 0);
}

API_PANICS(sim_atomic_nested_too_deep_panics, "nested too deep")
{
    for (int i = 0; i <= UINT16_MAX; i++)
        rn_sim_atomic_begin();
}

API_PANICS(sim_atomic_end_without_begin_panics, "atomic")
{
    rn_sim_atomic_end();
}

API_TEST(sim_choose_stays_in_range)
{
    CHECK_EQ(rn_sim_choose(0), 0);
    CHECK_EQ(rn_sim_choose(1), 0);
    for (uint32_t n = 2; n < 50; n++)
        CHECK_LT(rn_sim_choose(n), n);
    for (int i = 0; i < 10; i++)
        CHECK_LE(rn_sim_choose(UINT32_MAX), UINT32_MAX - 1);
}

static int
note_choice(void *arg)
{
    ((int *)arg)[rn_sim_choose(5)]++;
    return 0;
}

TEST(sim_choose_takes_every_value)
{
    int counts[5] = {0};
    rn_sim_report r =
        search((rn_sim_options){.schedules = 1000}, note_choice, counts);
    for (int i = 0; i < 5; i++)
        CHECK_GT(counts[i], 100); /* 200 on average, deviation 13 */
    rn_sim_report_fini(&r);
}

struct racers {
    int order[2][3], count[2]; /* before and after the search begins */
    rn_mutex touch;
};

struct racer {
    struct racers *racers;
    int number, part;
};

static int
race(void *arg)
{
    struct racer *r = arg;
    CHECK_EQ(rn_mutex_lock(&r->racers->touch, RN_NEVER), 0);
    rn_mutex_unlock(&r->racers->touch);
    r->racers->order[r->part][r->racers->count[r->part]++] = r->number;
    return 0;
}

static void
race_part(struct racers *racers, int part)
{
    struct racer r[3];
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++) {
        r[i] = (struct racer){racers, i, part};
        go(race, &r[i]);
    }
    CHECK_EQ(rn_scope_close(s), 0);
}

/* The first part goes one way, the second any way. */
static int
search_late(void *arg)
{
    int *seen = arg; /* a bit each order, of either part */
    struct racers racers = {.touch = RN_MUTEX_INIT};
    rn_sim_explore_wait();
    race_part(&racers, 0);
    rn_sim_explore_begin();
    race_part(&racers, 1);
    for (int part = 0; part < 2; part++)
        seen[part] |= 1 << (racers.order[part][0] * 3 + racers.order[part][1]);
    return 0;
}

TEST(sim_searches_only_from_where_it_is_told)
{
    int seen[2] = {0};
    rn_sim_report r =
        search((rn_sim_options){.schedules = 500}, search_late, seen);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    CHECK_EQ(__builtin_popcount((unsigned)seen[0]), 1);
    CHECK_EQ(__builtin_popcount((unsigned)seen[1]), 6);
    rn_sim_report_fini(&r);
}

/* ---- state between schedules -------------------------------------------- */

TEST(sim_and_real_runs_take_turns)
{
    for (int i = 0; i < 5; i++) {
        rn_sim_report r =
            search((rn_sim_options){.seed = 7}, lose_an_update, NULL);
        CHECK_EQ(r.verdict, RN_SIM_ASSERT);
        rn_sim_report_fini(&r);
        CHECK_EQ(rn_run(NULL, nothing, NULL), 0);
        CHECK_EQ(rn_sim_active(), 0);
        CHECK_EQ(rn_task_self().id, 0);
    }
}

TEST(sim_report_fini_of_nothing)
{
    rn_sim_report r = {0};
    rn_sim_report_fini(&r);
}

static int
run_inside(void *arg)
{
    rn_sim_report r;
    return rn_sim_run(NULL, nothing, arg, &r);
}

TEST_DIES_WITH(sim_run_inside_a_task_panics, "simulation", -SIGABRT)
{
    rn_run(NULL, run_inside, NULL);
}

TEST_DIES_WITH(sim_choose_outside_a_task_panics, "outside a task", -SIGABRT)
{
    rn_sim_choose(2);
}

static int
assert_false(void *arg)
{
    (void)arg;
    rn_sim_assert(0, "the moon is cheese");
    return 0;
}

TEST_DIES_WITH(sim_assert_panics_for_real, "the moon is cheese", -SIGABRT)
{
    rn_run(NULL, assert_false, NULL);
}

/* 100,000 steps with timers, tasks and channels: one schedule leaves nothing
 * behind for the next. */
TEST(sim_many_schedules_do_not_grow_memory)
{
    rn_sim_options options = {.schedules = (uint64_t)test_count(2000)};
    rn_sim_report r = search(options, everything, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
    if (test_env("TEST_EMULATOR", 0)) /* its memory would be measured, too */
        test_skip("runs under an emulator");
    long before = resident_bytes();
    options.schedules *= 5;
    r = search(options, everything, NULL);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
    CHECK_LT(resident_bytes() - before, 4 << 20);
}
