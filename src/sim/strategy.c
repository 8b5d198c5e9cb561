/* sim/strategy.c - the table of strategies, and a search's own state of one. */
#include "sim/strategy.h"

#include "base/prng.h"
#include "sim/search.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

static const struct rn__strategy *const table[] = {
    &rn__strategy_portfolio, &rn__strategy_random,     &rn__strategy_pct,
    &rn__strategy_pos,       &rn__strategy_surw,       &rn__strategy_dfs,
    &rn__strategy_delay,     &rn__strategy_preemption, &rn__strategy_default,
    &rn__strategy_dpor,      &rn__strategy_guide, /* last */
};

enum { COUNT = sizeof table / sizeof *table };

_Static_assert((int)COUNT <= (int)RN__STRATEGIES_MAX,
               "a world has no place for them");

const struct rn__strategy *
rn__strategy_at(uint32_t number)
{
    return number < COUNT ? table[number] : NULL;
}

uint32_t
rn__strategy_number(const struct rn__strategy *strategy)
{
    uint32_t i = 0;
    while (table[i] != strategy)
        i++;
    return i;
}

/* ---- by name ------------------------------------------------------------ */

static char *
unknown(const char *text, size_t length)
{
    char *all = NULL;
    size_t size;
    FILE *out = open_memstream(&all, &size);
    if (!out)
        return NULL;
    fprintf(out, "strategy \"%.*s\" is unknown; there are", (int)length, text);
    for (uint32_t i = 0; i < COUNT && table[i]->summary; i++)
        fprintf(out, "%s %s", i ? "," : "", table[i]->name);
    fclose(out);
    return all;
}

static const struct rn__strategy *
named(const char *text, size_t length)
{
    for (uint32_t i = 0; i < COUNT; i++)
        if (strncmp(table[i]->name, text, length) == 0 &&
            !table[i]->name[length] && table[i]->summary)
            return table[i];
    return NULL;
}

static int
read_parameter(const struct rn__strategy *strategy, const char *text,
               uint32_t *param, char **why)
{
    char *end;
    if (!strategy->parameter) {
        *why = rn__format("strategy \"%s\" takes no number", strategy->name);
        return -EINVAL;
    }
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end &&
        number >= strategy->param_min && number <= strategy->param_max) {
        *param = (uint32_t)number;
        return 0;
    }
    *why = rn__format("strategy \"%s:%s\": %s must be a number from %u to %u",
                      strategy->name, text, strategy->parameter,
                      strategy->param_min, strategy->param_max);
    return -EINVAL;
}

int
rn__strategy_find(const char *text, const char *default_name,
                  const struct rn__strategy **strategy, uint32_t *param,
                  char **why)
{
    if (!text)
        text = default_name;
    size_t length = strcspn(text, ":");
    *strategy = named(text, length);
    if (!*strategy) {
        *why = unknown(text, length);
        return -EINVAL;
    }
    *param = (*strategy)->param_default;
    return text[length]
               ? read_parameter(*strategy, text + length + 1, param, why)
               : 0;
}

char *
rn__strategy_text(const struct rn__strategy *strategy, uint32_t param)
{
    return strategy->parameter && param != strategy->param_default
               ? rn__format("%s:%u", strategy->name, param)
               : rn__format("%s", strategy->name);
}

/* ---- the searcher's side ------------------------------------------------ */

int
rn__searcher_open(struct rn__searcher *s, const struct rn__strategy *strategy,
                  uint32_t param, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->strategy = strategy;
    s->param = param;
    s->seed = seed;
    s->bound = -1;
    s->preemptions = -1;
    s->state = calloc(1, strategy->bytes + 1);
    return s->state ? 0 : -ENOMEM;
}

void
rn__searcher_close(struct rn__searcher *s)
{
    if (s->state && s->strategy->close)
        s->strategy->close(s);
    free(s->state);
    s->state = NULL;
}

enum rn__planned
rn__searcher_plan(struct rn__searcher *s, uint64_t index, struct rn__plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->index = index;
    plan->strategy = s->strategy;
    plan->param = s->param;
    plan->seed = rn__schedule_seed(s->seed, index);
    return s->strategy->plan(s, plan);
}

void
rn__searcher_learn(struct rn__searcher *s, const struct rn__plan *plan,
                   const struct rn__log *log)
{
    if (s->strategy->learn)
        s->strategy->learn(s, plan, log);
    if (plan->owned)
        free(plan->words.list);
}

/* ---- the world's side --------------------------------------------------- */

void *
rn__strategy_state(struct rn__world *world, size_t bytes)
{
    struct rn__state *state =
        &world->states[rn__strategy_number(world->plan->strategy)];
    if (bytes <= state->bytes)
        return state->memory;
    if (bytes < 2 * state->bytes)
        bytes = 2 * state->bytes;
    char *memory = realloc(state->memory, bytes);
    if (!memory)
        return NULL;
    memset(memory + state->bytes, 0, bytes - state->bytes);
    state->memory = memory;
    state->bytes = bytes;
    return memory;
}

void
rn__strategy_leave(struct rn__world *world)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        void *memory = world->states[i].memory;
        if (memory && table[i]->leave)
            table[i]->leave(memory);
        free(memory);
    }
}

bool
rn__words_add(struct rn__words *words, uint64_t word)
{
    if (words->count == words->room) {
        size_t room = words->room ? 2 * words->room : 64;
        uint64_t *list = realloc(words->list, room * sizeof *list);
        if (!list)
            return false;
        words->list = list;
        words->room = room;
    }
    words->list[words->count++] = word;
    return true;
}

uint64_t
rn__world_random(struct rn__world *world)
{
    return rn__prng_next(&world->prng);
}

uint32_t
rn__world_below(struct rn__world *world, uint32_t n)
{
    return rn__prng_below(&world->prng, n);
}
