/* sim/world.c - the simulated world: one OS thread, virtual time, and a
 * schedule that decides whatever is free.
 *
 * At each step of a task the candidates to go on are: the task itself, all
 * ready tasks in the order they became ready, and the timers that are due.
 * Candidate 0 is the task itself (at a yield: the longest ready other), so a
 * schedule of zeros runs each task as far as it can. Firing a timer is a
 * candidate like a task, so that a deadline and an operation at the same
 * instant are seen in both orders. Time moves only when there is no candidate
 * at all.
 */
#include "sim/sim.h"

#include "sim/choose.h"
#include "sim/record.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct rn__world *
world_of(struct rn__rt *rt)
{
    return rt->env_state;
}

struct rn__world *
rn__world_self(void)
{
    struct rn__rt *rt = rn__rt_self();
    return rt && rt->env == &rn__sim_env ? world_of(rt) : NULL;
}

/* ---- the record --------------------------------------------------------- */

static uint32_t
current_number(struct rn__world *world)
{
    struct rn__task *self = rn__current(&world->worker);
    return self ? rn__task_number(self) : 0;
}

static void
keep_address(struct rn__world *world, uint32_t number, const void *address)
{
    if (number >= world->address_room) {
        size_t room = 2 * world->address_room + 64;
        const void **larger = realloc(world->addresses, room * sizeof *larger);
        if (!larger)
            abort();
        world->addresses = larger;
        world->address_room = room;
    }
    world->addresses[number] = address;
}

static uint32_t
number(struct rn__rt *rt, struct rn__object *object)
{
    if (object->id >> 32 != rt->epoch) {
        object->id = (uint64_t)rt->epoch << 32 | ++rt->objects;
        keep_address(world_of(rt), rt->objects, object);
    }
    return (uint32_t)object->id;
}

/* What is recorded is also part of an act, or begins one. */
static void
note_act(struct rn__world *world, struct rn__task *self, enum rn__kind kind,
         uint32_t object)
{
    if (kind == RN__BEGIN) {
        struct rn__doing doing = {
            .task = self,
            .name = world->pending[rn__task_number(self)].lineage,
            .kind = kind};
        rn__depend_step(world->depend, &doing);
    } else {
        rn__depend_note(world->depend, self, kind, object);
    }
}

static void
note(struct rn__rt *rt, enum rn__kind kind, uint32_t object, const void *site)
{
    struct rn__world *world = world_of(rt);
    struct rn__task *self = rn__current(&world->worker);
    if (world->looking)
        return;
    if (world->depend)
        note_act(world, self, kind, object);
    if (kind != RN__NONE)
        rn__record(world, current_number(world), kind, object, site);
    if (kind != RN__BLOCK)
        return;
    rn__stuck_check(world, self);
    if (world->invariants.count)
        rn__invariants_check(world);
}

/* ---- the end of a schedule ---------------------------------------------- */

/* A blocking call ends along with the schedule: its task is the one that ran.
 */
static void
take_stack_back(struct rn__rt *rt)
{
    if (rt->lender)
        atomic_store_explicit(&rt->workers[0].current, rt->lender,
                              memory_order_relaxed);
    rt->lender = NULL;
}

void
rn__world_finish(struct rn__world *world, rn_sim_verdict verdict,
                 const void *site, char *message)
{
    take_stack_back(&world->rt);
    if (world->over) {
        free(message);
        return;
    }
    if (world->noted)
        verdict = world->verdict;
    rn__record(world, current_number(world), RN__VERDICT, verdict, site);
    world->over = true;
    if (world->noted) {
        free(message);
        return;
    }
    world->verdict = verdict;
    world->site = site;
    world->culprit = site ? current_number(world) : 0;
    world->message = message;
}

void
rn__world_note_failure(struct rn__world *world, rn_sim_verdict verdict,
                       const void *site, const char *what)
{
    if (world->over || world->noted)
        return;
    world->noted = true;
    world->verdict = verdict;
    world->site = site;
    world->culprit = current_number(world);
    world->message = rn__format("%s", what);
}

