/* sims.c - benchmarks of the simulator.
 *
 * A program of its own: a simulation is not started by a task, as all that
 * bench.c runs is. Each run is a fresh simulation, or many of them, and its
 * result is used.
 */
#include "bench.h"

#include <errno.h>
#include <runnel/runnel.h>

enum {
    SPAN = 20000, /* operations of one simulation, where a row counts them */
    TASKS_MAX = 8
};

/* ---- schedules ---------------------------------------------------------- */

/* Tasks that each add to one word, in two steps. */
struct adders {
    int tasks, rounds;
    rn_atomic word;
};

static int
add(void *arg)
{
    struct adders *a = arg;
    for (int i = 0; i < a->rounds; i++)
        rn_atomic_store(&a->word, rn_atomic_load(&a->word) + 1);
    return 0;
}

static int
adders_main(void *arg)
{
    struct adders *a = arg;
    rn_task tasks[TASKS_MAX];
    rn_atomic_store(&a->word, 0);
    for (int i = 0; i < a->tasks; i++)
        if (rn_task_spawn(NULL, add, a, NULL, &tasks[i]) < 0)
            return -ENOMEM;
    for (int i = 0; i < a->tasks; i++)
        if (rn_task_join(tasks[i], RN_NEVER, NULL) < 0)
            return -EIO;
    return rn_atomic_load(&a->word) > 0 ? 0 : -EIO;
}

/* Explore n schedules; a finding ends the program. Returns n. */
static uint64_t
explore(uint64_t n, rn_task_fn *fn, void *arg)
{
    rn_sim_options o = {
        .schedules = n, .max_steps = 10 * SPAN, .max_instant_steps = 10 * SPAN};
    rn_sim_report r;
    bench_check(rn_sim_explore(&o, fn, arg, &r) == 0, "rn_sim_explore");
    bench_check(r.verdict == RN_SIM_PASS && r.schedules == n, r.text);
    rn_sim_report_fini(&r);
    return n;
}

/* One schedule, a random walk. */
static void
run_once(rn_task_fn *fn, void *arg)
{
    rn_sim_options o = {.max_steps = 10 * SPAN, .max_instant_steps = 10 * SPAN};
    rn_sim_report r;
    bench_check(rn_sim_run(&o, fn, arg, &r) == 0, "rn_sim_run");
    bench_check(r.verdict == RN_SIM_PASS, r.text);
    rn_sim_report_fini(&r);
}

static uint64_t
schedule_2x2(uint64_t n)
{
    struct adders a = {.tasks = 2, .rounds = 2};
    return explore(n, adders_main, &a);
}

static uint64_t
schedule_3x4(uint64_t n)
{
    struct adders a = {.tasks = 3, .rounds = 4};
    return explore(n, adders_main, &a);
}

static uint64_t
schedule_400(uint64_t n)
{
    struct adders a = {.tasks = 4, .rounds = 50};
    return explore(n, adders_main, &a);
}

/* ---- operations --------------------------------------------------------- */

/* Run fn in fresh simulations until it has done n operations, SPAN in each. */
static uint64_t
simulate(uint64_t n, rn_task_fn *fn)
{
    uint64_t done = 0;
    for (; done < n; done += SPAN)
        run_once(fn, NULL);
    return done;
}

static int
yield_often(void *arg)
{
    (void)arg;
    int error = 0;
    for (int i = 0; i < SPAN / 2 && !error; i++)
        error = rn_yield();
    return error;
}

static int
yields_main(void *arg)
{
    int error = rn_task_spawn(NULL, yield_often, NULL, NULL, NULL);
    return error ? error : yield_often(arg);
}

static uint64_t
sim_switch(uint64_t n)
{
    return simulate(n, yields_main);
}

static int
sleeps_main(void *arg)
{
    (void)arg;
    int error = 0;
    for (int i = 0; i < SPAN && !error; i++)
        error = rn_sleep(RN_US);
    return error;
}

static uint64_t
sim_sleep(uint64_t n)
{
    return simulate(n, sleeps_main);
}

