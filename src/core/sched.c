/* core/sched.c - which task runs next on a worker, and the switch to it.
 *
 * A task may be queued, and taken by another worker, while the worker it ran on
 * is still leaving it. So a stack says when it has been left: whoever leaves
 * sets worker->left, and who arrives at the other end of the switch publishes
 * stack->away (rn__sched_arrived). A stack that is not away is not entered: the
 * worker goes to its idle context (leaving its own stack first, or two workers
 * could wait for each other) and waits there, a few instructions at most.
 * INVARIANT: after every return from rn__ctx_switch to a task's or a worker's
 * context comes rn__sched_arrived, before anything else.
 *
 * PACE: to wake a sleeping worker costs the waker 5 to 30 us, hundreds of small
 * tasks. So each worker measures how long a task runs between two switches, at
 * its looks at the clock, and wakes another only when what it has queued is
 * worth more than that (WAKE_WORTH). Tasks that run long are shared at once,
 * tiny ones stay. A guess that is wrong, because the task that runs now does
 * not yield, is put right by the monitor (monitor.c).
 *
 * A world with an env has one worker and chooses through env->next.
 *
 * Refused: a trip through the idle context for each switch (twice the cost);
 * to queue a task only once it has been left, with a compare-and-swap at each
 * park.
 */
#include "core/core.h"

#include <string.h>

enum {
    SLOT_BUDGET = 16,   /* times in a row a woken task may jump the queue */
    DEPTH_BUDGET = 256, /* times in a row a newer task begins before an older */
    FRESH_BUDGET = 16,  /* times in a row woken tasks go before fresh ones */
    LOOK_MAX = 128      /* most rounds between looks at the clock and the global
                         queue while there is work here */
};
#define LOOK_TIME 20000 /* ns between these looks, if a task runs long */

/* ---- queueing ----------------------------------------------------------- */

static void
inject(struct rn__rt *rt, struct rn__task *task)
{
    task->next = NULL;
    rn__lock(&rt->lock);
    *rt->injected_end = task;
    rt->injected_end = &task->next;
    /* seq_cst: partners with the last look of who falls asleep (worker.c) */
    atomic_fetch_add(&rt->injected_count, 1);
    rn__unlock(&rt->lock);
}

static struct rn__task *
take_injected(struct rn__rt *rt)
{
    if (rn__likely(atomic_load(&rt->injected_count) == 0))
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

/* The ring is full, and we are inside its queue. */
__attribute__((noinline)) static void
push_slowly(struct rn__rt *rt, struct rn__ring *ring, struct rn__task *task)
{
    size_t room = ring->room ? 2 * (size_t)ring->room : RN__RING_FIRST;
    struct rn__task **tasks =
        room < UINT32_MAX ? rn__alloc(rt, room * sizeof *tasks) : NULL;
    if (!tasks) {
        inject(rt, task);
        return;
    }
    rn__free(rt, rn__ring_grow(ring, tasks));
    rn__ring_push(ring, task);
}

/* Inside the queue: behind all others of its ring. */
static inline void
push(struct rn__worker *worker, struct rn__task *task)
{
    struct rn__runq *q = &worker->queue;
    struct rn__ring *ring = task->stack ? &q->woken : &q->fresh;
    if (rn__unlikely(!rn__ring_push(ring, task)))
        push_slowly(worker->rt, ring, task);
}

/* Tell others if what waits here is worth a wake-up. */
static inline void
offer(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    const struct rn__runq *q = &worker->queue;
    uint32_t length = rn__ring_length(&q->woken);
    if (rn__moves_fresh(worker))
        length += rn__ring_length(&q->fresh);
    if (rn__likely(length < worker->pace.wake_at))
        return;
    /* relaxed: nothing is lost if we see a sleeper late, see PACE */
    if (atomic_load_explicit(&rt->asleep, memory_order_relaxed) > 0 &&
        atomic_load_explicit(&rt->searching, memory_order_relaxed) == 0)
        rn__worker_wake_one(rt);
}

void
rn__sched_ready(struct rn__task *task)
{
    struct rn__worker *worker = rn__worker_self();
    rn__count(worker, wakes);
    if (rn__unlikely(worker->rt->env)) {
        worker->rt->env->ready(worker->rt, task);
        return;
    }
    rn__runq_enter(&worker->queue);
    struct rn__task *old = rn__runq_swap(&worker->queue, task);
    if (old)
        push(worker, old);
    rn__runq_leave(&worker->queue);
    if (old)
        offer(worker);
}

void
rn__sched_offer(struct rn__task *task)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__rt *rt = worker->rt;
    rn__count(worker, wakes);
    if (rn__unlikely(rt->env)) {
        rt->env->ready(rt, task);
        return;
    }
    inject(rt, task);
    /* relaxed: as in offer; who searches looks at what is injected */
    if (atomic_load_explicit(&rt->asleep, memory_order_relaxed) > 0 &&
        atomic_load_explicit(&rt->searching, memory_order_relaxed) == 0)
        rn__worker_wake_one(rt);
}