void
rn__world_fail(struct rn__world *world, rn_sim_verdict verdict,
               const void *site, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    rn__world_finish(world, verdict, site, text);
    struct rn__task *self = rn__current(&world->worker);
    if (!self)
        return;
    rn__sched_switch(self, NULL);
    abort(); /* nobody enters an abandoned task again */
}

static void
fail(struct rn__rt *rt, const char *text, const void *site)
{
    rn__world_fail(world_of(rt), RN_SIM_PANIC, site, "%s", text);
}

/* ---- choosing ----------------------------------------------------------- */

static uint32_t
choose(struct rn__rt *rt, uint32_t n)
{
    struct rn__world *world = world_of(rt);
    struct rn__fork fork = {.n = n, .data = true, .self = n};
    uint32_t choice = rn__choose_fork(world, &fork);
    if (world->depend && n > 1 && !world->waiting_to_explore)
        rn__depend_choice(world->depend, n, choice);
    return choice;
}

static void
ready(struct rn__rt *rt, struct rn__task *task)
{
    struct rn__world *world = world_of(rt);
    uint32_t by = current_number(world);
    if (world->ready_count == world->ready_room) {
        size_t room = world->ready_room ? 2 * world->ready_room : 64;
        struct rn__task **larger = realloc(world->ready, room * sizeof *larger);
        if (!larger)
            abort();
        world->ready = larger;
        world->ready_room = room;
    }
    world->ready[world->ready_count++] = task;
    uint32_t woken = rn__task_number(task);
    bool clock = world->clock_acts;
    if (world->pends && !task->stack)
        rn__pend_begin(world, task, by);
    else if (world->pends && woken != by)
        rn__pend(world, woken, RN__NONE, NULL, NULL);
    if (world->depend)
        rn__depend_wake(world->depend, clock ? 0 : by, woken);
    if (clock || (by && woken != by))
        rn__record(world, clock ? 0 : by, clock ? RN__TIMEOUT : RN__WAKE, woken,
                   NULL);
}

static struct rn__task *
take_ready(struct rn__world *world, size_t i)
{
    struct rn__task *task = world->ready[i];
    size_t after = --world->ready_count - i;
    if (after)
        memmove(&world->ready[i], &world->ready[i + 1],
                after * sizeof *world->ready);
    return task;
}

static inline size_t
due_timers(struct rn__world *world)
{
    return rn__timers_may_be_due(&world->worker.timers, world->now)
               ? rn__due_look(world)
               : 0;
}

/* Of those due, number i. */
static void
expire(struct rn__world *world, size_t i)
{
    struct rn__timer *timer =
        rn__container_of(rn__due_take(&world->due, i), struct rn__timer, node);
    if (world->depend)
        rn__depend_fire(world->depend, timer);
    world->clock_acts = true;
    rn__timer_expire(&world->worker, timer);
    world->clock_acts = false;
}

/* Others go on: whether some tasks never will. Then the schedule has ended, and
 * in a task this does not return. */
static bool
judge_stuck(struct rn__world *world)
{
    size_t count = rn__stuck_judge(world);
    if (!count)
        return false;
    world->waiting = count;
    rn__world_fail(world, RN_SIM_DEADLOCK, NULL,
                   "%zu task%s wait%s for ever, while others go on", count,
                   count == 1 ? "" : "s", count == 1 ? "s" : "");
    return true;
}

/* Count a step; may end the schedule. */
static void
count_step(struct rn__world *world, const void *site)
{
    const rn_sim_options *o = &world->options;
    world->steps++;
    if (world->full)
        rn__world_fail(world, RN_SIM_STEP_LIMIT, site, "more than %zu events",
                       world->event_room);
    else if (world->steps > o->max_steps)
        rn__world_fail(world, RN_SIM_STEP_LIMIT, site,
                       "no end after %llu steps",
                       (unsigned long long)o->max_steps);
    else if (++world->instant_steps > o->max_instant_steps)
        rn__world_fail(world, RN_SIM_NO_PROGRESS, site,
                       "%llu steps in one instant",
                       (unsigned long long)o->max_instant_steps);
    else if (world->fairness.on)
        rn__tail_late(world);
    else if (rn__stuck_for_long(world))
        judge_stuck(world);
}

/* Who goes on without a choice: a harness task; in a fair schedule the one that
 * has been ready for longest. Its place among the ready; -1: there is a choice.
 */
