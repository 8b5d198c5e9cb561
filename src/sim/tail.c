/* sim/tail.c - a tail of the schedule in which progress is required.
 *
 * The fair schedule is the strongest there is: all that can go on take turns,
 * a step each. Who gets nothing done under it would get nothing done under any
 * scheduler that is only fair in the long run, or has bad luck for ever.
 *
 * Progress is what the program says it is. From steps alone a task that waits
 * for good reason, and one that retries in vain, cannot be told apart.
 */
#include "sim/tail.h"

#include "sim/sim.h"

#include <string.h>

/* ---- progress ----------------------------------------------------------- */

static struct rn__progress *
find(struct rn__fairness *fairness, uint32_t task)
{
    for (uint32_t i = 0; i < fairness->count; i++)
        if (fairness->tasks[i].task == task)
            return &fairness->tasks[i];
    return NULL;
}

/* Another task has got something done: has this one, of late? */
static void
check_starved(struct rn__world *world)
{
    struct rn__fairness *f = &world->fairness;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct rn__progress *p = &f->tasks[i];
        if (world->steps - p->step <= f->steps)
            continue;
        rn__world_fail(world, RN_SIM_STARVATION, rn__site(),
                       "task %u has got nothing done in %llu steps of a fair "
                       "schedule, while others have",
                       p->task, (unsigned long long)f->steps);
    }
}

void
rn_sim_progressed(void)
{
    struct rn__task *self = rn__self_in("rn_sim_progressed");
    struct rn__world *world = rn__world_self();
    if (!world)
        return;
    struct rn__fairness *f = &world->fairness;
    struct rn__progress *mine = find(f, rn__task_number(self));
    if (!mine && f->count < RN__TAIL_TASKS) {
        mine = &f->tasks[f->count++];
        *mine = (struct rn__progress){.task = rn__task_number(self)};
    }
    f->since = world->steps;
    if (!mine)
        return; /* more than can be watched */
    mine->step = world->steps;
    mine->count++;
    if (f->on)
        check_starved(world);
}

bool
rn__tail_late(struct rn__world *world)
{
    const struct rn__fairness *f = &world->fairness;
    if (!f->on || world->steps - f->since <= f->steps)
        return false;
    rn__world_fail(world, RN_SIM_NO_PROGRESS, NULL,
                   "nothing got done in %llu steps of a fair schedule without "
                   "faults",
                   (unsigned long long)f->steps);
    return true;
}

/* ---- the fair schedule -------------------------------------------------- */

void
rn_sim_fair_begin(uint64_t steps)
{
    struct rn__world *world = rn__world_self();
    if (!world)
        return;
    struct rn__fairness *f = &world->fairness;
    f->on = true;
    world->calm = false;
    f->steps = steps ? steps : RN__TAIL_STEPS;
    f->since = world->steps;
    for (uint32_t i = 0; i < f->count; i++)
        f->tasks[i].step = world->steps;
}

void
rn_sim_fair_end(void)
{
    struct rn__world *world = rn__world_self();
    if (world)
        world->fairness.on = false;
}

void
rn__tail_end_task(struct rn__world *world, const struct rn__task *task)
{
    struct rn__fairness *f = &world->fairness;
    struct rn__harness *h = &world->harness;
    struct rn__progress *p = find(f, rn__task_number(task));
    if (p)
        *p = f->tasks[--f->count];
    for (uint32_t i = 0; i < h->count; i++)
        if (h->tasks[i] == task)
            h->tasks[i] = h->tasks[--h->count];
}

/* ---- harness tasks ------------------------------------------------------ */

bool
rn__harness_has(const struct rn__harness *harness, const struct rn__task *task)
{
    for (uint32_t i = 0; i < harness->count; i++)
        if (harness->tasks[i] == task)
            return true;
    return false;
}

void
rn_sim_harness(void)
{
    struct rn__task *self = rn__self_in("rn_sim_harness");
    struct rn__world *world = rn__world_self();
    if (!world || rn__harness_has(&world->harness, self))
        return;
    struct rn__harness *h = &world->harness;
    if (h->count == RN__HARNESS)
        rn__panic_at(rn__site(), "more than %d harness tasks", RN__HARNESS);
    h->tasks[h->count++] = self;
    world->calm = false;
}

/* ---- the report --------------------------------------------------------- */

/* How many steps each task made at the end of the schedule, the busiest first;
 * 0: all are told. */
static uint32_t
busiest(const uint32_t *steps, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (steps[i] > steps[best])
            best = i;
    return best;
}

static const struct rn__event *
last_of(struct rn__world *world, uint32_t task)
{
    for (size_t i = world->event_count; i-- > 0;)
        if (world->events[i].task == task &&
            rn__event_kind(&world->events[i]) < RN__ANNOTATE_FIRST)
            return &world->events[i];
    return NULL;
}

void
rn__tail_tell(struct rn__world *world, FILE *out)
{
    enum { TASKS = 256, TOLD = 5, STEPS = 1000 };
    uint32_t steps[TASKS] = {0}, seen = 0;
    for (size_t i = world->event_count; i-- > 0 && seen < STEPS;) {
        const struct rn__event *event = &world->events[i];
        if (rn__event_kind(event) >= RN__ANNOTATE_FIRST)
            continue;
        seen++;
        if (event->task < TASKS)
            steps[event->task]++;
    }
    fprintf(out, "who made the last %u steps:\n", seen);
    for (int told = 0; told < TOLD; told++) {
        uint32_t task = busiest(steps, TASKS);
        const struct rn__event *event = last_of(world, task);
        if (!steps[task] || !event)
            return;
        fprintf(out, "  task %u \"%s\": %u, the last one\n", task,
                rn__world_task_name(world, task), steps[task]);
        rn__print_event(world, event, out);
        steps[task] = 0;
    }
}
