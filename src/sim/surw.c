/* sim/surw.c - selectively uniform random walk: one shared object is picked,
 * its operations happen in an order that is uniform over all orders of them
 * (Zhao, Wolff, Mathur and Roychoudhury, "Selectively uniform concurrency
 * testing", 2025).
 *
 * An order is uniform if each next operation is that of a task drawn with the
 * odds of how many it has left; of a task that is yet to be spawned they are
 * its parent's. Until the task drawn has done it, no other may operate on the
 * object. How many operations there are is learnt from earlier schedules; each
 * schedule picks its object at random, or all of them.
 *
 * All else goes by random priorities, where the paper walks at random: a walk
 * lets a task take k steps while another takes one in a schedule of 2^k, with
 * priorities of steps it is one of k+1. In some schedules they are priorities
 * of tasks, then it is one of two whatever k.
 */
#include "sim/strategy.h"

#include "base/prng.h"
#include "sim/fair.h"
#include "sim/learn.h"
#include "sim/surw.h"

#include <stdlib.h>
#include <string.h>

/* Of the searcher's side. */
struct profile {
    struct rn__uses seen; /* sums over all schedules learnt */
    uint64_t learnt;
    struct rn__uses used;  /* what plans use: means, rounded up */
    struct rn__uses users; /* of each object of used: how many tasks */
    uint64_t *objects;     /* those that more than one operates on */
    size_t object_count;
};

/* A task that the plan knows of. */
struct part {
    uint64_t lineage;
    uint64_t count;  /* operations of interest in all */
    uint32_t parent; /* place; NOBODY: none */
    uint32_t task;   /* its number; 0: not seen yet */
};

/* A task that is there. */
struct runner {
    uint32_t run;      /* world->run_number once it has arrived */
    uint64_t weight;   /* operations it has left, and its children to come */
    uint64_t priority; /* if tasks have them; 0: to be drawn */
};

/* Of the world's side. */
struct surw {
    struct part *parts;
    uint32_t count, room;
    struct runner *runners; /* by task number; 0: the timers */
    uint32_t tasks, runner_room;
    uint32_t arrived;  /* all up to this number have */
    uint32_t intended; /* task that is to operate next; 0: none */
    uint32_t done;     /* what it had done when it was drawn */
    bool sticky;       /* tasks have priorities, not steps */
    uint64_t lowest;   /* priority given last to an idle task */
    struct rn__uses uses;
};

#define NOBODY UINT32_MAX

/* Words of a plan: HEAD, then three a use. */
enum { WATCH, TELLS, IS_STICKY, HEAD };

enum { STICKY = 16 }; /* of 64 schedules */

/* ---- the searcher's side ------------------------------------------------ */

/* Objects in the order of their first use, which no address can change. */
static bool
list_objects(struct profile *p)
{
    rn__uses_clear(&p->users);
    p->object_count = 0;
    for (size_t i = 0; i < p->used.count; i++) {
        uint64_t address = p->used.list[i].address;
        struct rn__use *users = rn__uses_at(&p->users, 0, 0, address);
        if (!users)
            return false;
        users->count++;
    }
    size_t bytes = (p->users.count + 1) * sizeof *p->objects;
    uint64_t *objects = realloc(p->objects, bytes);
    if (!objects)
        return false;
    p->objects = objects;
    for (size_t i = 0; i < p->users.count; i++) {
        const struct rn__use *users = &p->users.list[i];
        if (users->address && users->count > 1)
            objects[p->object_count++] = users->address;
    }
    return true;
}

static bool
take_note(struct profile *p)
{
    rn__uses_clear(&p->used);
    for (size_t i = 0; i < p->seen.count; i++) {
        const struct rn__use *sum = &p->seen.list[i];
        struct rn__use *use =
            rn__uses_at(&p->used, sum->lineage, sum->parent, sum->address);
        if (!use)
            return false;
        use->count = (sum->count + p->learnt - 1) / p->learnt;
    }
    return list_objects(p);
}

