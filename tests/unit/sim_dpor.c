/* unit/sim_dpor.c - the referee of the reduction.
 *
 * Random small programs are run in all their interleavings, one by one; a run's
 * trace is the set of its acts with what happens before each. The reduction
 * must run each trace that this finds, none twice, and no other; and what its
 * tasks have read in all of them together must be the same.
 */
#include "base/prng.h"
#include "sim/sim.h"
#include "test.h"

#include <runnel/runnel.h>
#include <stdlib.h>
#include <string.h>

/* ---- random programs ---------------------------------------------------- */

enum {
    TASKS = 3,
    OPS = 4,
    CELLS = 2,
    LOCKS = 2,
    CHANS = 2,
    READS = 64,
    RUNS_MAX = 4000 /* programs with more are left out */
};

enum kind {
    OP_LOAD,
    OP_STORE,
    OP_ADD,
    OP_CAS,
    OP_LOCK,
    OP_SEND,
    OP_RECV,
    OP_TRY_LOCK,
    OP_READ_LOCK,
    OP_WRITE_LOCK,
    OP_DONE,
    OP_WAIT,
    OP_TRY_SEND,
    OP_TRY_RECV,
    OP_SELECT,
    OP_CHOOSE,
    OP_SIGNAL,
    OP_COND,
    OP_BLOCK,
    OP_ONCE,
    OP_FUTURE,
    OP_COMPLETE,
    OP_BARRIER,
    OP_SEMA,
    OP_CHILD,
    OP_TX_ADD,
    OP_TX_MOVE,
    OP_KINDS,
    OP_SLEEP = OP_KINDS,
    OP_TIMED_RECV,
    OP_TIMED_LOCK,
    OP_TIMED_KINDS,
    OP_CANCEL = OP_TIMED_KINDS,
    OP_CANCEL_KINDS
};

struct op {
    enum kind kind;
    int a, b;
};

static struct program {
    int tasks, ops;
    struct op op[TASKS][OPS];
    int capacity[CHANS];
    int group;
} program;

static rn_atomic cell[CELLS];
static rn_mutex lock[LOCKS];
static rn_rwmutex rwlock;
static rn_cond cond;
static rn_waitgroup group;
static rn_once once;
static rn_sema sema;
static rn_barrier barrier;
static rn_future *future;
static rn_promise *promise;
static rn_tvar *tvar[2];
static rn_scope *root;
static rn_chan *chan[CHANS];
static int64_t seen[TASKS][READS]; /* what a task has learnt */
static int count[TASKS];

static void
learn(int task, int64_t value)
{
    if (count[task] < READS)
        seen[task][count[task]++] = value;
}

static void
do_select(int task)
{
    int value[2] = {0, 0};
    rn_arm arms[2] = {RN_ARM_RECV(chan[0], &value[0]),
                      RN_ARM_RECV(chan[1], &value[1])};
    int i = rn_select(arms, 2, 0, RN_NEVER);
    learn(task, i);
    learn(task, i >= 0 ? value[i] : 0);
}

static void
do_channel(int task, const struct op *op, rn_time deadline)
{
    int value = 10 * task + op->b;
    if (op->kind == OP_SEND || op->kind == OP_TRY_SEND)
        learn(task, rn_chan_send(chan[op->a], &value, deadline));
    else
        learn(task, rn_chan_recv(chan[op->a], &value, deadline) ? -1 : value);
}

static void
do_lock(int task, const struct op *op)
{
    rn_time deadline = op->kind == OP_TRY_LOCK     ? RN_NOW
                       : op->kind == OP_TIMED_LOCK ? rn_after(op->b)
                                                   : RN_NEVER;
    int error = rn_mutex_lock(&lock[op->a], deadline);
    learn(task, error);
    if (error)
        return;
    learn(task, rn_atomic_load(&cell[op->a]));
    if (op->kind == OP_SIGNAL)
        rn_cond_signal(&cond);
    if (op->kind == OP_COND)
        learn(task, rn_cond_wait(&cond, &lock[op->a], RN_NEVER));
    rn_mutex_unlock(&lock[op->a]);
}

