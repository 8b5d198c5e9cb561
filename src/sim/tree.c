/* sim/tree.c - searches of the tree of choices: depth first; with few
 * preemptions first (Musuvathi and Qadeer, "Iterative context bounding for
 * systematic testing of multithreaded programs", 2007); with few deviations
 * from the default schedule first (Emmi, Qadeer and Rakamaric, "Delay-bounded
 * scheduling", 2011; they count one for each task that is passed over, here a
 * deviation counts one whoever goes on instead).
 *
 * A plan is a prefix of choices, then the default, 0. Its run is a leaf of the
 * tree; each choice beyond the prefix has siblings that are yet to be run. So a
 * leaf is kept with a cursor over them, from its end backwards, those that cost
 * too much left for a later level. Leaves lie on a stack; but a batch of plans
 * is taken from it before any of their logs is looked at, so that workers do
 * not wait for each other, and the order of schedules is the same for any
 * number of them.
 *
 * The size of the tree is estimated by the share of it that has been run, a
 * leaf being as much as a random walk finds it (Kilby, Slaney, Thiebaux and
 * Walsh, "Estimating search tree size", 2006).
 */
#include "sim/strategy.h"

#include "sim/fair.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 16, BOUND_MAX = 1000, PLACE_MAX = UINT16_MAX };

/* What a deviation costs. */
enum cost { FREE, PREEMPTION, DELAY };

struct place {
    uint16_t choice, n;
    uint16_t idle;  /* 1 + a choice not worth a try; 0: all are */
    uint16_t price; /* of any other choice here */
};

/* A schedule that was run, and its siblings. */
struct leaf {
    struct leaf *next;
    uint32_t cost;
    uint32_t first; /* place; those before are others' to vary */
    uint32_t count; /* places */
    uint32_t at;    /* cursor: 1 + place; down to first */
    uint32_t tried; /* last choice tried there */
    bool dear;      /* some siblings cost more than the level */
    struct place places[];
};

/* A plan of the batch, and what came of it. */
struct trial {
    struct rn__choices prefix;
    uint32_t cost;
    struct leaf *leaf;
};

struct tree {
    struct leaf *stack; /* with siblings of this level */
    struct leaf *later; /* of the next */
    uint32_t level;
    uint32_t size, planned, learnt; /* of the batch */
    bool failed;                    /* out of memory */
    double leaves, share;           /* of the tree, run so far */
    struct trial batch[BATCH];
};

/* ---- leaves ------------------------------------------------------------- */

static bool
is_worth(const struct place *place, uint32_t choice)
{
    return choice != place->choice && choice + 1 != place->idle;
}

/* The next sibling of this cost. */
static bool
advance(struct leaf *leaf, uint32_t cost)
{
    for (; leaf->at > leaf->first; leaf->at--, leaf->tried = 0) {
        const struct place *place = &leaf->places[leaf->at - 1];
        if (leaf->cost + place->price > cost)
            leaf->dear = true;
        if (leaf->cost + place->price != cost)
            continue;
        while (++leaf->tried < place->n)
            if (is_worth(place, leaf->tried))
                return true;
    }
    return false;
}

static bool
put_prefix(struct rn__choices *prefix, const struct leaf *leaf)
{
    prefix->count = 0;
    for (uint32_t i = 0; i + 1 < leaf->at; i++)
        if (!rn__choices_add(prefix, leaf->places[i].choice))
            return false;
    return rn__choices_add(prefix, leaf->tried);
}

static uint16_t
price_of(enum cost cost, const struct rn__forked *fork, uint32_t choice)
{
    /* A choice that differs from the default is one that an idle task has
     * made way by. */
    bool could_go_on = !fork->data && fork->self == 0 && choice == 0;
    return cost == DELAY || (cost == PREEMPTION && could_go_on);
}

