/* soak.c - mixed work for real, round after round, until time is up.
 *
 *     test_soak [--again SEED] [--only KIND] [SECONDS]
 *
 * Each round is a runtime of its own; its seed decides how many workers it has
 * (mostly more than there are cores), whether random delays are put between the
 * parts of operations, and what work it does at once. The same seed gives the
 * same work, not the same order: --again does one round over and over. --only
 * does one kind of work only. A thread outside the runtime watches: if nothing
 * has been done for STALL seconds (times TEST_SLOW) it prints what all tasks do
 * and aborts.
 */
#include "soak.h"

#include "core/core.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STALL = 20, WORKS_MOST = 12, SECONDS = 60 };

const struct work soak_works[] = {
    {"tree", work_tree},
    {"once", work_once},
    {"deep", work_deep},
    {"sleep", work_sleep},
    {"pingpong", work_pingpong},
    {"chan", work_chan},
    {"select", work_select},
    {"join", work_join},
    {"buffer", work_buffer},
    {"mutex", work_mutex},
    {"timers", work_timers},
    {"cancel", work_cancel},
    {"deadline", work_deadline},
    {"blocking", work_blocking},
    {"hog", work_hog},
    {"par", work_par},
    {"par_meet", work_par_meet},
    {"par_pull", work_par_pull},
    {"race", work_race},
    {"reduce", work_reduce},
    {"map", work_map},
    {"report", work_report},
    {"shield", work_shield},
    {"defer", work_defer},
    {"after", work_after},
    {"cancel_one", work_cancel_one},
    {"move", work_move},
    {"hold", work_hold},
    {"bank", work_bank},
    {"stm_line", work_stm_line},
    {"stm_long", work_stm_long},
    {"context", work_context},
    {"rwmutex", work_rwmutex},
    {"sema", work_sema},
    {"barrier", work_barrier},
    {"future", work_future},
    {"workgroup", work_workgroup},
};
const int soak_work_count = sizeof soak_works / sizeof soak_works[0];

/* What the round is made of; written before it starts. */
static struct {
    uint64_t seed;
    int workers, works;
    bool delays;
    int kinds[WORKS_MOST];
    uint64_t seeds[WORKS_MOST];
} plan;

static _Atomic uint64_t ticks;
static _Atomic(struct rn__rt *) runtime; /* that runs now; for the watcher */
static time_t started, limit;
static uint64_t rounds;
static bool delays;   /* RUNNEL_DELAYS was set: in each round */
static int only = -1; /* the kind of all works; -1: any */

void
tick(void)
{
    atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed);
}

static void
print_plan(void)
{
    fprintf(stderr,
            "soak: round %llu: %d workers%s:", (unsigned long long)rounds,
            plan.workers, plan.delays ? " with delays" : "");
    for (int i = 0; i < plan.works; i++)
        fprintf(stderr, " %s", soak_works[plan.kinds[i]].name);
    fprintf(stderr, "\nsoak: to repeat it: test_soak --again %llu\n",
            (unsigned long long)plan.seed);
}

void
soak_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "soak: %s:%d: not true: %s\n", file, line, what);
    print_plan();
    abort();
}

int
dawdle(uint64_t *prng)
{
    switch (below(prng, 6)) {
    case 0:
        return rn_sleep(below(prng, 60) * RN_US);
    case 1:
    case 2:
        return rn_yield();
    case 3:
        for (volatile int i = below(prng, 3000); i > 0; i--)
            ;
        return 0;
    default:
        return 0;
    }
}

int
cancel_later(void *arg)
{
    struct canceller *c = arg;
    uint64_t prng = c->seed;
    for (int i = below(&prng, 4); i > 0; i--)
        need(dawdle(&prng) == 0);
    if (below(&prng, 2))
        need(rn_sleep(below(&prng, 200) * RN_US) == 0);
    rn_scope_cancel(c->scope);
    return 0;
}

/* Failures that nobody wants to hear of. */
static void
unheard(const rn_failure *failure, void *arg)
{
    (void)arg;
    need(failure->code < 0);
}

/* ---- the watcher -------------------------------------------------------- */

static void
stalled(int seconds)
{
    fprintf(stderr, "soak: nothing was done for %d s\n", seconds);
    print_plan();
    struct rn__rt *rt = atomic_load(&runtime);
    alarm(10); /* the dump may wait for what is stuck */
    if (rt) {
        fprintf(stderr, "soak: %u workers sleep, %u search\n",
                (unsigned)atomic_load(&rt->asleep),
                (unsigned)atomic_load(&rt->searching));
        rn__dump(rt, false, stderr);
    } else {
        fprintf(stderr, "soak: between two runtimes\n");
    }
    fflush(stderr);
    abort();
}

