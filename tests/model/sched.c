/* sched.c - the scheduler itself: run queues and their robbers, stacks that are
 * entered while they are being left, workers that fall asleep and are woken,
 * and the deadlock that is told when, and only when, it is one.
 *
 * Each thread is a worker. A task is a list of words; to switch to a context is
 * to note who is on which stack, and then the worker goes on with the list of
 * the task it has switched to. Checked: no stack is entered before it was left
 * and saved, no task is run by two or twice, and all come to their ends.
 */
#include "names.h"
/* These are the real ones here, not the machine's. */
#undef rn__sched_park
#undef rn__sched_ready
#undef rn__os_now
#define rn__sched_park sched_park
#define rn__sched_ready sched_ready
#define rn__os_now sched_now

#include "machine.h"
#include "runq.h"

/* A search looks a fixed number of times. */
#undef rn__cpu_pause
#define rn__cpu_pause() ((void)0)
/* What is waited for may not be a place of the model. */
#undef rn__os_relax
#define rn__os_relax model_yield

#include "core/outside.c"
#include "core/sched.c"
#include "core/worker.c"

enum { TASKS = MODEL_THREADS, EVENTS = 1, RING = 2 };

enum word {
    END,    /* the last task that ends stops the workers */
    WAIT,   /* for the event */
    FIRE,   /* the event */
    START,  /* another task */
    INJECT, /* another task, into the global queue */
    EXPECT, /* two items from outside */
    SPIN    /* until the event has been fired, without waiting */
};

struct step {
    enum word word;
    int task;
};

/* What each task does, to its END. */
static const struct step *programs[TASKS];
static int at[TASKS], alive;
static bool looked[MODEL_THREADS]; /* for work, and has not run any since */
static bool dead_end; /* the tasks are to end up waiting for ever */
static _Atomic int deadlocks;

/* Fired once, waited for by one task. */
static struct {
    struct rn__lock lock;
    _Atomic bool fired;
    struct rn__task *waiter;
} event;

/* A context is saved or somebody's; who is on it. */
static struct rn__stack stacks[TASKS];
static struct rn__ctx *contexts[TASKS + MODEL_THREADS];
static _Atomic int saved[TASKS + MODEL_THREADS];
static int context_count;

static int
context_of(const struct rn__ctx *ctx)
{
    int i = 0;
    while (contexts[i] != ctx)
        i++;
    return i;
}

/* In the model the caller is at once where the switch leads. */
void
rn__ctx_switch(struct rn__ctx *from, struct rn__ctx *to)
{
    /* relaxed: that it is seen is up to what is modelled */
    atomic_store_explicit(&saved[context_of(from)], 1, memory_order_relaxed);
    model_check(
        atomic_load_explicit(&saved[context_of(to)], memory_order_relaxed));
    atomic_store_explicit(&saved[context_of(to)], 0, memory_order_relaxed);
}

/* Set once items may be posted. */
static _Atomic bool expected;

/* ---- tasks -------------------------------------------------------------- */

static void
wait_for_event(struct rn__task *self)
{
    rn__lock(&event.lock);
    if (event.fired) {
        rn__unlock(&event.lock);
        return;
    }
    rn__wait_open(self, RN__RECV, NULL, NULL, false);
    event.waiter = self;
    rn__unlock(&event.lock);
    rn__sched_park(self); /* rn__wait_park without deadline and cancel */
}

static void
fire_event(void)
{
    rn__lock(&event.lock);
    atomic_store(&event.fired, true);
    bool claimed = event.waiter && rn__wait_claim(event.waiter, 0, false);
    rn__unlock(&event.lock);
    if (claimed)
        rn__fire(event.waiter);
}

static void
end(struct rn__task *self)
{
    if (--alive == 0)
        rn__worker_stop_all(&machine);
    rn__sched_end(self->stack);
}

static void
do_step(struct rn__task *self, struct step step)
{
    switch (step.word) {
    case WAIT:
        wait_for_event(self);
        return;
    case FIRE:
        fire_event();
        return;
    case START:
        rn__sched_ready(&machine_tasks[step.task]);
        return;
    case INJECT:
        inject(&machine, &machine_tasks[step.task]);
        return;
    case EXPECT:
        rn__outside_expect(&machine);
        rn__outside_expect(&machine);
        atomic_store(&expected, true);
        return;
    case SPIN:
        while (!atomic_load(&event.fired))
            model_pause();
        return;
    case END:
        end(self);
        return;
    }
}

/* A worker that has found nothing and does not sleep, because there is
 * something, looks again; the others must get on meanwhile. */
