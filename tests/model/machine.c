/* machine.c - the runtime of machine.h. */
#include "machine.h"

#include "core/wait.c"

#include <string.h>

struct rn__rt machine;

static struct rn__worker workers[MODEL_THREADS];
static struct rn__task tasks[MODEL_THREADS];
/* The task has been left, and its context is saved. */
static _Atomic uint32_t left[MODEL_THREADS];
/* Whoever finds it goes on with the task. */
static _Atomic uint32_t ready[MODEL_THREADS];

void
machine_setup(void)
{
    static const char *names[] = {"A.wait", "B.wait", "C.wait", "D.wait"};
    memset(&machine, 0, sizeof machine);
    memset(workers, 0, sizeof workers);
    memset(tasks, 0, sizeof tasks);
    rn__scope_init(&machine.root, NULL, NULL);
    for (int i = 0; i < MODEL_THREADS; i++) {
        workers[i].rt = &machine;
        workers[i].current = &tasks[i];
        tasks[i].rt = &machine;
        tasks[i].scope = tasks[i].home = &machine.root;
        tasks[i].slot = (uint32_t)i;
        tasks[i].generation = 1;
        rn__list_append(&machine.root.tasks, &tasks[i].sibling);
        left[i] = ready[i] = 0;
        model_place(names[i], &tasks[i].wait, sizeof tasks[i].wait);
    }
    model_share_array(left);
    model_share_array(ready);
}

struct rn__task *
machine_task(int i)
{
    return &tasks[i];
}

struct rn__task *
machine_self(void)
{
    return &tasks[model_self()];
}

void *
model_os_self(void)
{
    return &workers[model_self()];
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
    long i = task - tasks;
    /* relaxed, both: that they are seen is up to what is modelled */
    model_check(atomic_load_explicit(&left[i], memory_order_relaxed));
    atomic_store_explicit(&left[i], 0, memory_order_relaxed);
    model_check(!atomic_exchange(&ready[i], 1));
}

void
rn__sched_park(struct rn__task *self)
{
    long i = self - tasks;
    if (rn__wait_fired(self))
        return;
    atomic_store_explicit(&left[i], 1, memory_order_relaxed);
    rn__wait_parked(self);
    while (!atomic_load(&ready[i]))
        model_pause();
    atomic_store(&ready[i], 0);
}