static ptrdiff_t
forced(struct rn__world *world)
{
    for (size_t i = 0; world->harness.count && i < world->ready_count; i++)
        if (rn__harness_has(&world->harness, world->ready[i]))
            return (ptrdiff_t)i;
    return world->fairness.on && world->ready_count ? 0 : -1;
}

static void
give_way(struct rn__world *world, struct rn__task *self, size_t i)
{
    struct rn__task *next = take_ready(world, i);
    world->ready[world->ready_count++] = self;
    rn__sched_switch(self, next);
}

/* Whether there is no choice, but it is clear who goes on; he does. */
static bool
preempt_by_rule(struct rn__world *world, struct rn__task *self, bool last)
{
    if (world->harness.count && !last && rn__harness_has(&world->harness, self))
        return true;
    while (world->fairness.on && due_timers(world) > 0)
        expire(world, 0);
    ptrdiff_t i = forced(world);
    if (i >= 0)
        give_way(world, self, (size_t)i);
    return i >= 0 || world->fairness.on;
}

/* The running task stays ready; another may be chosen to go on first. */
static inline void
preempt_by_choice(struct rn__world *world, struct rn__task *self, bool last)
{
    struct rn__candidates c = {.self = self, .last = last};
    for (;;) {
        c.timers = due_timers(world);
        if (world->ready_count + c.timers == 0)
            return;
        int64_t choice = rn__choose_next(world, &c);
        if (choice < 0)
            return;
        if ((size_t)choice >= world->ready_count) {
            expire(world, (size_t)choice - world->ready_count);
            continue;
        }
        give_way(world, self, (size_t)choice);
        return;
    }
}

/* The same, if there is no rule about it. */
static void
preempt(struct rn__world *world, struct rn__task *self, bool last)
{
    if ((world->harness.count || world->fairness.on) &&
        preempt_by_rule(world, self, last))
        return;
    preempt_by_choice(world, self, last);
}

/* Whether a step goes on with a transaction that this task is in: it is one act
 * where acts are looked at, as nobody sees it half done. */
static bool
in_transaction(const struct rn__world *world, const struct rn__task *self,
               enum rn__kind kind)
{
    bool tx = self->in_tx || kind == RN__COMMIT || kind == RN__RETRY;
    return tx && rn__depend_in_tx(world->depend, rn__task_number(self));
}

static void
task_ends(struct rn__world *world, struct rn__task *self)
{
    rn__world_keep_name(world, self);
    rn__stuck_ended(world, self);
    if (world->harness.count || world->fairness.count)
        rn__tail_end_task(world, self);
}

static bool
fault(struct rn__rt *rt, int fault, struct rn__object *object, const void *site)
{
    struct rn__world *world = world_of(rt);
    if (fault != RN__MISHAP_FREED)
        return rn__inject(world, (enum rn__mishap)fault, site);
    if (!rn__freed_is(object))
        return false;
    rn__freed_find(world, object);
    return true;
}

static bool
is_calm(const struct rn__world *world)
{
    return !world->looking && !world->full && !world->invariants.count &&
           !world->injector.on && !world->fairness.on &&
           !world->harness.count && !world->stuck.count && !world->depend;
}

static inline void
announce(struct rn__world *world, uint32_t task, enum rn__kind kind,
         const struct rn__object *object, uint32_t what, const void *site)
{
    rn__record(world, task, kind, what, site);
    if (!world->pends)
        return;
    rn__pend(world, task, kind, object, site);
    world->pending[task].steps++;
}