rn_time
rn__os_now(void)
{
    if (rn__worker_self()->asleep)
        return 0;
    if (looked[model_self()])
        model_yield();
    looked[model_self()] = true;
    return 0;
}

static void
run(struct rn__worker *self, struct rn__task *task)
{
    looked[model_self()] = false;
    rn__sched_enter(self, task);
    while ((task = rn__current(self))) {
        long i = task - machine_tasks;
        do_step(task, programs[i][at[i]++]);
    }
}

static void
worker(void)
{
    struct rn__worker *self = rn__worker_self();
    struct rn__task *task;
    while ((task = rn__worker_find(self)))
        run(self, task);
}

/* ---- the world ---------------------------------------------------------- */

static void
on_deadlock(void *arg)
{
    (void)arg;
    model_check(dead_end);
    model_check(atomic_fetch_add(&deadlocks, 1) == 0);
}

static void
add_context(struct rn__ctx *ctx, bool is_saved)
{
    contexts[context_count] = ctx;
    saved[context_count++] = is_saved;
}

static void
setup_ring(struct rn__ring *ring)
{
    ring->head = ring->tail = UINT32_MAX; /* indices wrap */
    ring->room = RING;
    ring->tasks = rn__alloc(&machine, RING * sizeof *ring->tasks);
}

static void
setup_worker(struct rn__worker *w)
{
    w->current = NULL;
    w->pace.rounds = w->pace.given = 1000; /* no looks around */
    w->pace.ns = RN__ROB_WORTH;            /* one task is worth a robbery */
    w->pace.wake_at = 1;
    setup_ring(&w->queue.woken);
    setup_ring(&w->queue.fresh);
    add_context(&w->idle.ctx, false);
}

static void
setup(int workers)
{
    machine_setup();
    machine.worker_count = machine.awake = workers;
    machine.trim_at = RN_NEVER;
    machine.options.deadlock = RN_DEADLOCK_CALL;
    machine.options.on_deadlock = on_deadlock;
    dead_end = false;
    context_count = alive = 0;
    deadlocks = 0;
    event.lock.held = 0;
    event.fired = false;
    event.waiter = NULL;
    expected = queues_are_places = false;
    memset(looked, 0, sizeof looked);
    for (int i = 0; i < workers; i++)
        setup_worker(&machine_workers[i]);
    for (int i = 0; i < TASKS; i++) {
        stacks[i] = (struct rn__stack){.away = true, .next = machine.stacks};
        machine.stacks = &stacks[i];
        add_context(&stacks[i].ctx, true);
        machine_tasks[i].stack = NULL; /* it gets one when it begins */
        at[i] = 0;
        programs[i] = NULL;
    }
}

static void
program(int task, const struct step *steps)
{
    programs[task] = steps;
    alive++;
}

/* Put a task into a worker's slot before the workers start. */
static void
begin_with(int worker_index, int task)
{
    machine_workers[worker_index].queue.slot = &machine_tasks[task];
}

static void
check(void)
{
    model_check(deadlocks == dead_end);
    model_check(dead_end || alive == 0);
}

/* What threads share is made of these; the rest is as if in one step. */

static void
share_queue(int i)
{
    struct rn__runq *q = &machine_workers[i].queue;
    queues_are_places = true;
    model_place("busy", i, &q->busy, sizeof q->busy);
    model_place("claim", i, &q->claim.held, sizeof q->claim.held);
    model_place("slot", i, &q->slot, sizeof q->slot);
    model_place("head", i, &q->fresh.head, sizeof q->fresh.head);
    model_place("tail", i, &q->fresh.tail, sizeof q->fresh.tail);
}

static void
share_stacks(void)
{
    for (int i = 0; i < TASKS; i++)
        model_place("away", i, &stacks[i].away, sizeof stacks[i].away);
    model_share_array(saved);
}

static void
share_sleep(void)
{
    for (int i = 0; i < machine.worker_count; i++)
        model_place("wake", i, &machine_workers[i].wake,
                    sizeof machine_workers[i].wake);
    model_share(machine.asleep);
    model_share(machine.searching);
    model_share(machine.stop);
    model_place("idle_lock", -1, &machine.idle_lock.held,
                sizeof machine.idle_lock.held);
}

static void
share_event(void)
{
    model_place("event.lock", -1, &event.lock.held, sizeof event.lock.held);
    model_share(event.fired);
}

/* ---- queues and robbers ------------------------------------------------- */

static int got[TASKS];