static int
nothing(void *arg)
{
    (void)arg;
    return 0;
}

static int
spawns_main(void *arg)
{
    (void)arg;
    rn_task task;
    for (int i = 0; i < SPAN; i++)
        if (rn_task_spawn(NULL, nothing, NULL, NULL, &task) < 0 ||
            rn_task_join(task, RN_NEVER, NULL) < 0)
            return -EIO;
    return 0;
}

static uint64_t
sim_spawn(uint64_t n)
{
    return simulate(n, spawns_main);
}

static int
add_one(rn_tx *tx, void *arg)
{
    int64_t value;
    int error = rn_tvar_read(arg, tx, &value);
    value++;
    return error ? error : rn_tvar_write(arg, tx, &value);
}

static int
commits_main(void *arg)
{
    rn_tvar *tvar;
    int64_t zero = 0;
    (void)arg;
    int error = rn_tvar_new(sizeof zero, &zero, &tvar);
    for (int i = 0; i < SPAN && !error; i++)
        error = rn_atomically(add_one, tvar, RN_NEVER);
    if (!error)
        rn_tvar_free(tvar);
    return error;
}

static uint64_t
sim_stm(uint64_t n)
{
    return simulate(n, commits_main);
}

/* ---- io-sim's own benchmarks -------------------------------------------- */

/* A million sleeps of a microsecond inside a timeout of a second. */
static int
timeout_main(void *arg)
{
    uint64_t *rounds = arg;
    rn_scope *scope;
    int error = rn_scope_open(rn_now() + RN_SEC, &scope);
    if (error)
        return error;
    for (*rounds = 0; rn_sleep(RN_US) == 0;)
        ++*rounds;
    return rn_scope_close(scope) == -ETIMEDOUT ? 0 : -EIO;
}

static uint64_t
iosim_timeout(uint64_t n)
{
    enum { ROUNDS = 1000000, STEPS = 4 * ROUNDS };
    for (uint64_t i = 0; i < n; i++) {
        uint64_t rounds = 0;
        rn_sim_options o = {.max_steps = STEPS};
        rn_sim_report r;
        bench_check(rn_sim_run(&o, timeout_main, &rounds, &r) == 0,
                    "rn_sim_run");
        bench_check(r.verdict == RN_SIM_PASS, r.text);
        bench_check(rounds + 1 >= ROUNDS && rounds <= ROUNDS, "rounds");
        rn_sim_report_fini(&r);
    }
    return n;
}

enum { SAYERS = 250 };

static int
sleep_and_say(void *arg)
{
    int64_t *said = arg;
    int error = rn_sleep(RN_US);
    ++*said;
    return error;
}

static int
sayers_main(void *arg)
{
    rn_task tasks[SAYERS];
    int64_t said = 0;
    (void)arg;
    for (int i = 0; i < SAYERS; i++)
        if (rn_task_spawn(NULL, sleep_and_say, &said, NULL, &tasks[i]) < 0)
            return -ENOMEM;
    for (int i = 0; i < SAYERS; i++)
        if (rn_task_join(tasks[i], RN_NEVER, NULL) < 0)
            return -EIO;
    return said == SAYERS ? 0 : -EIO;
}

static uint64_t
iosim_sayers(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        run_once(sayers_main, NULL);
    return n;
}

static const struct bench table[] = {
    {"sim_2x2", schedule_2x2, 0, 0},
    {"sim_3x4", schedule_3x4, 0, 0},
    {"sim_400", schedule_400, 0, 0},
    {"sim_switch", sim_switch, 0, 0},
    {"sim_sleep", sim_sleep, 0, 0},
    {"sim_spawn", sim_spawn, 0, 0},
    {"sim_stm", sim_stm, 0, 0},
    {"iosim_timeout", iosim_timeout, 1, 1},
    {"iosim_sayers", iosim_sayers, 0, 0},
};

int
main(int argc, char **argv)
{
    struct bench_args args;
    bench_parse(&args, argc, argv, table, sizeof table / sizeof *table);
    bench_measure(&args);
    return 0;
}