/* A step, whatever is on. */
__attribute__((noinline)) static void
step_slowly(struct rn__rt *rt, enum rn__kind kind, struct rn__object *object,
            const void *site)
{
    struct rn__world *world = world_of(rt);
    struct rn__task *self = rn__current(&world->worker);
    if (world->looking)
        return;
    if (rn__unlikely(object && rn__freed_is(object)))
        rn__freed_use(world, kind, object, site);
    if (rn__unlikely(world->invariants.count))
        rn__invariants_check(world);
    uint32_t task = rn__task_number(self),
             what = object ? number(rt, object) : 0;
    rn_time deadline = rt->step_deadline;
    rt->step_deadline = RN_NEVER;
    announce(world, task, kind, object, what, site);
    if (kind == RN__END)
        task_ends(world, self);
    count_step(world, site);
    if (rn__unlikely(world->injector.on) && kind != RN__END)
        rn__inject_kill(world, self, site);
    bool goes_on = self->atomic_depth > 0 ||
                   (world->depend && in_transaction(world, self, kind));
    if (!goes_on)
        preempt(world, self, kind == RN__YIELD);
    if (rn__unlikely(object && rn__freed_is(object))) /* meanwhile */
        rn__freed_use(world, kind, object, site);
    if (world->depend && !world->over) {
        struct rn__doing doing = {.task = self,
                                  .name = world->pending[task].lineage,
                                  .kind = kind,
                                  .object = what,
                                  .address = object,
                                  .expected = deadline,
                                  .at_once = deadline <= world->now,
                                  .timed = deadline != RN_NEVER,
                                  .goes_on = goes_on};
        rn__depend_step(world->depend, &doing);
    }
    world->calm = is_calm(world);
}

static void
step(struct rn__rt *rt, enum rn__kind kind, struct rn__object *object,
     const void *site)
{
    struct rn__world *world = world_of(rt);
    struct rn__task *self = rn__current(&world->worker);
    if (rn__unlikely(!world->calm || (object && rn__freed_is(object)) ||
                     world->steps >= world->options.max_steps ||
                     world->instant_steps >=
                         world->options.max_instant_steps)) {
        step_slowly(rt, kind, object, site);
        return;
    }
    uint32_t task = rn__task_number(self);
    announce(world, task, kind, object, object ? number(rt, object) : 0, site);
    if (kind == RN__END)
        task_ends(world, self);
    world->steps++;
    world->instant_steps++;
    if (self->atomic_depth > 0)
        return;
    preempt_by_choice(world, self, kind == RN__YIELD);
    if (rn__unlikely(object && rn__freed_is(object))) /* meanwhile */
        rn__freed_use(world, kind, object, site);
}

/* ---- nobody runs -------------------------------------------------------- */

/* No task can go on and no timer will change that. */
static void
conclude(struct rn__world *world)
{
    if (world->rt.root.live == 0) {
        rn__world_finish(world, RN_SIM_PASS, NULL, NULL);
        return;
    }
    world->waiting = rn__report_waiting(world);
    bool ended = atomic_load(&world->rt.main_ended);
    if (ended && (world->options.flags & RN_SIM_LEAKS_OK))
        rn__world_finish(world, RN_SIM_PASS, NULL, NULL);
    else if (ended)
        rn__world_finish(
            world, RN_SIM_LEAK, NULL,
            rn__format("main has ended, but %llu of its tasks wait for "
                       "ever",
                       (unsigned long long)world->waiting));
    else
        rn__world_finish(world, RN_SIM_DEADLOCK, NULL,
                         rn__format("%llu tasks wait for ever, main among them",
                                    (unsigned long long)world->waiting));
}

static bool
move_time(struct rn__world *world)
{
    rn_time first = rn__timers_first(&world->worker.timers);
    if (first == RN_NEVER)
        return false;
    if (world->stuck.count && judge_stuck(world))
        return true;
    if (world->injector.on)
        first = rn__inject_late(world, first);
    if (first > world->options.max_time) {
        rn__world_finish(world, RN_SIM_TIME_LIMIT, NULL,
                         rn__format("no end after %.3f s of virtual time",
                                    (double)world->options.max_time / 1e9));
        return true;
    }
    if (first > world->now) {
        if (world->depend)
            rn__depend_tick(world->depend);
        world->now = first;
        world->worker.clock = world->now;
        world->instant_steps = 0;
    }
    if (++world->steps > world->options.max_steps)
        rn__world_finish(
            world, RN_SIM_STEP_LIMIT, NULL,
            rn__format("no end after %llu steps",
                       (unsigned long long)world->options.max_steps));
    else if (world->fairness.on)
        rn__tail_late(world);
    return true;
}

