/* machine.c - the runtime of machine.h, and what models need of the lower
 * layers: memory, and a clock that stands still.
 */
#include "machine.h"

static bool seen_cancelled; /* before it joined the list; when broken */

static void
list_task(struct rn__task *task)
{
    seen_cancelled = rn__cancel_near(task);
    if (!model_broken("who waits joins no list"))
        rn__scope_list(task);
}

static bool
cancel_near(const struct rn__task *self)
{
    return model_broken("who waits looks first") ? seen_cancelled
                                                 : rn__cancel_near(self);
}

#undef rn__scope_list
#define rn__scope_list list_task
#define rn__cancel_near cancel_near

#include "core/wait.c"

#undef rn__cancel_near

#include <string.h>

struct rn__rt machine;
struct rn__worker machine_workers[MODEL_THREADS];
struct rn__task machine_tasks[MODEL_THREADS];
static struct rn__stack stacks[MODEL_THREADS]; /* only looked at */

/* Whoever finds it goes on with the task. */
static _Atomic uint32_t ready[MODEL_THREADS];

static char memory[1 << 16];
static size_t memory_used;

static void
setup_task(int i)
{
    struct rn__task *task = &machine_tasks[i];
    task->rt = &machine;
    task->scope = task->home = &machine.root;
    task->stack = &stacks[i];
    task->slot = (uint32_t)i;
    task->generation = 1;
    rn__list_append(&machine.root.tasks, &task->sibling);
    task->at_home = RN__HOME_LISTED;
}

void
machine_setup(void)
{
    memory_used = 0;
    memset(&machine, 0, sizeof machine);
    memset(machine_workers, 0, sizeof machine_workers);
    memset(machine_tasks, 0, sizeof machine_tasks);
    machine.workers = machine_workers;
    machine.worker_count = MODEL_THREADS;
    machine.injected_end = &machine.injected;
    rn__scope_init(&machine.root, NULL, NULL);
    for (int i = 0; i < MODEL_THREADS; i++) {
        machine_workers[i].rt = &machine;
        machine_workers[i].index = i;
        rn__timers_init(&machine_workers[i].timers, 0);
        machine_workers[i].current = &machine_tasks[i];
        setup_task(i);
        ready[i] = 0;
        model_place("task.wait", i, &machine_tasks[i].wait,
                    sizeof machine_tasks[i].wait);
    }
    model_share_array(ready);
}

void
machine_check(void)
{
    for (int i = 0; i < MODEL_THREADS; i++)
        model_check(!ready[i]);
}

struct rn__task *
machine_self(void)
{
    return &machine_tasks[model_self()];
}

void *
model_os_self(void)
{
    return &machine_workers[model_self()];
}

void *
rn__alloc(struct rn__rt *rt, size_t bytes)
{
    char *p = memory + memory_used;
    (void)rt;
    memory_used += (bytes + 15) & ~(size_t)15;
    rn__assert(memory_used <= sizeof memory);
    return memset(p, 0, bytes);
}

void
rn__free(struct rn__rt *rt, void *p)
{
    (void)rt;
    (void)p;
}

rn_time
rn__os_now(void)
{
    return 0;
}

rn_time
rn__rt_now(struct rn__rt *rt)
{
    (void)rt;
    return 0;
}

void
rn__sched_ready(struct rn__task *task)
{
    model_check(!atomic_exchange(&ready[task - machine_tasks], 1));
}

void
rn__sched_park(struct rn__task *self)
{
    while (!atomic_load(&ready[self - machine_tasks]))
        model_pause();
    atomic_store(&ready[self - machine_tasks], 0);
}

/* ---- what is not modelled ----------------------------------------------- */

struct rn__stack *
rn__spare_take(struct rn__rt *rt)
{
    struct rn__stack *stack = rt->stacks;
    if (stack)
        rt->stacks = stack->next;
    return stack;
}

void
rn__spare_give(struct rn__worker *worker, struct rn__stack *stack)
{
    stack->next = worker->rt->stacks;
    worker->rt->stacks = stack;
}

void
rn__spare_trim(struct rn__worker *worker)
{
    (void)worker;
}

bool
rn__spare_trim_idle(struct rn__worker *worker)
{
    (void)worker;
    return false;
}

void
rn__os_set_self(void *self)
{
    (void)self;
}

void
rn__monitor_ring(struct rn__rt *rt)
{
    (void)rt;
}
