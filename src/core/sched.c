/* core/sched.c - which task runs next on a worker, and the switch to it.
 *
 * A context that is being left cannot be queued before it has been left:
 * another worker might enter it at once. So what is to be done with it (park,
 * queue again, give its stack back) is noted in worker->after and done by
 * whoever arrives at the other end of the switch (rn__sched_arrived).
 * INVARIANT: after every return from rn__ctx_switch to a task's or a worker's
 * context comes rn__sched_arrived, before anything else.
 *
 * A world with an env has one worker, chooses through env->next, and settles a
 * parked task before choosing, because that very task may be the next one.
 *
 * Refused: a trip through the idle context for each switch (twice the cost).
 */
#include "core/core.h"

#include <string.h>

enum {
    SLOT_BUDGET = 16, /* times in a row a woken task may jump the queue */
    LOOK_PERIOD = 31  /* rounds between looks at the clock and the global
                         queue while there is work here */
};

/* ---- the slot ----------------------------------------------------------- */

/* The owner swaps the slot at each wake-up, a thief robs it hardly ever (of a
 * worker whose task does not yield). So the owner says busy, passes a light
 * fence and looks for a claim; the thief claims, passes a heavy fence and
 * looks for busy. Whoever sees the other gives way: the thief for good, the
 * owner until the claim is gone. */
static struct rn__task *
swap_slot(struct rn__worker *worker, struct rn__task *task)
{
    bool alone = rn__alone();
    if (!alone) {
        atomic_store_explicit(&worker->slot_busy, 1, memory_order_relaxed);
        rn__fence_light();
        /* acquire: what the thief has taken is gone */
        while (rn__unlikely(atomic_load_explicit(&worker->slot_claim.held,
                                                 memory_order_acquire)))
            rn__os_relax();
    }
    struct rn__task *old =
        atomic_load_explicit(&worker->slot, memory_order_relaxed);
    atomic_store_explicit(&worker->slot, task, memory_order_relaxed);
    if (!alone) /* release: the slot as it is now */
        atomic_store_explicit(&worker->slot_busy, 0, memory_order_release);
    return old;
}

struct rn__task *
rn__sched_rob(struct rn__worker *victim)
{
    struct rn__task *task = NULL;
    if (!atomic_load_explicit(&victim->slot, memory_order_relaxed) ||
        !rn__trylock(&victim->slot_claim))
        return NULL;
    rn__os_fence_all();
    /* acquire: partners with the owner's release */
    if (!atomic_load_explicit(&victim->slot_busy, memory_order_acquire)) {
        task = atomic_load_explicit(&victim->slot, memory_order_relaxed);
        atomic_store_explicit(&victim->slot, NULL, memory_order_relaxed);
    }
    rn__unlock(&victim->slot_claim);
    return task;
}

/* ---- queueing ----------------------------------------------------------- */

/* Only bother others if there is more to run than what runs next here. */
static void
offer(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    if (rn__alone())
        return;
    /* After the store that published the task; partners with the heavy fence
     * between a sleeper's count and its last look (worker.c). */
    rn__fence_light();
    if (atomic_load_explicit(&rt->asleep, memory_order_relaxed) > 0 &&
        atomic_load_explicit(&rt->searching, memory_order_relaxed) == 0)
        rn__worker_wake_one(rt);
}

static void
inject(struct rn__rt *rt, struct rn__task *task)
{
    task->next = NULL;
    rn__lock(&rt->lock);
    *rt->injected_end = task;
    rt->injected_end = &task->next;
    /* published by this; the fence in offer puts it before the look there */
    atomic_fetch_add(&rt->injected_count, 1);
    rn__unlock(&rt->lock);
}

static struct rn__task *
take_injected(struct rn__rt *rt)
{
    if (atomic_load(&rt->injected_count) == 0)
        return NULL;
    rn__lock(&rt->lock);
    struct rn__task *task = rt->injected;
    if (task) {
        rt->injected = task->next;
        if (!rt->injected)
            rt->injected_end = &rt->injected;
        atomic_fetch_sub(&rt->injected_count, 1);
    }
    rn__unlock(&rt->lock);
    return task;
}

static void
enqueue(struct rn__worker *worker, struct rn__task *task)
{
    if (!rn__runq_put(&worker->queue, task))
        inject(worker->rt, task);
    offer(worker);
}

void
rn__sched_ready(struct rn__task *task)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__rt *rt = worker->rt;
    rn__count(worker, wakes);
    if (rn__unlikely(rt->env)) {
        rt->env->ready(rt, task);
        return;
    }
    struct rn__task *old = swap_slot(worker, task);
    if (old)
        enqueue(worker, old);
}

/* ---- choosing ----------------------------------------------------------- */