static enum rn__planned
plan(struct rn__searcher *s, struct rn__plan *plan)
{
    struct profile *p = s->state;
    if (rn__learns_at(plan->index)) {
        if (p->learnt < plan->index)
            return RN__PLAN_WAIT;
        if (!take_note(p))
            return RN__PLAN_FAILED;
    }
    /* What is picked must not follow from the first random numbers. */
    uint64_t odds = rn__mix64(plan->seed ^ 0x9fb21c651e98df25u);
    size_t n = p->object_count;
    size_t pick = n && odds >> 60 ? odds % n : n;
    uint64_t chosen = pick < n ? p->objects[pick] : 0;
    uint64_t all = (uint64_t)(uintptr_t)RN__WATCH_ALL;
    size_t bytes = (HEAD + 3 * p->used.count) * sizeof *plan->words.list;
    plan->words.list = malloc(bytes);
    if (!plan->words.list)
        return RN__PLAN_FAILED;
    plan->owned = true;
    uint64_t *at = plan->words.list;
    /* Without a profile there is nothing to be uniform over. */
    *at++ = chosen || p->used.count == 0 ? chosen : all;
    *at++ = plan->index < RN__LEARN_MAX;
    *at++ = (odds >> 54 & 63) < STICKY;
    for (size_t i = 0; i < p->used.count; i++) {
        const struct rn__use *use = &p->used.list[i];
        bool counts = use->address && (!chosen || use->address == chosen);
        if (!counts && use->address)
            continue;
        *at++ = use->lineage;
        *at++ = use->parent;
        *at++ = counts ? use->count : 0;
    }
    plan->words.count = (size_t)(at - plan->words.list);
    return RN__PLAN_MADE;
}

static void
learn(struct rn__searcher *s, const struct rn__plan *plan,
      const struct rn__log *log)
{
    struct profile *p = s->state;
    p->learnt++;
    if (plan->index >= RN__LEARN_MAX)
        return;
    const uint64_t *at = log->words.list;
    for (size_t i = 0; i + 4 <= log->words.count; i += 4, at += 4) {
        struct rn__use *use = rn__uses_at(&p->seen, at[0], at[1], at[2]);
        if (use)
            use->count += at[3];
    }
}

static void
close_profile(struct rn__searcher *s)
{
    struct profile *p = s->state;
    rn__uses_free(&p->seen);
    rn__uses_free(&p->used);
    rn__uses_free(&p->users);
    free(p->objects);
}

/* ---- the world's side --------------------------------------------------- */

static uint32_t
find(const struct surw *surw, uint64_t lineage)
{
    uint32_t i = 0;
    while (i < surw->count && surw->parts[i].lineage != lineage)
        i++;
    return i < surw->count ? i : NOBODY;
}

static void
add(struct surw *surw, const uint64_t *words)
{
    uint32_t i = find(surw, words[0]);
    if (i == NOBODY) {
        i = surw->count++;
        surw->parts[i] = (struct part){words[0], 0, find(surw, words[1]), 0};
    }
    surw->parts[i].count += words[2];
}

static void
begin(struct rn__world *world)
{
    struct surw *surw = rn__strategy_state(world, sizeof *surw);
    const struct rn__words *words = &world->plan->words;
    size_t most = words->count / 3 + 1;
    if (!surw)
        return;
    surw->count = surw->tasks = surw->arrived = surw->intended = 0;
    surw->sticky = words->list[IS_STICKY];
    surw->lowest = (uint64_t)1 << 62;
    if (surw->runners)
        surw->runners[0].priority = 0;
    world->watch = (const void *)(uintptr_t)words->list[WATCH];
    if (most > surw->room) {
        struct part *larger = realloc(surw->parts, most * sizeof *larger);
        if (!larger)
            return;
        surw->parts = larger;
        surw->room = (uint32_t)most;
    }
    for (size_t i = HEAD; i + 3 <= words->count; i += 3)
        add(surw, &words->list[i]);
}

/* Whether a task operates no more. */
static bool
has_ended(const struct rn__world *world, uint32_t task)
{
    return world->pending[task].kind == RN__END;
}

