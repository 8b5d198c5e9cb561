/* sim/pct.c - probabilistic concurrency testing: tasks have random priorities,
 * the highest goes on, and at d-1 random moments the one that goes on becomes
 * the lowest. A bug that needs d orderings is found with probability 1/(n
 * k^(d-1)) at least, n tasks, k choices (Burckhardt, Kothari, Musuvathi and
 * Nagarakatte, "A randomized scheduler with probabilistic guarantees of finding
 * bugs", 2010).
 *
 * Moments are counted in choices between tasks, not in steps: where there is
 * no other task a change of priorities has no effect before the next choice. k
 * is the most seen in earlier schedules.
 */
#include "sim/strategy.h"

#include "sim/fair.h"
#include "sim/learn.h"

#include <string.h>

enum { DEPTH_MAX = 8, FIRST_LENGTH = 32 };

/* Of the searcher's side. */
struct lengths {
    uint64_t learnt; /* schedules */
    uint64_t most;   /* choices in one of them */
    uint64_t used;   /* what plans use */
};

/* Of the world's side. */
struct pct {
    uint64_t moments[DEPTH_MAX];
    uint32_t changes; /* how many of them */
    uint64_t choices; /* made so far */
    uint64_t lowest;  /* priority given last to one that became the lowest */
    uint64_t clock;   /* priority of timers; 0: to be drawn */
    size_t tasks;     /* with a place in priorities; task numbers */
    uint64_t priorities[];
};

/* ---- the searcher's side ------------------------------------------------ */

static enum rn__planned
plan(struct rn__searcher *s, struct rn__plan *plan)
{
    struct lengths *l = s->state;
    if (rn__learns_at(plan->index)) {
        if (l->learnt < plan->index)
            return RN__PLAN_WAIT;
        l->used = l->most;
    }
    if (!l->used)
        l->used = FIRST_LENGTH;
    plan->words = (struct rn__words){&l->used, 1, 1};
    return RN__PLAN_MADE;
}

static void
learn(struct rn__searcher *s, const struct rn__plan *plan,
      const struct rn__log *log)
{
    struct lengths *l = s->state;
    (void)plan;
    l->learnt++;
    uint64_t choices = log->words.count ? log->words.list[0] : 0;
    if (choices > l->most)
        l->most = choices;
}

/* ---- the world's side --------------------------------------------------- */

static void
begin(struct rn__world *world)
{
    struct pct *pct = rn__strategy_state(world, sizeof *pct);
    if (!pct)
        return;
    size_t tasks = pct->tasks;
    memset(pct, 0, sizeof *pct + tasks * sizeof *pct->priorities);
    pct->tasks = tasks;
    uint64_t length = world->plan->words.list[0];
    pct->changes = world->plan->param - 1;
    pct->lowest = (uint64_t)1 << 32;
    for (uint32_t i = 0; i < pct->changes; i++)
        pct->moments[i] = rn__world_random(world) % length;
}

static struct pct *
with_room(struct rn__world *world)
{
    size_t tasks = world->rt.task_numbers + 1;
    struct pct *pct = rn__strategy_state(world, sizeof *pct);
    if (!pct || tasks <= pct->tasks)
        return pct;
    tasks *= 2;
    pct = rn__strategy_state(world,
                             sizeof *pct + tasks * sizeof *pct->priorities);
    if (pct)
        pct->tasks = tasks;
    return pct;
}

static uint64_t *
priority(struct rn__world *world, struct pct *pct,
         const struct rn__pending *step)
{
    uint64_t *p = step->task ? &pct->priorities[step->task] : &pct->clock;
    if (!*p)
        *p = rn__world_random(world) | (uint64_t)1 << 63;
    return p;
}

static uint32_t
highest(struct rn__world *world, struct pct *pct, const struct rn__fork *fork)
{
    uint32_t best = 0, timers = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < fork->n; i++) {
        uint64_t p = *priority(world, pct, fork->steps[i]);
        timers += fork->steps[i]->task == 0;
        if (p > most) {
            most = p;
            best = i;
        }
    }
    if (fork->steps[best]->task == 0) /* the first of those due */
        best += rn__world_below(world, timers);
    return best;
}

static uint32_t
pick(struct rn__world *world, const struct rn__fork *fork)
{
    struct pct *pct = fork->data ? NULL : with_room(world);
    if (!pct || rn__is_long(world))
        return rn__world_below(world, fork->n);
    for (uint32_t i = 0; i < pct->changes; i++)
        if (pct->moments[i] == pct->choices)
            *priority(world, pct, fork->steps[highest(world, pct, fork)]) =
                --pct->lowest;
    pct->choices++;
    uint32_t best = highest(world, pct, fork);
    if (rn__is_idle(fork->steps[best])) {
        fork->steps[best]->idle = 0;
        *priority(world, pct, fork->steps[best]) = --pct->lowest;
        best = highest(world, pct, fork);
    }
    if (fork->steps[best]->task == 0)
        pct->clock = 0;
    return best;
}

static void
end(struct rn__world *world)
{
    const struct pct *pct = rn__strategy_state(world, sizeof *pct);
    if (pct)
        rn__words_add(&world->words, pct->choices);
}

const struct rn__strategy rn__strategy_pct = {
    .name = "pct",
    .by_index = true,
    .warm = RN__LEARN_MAX + 1,
    .draws = true,
    .summary = "random priorities of tasks, changed at a few random moments",
    .parameter = "orderings that a bug needs, 1 to 8 (3)",
    .param_min = 1,
    .param_max = DEPTH_MAX,
    .param_default = 3,
    .looks = true,
    .bytes = sizeof(struct lengths),
    .plan = plan,
    .learn = learn,
    .begin = begin,
    .pick = pick,
    .end = end,
};