static void
do_rwlock(int task, bool write)
{
    int error = write ? rn_rwmutex_lock(&rwlock, RN_NEVER)
                      : rn_rwmutex_read_lock(&rwlock, RN_NEVER);
    learn(task, error);
    if (error)
        return;
    if (write)
        rn_atomic_store(&cell[0], 7 + task);
    else
        learn(task, rn_atomic_load(&cell[0]));
    if (write)
        rn_rwmutex_unlock(&rwlock);
    else
        rn_rwmutex_read_unlock(&rwlock);
}

static void
add_in_once(void *arg)
{
    *(int64_t *)arg = rn_atomic_fetch_add(&cell[0], 1);
}

static int
add_in_child(void *arg)
{
    *(int64_t *)arg = rn_atomic_fetch_add(&cell[1], 1);
    return 0;
}

static void
do_child(int task)
{
    int64_t value = -1;
    rn_task child;
    int error = rn_task_spawn(NULL, add_in_child, &value, NULL, &child);
    learn(task, error);
    if (error)
        return;
    learn(task, rn_atomic_load(&cell[0]));
    learn(task, rn_task_join(child, RN_NEVER, NULL));
    learn(task, value);
}

static int
tx_add(rn_tx *tx, void *arg)
{
    int64_t x;
    int error = rn_tvar_read(tvar[*(int *)arg], tx, &x);
    if (error < 0)
        return error;
    x++;
    error = rn_tvar_write(tvar[*(int *)arg], tx, &x);
    return error < 0 ? error : (int)x;
}

/* What it reads next depends on what it has read. */
static int
tx_move(rn_tx *tx, void *arg)
{
    int64_t x = 0, y = 0;
    (void)arg;
    int error = rn_tvar_read(tvar[0], tx, &x);
    if (error == 0 && x > 0)
        error = rn_tvar_read(tvar[1], tx, &y);
    if (error == 0 && y > 0)
        error = rn_tvar_write(tvar[0], tx, &y);
    return error < 0 ? error : (int)(10 * x + y);
}

static void
do_more(int task, const struct op *op)
{
    int64_t value = op->b;
    int index = op->a;
    if (op->kind == OP_ONCE) {
        value = -1;
        rn_once_do(&once, add_in_once, &value, RN_NEVER);
        learn(task, value);
        learn(task, rn_atomic_load(&cell[0]));
    } else if (op->kind == OP_FUTURE) {
        learn(task, rn_future_wait(future, &value, RN_NEVER));
        learn(task, value);
    } else if (op->kind == OP_COMPLETE) {
        learn(task, rn_promise_set(promise, &value));
    } else if (op->kind == OP_BARRIER) {
        learn(task, rn_barrier_wait(&barrier, RN_NEVER));
    } else if (op->kind == OP_SEMA) {
        int error = rn_sema_acquire(&sema, (size_t)op->a + 1, RN_NEVER);
        learn(task, error);
        if (error)
            return;
        learn(task, rn_atomic_fetch_add(&cell[1], 1));
        rn_sema_release(&sema, (size_t)op->a + 1);
    } else if (op->kind == OP_CHILD) {
        do_child(task);
    } else if (op->kind == OP_CANCEL) {
        rn_scope_cancel(root);
    } else if (op->kind == OP_TX_ADD) {
        learn(task, rn_atomically(tx_add, &index, RN_NEVER));
    } else {
        learn(task, rn_atomically(tx_move, NULL, RN_NEVER));
    }
}