static uint32_t
done(const struct rn__world *world, const struct rn__pending *step)
{
    return step->seen - rn__is_watched(world, step);
}

/* Who stands for a part: its task, or the ancestor who is to make it. */
static uint32_t
owner(const struct surw *surw, uint32_t part)
{
    while (part != NOBODY && !surw->parts[part].task)
        part = surw->parts[part].parent;
    return part == NOBODY ? 0 : surw->parts[part].task;
}

static void
weigh(struct rn__world *world, struct surw *surw, const struct rn__fork *fork)
{
    for (uint32_t i = 0; i <= surw->tasks; i++)
        surw->runners[i].weight = 0;
    for (uint32_t i = 0; i < surw->count; i++) {
        const struct part *part = &surw->parts[i];
        uint64_t past =
            part->task ? done(world, &world->pending[part->task]) : 0;
        if (part->count > past && !(part->task && has_ended(world, part->task)))
            surw->runners[owner(surw, i)].weight += part->count - past;
    }
    for (uint32_t i = 0; i < fork->n; i++) { /* more than was known of */
        const struct rn__pending *step = fork->steps[i];
        struct runner *runner = &surw->runners[step->task];
        if (!runner->weight && rn__is_watched(world, step))
            runner->weight = 1;
    }
    surw->runners[0].weight = 0;
}

/* Whether it has to wait until the intended one has operated. */
static bool
is_withheld(const struct rn__world *world, const struct surw *surw,
            const struct rn__pending *step)
{
    return surw->intended && step->task != surw->intended &&
           rn__is_watched(world, step);
}

static void
intend(struct rn__world *world, struct surw *surw, uint32_t task)
{
    surw->intended = task;
    surw->done = task ? done(world, &world->pending[task]) : 0;
}

/* Draw by weight. */
static void
draw(struct rn__world *world, struct surw *surw, const struct rn__fork *fork)
{
    uint64_t all = 0;
    uint32_t task = 0;
    weigh(world, surw, fork);
    for (uint32_t i = 1; i <= surw->tasks; i++)
        all += surw->runners[i].weight;
    if (all > 0) {
        uint64_t at = rn__world_random(world) % all;
        for (task = 1; at >= surw->runners[task].weight; task++)
            at -= surw->runners[task].weight;
    }
    intend(world, surw, task);
}

/* The same among those withheld. */
static void
draw_withheld(struct rn__world *world, struct surw *surw,
              const struct rn__fork *fork)
{
    uint64_t all = 0;
    uint32_t i;
    weigh(world, surw, fork);
    for (i = 0; i < fork->n; i++)
        if (is_withheld(world, surw, fork->steps[i]))
            all += surw->runners[fork->steps[i]->task].weight;
    uint64_t at = all ? rn__world_random(world) % all : 0;
    uint32_t task = 0;
    for (i = 0; i < fork->n && !task; i++) {
        if (!is_withheld(world, surw, fork->steps[i]))
            continue;
        uint64_t weight = surw->runners[fork->steps[i]->task].weight;
        if (at < weight)
            task = fork->steps[i]->task;
        at -= weight;
    }
    intend(world, surw, task);
}

/* A new task takes from its parent the odds that were its own, also those of
 * having been drawn already. */
static void
arrive(struct rn__world *world, struct surw *surw, uint32_t task,
       const struct rn__fork *fork)
{
    uint32_t part = find(surw, world->pending[task].lineage);
    surw->runners[task].run = world->run_number;
    surw->runners[task].priority = 0;
    if (part == NOBODY)
        return;
    surw->parts[part].task = task;
    uint32_t by = owner(surw, surw->parts[part].parent);
    if (!by || surw->intended != by)
        return;
    weigh(world, surw, fork);
    uint64_t own = surw->runners[task].weight;
    uint64_t all = own + surw->runners[by].weight;
    if (all && rn__world_random(world) % all < own)
        intend(world, surw, task);
}