/* Whether there was one. */
static bool
get(struct rn__task *task)
{
    if (!task)
        return false;
    model_check(task >= machine_tasks && task < machine_tasks + TASKS);
    model_check(++got[task - machine_tasks] == 1);
    return true;
}

/* One task is in the first worker's slot, and one in its ring of two. */
static void
setup_rob(void)
{
    setup(3);
    memset(got, 0, sizeof got);
    for (int i = 0; i < machine.worker_count; i++)
        machine_workers[i].pace.wake_at =
            UINT32_MAX;              /* they do not sleep here */
    machine_workers[0].stuck = true; /* its slot may be robbed, too */
    begin_with(0, 0);
    rn__ring_push(&machine_workers[0].queue.fresh, &machine_tasks[1]);
}

static void
setup_queue(void)
{
    setup_rob();
    share_queue(0);
}

/* With two more the ring grows, unless a thief has been there. */
static void
owner(void)
{
    struct rn__worker *self = rn__worker_self();
    rn__sched_ready(&machine_tasks[2]);
    rn__sched_ready(&machine_tasks[3]);
    get(rn__sched_local(self));
}

static void
modest_owner(void)
{
    struct rn__worker *self = rn__worker_self();
    rn__sched_ready(&machine_tasks[2]);
    get(rn__sched_local(self));
}

static void
thief(void)
{
    struct rn__worker *self = rn__worker_self();
    if (get(steal(self)))
        get(rn__sched_local(self));
}

static void
check_rob(void)
{
    int count = 0;
    for (int i = 0; i < machine.worker_count; i++) {
        struct rn__runq *q = &machine_workers[i].queue;
        get(rn__runq_swap(q, NULL));
        while (rn__ring_length(&q->fresh) > 0)
            get(rn__ring_shift(&q->fresh));
    }
    for (int i = 0; i < TASKS; i++)
        count += got[i];
    model_check(count == (got[TASKS - 1] ? TASKS : TASKS - 1));
}

#define ROB_BREAKS                                                          \
    .breaks = {                                                             \
        {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},                     \
        {"busy is cleared relaxed", MODEL_RELAX, "busy", "rn__runq_leave"}, \
    }

MODEL(sched_rob_growing, .setup = setup_queue, .threads = {owner, thief},
      .check = check_rob, .buffer = 4, ROB_BREAKS);
MODEL(sched_rob_two_thieves, .setup = setup_queue,
      .threads = {modest_owner, thief, thief}, .check = check_rob, .bound = 2,
      .buffer = 4, ROB_BREAKS);

/* ---- the global queue --------------------------------------------------- */

static void
share_injected(void)
{
    model_share(machine.injected_count);
    model_place("rt.lock", -1, &machine.lock.held, sizeof machine.lock.held);
}

static void
setup_injected(void)
{
    setup(3);
    memset(got, 0, sizeof got);
    share_injected();
}

static void
injector(void)
{
    inject(&machine, &machine_tasks[0]);
    inject(&machine, &machine_tasks[1]);
}

static void
injector_and_taker(void)
{
    inject(&machine, &machine_tasks[2]);
    get(take_injected(&machine));
}

/* First in, first out. */
static void
taker(void)
{
    struct rn__task *first = take_injected(&machine);
    struct rn__task *second = take_injected(&machine);
    model_check(first != &machine_tasks[1] || second != &machine_tasks[0]);
    get(first);
    get(second);
}

static void
check_injected(void)
{
    while (get(take_injected(&machine)))
        ;
    model_check(got[0] && got[1] && got[2] && !machine.injected);
}

MODEL(sched_injected, .setup = setup_injected,
      .threads = {injector, injector_and_taker, taker}, .check = check_injected,
      .bound = 2,
      .breaks = {
          {"the lock is a load and a store", MODEL_SPLIT, "rt.lock", NULL},
      });

/* ---- a task is fired while it is being left ----------------------------- */

static void
setup_left(void)
{
    static const struct step waits[] = {{WAIT, 0}, {END, 0}};
    static const struct step fires[] = {{FIRE, 0}, {END, 0}};
    setup(2);
    program(0, waits);
    program(1, fires);
    begin_with(0, 0);
    begin_with(1, 1);
    share_stacks();
    share_event();
}

/* A worker that neither sleeps nor robs. */
static void
lone_worker(void)
{
    struct rn__worker *self = rn__worker_self();
    struct rn__task *task;
    while ((task = self->handed ? take_handed(self) : rn__sched_local(self)))
        run(self, task);
}

static void
check_left(void)
{
    model_check(alive == 0);
}