static void
do_op(int task, const struct op *op)
{
    switch (op->kind) {
    case OP_LOAD:
        learn(task, rn_atomic_load(&cell[op->a]));
        break;
    case OP_STORE:
        rn_atomic_store(&cell[op->a], op->b);
        break;
    case OP_ADD:
        learn(task, rn_atomic_fetch_add(&cell[op->a], 1));
        break;
    case OP_CAS:
        learn(task, rn_atomic_cas(&cell[op->a], op->b, op->b + 1));
        break;
    case OP_LOCK:
    case OP_TRY_LOCK:
    case OP_TIMED_LOCK:
    case OP_SIGNAL:
    case OP_COND:
        do_lock(task, op);
        break;
    case OP_READ_LOCK:
    case OP_WRITE_LOCK:
        do_rwlock(task, op->kind == OP_WRITE_LOCK);
        break;
    case OP_DONE:
        rn_waitgroup_done(&group);
        break;
    case OP_WAIT:
        learn(task, rn_waitgroup_wait(&group, RN_NEVER));
        break;
    case OP_SEND:
    case OP_RECV:
        do_channel(task, op, RN_NEVER);
        break;
    case OP_TRY_SEND:
    case OP_TRY_RECV:
        do_channel(task, op, RN_NOW);
        break;
    case OP_TIMED_RECV:
        do_channel(task, op, rn_after(op->b));
        break;
    case OP_SELECT:
        do_select(task);
        break;
    case OP_CHOOSE:
        learn(task, rn_sim_choose(2));
        break;
    case OP_BLOCK:
        rn_yield();
        rn_sim_atomic_begin();
        if (rn_atomic_load(&cell[0]) == 0)
            rn_atomic_store(&cell[1], op->b);
        else
            learn(task, rn_atomic_load(&cell[1]));
        rn_sim_atomic_end();
        break;
    case OP_SLEEP:
        learn(task, rn_sleep(op->b));
        break;
    default:
        do_more(task, op);
    }
}

static int
task_main(void *arg)
{
    int task = (int)((struct op(*)[OPS])arg - program.op);
    for (int i = 0; i < program.ops; i++)
        do_op(task, &program.op[task][i]);
    return 0;
}

static int
run_program(void *arg)
{
    static const rn_atomic zero;
    static const rn_mutex free_mutex;
    static const rn_rwmutex free_rwmutex;
    static const rn_cond no_cond;
    static const rn_waitgroup no_group;
    rn_scope *scope;
    (void)arg;
    for (int i = 0; i < CELLS; i++)
        cell[i] = zero;
    for (int i = 0; i < LOCKS; i++)
        lock[i] = free_mutex;
    rwlock = free_rwmutex;
    cond = no_cond;
    group = no_group;
    memset(count, 0, sizeof count);
    static const rn_once never;
    static const rn_sema two = RN_SEMA_INIT(2);
    static const rn_barrier pair = RN_BARRIER_INIT(2);
    int64_t one = 1;
    once = never;
    sema = two;
    barrier = pair;
    if (rn_future_new(sizeof(int64_t), &promise, &future) < 0 ||
        rn_tvar_new(sizeof one, &one, &tvar[0]) < 0 ||
        rn_tvar_new(sizeof one, &one, &tvar[1]) < 0)
        return -1;
    if (program.group)
        rn_waitgroup_add(&group, program.group);
    for (int i = 0; i < CHANS; i++)
        if (rn_chan_new(sizeof(int), (size_t)program.capacity[i], &chan[i]) < 0)
            return -1;
    if (rn_scope_open(RN_NEVER, &scope) < 0)
        return -1;
    root = scope;
    for (int i = 0; i < program.tasks; i++)
        if (rn_go(scope, task_main, program.op[i]) < 0)
            break; /* it is cancelled */
    rn_scope_close(scope);
    return 0;
}