void
rn__sched_adopt(struct rn__worker *worker, struct rn__task **tasks,
                uint32_t count)
{
    rn__runq_enter(&worker->queue);
    for (uint32_t i = 0; i < count; i++)
        push(worker, tasks[i]);
    rn__runq_leave(&worker->queue);
}

/* ---- choosing ----------------------------------------------------------- */

static uint32_t
limit(rn_time value, uint32_t most)
{
    return value < 1 ? 1 : value > most ? most : (uint32_t)value;
}

void
rn__sched_set_pace(struct rn__worker *worker, rn_time pace)
{
    uint32_t ns = limit(pace, UINT32_MAX);
    /* relaxed: a guess, also for thieves */
    atomic_store_explicit(&worker->pace.ns, ns, memory_order_relaxed);
    worker->pace.given = limit(LOOK_TIME / ns, LOOK_MAX);
    atomic_store_explicit(&worker->pace.rounds, worker->pace.given,
                          memory_order_relaxed);
    worker->pace.wake_at = worker->rt->worker_count > 1
                               ? limit(RN__WAKE_WORTH / ns, UINT32_MAX)
                               : UINT32_MAX;
}

/* What is left of the rounds. A monitor that wants a look stores 1; should that
 * be lost here it does so again. Relaxed: nothing hangs on it. */
static inline uint32_t
count_round(struct rn__worker *worker, int by)
{
    uint32_t left =
        atomic_load_explicit(&worker->pace.rounds, memory_order_relaxed);
    if (by == 0)
        return left;
    left += (uint32_t)by;
    atomic_store_explicit(&worker->pace.rounds, left, memory_order_relaxed);
    return left;
}

void
rn__sched_measure(struct rn__worker *worker, rn_time now)
{
    const struct rn__counters *c = &worker->count;
    /* By what has run, not by rounds: a monitor may have taken some away. */
    uint64_t ran = atomic_load_explicit(&c->switches, memory_order_relaxed) +
                   atomic_load_explicit(&c->passes, memory_order_relaxed);
    uint64_t used = ran - worker->pace.ran;
    worker->pace.ran = ran;
    if (used == 0) {
        atomic_store_explicit(&worker->pace.rounds, worker->pace.given,
                              memory_order_relaxed);
        return;
    }
    /* The smaller of two: the kernel may have run others in between. */
    rn_time pace = (now - worker->clock) / (rn_time)used;
    rn__sched_set_pace(
        worker, pace < worker->pace.measured ? pace : worker->pace.measured);
    worker->pace.measured = pace;
}