MODEL(sched_fired_while_left, .setup = setup_left,
      .threads = {lone_worker, lone_worker}, .check = check_left,
      .breaks = {
          {"away is stored relaxed", MODEL_RELAX, "away", NULL},
      });

/* ---- sleepers ----------------------------------------------------------- */

/* The first task goes on without an end, so another worker must come. */
static void
setup_wake(void)
{
    static const struct step starts[] = {
        {START, 1}, {START, 2}, {SPIN, 0}, {END, 0}};
    static const struct step fires[] = {{FIRE, 0}, {END, 0}};
    static const struct step ends[] = {{END, 0}};
    setup(2);
    program(0, starts);
    program(1, fires); /* pushed out of the slot by the next */
    program(2, ends);
    begin_with(0, 0);
    share_sleep();
    model_place("tail", 0, &machine_workers[0].queue.fresh.tail,
                sizeof machine_workers[0].queue.fresh.tail);
    model_share(event.fired);
}

MODEL(sched_wake, .setup = setup_wake, .threads = {worker, worker},
      .check = check, .bound = 3,
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"a futex wakes nobody", MODEL_NO_WAKE, NULL, NULL},
      });

static void
setup_dead_end(void)
{
    static const struct step waits[] = {{WAIT, 0}, {END, 0}};
    static const struct step starts[] = {{START, 0}, {START, 2}, {END, 0}};
    static const struct step ends[] = {{END, 0}};
    setup(2);
    program(0, waits);
    program(1, starts);
    program(2, ends);
    begin_with(0, 1);
    dead_end = true;
    share_sleep();
}

MODEL(sched_deadlock, .setup = setup_dead_end, .threads = {worker, worker},
      .check = check, .bound = 2,
      .breaks = {
          {"the lock is a load and a store", MODEL_SPLIT, "idle_lock", NULL},
          {"a futex wakes nobody", MODEL_NO_WAKE, NULL, NULL},
      });

/* Whoever injects may be the only one awake; all are run nevertheless. Here and
 * above the heavy fence is not missed: who injects, stops or counts itself
 * asleep does so by seq_cst operations, and what is queued with a worker is run
 * by that worker, which never sleeps before. The fence is for the worker that
 * does not come back to its queue, as in sched_wake.
 */
static void
setup_inject_and_sleep(void)
{
    static const struct step injects[] = {{INJECT, 1}, {INJECT, 2}, {END, 0}};
    static const struct step ends[] = {{END, 0}};
    setup(2);
    program(0, injects);
    program(1, ends);
    program(2, ends);
    begin_with(0, 0);
    share_sleep();
    share_injected();
}

MODEL(sched_injected_and_sleep, .setup = setup_inject_and_sleep,
      .threads = {worker, worker}, .check = check, .bound = 2,
      .breaks = {
          {"a futex wakes nobody", MODEL_NO_WAKE, NULL, NULL},
      });

/* ---- from outside ------------------------------------------------------- */

static struct rn__outside items[2];
static _Atomic int arrived;

/* The event is that both have arrived. */
static void
arrive_item(struct rn__outside *item)
{
    (void)item;
    if (++arrived == 2)
        fire_event();
}

/* An OS thread that is no worker. */
static void
poster(void)
{
    while (!atomic_load(&expected))
        model_pause();
    rn__outside_post(&machine, &items[0]);
    rn__outside_post(&machine, &items[1]);
}

static void
setup_outside(void)
{
    static const struct step expects[] = {{EXPECT, 0}, {WAIT, 0}, {END, 0}};
    setup(2);
    items[0].arrive = items[1].arrive = arrive_item;
    arrived = 0;
    program(0, expects);
    begin_with(0, 0);
    share_sleep();
    share_event();
    model_share(expected);
    model_share(machine.outside);
    model_share(machine.outside_due);
    model_share(machine.watching);
}

/* Those who expect something watch for it, but soon give up. */
static void
setup_watched(void)
{
    setup_outside();
    machine.may_spin = true;
    machine.spin_misses = 10;
}

#define OUTSIDE_BREAKS                                       \
    .breaks = {                                              \
        {"a futex wakes nobody", MODEL_NO_WAKE, NULL, NULL}, \
        {"the list is taken by load and store", MODEL_SPLIT, \
         "machine.outside", NULL},                           \
    }

MODEL(sched_outside, .setup = setup_outside,
      .threads = {worker, worker, poster}, .check = check, .bound = 2,
      OUTSIDE_BREAKS);
MODEL(sched_outside_watched, .setup = setup_watched,
      .threads = {worker, worker, poster}, .check = check, .bound = 2,
      OUTSIDE_BREAKS);