static void
look_at_clock(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    worker->clock = rn__os_now();
    size_t fired = rn__timers_run(rt, worker->clock);
    if (fired)
        atomic_fetch_add_explicit(&worker->count.timers, fired,
                                  memory_order_relaxed);
}

/* Now and then, however much there is to do here. */
__attribute__((noinline)) static struct rn__task *
look_around(struct rn__worker *worker)
{
    worker->rounds = LOOK_PERIOD;
    look_at_clock(worker);
    return take_injected(worker->rt);
}

static struct rn__task *
take_slot(struct rn__worker *worker)
{
    if (!atomic_load_explicit(&worker->slot, memory_order_relaxed))
        return NULL;
    struct rn__task *task = swap_slot(worker, NULL);
    if (!task)
        return NULL;
    if (++worker->slot_run <= SLOT_BUDGET || rn__runq_empty(&worker->queue))
        return task;
    worker->slot_run = 0;
    struct rn__task *first = rn__runq_take(&worker->queue);
    if (!first)
        return task;
    enqueue(worker, task);
    return first;
}

struct rn__task *
rn__sched_local(struct rn__worker *worker)
{
    struct rn__task *task = NULL;
    if (rn__unlikely(worker->rounds-- == 0))
        task = look_around(worker);
    if (!task)
        task = take_slot(worker);
    if (task)
        return task;
    worker->slot_run = 0;
    task = rn__runq_take(&worker->queue);
    return task ? task : take_injected(worker->rt);
}

static struct rn__task *
choose_next(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    return rn__unlikely(rt->env) ? rt->env->next(rt) : rn__sched_local(worker);
}

/* ---- stacks ------------------------------------------------------------- */

static void
stack_main(void *arg)
{
    struct rn__stack *stack = arg;
    rn__sched_arrived();
    for (;;) {
        rn__task_run(stack->task);
        rn__sched_end(stack);
    }
}

static struct rn__stack *
stack_make(struct rn__rt *rt)
{
    size_t bytes;
    char *low = rn__stack_get(&rt->pool, &bytes);
    if (!low)
        return NULL;
    uintptr_t top = (uintptr_t)low + bytes - sizeof(struct rn__stack);
    struct rn__stack *stack = (struct rn__stack *)(top & ~(uintptr_t)63);
    memset(stack, 0, sizeof *stack);
    stack->low = low;
    if (rn__ctx_make(&stack->ctx, low, (size_t)((char *)stack - low),
                     stack_main, stack) == 0)
        return stack;
    rn__stack_put(&rt->pool, low);
    return NULL;
}

int
rn__stack_reset(struct rn__stack *stack)
{
    rn__ctx_fini(&stack->ctx);
    return rn__ctx_make(&stack->ctx, stack->low,
                        (size_t)((char *)stack - (char *)stack->low),
                        stack_main, stack);
}

enum { STACKS_KEPT = 64 };

struct rn__stack *
rn__stack_take(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    struct rn__stack *stack = worker->stacks;
    if (stack) {
        worker->stacks = stack->next;
        worker->stack_count--;
        return stack;
    }
    rn__lock(&rt->lock);
    stack = rt->stacks;
    if (stack)
        rt->stacks = stack->next;
    rn__unlock(&rt->lock);
    return stack ? stack : stack_make(rt);
}

void
rn__stack_give(struct rn__worker *worker, struct rn__stack *stack)
{
    struct rn__rt *rt = worker->rt;
    stack->task = NULL;
    if (worker->stack_count < STACKS_KEPT) {
        stack->next = worker->stacks;
        worker->stacks = stack;
        worker->stack_count++;
        return;
    }
    rn__lock(&rt->lock);
    stack->next = rt->stacks;
    rt->stacks = stack;
    rn__unlock(&rt->lock);
}

/* There is no memory for a stack: the task stays ready and is tried again
 * when a stack becomes free, or when there is nothing else to do. */
static void
starve(struct rn__rt *rt, struct rn__task *task)
{
    rn__lock(&rt->lock);
    task->next = rt->starved;
    rt->starved = task;
    atomic_fetch_add(&rt->starved_count, 1);
    rn__unlock(&rt->lock);
}

struct rn__task *
rn__sched_starved(struct rn__rt *rt)
{
    if (rn__likely(atomic_load(&rt->starved_count) == 0))
        return NULL;
    rn__lock(&rt->lock);
    struct rn__task *task = rt->starved;
    if (task) {
        rt->starved = task->next;
        atomic_fetch_sub(&rt->starved_count, 1);
    }
    rn__unlock(&rt->lock);
    return task;
}

/* ---- switching ---------------------------------------------------------- */