/* Now and then, however much there is to do here. */
__attribute__((noinline)) static struct rn__task *
look_around(struct rn__worker *worker)
{
    rn_time now = rn__os_now();
    rn__sched_measure(worker, now);
    rn__outside_take(worker->rt);
    rn__timers_look(worker, now);
    offer(worker);
    rn__spare_trim(worker);
    return take_injected(worker->rt);
}

/* Inside the queue, something fresh is there and nothing else, or it has been
 * passed over for long: the newest, or then the oldest. */
static inline struct rn__task *
take_fresh(struct rn__worker *worker)
{
    struct rn__ring *fresh = &worker->queue.fresh;
    bool overdue = worker->fresh_run >= FRESH_BUDGET;
    worker->fresh_run = 0;
    if (!overdue && ++worker->fresh_deep < DEPTH_BUDGET)
        return rn__ring_pop(fresh);
    worker->fresh_deep = 0;
    return rn__ring_shift(fresh);
}

/* Inside the queue: the first one woken; there is one. With many waiting their
 * records and stacks may be cold: fetch those of the next few, each once what
 * leads to it has come (100,000 that yield: 360 ns without, 170 with). */
static inline struct rn__task *
take_woken(struct rn__worker *worker)
{
    enum { MANY = 16, RECORD = 12, CONTEXT = 8, REGISTERS = 4 };
    struct rn__ring *ring = &worker->queue.woken;
    if (rn__ring_length(ring) >= MANY) {
        rn__prefetch(&rn__ring_peek(ring, RECORD)->stack);
        rn__prefetch(&rn__ring_peek(ring, CONTEXT)->stack->ctx);
        const struct rn__stack *stack = rn__ring_peek(ring, REGISTERS)->stack;
        uintptr_t sp = (uintptr_t)stack->ctx.sp;
        rn__prefetch((void *)sp);
        rn__prefetch((void *)(sp + 64));
    }
    return rn__ring_shift(ring);
}

/* Inside the queue. */
static inline struct rn__task *
take(struct rn__worker *worker)
{
    struct rn__runq *q = &worker->queue;
    struct rn__task *task =
        atomic_load_explicit(&q->slot, memory_order_relaxed);
    bool woken = rn__ring_length(&q->woken) > 0;
    bool fresh = rn__ring_length(&q->fresh) > 0;
    if (rn__unlikely(fresh) &&
        (++worker->fresh_run >= FRESH_BUDGET || (!task && !woken)))
        return take_fresh(worker);
    if (task && (!woken || ++worker->slot_run <= SLOT_BUDGET)) {
        rn__runq_swap(q, NULL);
        return task;
    }
    worker->slot_run = 0;
    return woken ? take_woken(worker) : NULL;
}

/* It is time to look around, or there is nothing here. */
__attribute__((noinline)) static struct rn__task *
take_slowly(struct rn__worker *worker)
{
    struct rn__task *task = NULL;
    if (count_round(worker, 0) == 0)
        task = look_around(worker);
    if (task)
        return task;
    rn__runq_enter(&worker->queue);
    task = take(worker);
    rn__runq_leave(&worker->queue);
    return task ? task : take_injected(worker->rt);
}

static inline struct rn__task *
take_next(struct rn__worker *worker)
{
    if (rn__unlikely(count_round(worker, -1) == 0))
        return take_slowly(worker);
    rn__runq_enter(&worker->queue);
    struct rn__task *task = take(worker);
    rn__runq_leave(&worker->queue);
    if (rn__likely(task != NULL))
        return task;
    count_round(worker, 1);
    return take_slowly(worker);
}