static void
make_program(uint64_t seed, int kinds, int tasks, int ops)
{
    uint64_t prng = seed;
    program.tasks = tasks;
    program.ops = ops;
    program.group = 0;
    for (int i = 0; i < CHANS; i++)
        program.capacity[i] = (int)rn__prng_below(&prng, 3);
    /* A few kinds at a time meet more often. */
    enum kind some[3];
    for (int i = 0; i < 3; i++)
        some[i] = (enum kind)rn__prng_below(&prng, (uint32_t)kinds);
    for (int t = 0; t < tasks; t++)
        for (int i = 0; i < ops; i++) {
            struct op *op = &program.op[t][i];
            op->kind = some[rn__prng_below(&prng, 3)];
            op->a = (int)rn__prng_below(&prng, 2);
            op->b = (int)rn__prng_below(&prng, 3);
            program.group += op->kind == OP_DONE;
        }
}

/* ---- what a run was ----------------------------------------------------- */

static uint64_t
trace_of(struct rn__depend *d)
{
    uint64_t sum = 0;
    rn__depend_close(d);
    for (uint32_t i = 0; i < d->act_count; i++) {
        const struct rn__act *act = &d->acts[i];
        const uint32_t *row = &d->rows[(size_t)d->clocks[i] * d->width];
        uint64_t past = 0;
        for (uint32_t t = 0; t < d->strand_count; t++)
            if (row[t])
                past += rn__mix64(d->strands[t].name * 31 + row[t]);
        uint64_t own = rn__mix64(act->name + act->index * 977u + act->kind);
        for (uint32_t c = 0; c < act->choices; c++)
            own = rn__mix64(own + d->choices[act->choice + c] + 1);
        sum += rn__mix64(own ^ rn__mix64(past));
    }
    return sum;
}

static uint64_t
outcome_of(const struct rn__world *world)
{
    uint64_t sum = (uint64_t)world->verdict + 1;
    for (int t = 0; t < program.tasks; t++) {
        uint64_t own = (uint64_t)count[t];
        for (int i = 0; i < count[t]; i++)
            own = rn__mix64(own + (uint64_t)seen[t][i] + 3);
        sum = rn__mix64(sum + own);
    }
    return sum;
}

/* ---- all interleavings -------------------------------------------------- */

enum { DEPTH = 512 };

static struct {
    uint32_t choice[DEPTH], width[DEPTH];
    int depth, at;
} walk;

static uint32_t
pick_walk(struct rn__world *world, const struct rn__fork *fork)
{
    (void)world;
    for (uint32_t i = 0; !fork->data && i < fork->n; i++)
        if (fork->steps[i]->kind == RN__NONE)
            return i;
    if (walk.at >= DEPTH)
        return 0;
    if (walk.at == walk.depth)
        walk.choice[walk.depth++] = 0;
    walk.width[walk.at] = fork->n;
    return walk.choice[walk.at++];
}

static bool
step_walk(void)
{
    while (walk.depth > 0 &&
           walk.choice[walk.depth - 1] + 1 == walk.width[walk.depth - 1])
        walk.depth--;
    if (walk.depth == 0)
        return false;
    walk.choice[walk.depth - 1]++;
    return true;
}

static const struct rn__strategy all_interleavings = {
    .name = "default", .looks = true, .acts = true, .pick = pick_walk};

struct found {
    struct rn__distinct traces, outcomes;
    uint64_t runs;
};

static void
note(struct rn__world *world, struct found *found, bool *is_new)
{
    bool fresh = rn__distinct_add(&found->traces, trace_of(world->depend));
    rn__distinct_add(&found->outcomes, outcome_of(world));
    found->runs++;
    if (is_new)
        *is_new = fresh;
}

static bool
walk_all(struct rn__world *world, struct found *found)
{
    struct rn__plan plan = {.strategy = &all_interleavings};
    walk.depth = 0;
    do {
        walk.at = 0;
        rn__world_plan(world, &plan);
        rn__world_run(world, run_program, NULL);
        note(world, found, NULL);
    } while (step_walk() && found->runs < RUNS_MAX);
    return found->runs < RUNS_MAX;
}