static bool
grow_runners(struct surw *surw, uint32_t tasks)
{
    uint32_t room = 2 * tasks + 2;
    struct runner *larger =
        realloc(surw->runners, room * sizeof *surw->runners);
    if (!larger)
        return false;
    memset(larger + surw->runner_room, 0,
           (room - surw->runner_room) * sizeof *larger);
    surw->runners = larger;
    surw->runner_room = room;
    return true;
}

/* One that has a number may not have been ready yet; later ones may. */
static bool
look_up_new(struct rn__world *world, struct surw *surw,
            const struct rn__fork *fork)
{
    uint32_t tasks = world->rt.task_numbers;
    if (tasks >= surw->runner_room && !grow_runners(surw, tasks))
        return false;
    surw->tasks = tasks;
    for (uint32_t i = surw->arrived + 1; i <= tasks && i < world->pending_room;
         i++) {
        bool there = surw->runners[i].run == world->run_number;
        if (!there && world->pending[i].run == world->run_number) {
            arrive(world, surw, i, fork);
            there = true;
        }
        if (there && i == surw->arrived + 1)
            surw->arrived = i;
    }
    return true;
}

static uint64_t
priority(struct rn__world *world, struct surw *surw, struct rn__pending *step)
{
    uint64_t *p = surw->sticky || !step->task
                      ? &surw->runners[step->task].priority
                      : &step->mark;
    if (rn__is_idle(step)) {
        step->idle = 0;
        *p = --surw->lowest;
    }
    if (!*p)
        *p = rn__world_random(world) | (uint64_t)1 << 63;
    return *p;
}

/* Who is highest of those who may go on; n: nobody may. */
static uint32_t
highest(struct rn__world *world, struct surw *surw, const struct rn__fork *fork)
{
    uint64_t most = 0;
    uint32_t best = fork->n, timers = 0;
    for (uint32_t i = 0; i < fork->n; i++) {
        if (is_withheld(world, surw, fork->steps[i]))
            continue;
        uint64_t p = priority(world, surw, fork->steps[i]);
        timers += fork->steps[i]->task == 0;
        if (p > most) {
            most = p;
            best = i;
        }
    }
    if (best < fork->n && !fork->steps[best]->task) {
        surw->runners[0].priority = 0;
        best += rn__world_below(world, timers); /* they are in a row */
    }
    return best;
}

/* Whether the one drawn cannot be waited for: all are withheld but some that
 * only spin, until another is let on. */
static bool
is_stuck(const struct rn__world *world, const struct surw *surw,
         const struct rn__fork *fork)
{
    uint32_t withheld = 0;
    for (uint32_t i = 0; i < fork->n; i++)
        if (is_withheld(world, surw, fork->steps[i]))
            withheld++;
        else if (!rn__is_idle(fork->steps[i]))
            return false;
    return withheld > 0;
}

static uint32_t
pick(struct rn__world *world, const struct rn__fork *fork)
{
    struct surw *surw = rn__strategy_state(world, sizeof *surw);
    if (fork->data || !surw || rn__is_long(world) ||
        !look_up_new(world, surw, fork))
        return rn__world_below(world, fork->n);
    uint32_t task = surw->intended;
    if (!task || has_ended(world, task) ||
        done(world, &world->pending[task]) != surw->done)
        draw(world, surw, fork);
    if (is_stuck(world, surw, fork))
        draw_withheld(world, surw, fork);
    return highest(world, surw, fork);
}

static void
end(struct rn__world *world)
{
    struct surw *surw = rn__strategy_state(world, sizeof *surw);
    if (surw && world->plan->words.list[TELLS])
        rn__uses_tell(world, &surw->uses);
}

static void
leave(void *state)
{
    struct surw *surw = state;
    free(surw->parts);
    free(surw->runners);
    rn__uses_free(&surw->uses);
}

const struct rn__strategy rn__strategy_surw = {
    .name = "surw",
    .by_index = true,
    .warm = RN__LEARN_MAX + 1,
    .draws = true,
    .summary = "uniform over the orders of the operations on one object",
    .looks = true,
    .bytes = sizeof(struct profile),
    .plan = plan,
    .learn = learn,
    .close = close_profile,
    .begin = begin,
    .pick = pick,
    .end = end,
    .leave = leave,
};