void
rn__sched_arrived(void)
{
    struct rn__worker *worker = rn__worker_self();
    enum rn__after after = worker->after;
    worker->after = RN__AFTER_NOTHING;
    rn__perturb();
    if (after == RN__AFTER_PARK)
        rn__wait_parked(worker->left);
    else if (after == RN__AFTER_YIELD && /* wakes nobody: it just ran */
             !rn__runq_put(&worker->queue, worker->left))
        inject(worker->rt, worker->left);
    else if (after == RN__AFTER_END)
        rn__stack_give(worker, worker->left_stack);
}

static void
check_canary(struct rn__rt *rt, struct rn__task *self)
{
    if (rn__unlikely(rn__stack_watched(&rt->pool)) &&
        !rn__stack_intact(&rt->pool, self->stack->low))
        rn__panic_at(NULL,
                     "stack overflow in task \"%s\": more than %zu bytes; "
                     "raise rn_options.stack_bytes",
                     self->name, rt->pool.stack_bytes);
}

/* False: the task starves. */
static bool
give_stack(struct rn__worker *worker, struct rn__task *task)
{
    if (rn__likely(task->stack))
        return true;
    task->stack = rn__stack_take(worker);
    if (rn__unlikely(!task->stack)) {
        starve(worker->rt, task);
        return false;
    }
    task->stack->task = task;
    return true;
}

struct rn__task *
rn__sched_feed(struct rn__worker *worker)
{
    struct rn__task *task = rn__sched_starved(worker->rt);
    return task && give_stack(worker, task) ? task : NULL;
}

static void
set_current(struct rn__worker *worker, struct rn__task *task)
{
    atomic_store_explicit(&worker->current, task, memory_order_relaxed);
}

/* Leave from for next, which has or gets a stack, or for the idle context. */
static void
leave(struct rn__worker *worker, struct rn__ctx *from, struct rn__task *next)
{
    struct rn__ctx *to = &worker->idle;
    if (next && !give_stack(worker, next))
        next = NULL;
    set_current(worker, next);
    if (next) {
        to = &next->stack->ctx;
        rn__count(worker, switches);
    }
    rn__ctx_switch(from, to);
}

/* Back on self's stack, or called there to do something (poke). */
static void
leave_task(struct rn__worker *worker, struct rn__task *self,
           struct rn__task *next)
{
    check_canary(worker->rt, self);
    leave(worker, &self->stack->ctx, next);
    while (rn__unlikely(self->poke != NULL)) {
        self->poke(self->poke_arg);
        self->poke = NULL;
        rn__ctx_switch(&self->stack->ctx, &rn__worker_self()->idle);
    }
    rn__sched_arrived();
}

void
rn__sched_poke(struct rn__task *task, void (*fn)(void *), void *arg)
{
    task->poke = fn;
    task->poke_arg = arg;
    rn__ctx_switch(&rn__worker_self()->idle, &task->stack->ctx);
}

void
rn__sched_park(struct rn__task *self)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__rt *rt = worker->rt;
    struct rn__task *next;
    if (!rt->env && rn__wait_fired(self))
        return;
    rn__count(worker, parks);
    atomic_store_explicit(&self->info.since, worker->clock,
                          memory_order_relaxed);
    if (rt->env) {
        rn__note_slow(RN__BLOCK, NULL, self->info.site);
        rn__wait_parked(self);
        next = rt->env->next(rt);
        if (next == self)
            return;
    } else {
        next = rn__sched_local(worker);
        worker->after = RN__AFTER_PARK;
        worker->left = self;
    }
    leave_task(worker, self, next);
}

void
rn__sched_yield(struct rn__task *self)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__task *next = rn__sched_local(worker);
    if (!next)
        return;
    worker->after = RN__AFTER_YIELD;
    worker->left = self;
    leave_task(worker, self, next);
}

void
rn__sched_switch(struct rn__task *self, struct rn__task *next)
{
    leave_task(rn__worker_self(), self, next);
}

void
rn__sched_end(struct rn__stack *stack)
{
    struct rn__worker *worker = rn__worker_self();
    set_current(worker, NULL);
    struct rn__task *next = rn__sched_starved(worker->rt);
    if (!next)
        next = choose_next(worker);
    if (next && !next->stack) { /* it starts right here */
        next->stack = stack;
        stack->task = next;
        set_current(worker, next);
        rn__count(worker, switches);
        return;
    }
    worker->after = RN__AFTER_END;
    worker->left_stack = stack;
    leave(worker, &stack->ctx, next);
    rn__sched_arrived();
}

void
rn__sched_enter(struct rn__worker *worker, struct rn__task *task)
{
    if (!give_stack(worker, task))
        return; /* a switch from here to here would lose the context */
    leave(worker, &worker->idle, task);
    rn__sched_arrived();
}
