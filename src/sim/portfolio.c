/* sim/portfolio.c - several strategies in turn: no single one is good at all
 * bugs, and most bugs are easy for one of them.
 */
#include "sim/strategy.h"

#include "sim/learn.h"

#include <stdlib.h>

/* Whose turn it is, by the index of the schedule. */
static const struct member {
    const struct rn__strategy *strategy;
    uint32_t param;
} turns[] = {
    {&rn__strategy_surw, 0}, {&rn__strategy_surw, 0}, {&rn__strategy_surw, 0},
    {&rn__strategy_surw, 0}, {&rn__strategy_surw, 0}, {&rn__strategy_pos, 0},
    {&rn__strategy_surw, 0}, {&rn__strategy_surw, 0}, {&rn__strategy_surw, 0},
    {&rn__strategy_surw, 0}, {&rn__strategy_surw, 0}, {&rn__strategy_pct, 3},
};

enum { TURNS = sizeof turns / sizeof *turns, MEMBERS = 3 };

struct portfolio {
    struct rn__searcher members[MEMBERS];
    uint32_t count;
    uint32_t member[TURNS]; /* whose turn, as a place in members */
    uint32_t nth[TURNS];    /* the how manieth of its turns in a round */
    uint32_t per_round[MEMBERS];
};

static bool
open_members(struct rn__searcher *s, struct portfolio *p)
{
    for (uint32_t i = 0; i < TURNS; i++) {
        uint32_t m = 0;
        while (m < p->count && (p->members[m].strategy != turns[i].strategy ||
                                p->members[m].param != turns[i].param))
            m++;
        if (m == p->count &&
            rn__searcher_open(&p->members[p->count++], turns[i].strategy,
                              turns[i].param, s->seed) < 0)
            return false;
        p->member[i] = m;
        p->nth[i] = p->per_round[m]++;
    }
    return true;
}

/* The index of a schedule among those of its member. */
static uint64_t
inner_index(const struct portfolio *p, uint64_t index)
{
    uint32_t turn = index % TURNS;
    return index / TURNS * p->per_round[p->member[turn]] + p->nth[turn];
}

static enum rn__planned
plan(struct rn__searcher *s, struct rn__plan *plan)
{
    struct portfolio *p = s->state;
    if (!p->count && !open_members(s, p))
        return RN__PLAN_FAILED;
    struct rn__searcher *member = &p->members[p->member[plan->index % TURNS]];
    uint64_t index = plan->index;
    plan->index = inner_index(p, index);
    plan->strategy = member->strategy;
    plan->param = member->param;
    enum rn__planned planned = member->strategy->plan(member, plan);
    plan->index = index;
    return planned;
}

static void
learn(struct rn__searcher *s, const struct rn__plan *plan,
      const struct rn__log *log)
{
    struct portfolio *p = s->state;
    struct rn__searcher *member = &p->members[p->member[plan->index % TURNS]];
    struct rn__plan inner = *plan;
    inner.index = inner_index(p, plan->index);
    if (member->strategy->learn)
        member->strategy->learn(member, &inner, log);
}

static void
close_members(struct rn__searcher *s)
{
    struct portfolio *p = s->state;
    for (uint32_t i = 0; i < p->count; i++)
        rn__searcher_close(&p->members[i]);
}

const struct rn__strategy rn__strategy_portfolio = {
    .name = "portfolio",
    .by_index = true,
    .warm = (RN__LEARN_MAX + 1) * TURNS,
    .summary = "surw, pos and pct in turn",
    .bytes = sizeof(struct portfolio),
    .plan = plan,
    .learn = learn,
    .close = close_members,
};
