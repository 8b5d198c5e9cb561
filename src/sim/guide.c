/* sim/guide.c - see guide.h. */
#include "sim/strategy.h"

#include "sim/fair.h"
#include "sim/guide.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

struct state {
    uint64_t leg;   /* the one it is in */
    uint64_t datum; /* all before it are used */
    uint8_t used[];
};

static const struct rn__guide *
guide_of(const struct rn__world *world)
{
    static const struct rn__guide empty;
    const struct rn__words *words = &world->plan->words;
    return words->count ? (const void *)words->list : &empty;
}

static void
begin(struct rn__world *world)
{
    size_t bytes = sizeof(struct state) + guide_of(world)->data;
    struct state *state = rn__strategy_state(world, bytes);
    if (!state)
        abort();
    memset(state, 0, bytes);
}

/* ---- following ---------------------------------------------------------- */

static uint32_t
find(const struct rn__fork *fork, uint64_t lineage)
{
    uint32_t i = 0;
    if (fork->self < fork->n && fork->steps[fork->self]->lineage == lineage)
        return fork->self;
    while (i < fork->n && (fork->steps[i]->lineage != lineage ||
                           (lineage != 0) != (fork->steps[i]->task != 0)))
        i++;
    return i;
}

/* As the searches of the tree do (tree.c). */
static uint32_t
pick_default(const struct rn__fork *fork)
{
    if (fork->data || fork->self != 0 || !rn__is_idle(fork->steps[0]))
        return 0;
    fork->steps[0]->idle = 0;
    return 1;
}

static bool
is_over(const struct rn__leg *leg, const struct rn__pending *step)
{
    return leg->until == RN__GUIDE_ALL ? rn__is_idle(step)
                                       : step->steps >= leg->until;
}

static uint32_t
follow(struct rn__world *world, const struct rn__fork *fork,
       struct state *state)
{
    const struct rn__guide *guide = guide_of(world);
    const struct rn__leg *legs = (const void *)(guide + 1);
    for (; state->leg < guide->legs; state->leg++) {
        const struct rn__leg *leg = &legs[state->leg];
        uint32_t i = find(fork, leg->lineage);
        if (i == fork->n)
            continue;
        if (leg->lineage == 0)
            state->leg++; /* one timer */
        else if (is_over(leg, fork->steps[i]))
            continue;
        return i;
    }
    return pick_default(fork);
}

static uint64_t
owner(const struct rn__world *world)
{
    struct rn__task *self = rn__current(&world->worker);
    return self ? world->pending[rn__task_number(self)].lineage : 0;
}

/* The next that the same task has chosen. */
static uint32_t
follow_data(struct rn__world *world, struct state *state, uint32_t n)
{
    const struct rn__guide *guide = guide_of(world);
    const struct rn__datum *data =
        (const void *)((const struct rn__leg *)(guide + 1) + guide->legs);
    uint64_t by = owner(world), i = state->datum;
    while (state->datum < guide->data && state->used[state->datum])
        i = ++state->datum;
    for (; i < guide->data; i++)
        if (!state->used[i] && data[i].lineage == by) {
            state->used[i] = 1;
            return data[i].choice < n ? (uint32_t)data[i].choice : 0;
        }
    return 0;
}

/* ---- the record --------------------------------------------------------- */

static void
keep(struct rn__world *world, const struct rn__fork *fork, uint32_t choice)
{
    bool has_self = !fork->data && fork->self < fork->n;
    const struct rn__pending *self = has_self ? fork->steps[fork->self] : NULL;
    rn__words_add(&world->words,
                  fork->data ? owner(world) : fork->steps[choice]->lineage);
    rn__words_add(&world->words, self ? self->lineage : 0);
    rn__words_add(&world->words, self ? self->steps : 0);
}

static uint32_t
pick(struct rn__world *world, const struct rn__fork *fork)
{
    struct state *state = rn__strategy_state(world, 0);
    const struct rn__choices *prefix = &world->plan->prefix;
    size_t i = world->choices.count;
    uint32_t choice = 0;
    if (i < prefix->count && prefix->list[i] < fork->n)
        choice = prefix->list[i];
    else if (i < prefix->count)
        world->diverged++;
    else if (fork->data)
        choice = follow_data(world, state, fork->n);
    else
        choice = follow(world, fork, state);
    keep(world, fork, choice);
    return choice;
}

const struct rn__strategy rn__strategy_guide = {
    .name = "guide",
    .looks = true,
    .forked = true,
    .follows = true,
    .begin = begin,
    .pick = pick,
};