/* The runtime says that all wait for ever. */
static void
deadlocked(void *arg)
{
    (void)arg;
    fprintf(stderr, "soak: deadlock\n");
    print_plan();
    rn__dump(atomic_load(&runtime), true, stderr);
    fflush(stderr);
    abort();
}

static void
show_progress(time_t now)
{
    static time_t told;
    if (now == told)
        return;
    double seconds = (double)(now - started) + 1e-9;
    printf("\r\033[Ksoak: %llu rounds, %.0f operations a second, %ld s left",
           (unsigned long long)rounds, (double)atomic_load(&ticks) / seconds,
           (long)(started + limit - now));
    fflush(stdout);
    told = now;
}

static void *
watch(void *arg)
{
    const char *slow = getenv("TEST_SLOW");
    int most = STALL * (slow && atoi(slow) > 0 ? atoi(slow) : 1);
    uint64_t seen = 0;
    time_t since = time(NULL);
    bool terminal = isatty(1);
    (void)arg;
    for (;;) {
        struct timespec slice = {0, 200000000};
        nanosleep(&slice, NULL);
        uint64_t now_seen = atomic_load(&ticks);
        time_t now = time(NULL);
        if (now_seen != seen)
            since = now;
        seen = now_seen;
        if (now - since > most)
            stalled(most);
        if (terminal)
            show_progress(now);
    }
    return NULL;
}

/* ---- a round ------------------------------------------------------------ */

static void
make_plan(uint64_t seed)
{
    static const int workers[] = {1, 2, 3, 4, 4, 4, 6, 8};
    uint64_t prng = seed;
    plan.seed = seed;
    plan.workers = workers[below(&prng, sizeof workers / sizeof workers[0])];
    plan.delays = below(&prng, 2) || delays;
    plan.works = 1 + below(&prng, WORKS_MOST);
    for (int i = 0; i < plan.works; i++) {
        int kind = below(&prng, soak_work_count);
        plan.kinds[i] = only >= 0 ? only : kind;
        plan.seeds[i] = rn__prng_next(&prng);
    }
}

static int
run_works(void *arg)
{
    rn_scope *scope;
    (void)arg;
    atomic_store(&runtime, rn__rt_self());
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 0; i < plan.works; i++) {
        const struct work *work = &soak_works[plan.kinds[i]];
        rn_task_options options = {.name = work->name};
        need(rn_task_spawn(scope, work->fn, &plan.seeds[i], &options, NULL) ==
             0);
    }
    need(rn_scope_close(scope) == 0);
    need(rn_task_count() == 1);
    atomic_store(&runtime, NULL);
    return 0;
}

static void
run_round(uint64_t seed)
{
    make_plan(seed);
    rn_options options = {.workers = plan.workers,
                          .deadlock = RN_DEADLOCK_CALL,
                          .on_deadlock = deadlocked,
                          .on_error = unheard};
    if (plan.delays)
        setenv("RUNNEL_DELAYS", "1", 1);
    else
        unsetenv("RUNNEL_DELAYS");
    need(rn_run(&options, run_works, NULL) == 0);
    tick();
}

static int
soak(bool again, uint64_t seed)
{
    pthread_t watcher;
    started = time(NULL);
    if (pthread_create(&watcher, NULL, watch, NULL) != 0)
        return 1;
    for (; time(NULL) - started < limit; rounds++)
        run_round(again ? seed : rn__mix64(seed + rounds));
    if (isatty(1))
        printf("\r\033[K");
    printf("soak: %llu rounds, %llu operations in %ld s\n",
           (unsigned long long)rounds, (unsigned long long)atomic_load(&ticks),
           (long)(time(NULL) - started));
    puts("1 passed, 0 failed");
    fflush(stdout);
    _Exit(0); /* the watcher still runs */
}

static int
kind_of(const char *name)
{
    for (int i = 0; i < soak_work_count; i++)
        if (strcmp(soak_works[i].name, name) == 0)
            return i;
    fprintf(stderr, "test_soak: no such kind: %s\n", name);
    exit(2);
}

int
main(int argc, char **argv)
{
    bool again = false;
    delays = getenv("RUNNEL_DELAYS") != NULL;
    uint64_t seed = (uint64_t)time(NULL);
    for (; argc > 2; argv += 2, argc -= 2)
        if (strcmp(argv[1], "--again") == 0)
            again = true, seed = strtoull(argv[2], NULL, 10);
        else if (strcmp(argv[1], "--only") == 0)
            only = kind_of(argv[2]);
        else
            break;
    limit = argc > 1 ? atol(argv[1]) : SECONDS;
    if (argc > 2 || limit <= 0) {
        fprintf(stderr, "usage: test_soak [--again SEED] [--only KIND] "
                        "[SECONDS]\n");
        return 2;
    }
    return soak(again, seed);
}