struct rn__task *
rn__sched_local(struct rn__worker *worker)
{
    return take_next(worker);
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
    stack->watched = rn__stack_watched(&rt->pool);
    atomic_store_explicit(&stack->away, true, memory_order_relaxed);
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

static inline void
take_kept(struct rn__worker *worker, struct rn__stack *stack)
{
    worker->stacks = stack->next;
    worker->stack_count--;
    rn__prefetch(stack->next);
}

static inline bool
keep(struct rn__worker *worker, struct rn__stack *stack)
{
    if (rn__unlikely(worker->stack_count >= STACKS_KEPT))
        return false;
    stack->task = NULL;
    stack->next = worker->stacks;
    worker->stacks = stack;
    worker->stack_count++;
    return true;
}

struct rn__stack *
rn__stack_take(struct rn__worker *worker)
{
    struct rn__stack *stack = worker->stacks;
    if (stack) {
        take_kept(worker, stack);
        return stack;
    }
    stack = rn__spare_take(worker->rt);
    return stack ? stack : stack_make(worker->rt);
}

void
rn__stack_give(struct rn__worker *worker, struct rn__stack *stack)
{
    stack->ended = false;
    if (keep(worker, stack))
        return;
    stack->task = NULL;
    rn__spare_give(worker, stack);
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

/* There is something else to do than to say that the stack left is away. */
__attribute__((noinline)) static void
arrive_oddly(struct rn__worker *worker)
{
    struct rn__stack *left = worker->left;
    if (left) { /* its task has ended */
        atomic_store_explicit(&left->away, true, memory_order_relaxed);
        rn__stack_give(worker, left);
        return;
    }
    struct rn__task *self = rn__current(worker); /* called to do something */
    worker->poke(worker->poke_arg);
    rn__ctx_switch(&self->stack->ctx, &worker->idle.ctx);
    rn__sched_arrived();
}

static inline void
arrive(void)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__stack *left = worker->left;
    rn__perturb();
    if (rn__unlikely(!left || left->ended))
        arrive_oddly(worker);
    else /* release: the saved context; partners with may_enter */
        atomic_store_explicit(&left->away, true, memory_order_release);
}

static bool
may_enter(const struct rn__stack *stack)
{
    /* acquire: the context as it was saved; partners with arrive */
    return atomic_load_explicit(&stack->away, memory_order_acquire);
}

__attribute__((noinline)) static void
check_canary(struct rn__rt *rt, struct rn__task *self)
{
    if (!rn__stack_intact(&rt->pool, self->stack->low))
        rn__panic_at(NULL,
                     "stack overflow in task \"%s\": more than %zu bytes; "
                     "raise rn_options.stack_bytes",
                     rn__task_name(self), rt->pool.stack_bytes);
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

static inline void
set_current(struct rn__worker *worker, struct rn__task *task)
{
    atomic_store_explicit(&worker->current, task, memory_order_relaxed);
}

static inline void
go(struct rn__worker *worker, struct rn__stack *from, struct rn__stack *to)
{
    /* relaxed: whoever enters it next has acquired it from us */
    atomic_store_explicit(&to->away, false, memory_order_relaxed);
    worker->left = from;
    rn__ctx_switch(&from->ctx, &to->ctx);
    arrive();
}

/* Next is nobody, or has no stack yet, or is just being left elsewhere. */
__attribute__((noinline)) static void
leave_oddly(struct rn__worker *worker, struct rn__stack *from,
            struct rn__task *next)
{
    if (next && !give_stack(worker, next))
        next = NULL;
    if (next && !may_enter(next->stack)) {
        worker->handed = next;
        next = NULL;
    }
    set_current(worker, next);
    if (next)
        rn__count(worker, switches);
    go(worker, from, next ? next->stack : &worker->idle);
}

/* Leave from for next, which has or gets a stack, or for the idle context. One
 * place for most switches, so that the processor guesses where they return. */
__attribute__((noinline)) static void
leave(struct rn__worker *worker, struct rn__stack *from, struct rn__task *next)
{
    struct rn__stack *to = next ? next->stack : NULL;
    if (next && !to && (to = worker->stacks)) { /* it begins */
        take_kept(worker, to);
        next->stack = to;
        to->task = next;
    }
    if (rn__unlikely(!to || !may_enter(to))) {
        leave_oddly(worker, from, next);
        return;
    }
    set_current(worker, next);
    rn__count(worker, switches);
    go(worker, from, to);
}

void
rn__sched_arrived(void)
{
    arrive();
}

void
rn__sched_poke(struct rn__task *task, void (*fn)(void *), void *arg)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__task *before = rn__current(worker);
    worker->poke = fn;
    worker->poke_arg = arg;
    set_current(worker, task);
    worker->left = NULL;
    rn__ctx_switch(&worker->idle.ctx, &task->stack->ctx);
    set_current(worker, before);
}

static inline void
leave_task(struct rn__worker *worker, struct rn__task *self,
           struct rn__task *next)
{
    if (rn__unlikely(self->stack->watched))
        check_canary(worker->rt, self);
    leave(worker, self->stack, next);
}

void
rn__sched_park(struct rn__task *self)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__task *next;
    rn__count(worker, parks);
    atomic_store_explicit(&self->info.since, worker->clock,
                          memory_order_relaxed);
    if (rn__unlikely(worker->rt->env)) {
        rn__note_slow(RN__BLOCK, NULL, self->info.site);
        next = worker->rt->env->next(worker->rt);
    } else {
        next = take_next(worker);
    }
    if (rn__unlikely(next == self)) /* it was fired meanwhile */
        return;
    leave_task(worker, self, next);
}

