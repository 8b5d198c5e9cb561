/* Task records: the table, generations, and joins that meet ends and closes. */
#include "core_run.h"

static rn_chan *gate; /* closed to let tasks end */

static int
wait_at_gate(void *arg)
{
    rn_chan_recv(gate, NULL, RN_NEVER);
    return (int)(intptr_t)arg;
}

static rn_task
spawn(rn_scope *scope, rn_task_fn *fn, void *arg)
{
    rn_task task;
    CHECK_EQ(rn_task_spawn(scope, fn, arg, NULL, &task), 0);
    return task;
}

/* The record's own view of whether a handle is good. */
static bool
known(rn_task handle)
{
    struct rn__task *task = rn__task_find(rn__rt_self(), handle.id);
    if (!task)
        return false;
    CHECK_EQ(rn__task_handle(task).id, handle.id);
    rn__unlock(&task->lock);
    return true;
}

/* ---- the table ---------------------------------------------------------- */

enum { MANY = 2000 }; /* in seven slabs */

static rn_task handles[MANY];

static void
spawn_many(void)
{
    gate = new_chan(0, 0);
    for (int i = 0; i < MANY; i++)
        handles[i] = spawn(NULL, wait_at_gate, (void *)(intptr_t)i);
}

static void
join_many(void)
{
    rn_chan_close(gate);
    for (int i = 0; i < MANY; i++) {
        int result = -1;
        CHECK_EQ(rn_task_join(handles[i], RN_NEVER, &result), 0);
        CHECK_EQ(result, i);
    }
    rn_chan_unref(gate);
}

RUN_TEST(task_records_lie_in_slabs)
{
    static _Atomic uint8_t seen[MANY + 1];
    spawn_many();
    for (int i = 0; i < MANY; i++) {
        struct rn__task *task = rn__task_record(rn__rt_self(), handles[i].id);
        CHECK(task);
        CHECK_LE(task->slot, MANY);
        CHECK_EQ(seen[task->slot]++, 0);
        CHECK(task->arg == (void *)(intptr_t)i);
        CHECK(known(handles[i]));
    }
    CHECK_EQ(rn_task_count(), MANY + 1);
    join_many();
    return 0;
}

RUN_TEST(task_handles_of_freed_records_are_refused)
{
    static rn_task old[MANY];
    spawn_many();
    join_many();
    memcpy(old, handles, sizeof old);
    for (int i = 0; i < MANY; i++) {
        CHECK(!known(old[i]));
        CHECK_EQ(rn_task_join(old[i], RN_NEVER, NULL), -ESRCH);
    }
    uint32_t carved = atomic_load(&rn__rt_self()->carved);
    spawn_many(); /* in the same records */
    /* but for the two magazines of 256 of each worker we are not on now */
    CHECK_LE(atomic_load(&rn__rt_self()->carved), carved + 512 * (WORKERS - 1));
    for (int i = 0; i < MANY; i++) {
        CHECK(known(handles[i]));
        CHECK(!known(old[i]));
        CHECK_EQ(rn_task_join(old[i], RN_NOW, NULL), -ESRCH);
    }
    join_many();
    return 0;
}

RUN_TEST(task_handles_that_never_were_are_refused)
{
    gate = new_chan(0, 0);
    rn_task task = spawn(NULL, wait_at_gate, NULL);
    uint64_t generation = (uint64_t)1 << 32;
    CHECK(known(task));
    CHECK(!known((rn_task){0}));
    CHECK(!known((rn_task){generation}));
    CHECK(!known((rn_task){task.id + generation}));
    CHECK(!known((rn_task){task.id - generation}));
    CHECK(!known((rn_task){task.id + 1})); /* its slot was never used */
    CHECK(!known((rn_task){generation | UINT32_MAX}));
    CHECK(!known((rn_task){UINT64_MAX}));
    rn_chan_close(gate);
    return rn_task_join(task, RN_NEVER, NULL);
}

static int
nothing(void *arg)
{
    (void)arg;
    return 0;
}

RUN_TEST(task_records_are_used_again)
{
    for (int i = 0; i < 20000; i++)
        CHECK_EQ(rn_task_join(spawn(NULL, nothing, NULL), RN_NEVER, NULL), 0);
    /* two magazines of 256 of each worker we are not on, and the few in use */
    CHECK_LE(atomic_load(&rn__rt_self()->carved), 512 * (WORKERS - 1) + 16);
    return 0;
}

/* ---- joins, ends and closes at once ------------------------------------- */

enum { TASKS = 6, JOINERS = 4 };

static struct {
    rn_task tasks[TASKS];
    _Atomic long joined, gone;
} race;

static int
end_soon(void *arg)
{
    intptr_t n = (intptr_t)arg;
    for (intptr_t i = 0; i < n % 3; i++)
        rn_yield();
    return (int)n;
}

static int
join_or_select(rn_task task, uint64_t *random, int *result)
{
    rn_time deadlines[] = {RN_NEVER, RN_NOW, rn_now(), rn_now() + 1000,
                           rn_now() + 20000};
    rn_time deadline = deadlines[rn__prng_below(random, 5)];
    if (rn__prng_below(random, 2))
        return rn_task_join(task, deadline, result);
    rn_arm arms[] = {RN_ARM_JOIN(task, result), RN_ARM_NONE};
    int index = rn_select(arms, 2, 0, deadline);
    return index < 0 ? index : arms[0].result;
}