static struct rn__task *
starved(struct rn__world *world)
{
    struct rn__task *task = rn__sched_starved(&world->rt);
    if (task && ++world->starved_tries > 1000) {
        rn__world_finish(world, RN_SIM_MEMORY_LIMIT, NULL,
                         rn__format("no memory for the stack of a task"));
        return NULL;
    }
    return task;
}

static struct rn__task *
next(struct rn__rt *rt)
{
    struct rn__world *world = world_of(rt);
    struct rn__candidates c = {.self = NULL};
    while (!world->over) {
        c.timers = due_timers(world);
        size_t n = world->ready_count + c.timers;
        ptrdiff_t rule = world->calm ? -1 : forced(world);
        if (c.timers && world->fairness.on) {
            expire(world, 0);
            continue;
        }
        if (rule >= 0)
            return take_ready(world, (size_t)rule);
        if (n > 0) {
            size_t choice = n > 1 ? (size_t)rn__choose_next(world, &c) : 0;
            if (choice < world->ready_count)
                return take_ready(world, choice);
            rn__assert(choice - world->ready_count < c.timers);
            expire(world, choice - world->ready_count);
            continue;
        }
        struct rn__task *task = starved(world);
        if (task)
            return task;
        if (!world->over && !move_time(world))
            conclude(world);
    }
    return NULL;
}

/* ---- memory, time, crashes ---------------------------------------------- */

static rn_time
now(struct rn__rt *rt)
{
    return world_of(rt)->now;
}

static void *
take_memory(struct rn__rt *rt, size_t bytes)
{
    struct rn__world *world = world_of(rt);
    void *memory = rn__arena_alloc(&world->arena, bytes);
    if (!memory)
        rn__world_fail(world, RN_SIM_MEMORY_LIMIT, NULL,
                       "%zu bytes more are over the limit of %zu", bytes,
                       world->options.max_bytes);
    return memory;
}

static void
give_memory(struct rn__rt *rt, void *memory)
{
    struct rn__world *world = world_of(rt);
    if (memory && rn__arena_has(&world->arena, memory))
        rn__freed_keep(world, memory);
    else
        free(memory); /* from before the schedule */
}

static void
crash(struct rn__rt *rt, int signal, const char *text)
{
    struct rn__world *world = world_of(rt);
    (void)signal;
    bool hang = rn__server_timed_out();
    rn__world_finish(world, hang ? RN_SIM_HANG : RN_SIM_CRASH, NULL,
                     rn__format("%s%s",
                                hang ? "it ran for too long; it was at\n" : "",
                                text));
    rn__world_crashed(world);
}

void
rn__world_exited(struct rn__world *world, int status)
{
    world->over = false; /* its last rn_run had ended well */
    rn__world_finish(world, RN_SIM_FAILED, NULL,
                     rn__format("the program's exit status is %d", status));
    if (world->want_text)
        rn__report_write(world);
}

const struct rn__env rn__sim_env = {step,        note,        number, choose,
                                    fault,       ready,       next,   now,
                                    take_memory, give_memory, fail,   crash};

/* ---- a schedule --------------------------------------------------------- */

void
rn__world_plan(struct rn__world *world, const struct rn__plan *plan)
{
    world->plan = plan;
    world->prng = world->seed = plan->seed;
    world->words.count = 0;
    world->watch = NULL;
    world->run_number++;
    rn__world_forget(world, plan->seed);
    world->choices.count = 0;
    world->diverged = 0;
    world->rt.objects = world->rt.task_numbers = 0;
    rn__arena_rewind(&world->arena);
    world->now = 0;
    world->steps = world->instant_steps = 0;
    rn__record_begin(world);
    world->over = world->waiting_to_explore = world->noted = false;
    world->verdict = RN_SIM_PASS;
    world->waiting = 0;
    world->starved_tries = 0;
    world->site = NULL;
    world->culprit = 0;
    free(world->message);
    free(world->text);
    world->message = world->text = NULL;
    world->calm = false; /* the first step looks */
    world->pends = plan->strategy->looks || plan->strategy->acts;
    world->plain = plan->strategy->plain;
    world->depend = plan->strategy->acts ? &world->own_depend : NULL;
    if (world->depend)
        rn__depend_reset(world->depend);
    if (plan->strategy->begin)
        plan->strategy->begin(world);
}