__attribute__((noinline)) static void
yield_slowly(struct rn__worker *worker, struct rn__task *self)
{
    struct rn__task *next = take_slowly(worker);
    if (!next) {
        rn__count(worker, passes);
        return;
    }
    rn__runq_enter(&worker->queue);
    push(worker, self); /* wakes nobody: it just ran */
    rn__runq_leave(&worker->queue);
    leave_task(worker, self, next);
}

void
rn__sched_yield(struct rn__task *self)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__runq *q = &worker->queue;
    if (rn__unlikely(count_round(worker, -1) == 0)) {
        yield_slowly(worker, self);
        return;
    }
    rn__runq_enter(q);
    if (rn__unlikely(rn__ring_length(&q->woken) == 0 ||
                     rn__ring_length(&q->fresh) > 0 ||
                     atomic_load_explicit(&q->slot, memory_order_relaxed))) {
        rn__runq_leave(q);
        yield_slowly(worker, self);
        return;
    }
    struct rn__task *next = take_woken(worker);
    rn__ring_push(&q->woken, self); /* there is room */
    rn__runq_leave(q);
    leave_task(worker, self, next);
}

void
rn__sched_switch(struct rn__task *self, struct rn__task *next)
{
    struct rn__worker *worker = rn__worker_self();
    leave_task(worker, self, next);
}

void
rn__sched_end(struct rn__stack *stack)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__rt *rt = worker->rt;
    struct rn__task *next = worker->heir;
    set_current(worker, NULL);
    worker->heir = NULL;
    if (rn__unlikely(
            atomic_load_explicit(&rt->starved_count, memory_order_relaxed))) {
        if (next)
            rn__sched_ready(next);
        next = rn__sched_starved(rt);
    }
    if (!next)
        next = rn__unlikely(rt->env) ? rt->env->next(rt) : take_next(worker);
    if (rn__likely(next && !next->stack)) { /* it starts right here */
        next->stack = stack;
        stack->task = next;
        set_current(worker, next);
        rn__count(worker, switches);
        return;
    }
    /* Only we take from those we keep, and not before we have left. */
    if (rn__unlikely(!keep(worker, stack)))
        stack->ended = true;
    leave(worker, stack, next);
}

void
rn__sched_enter(struct rn__worker *worker, struct rn__task *task)
{
    if (!give_stack(worker, task))
        return; /* a switch from here to here would lose the context */
    while (!may_enter(task->stack))
        rn__os_relax(); /* just being left by another worker */
    leave(worker, &worker->idle, task);
}
