/* sim/choose.c - a choice: who may go on, with what, and what is kept of it.
 *
 * The plan's prefix answers first, then its strategy. The steps of the
 * candidates are gathered only for a strategy that looks at them.
 */
#include "sim/choose.h"

#include "base/prng.h"
#include "sim/record.h"

#include <stdlib.h>

/* ---- choosing ----------------------------------------------------------- */

/* Beyond the plan's prefix. */
static inline uint32_t
choose_free(struct rn__world *world, const struct rn__fork *fork)
{
    const struct rn__strategy *strategy = world->plan->strategy;
    if (fork->data && world->injector.odds > 0 && strategy->draws)
        return rn__inject_draw(world);
    uint32_t choice = strategy->pick(world, fork);
    rn__assert(choice < fork->n);
    return choice;
}

static uint32_t
choose_planned(struct rn__world *world, uint32_t n)
{
    uint32_t choice = world->plan->prefix.list[world->choices.count];
    if (choice < n)
        return choice;
    world->diverged++;
    return 0;
}

static void
out_of_memory(struct rn__world *world)
{
    rn__world_finish(world, RN_SIM_MEMORY_LIMIT, NULL,
                     rn__format("no memory for the list of choices"));
}

__attribute__((noinline)) static void
keep_fork(struct rn__world *world, const struct rn__fork *fork)
{
    size_t i = world->choices.count - 1;
    if (i >= world->forked_room) {
        size_t room = world->choices.room;
        struct rn__forked *larger =
            realloc(world->forked, room * sizeof *larger);
        if (!larger) {
            out_of_memory(world);
            return;
        }
        world->forked = larger;
        world->forked_room = room;
    }
    uint32_t self = fork->self < fork->n ? fork->self : RN__FORKED_NOBODY;
    world->forked[i].n = fork->n;
    world->forked[i].self = self & RN__FORKED_NOBODY;
    world->forked[i].idle = fork->steps && fork->self < fork->n &&
                            rn__is_idle(fork->steps[fork->self]);
    world->forked[i].data = fork->data;
    world->forked[i].fault = world->injector.odds > 0;
}

static inline bool
keep_choice(struct rn__world *world, uint32_t n, uint32_t choice)
{
    struct rn__choices *choices = &world->choices;
    size_t i = choices->count;
    rn__digest_add(world, ((uint64_t)n << 32 | choice) * 0xd6e8feb86659fd93u);
    if (rn__likely(i < choices->room)) {
        choices->list[i] = choice;
        choices->count = i + 1;
    } else if (!rn__choices_add(choices, choice)) {
        out_of_memory(world);
        return false;
    }
    if (rn__unlikely(world->mirror.list != NULL)) {
        if (i < world->mirror.room)
            world->mirror.list[i] = choice;
        *world->mirror.count = i < world->mirror.room ? i + 1 : SIZE_MAX;
    }
    return true;
}

/* Whether the strategy is to be asked: not before the search begins, and not
 * within the prefix unless it follows that itself. */
static inline bool
is_open(const struct rn__world *world)
{
    return !world->waiting_to_explore &&
           (world->choices.count >= world->plan->prefix.count ||
            world->plan->strategy->follows);
}

static inline uint32_t
choose(struct rn__world *world, const struct rn__fork *fork)
{
    if (fork->n < 2 || world->waiting_to_explore || world->looking)
        return 0;
    if (world->fairness.on)
        return world->fairness.turn++ % fork->n;
    uint32_t choice = is_open(world) ? choose_free(world, fork)
                                     : choose_planned(world, fork->n);
    if (keep_choice(world, fork->n, choice) && world->plan->strategy->forked)
        keep_fork(world, fork);
    return choice;
}

uint32_t
rn__choose_fork(struct rn__world *world, const struct rn__fork *fork)
{
    return choose(world, fork);
}

/* ---- pending steps ------------------------------------------------------ */

static bool
grow_pending(struct rn__world *world, uint32_t task)
{
    size_t room = world->pending_room ? world->pending_room : 64;
    while (room <= task)
        room *= 2;
    struct rn__pending *larger = realloc(world->pending, room * sizeof *larger);
    if (!larger)
        return false;
    world->pending = larger;
    world->pending_room = room;
    return true;
}

/* A task that has not begun: who its ancestors are is known now. */
void
rn__pend_begin(struct rn__world *world, const struct rn__task *task,
               uint32_t by)
{
    uint32_t number = rn__task_number(task);
    if (number >= world->pending_room && !grow_pending(world, number))
        abort();
    uint64_t parent = by ? world->pending[by].lineage : 0;
    uint64_t nth = by ? ++world->pending[by].children : 1;
    world->pending[number] = (struct rn__pending){
        .task = number,
        .kind = RN__BEGIN,
        .site = task->spawn_site,
        .parent = parent,
        .run = world->run_number,
        .lineage = rn__mix64(parent + nth * 0x9e3779b97f4a7c15u),
    };
}

static void
pend_timer(struct rn__world *world, size_t i, struct rn__heap_node *node)
{
    const struct rn__timer *timer =
        rn__container_of(node, struct rn__timer, node);
    world->timers[i] =
        (struct rn__pending){.kind = RN__TIMEOUT, .address = timer, .mark = 0};
}

static bool
gather(struct rn__world *world, const struct rn__candidates *c,
       struct rn__fork *fork)
{
    if (fork->n > world->fork_room) {
        size_t room = 2 * (size_t)fork->n;
        void *larger =
            realloc(world->fork_steps, room * sizeof *world->fork_steps);
        if (!larger)
            return false;
        world->fork_steps = larger;
        world->fork_room = room;
    }
    struct rn__pending **at = world->fork_steps;
    if (c->self && !c->last)
        *at++ = &world->pending[rn__task_number(c->self)];
    for (size_t i = 0; i < world->ready_count; i++)
        *at++ = &world->pending[rn__task_number(world->ready[i])];
    for (size_t i = 0; i < c->timers; i++) {
        pend_timer(world, i, rn__due_at(&world->due, i));
        *at++ = &world->timers[i];
    }
    if (c->self && c->last)
        *at = &world->pending[rn__task_number(c->self)];
    fork->steps = world->fork_steps;
    return true;
}

__attribute__((noinline)) static uint32_t
choose_slowly(struct rn__world *world, const struct rn__candidates *c,
              uint32_t n, uint32_t self)
{
    struct rn__fork fork = {.n = n, .self = self};
    if (n > 1 && world->plan->strategy->looks && is_open(world) &&
        !gather(world, c, &fork)) {
        out_of_memory(world);
        return c->self ? self : 0;
    }
    return choose(world, &fork);
}

/* A draw needs no more than the number of candidates. */
int64_t
rn__choose_next(struct rn__world *world, const struct rn__candidates *c)
{
    uint32_t others = (uint32_t)(world->ready_count + c->timers), choice;
    uint32_t n = others + (c->self != NULL);
    uint32_t self = !c->self ? n : c->last ? others : 0;
    if (world->plain && world->calm && n > 1 && is_open(world)) {
        choice = rn__prng_below(&world->prng, n);
        keep_choice(world, n, choice);
    } else {
        choice = choose_slowly(world, c, n, self);
    }
    return choice == self ? -1 : (int64_t)choice - (self == 0);
}