static int
join_all(void *arg)
{
    uint64_t random = (uint64_t)(uintptr_t)arg;
    uint32_t first = rn__prng_below(&random, TASKS);
    for (uint32_t i = 0; i < TASKS; i++) {
        uint32_t k = (first + i) % TASKS;
        int result = -1;
        int error = join_or_select(race.tasks[k], &random, &result);
        if (error == 0) {
            CHECK_EQ(result, k);
            atomic_fetch_add(&race.joined, 1);
        } else {
            CHECK_EQ(result, -1);
            CHECK(error == -ESRCH || error == -EAGAIN || error == -ETIMEDOUT);
            atomic_fetch_add(&race.gone, error == -ESRCH);
        }
    }
    return 0;
}

RUN_TEST(task_join_meets_end_and_close)
{
    for (long round = test_count(4000); round > 0; round--) {
        rn_scope *outer = open_scope(), *inner = open_scope();
        for (intptr_t i = 0; i < TASKS; i++)
            race.tasks[i] = spawn(inner, end_soon, (void *)i);
        for (long i = 0; i < JOINERS; i++)
            go(outer, join_all, (void *)(round * JOINERS + i));
        CHECK_EQ(rn_scope_close(inner), 0);
        for (int i = 0; i < TASKS; i++)
            CHECK_EQ(rn_task_join(race.tasks[i], RN_NOW, NULL), -ESRCH);
        CHECK_EQ(rn_scope_close(outer), 0);
    }
    CHECK_EQ(rn_task_count(), 1);
    return 0;
}

/* An ended task that was kept is taken by exactly one of many. */
static rn_task prize;

static int
take_prize(void *arg)
{
    (void)arg;
    int result = 0, error = rn_task_join(prize, RN_NEVER, &result);
    if (error == 0) {
        CHECK_EQ(result, 5);
        atomic_fetch_add(&race.joined, 1);
    } else {
        CHECK_EQ(error, -ESRCH);
    }
    return 0;
}

RUN_TEST(task_kept_result_is_taken_once)
{
    for (long round = test_count(2000); round > 0; round--) {
        atomic_store(&race.joined, 0);
        prize = spawn(NULL, end_soon, (void *)5);
        struct rn__task *task = rn__task_record(rn__rt_self(), prize.id);
        while (atomic_load(&task->state) != RN__TASK_ENDED)
            rn_yield();
        rn_scope *scope = open_scope();
        for (int i = 0; i < JOINERS; i++)
            go(scope, take_prize, NULL);
        CHECK_EQ(rn_scope_close(scope), 0);
        CHECK_EQ(race.joined, 1);
    }
    return 0;
}

/* ---- counting ----------------------------------------------------------- */

static int
spawn_and_end(void *arg)
{
    for (long i = test_count(5000); i > 0; i--)
        go((rn_scope *)arg, nothing, NULL);
    return 0;
}

/* However records come and go, the caller itself is alive. */
RUN_TEST(task_count_never_misses_the_caller)
{
    rn_scope *scope = open_scope();
    for (int i = 0; i < WORKERS; i++)
        go(scope, spawn_and_end, scope);
    size_t most = (size_t)(WORKERS * (test_count(5000) + 1) + 1);
    for (long i = test_count(200000); i > 0; i--) {
        size_t count = rn_task_count();
        CHECK_GE(count, 1);
        CHECK_LE(count, most);
    }
    CHECK_EQ(rn_scope_close(scope), 0);
    CHECK_EQ(rn_task_count(), 1);
    return 0;
}

/* ---- what others read of a task that runs (TSan tells) ------------------- */

static int
ask_for_itself(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        rn_task self = rn_task_self();
        CHECK_NE(self.id, 0);
    }
    return arg ? 1 : 0;
}

static int
try_to_join(void *arg)
{
    for (int i = 0; i < 1000; i++) {
        int error = rn_task_join(*(rn_task *)arg, RN_NOW, NULL);
        CHECK(error == -EAGAIN || error == 0 || error == -ESRCH);
    }
    return 0;
}

RUN_TEST(task_asks_for_itself_while_others_try_to_join)
{
    for (int i = 0; i < 20; i++) {
        rn_scope *scope = open_scope();
        rn_task task = spawn(scope, ask_for_itself, NULL);
        for (int k = 0; k < WORKERS; k++)
            go(scope, try_to_join, &task);
        CHECK_EQ(rn_yield(), 0);
        CHECK_EQ(rn_scope_close(scope), 0);
    }
    return 0;
}

static int
yield_once(void *arg)
{
    return arg ? 1 : rn_yield();
}

static int
open_and_close(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        rn_scope *scope = open_scope();
        for (int k = 0; k < 8; k++)
            go(scope, yield_once, NULL);
        CHECK_EQ(rn_scope_close(scope), 0);
    }
    return arg ? 1 : 0;
}

static int
dump_often(void *arg)
{
    for (int i = 0; i < 200; i++) {
        rn_task_dump(arg);
        CHECK_EQ(rn_yield(), 0);
    }
    return 0;
}

RUN_TEST(task_dump_while_records_change_hands)
{
    FILE *out = fopen("/dev/null", "w");
    CHECK(out);
    rn_scope *scope = open_scope();
    go(scope, open_and_close, NULL);
    go(scope, open_and_close, NULL);
    go(scope, dump_often, out);
    CHECK_EQ(rn_scope_close(scope), 0);
    return fclose(out);
}