static uint64_t
reduce_all(struct rn__world *world, struct found *found)
{
    struct rn__searcher s;
    struct rn__plan plan;
    struct rn__log log;
    uint64_t twice = 0;
    CHECK(rn__searcher_open(&s, &rn__strategy_dpor, 0, 1) == 0);
    for (uint64_t i = 0;
         rn__searcher_plan(&s, i, &plan) == RN__PLAN_MADE && i < RUNS_MAX;
         i++) {
        bool fresh;
        rn__world_plan(world, &plan);
        rn__world_run(world, run_program, NULL);
        note(world, found, &fresh);
        twice += !fresh;
        rn__world_log(world, &log);
        rn__searcher_learn(&s, &plan, &log);
    }
    twice += s.blocked;
    rn__searcher_close(&s);
    return twice;
}

static bool
within(const struct rn__distinct *a, struct rn__distinct *b)
{
    size_t before = b->count;
    for (size_t i = 0; i < a->room; i++)
        if (a->slots[i])
            rn__distinct_add(b, a->slots[i]);
    return b->count == before;
}

static void
print_program(void)
{
    for (int t = 0; t < program.tasks; t++) {
        printf("# task %d:", t);
        for (int i = 0; i < program.ops; i++)
            printf(" %d(%d,%d)", program.op[t][i].kind, program.op[t][i].a,
                   program.op[t][i].b);
        printf("\n");
    }
    printf("# capacities %d %d\n", program.capacity[0], program.capacity[1]);
}

static bool
compare(struct rn__world *world, uint64_t seed, uint64_t *runs)
{
    struct found all = {.runs = 0}, some = {.runs = 0};
    bool ok = true;
    if (walk_all(world, &all)) {
        uint64_t twice = reduce_all(world, &some);
        bool missed = !within(&all.traces, &some.traces);
        bool more = !within(&some.traces, &all.traces);
        bool wrong = !within(&all.outcomes, &some.outcomes);
        ok = !twice && !missed && !more && !wrong;
        if (!ok) {
            printf("# program %llu: %zu traces in %llu runs; reduced %llu; "
                   "twice %llu%s%s%s\n",
                   (unsigned long long)seed, all.traces.count,
                   (unsigned long long)all.runs, (unsigned long long)some.runs,
                   (unsigned long long)twice, missed ? " MISSED" : "",
                   more ? " MORE" : "", wrong ? " WRONG" : "");
            print_program();
            fflush(stdout);
        }
        *runs += some.runs;
    }
    free(all.traces.slots);
    free(all.outcomes.slots);
    free(some.traces.slots);
    free(some.outcomes.slots);
    return ok;
}

static void
referee(int kinds, int tasks, int ops, int programs)
{
    struct rn__world *world;
    char *why = NULL;
    uint64_t runs = 0;
    int bad = 0;
    rn_sim_options options = {
        .max_bytes = 1 << 22, .max_steps = 1000, .flags = RN_SIM_LEAKS_OK};
    CHECK(rn__world_open(&options, &world, &why) == 0);
    /* Other programs than those, for longer: TEST_PROGRAM=FIRST. */
    const char *first = getenv("TEST_PROGRAM");
    const char *many = getenv("TEST_PROGRAMS");
    uint64_t start = first ? strtoull(first, NULL, 10) : 1;
    if (many)
        programs = atoi(many);
    for (int i = 0; i < programs; i++) {
        uint64_t seed = start + (uint64_t)i;
        make_program(seed, kinds, tasks, ops);
        bad += !compare(world, seed, &runs);
    }
    rn__world_close(world);
    if (bad)
        printf("# %d of %d programs are wrong\n", bad, programs);
    CHECK(bad == 0);
}

TEST(dpor_two_tasks_each_trace_once)
{
    referee(OP_KINDS, 2, 3, 300);
}

TEST(dpor_three_tasks_each_trace_once)
{
    referee(OP_KINDS, 3, 2, 200);
}

TEST(dpor_timers_each_trace_once)
{
    referee(OP_TIMED_KINDS, 2, 3, 200);
}

TEST(dpor_cancels_each_trace_once)
{
    referee(OP_CANCEL_KINDS, 2, 2, 300);
}