static struct leaf *
make_leaf(enum cost cost, const struct trial *trial, const struct rn__log *log)
{
    size_t count = log->forked ? log->choices.count : 0;
    struct leaf *leaf = malloc(sizeof *leaf + count * sizeof *leaf->places);
    if (!leaf)
        return NULL;
    *leaf = (struct leaf){.cost = trial->cost,
                          .first = (uint32_t)trial->prefix.count,
                          .count = (uint32_t)count,
                          .at = (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        const struct rn__forked *f = &log->forked[i];
        uint32_t choice = log->choices.list[i];
        bool hopeless = f->idle && f->self < PLACE_MAX && f->self > 0;
        leaf->places[i] =
            (struct place){.choice = (uint16_t)choice,
                           .n = (uint16_t)(f->n < PLACE_MAX ? f->n : PLACE_MAX),
                           .price = price_of(cost, f, choice),
                           .idle = (uint16_t)(hopeless ? f->self + 1 : 0)};
    }
    return leaf;
}

static double
share_of(const struct rn__log *log)
{
    double share = 1;
    for (size_t i = 0; log->forked && i < log->choices.count; i++)
        share /= log->forked[i].n;
    return share;
}

/* ---- batches ------------------------------------------------------------ */

static void
push(struct leaf **stack, struct leaf *leaf)
{
    leaf->next = *stack;
    *stack = leaf;
}

/* All logs of a batch are there. */
static void
take_leaves(struct tree *t)
{
    for (uint32_t i = 0; i < t->size; i++) {
        if (t->batch[i].leaf)
            push(&t->stack, t->batch[i].leaf);
        t->batch[i].leaf = NULL;
    }
}

static void
drop_leaf(struct tree *t)
{
    struct leaf *leaf = t->stack;
    t->stack = leaf->next;
    leaf->at = leaf->count;
    leaf->tried = 0;
    if (leaf->dear) {
        leaf->dear = false;
        push(&t->later, leaf);
    } else {
        free(leaf);
    }
}

static bool
fill_batch(struct tree *t)
{
    t->size = t->planned = t->learnt = 0;
    while (t->stack && t->size < BATCH) {
        if (!advance(t->stack, t->level)) {
            drop_leaf(t);
            continue;
        }
        struct trial *trial = &t->batch[t->size++];
        trial->cost = t->level;
        if (!put_prefix(&trial->prefix, t->stack))
            return false;
    }
    return true;
}

/* The next level of costs. */
static bool
rise(struct rn__searcher *s, enum cost cost)
{
    struct tree *t = s->state;
    if (cost != FREE)
        s->bound = (int)t->level;
    s->complete = !t->later;
    if (!t->later || t->level >= s->param)
        return false;
    t->level++;
    while (t->later) { /* turned over: the first of them is first again */
        struct leaf *leaf = t->later;
        t->later = leaf->next;
        push(&t->stack, leaf);
    }
    return true;
}

static enum rn__planned
next_batch(struct rn__searcher *s, enum cost cost)
{
    struct tree *t = s->state;
    if (t->learnt < t->size)
        return RN__PLAN_WAIT;
    take_leaves(t);
    do {
        if (t->failed || !fill_batch(t))
            return RN__PLAN_FAILED;
        if (t->size)
            return RN__PLAN_MADE;
    } while (rise(s, cost));
    return RN__PLAN_EXHAUSTED;
}

static enum rn__planned
plan_tree(struct rn__searcher *s, struct rn__plan *plan, enum cost cost)
{
    struct tree *t = s->state;
    if (plan->index == 0) {
        t->size = 1; /* the empty prefix */
    } else if (t->planned == t->size) {
        enum rn__planned planned = next_batch(s, cost);
        if (planned != RN__PLAN_MADE)
            return planned;
    }
    plan->slot = t->planned;
    plan->prefix = t->batch[t->planned++].prefix;
    return RN__PLAN_MADE;
}

static void
learn_tree(struct rn__searcher *s, const struct rn__plan *plan,
           const struct rn__log *log, enum cost cost)
{
    struct tree *t = s->state;
    struct trial *trial = &t->batch[plan->slot];
    trial->leaf = make_leaf(cost, trial, log);
    t->failed |= !trial->leaf;
    t->learnt++;
    t->leaves++;
    t->share += share_of(log);
    s->estimated = cost == FREE && t->share > 1e-300 ? t->leaves / t->share : 0;
}

static void
close_tree(struct rn__searcher *s)
{
    struct tree *t = s->state;
    take_leaves(t);
    while (t->stack || t->later) {
        struct leaf **from = t->stack ? &t->stack : &t->later;
        struct leaf *leaf = *from;
        *from = leaf->next;
        free(leaf);
    }
    for (int i = 0; i < BATCH; i++)
        free(t->batch[i].prefix.list);
}

/* Beyond the prefix: the default, but an idle task makes way. */
static uint32_t
pick(struct rn__world *world, const struct rn__fork *fork)
{
    (void)world;
    if (fork->data || fork->self != 0 || !rn__is_idle(fork->steps[0]))
        return 0;
    fork->steps[0]->idle = 0;
    return 1;
}

/* ---- the three ---------------------------------------------------------- */

#define TREE(id, what)                                        \
    static enum rn__planned plan_##id(struct rn__searcher *s, \
                                      struct rn__plan *plan)  \
    {                                                         \
        return plan_tree(s, plan, what);                      \
    }                                                         \
    static void learn_##id(struct rn__searcher *s,            \
                           const struct rn__plan *plan,       \
                           const struct rn__log *log)         \
    {                                                         \
        learn_tree(s, plan, log, what);                       \
    }

TREE(dfs, FREE)
TREE(preemption, PREEMPTION)
TREE(delay, DELAY)

const struct rn__strategy rn__strategy_dfs = {
    .name = "dfs",
    .summary = "all schedules, depth first",
    .looks = true,
    .forked = true,
    .bytes = sizeof(struct tree),
    .plan = plan_dfs,
    .learn = learn_dfs,
    .close = close_tree,
    .pick = pick,
};

const struct rn__strategy rn__strategy_preemption = {
    .name = "preemption",
    .summary = "all schedules, those with few preemptions first",
    .parameter = "preemptions at most, 0 to 1000",
    .param_max = BOUND_MAX,
    .param_default = BOUND_MAX,
    .looks = true,
    .forked = true,
    .bytes = sizeof(struct tree),
    .plan = plan_preemption,
    .learn = learn_preemption,
    .close = close_tree,
    .pick = pick,
};

const struct rn__strategy rn__strategy_delay = {
    .name = "delay",
    .summary = "all schedules, those with few deviations first",
    .parameter = "deviations from the default at most, 0 to 1000",
    .param_max = BOUND_MAX,
    .param_default = BOUND_MAX,
    .looks = true,
    .forked = true,
    .bytes = sizeof(struct tree),
    .plan = plan_delay,
    .learn = learn_delay,
    .close = close_tree,
    .pick = pick,
};
