/* sim/dpor.c - optimal partial order reduction: each trace once, no run in
 * vain, memory polynomial in the length of a run.
 *
 * THE TREE. Any act can happen at any time (depend.h), so in whatever way a
 * set E of acts is gone on with, the act e that is next by default will come.
 * What must come before it there and is not in E is its past P. Which P it is
 * divides the traces that go on from E; so a trace is a path of nodes
 * (P1, e1), (P2, e2), ..., and each path is one trace. A node that is new has
 * an empty past; those with other pasts are found so: take the act a of P that
 * is last (of several, the one that meets e in the last of e's accesses, then
 * by name). Without it e has a past P' with one act less that it meets, and a
 * run through (P', e) can go on with the rest of P up to a: a race of e and a.
 * Of the runs that do, one is the right one to propose P: the one in which all
 * acts between that will be given up (those not before a) came as soon as they
 * could. So each run proposes some others, all different, each a beginning of
 * traces not seen yet, and nothing need be remembered but proposals.
 *
 * In one run: acts of pasts come right before their node. The race (e, a) is
 * reversed if e is a node; if a is a node or the last act of a past; and if all
 * acts of pasts between them are before a. A choice of data (an arm of a
 * select) branches a node; who is given up must have chosen by default.
 *
 * On a stack of proposals the ones below a run come from at most n * n runs
 * that led to it: each moves an act of a past to an earlier node.
 *
 * Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order reduction",
 * 2014 (optimality); Kokologiannakis, Marmanis, Gladstein, Vafeiadis, "Truly
 * stateless, optimal dynamic partial order reduction", 2022 (who is given up
 * must be maximal: no memory of what was seen); Abdulla, Atig, Das, Jonsson,
 * Sagonas, "Parsimonious optimal dynamic partial order reduction", 2024.
 */
#include "sim/strategy.h"

#include "sim/preempt.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* ---- plans -------------------------------------------------------------- */

/* A plan's words: the first act whose races are new; then for each act its
 * thread's name, a head, and what it chooses. */
enum { HEAD_NODE = 1, HEAD_SHIFT = 8 };

/* The strategy's number if there is none. */
enum { NO_BOUND = 1000000 };

/* In the world: of each act, where it is in the plan's words, and whether it is
 * a node. */
struct guide {
    uint32_t count; /* of acts in the plan */
    bool lost;      /* the plan does not fit the program */
    struct {
        uint32_t at;
        bool node;
    } act[];
};

/* With room for so many acts; it may move. NULL: out of memory. */
static struct guide *
guide_for(struct rn__world *world, size_t acts)
{
    struct guide *g = NULL;
    return rn__strategy_state(world, sizeof *g + acts * sizeof g->act[0]);
}

static struct guide *
guide_of(struct rn__world *world)
{
    return guide_for(world, 0);
}

static uint64_t
word(const struct rn__world *world, uint32_t i)
{
    return world->plan->words.list[i];
}

static uint64_t
name_at(const struct rn__world *world, const struct guide *g, uint32_t i)
{
    return word(world, g->act[i].at);
}

static uint32_t
chosen_at(const struct rn__world *world, const struct guide *g, uint32_t i)
{
    return (uint32_t)(word(world, g->act[i].at + 1) >> HEAD_SHIFT);
}

static void
begin(struct rn__world *world)
{
    size_t words = world->plan->words.count;
    struct guide *g = guide_for(world, words / 2);
    if (!g)
        return;
    g->count = 0;
    g->lost = false;
    for (size_t i = 1; i + 1 < words;) {
        g->act[g->count++].at = (uint32_t)i;
        i += 2 + (word(world, (uint32_t)i + 1) >> HEAD_SHIFT);
    }
}

/* ---- in the world: follow the plan, then the default -------------------- */

static uint32_t
pick_data(struct rn__world *world, const struct guide *g, uint32_t n)
{
    const struct rn__depend *d = world->depend;
    uint32_t i = d->act_count - 1;
    if (!d->act_count || !d->open || i >= g->count ||
        d->acts[i].name != name_at(world, g, i))
        return 0;
    uint32_t place = d->acts[i].choices;
    if (place >= chosen_at(world, g, i))
        return 0;
    uint64_t choice = word(world, g->act[i].at + 2 + place);
    return choice < n ? (uint32_t)choice : 0;
}

static uint64_t
name_of(const struct rn__world *world, const struct rn__pending *p)
{
    const struct rn__timer *timer = p->address;
    if (p->kind != RN__TIMEOUT)
        return p->lineage;
    return rn__depend_timer_name(world->depend, timer);
}

/* Who goes on by itself is not left; else the longest ready. One that only
 * comes back from a wait does so at once: it is no act. */
static uint32_t
pick(struct rn__world *world, const struct rn__fork *fork)
{
    const struct guide *g = guide_of(world);
    if (!g)
        return 0;
    if (fork->data)
        return pick_data(world, g, fork->n);
    for (uint32_t i = 0; i < fork->n; i++)
        if (fork->steps[i]->kind == RN__NONE)
            return i;
    uint32_t act = world->depend->act_count;
    for (uint32_t i = 0; act < g->count && i < fork->n; i++)
        if (name_of(world, fork->steps[i]) == name_at(world, g, act))
            return i;
    return fork->self < fork->n && fork->steps[fork->self]->kind != RN__YIELD
               ? fork->self
               : 0;
}

/* ---- in the world: what the run proposes -------------------------------- */

/* The run as the analysis sees it. */
struct run {
    struct rn__world *world;
    const struct rn__depend *d;
    struct guide *g;
    uint32_t fresh; /* earlier races have been seen to */
    size_t length;  /* where the length of the proposal being written is */
};

/* Whether act x comes after y in the order in which pasts are taken apart. */
static bool
is_later(const struct run *r, uint32_t e, uint32_t x, uint32_t y)
{
    const struct rn__act *p = &r->d->acts[x], *q = &r->d->acts[y];
    int px = rn__act_meets(r->d, e, x), py = rn__act_meets(r->d, e, y);
    if (px != py)
        return px > py;
    return p->name != q->name ? p->name > q->name : p->index > q->index;
}

static uint32_t
level_start(const struct run *r, uint32_t node)
{
    while (node > 0 && !r->g->act[node - 1].node)
        node--;
    return node;
}

static bool
chose_default(const struct run *r, uint32_t act, uint32_t from)
{
    const struct rn__act *a = &r->d->acts[act];
    for (uint32_t i = from; i < a->choices; i++)
        if (r->d->choices[a->choice + i])
            return false;
    return true;
}

/* Choices that act x had made before it met act y. */
static uint32_t
chosen_before(const struct run *r, uint32_t x, uint32_t y)
{
    const struct rn__act *a = &r->d->acts[x];
    int place = rn__act_meets(r->d, x, y);
    return place < 0 || (uint32_t)place == a->accesses
               ? 0
               : r->d->accesses[a->access + (uint32_t)place].choices;
}

/* Whether act z of the past of e meets a, which goes on after z and before e
 * instead of after e: a compare-and-swap may then find another value. */
static bool
would_meet(const struct run *r, uint32_t z, uint32_t a, uint32_t e)
{
    const struct rn__depend *d = r->d;
    const struct rn__act *x = &d->acts[a];
    int place = rn__act_meets(d, a, e);
    if (place < 0 || (uint32_t)place >= x->accesses)
        return rn__act_meets(d, z, a) >= 0;
    struct rn__access *swap = &d->accesses[x->access + (uint32_t)place];
    int mine = rn__act_meets(d, e, a);
    if (swap->kind != RN__CAS || mine < 0)
        return rn__act_meets(d, z, a) >= 0;
    uint8_t mode = swap->mode;
    int64_t value = d->accesses[d->acts[e].access + (uint32_t)mine].value;
    swap->mode = value == swap->expected ? RN__MODE_WHOLE : RN__MODE_READ;
    bool yes = rn__act_meets(d, z, a) >= 0;
    swap->mode = mode;
    return yes;
}

/* Whether act x of the past of e would come before a if e did not. */
static bool
is_before_without(const struct run *r, uint32_t x, uint32_t a, uint32_t e)
{
    const struct rn__depend *d = r->d;
    if (rn__act_causes(d, x, a))
        return true;
    for (uint32_t z = x; z < a; z++)
        if (z != e && rn__act_before(d, x, z) && !rn__act_before(d, e, z) &&
            (d->acts[z].thread == d->acts[a].thread || would_meet(r, z, a, e)))
            return true;
    return false;
}

/* Whether those between e and a are as they must be. */
static bool
is_canonical(const struct run *r, uint32_t e, uint32_t a)
{
    const struct rn__depend *d = r->d;
    for (uint32_t x = e + 1; x < a; x++)
        if (!rn__act_before(d, x, a) &&
            (!r->g->act[x].node || !chose_default(r, x, 0)))
            return false;
    uint32_t start = level_start(r, e);
    for (uint32_t x = start; x < e; x++) {
        bool last = true;
        for (uint32_t y = x + 1; last && y < e; y++)
            last = !rn__act_before(d, x, y);
        if (last && is_later(r, e, x, a) && !is_before_without(r, x, a, e))
            return false;
    }
    return chose_default(r, e, chosen_before(r, e, a)) &&
           chose_default(r, a, chosen_before(r, a, e));
}

static void
put(struct run *r, uint64_t w)
{
    if (!rn__words_add(&r->world->words, w))
        r->g->lost = true;
}

static void
open_proposal(struct run *r, uint32_t fresh)
{
    r->length = r->world->words.count;
    put(r, 0);
    put(r, fresh);
}

static void
close_proposal(struct run *r)
{
    struct rn__words *words = &r->world->words;
    if (!r->g->lost)
        words->list[r->length] = words->count - r->length - 1;
}

static void
put_act(struct run *r, uint32_t act, bool node, uint32_t choices)
{
    const struct rn__act *a = &r->d->acts[act];
    put(r, a->name);
    put(r, (uint64_t)choices << HEAD_SHIFT | (node ? HEAD_NODE : 0));
    for (uint32_t i = 0; i < choices; i++)
        put(r, r->d->choices[a->choice + i]);
}

static void
put_acts(struct run *r, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        put_act(r, i, r->g->act[i].node, r->d->acts[i].choices);
}

static void
propose_reversal(struct run *r, uint32_t e, uint32_t a)
{
    open_proposal(r, level_start(r, e));
    put_acts(r, 0, e);
    for (uint32_t x = e + 1; x < a; x++)
        if (rn__act_before(r->d, x, a))
            put_act(r, x, false, r->d->acts[x].choices);
    put_act(r, a, false, chosen_before(r, a, e));
    put_act(r, e, true, chosen_before(r, e, a));
    close_proposal(r);
}

/* The other values of the choices that the plan has left to act i. */
static void
propose_choices(struct run *r, uint32_t i)
{
    const struct rn__act *act = &r->d->acts[i];
    bool node = r->g->act[i].node;
    uint32_t planned = 0;
    if (i < r->g->count && act->name == name_at(r->world, r->g, i))
        planned = chosen_at(r->world, r->g, i);
    for (uint32_t c = planned; c < act->choices; c++)
        for (uint32_t v = 1; v < r->d->widths[act->choice + c]; v++) {
            open_proposal(r, node ? i : level_start(r, i));
            put_acts(r, 0, i);
            put(r, act->name);
            put(r, (uint64_t)(c + 1) << HEAD_SHIFT | node);
            for (uint32_t k = 0; k < c; k++)
                put(r, r->d->choices[act->choice + k]);
            put(r, v);
            for (uint32_t k = i + 1; !node && k < r->g->count; k++)
                for (uint32_t w = 0; w < 2 + chosen_at(r->world, r->g, k); w++)
                    put(r, word(r->world, r->g->act[k].at + w));
            close_proposal(r);
        }
}

static bool
find_nodes(struct run *r)
{
    const struct rn__depend *d = r->d;
    struct guide *g = r->g = guide_for(r->world, d->act_count);
    if (!g)
        return false;
    for (uint32_t i = 0; i < d->act_count; i++) {
        bool fits = i < g->count && d->acts[i].name == name_at(r->world, g, i);
        /* Only the last act of a plan, a timer, may have become void. */
        if (i + 1 < g->count && !fits)
            g->lost = true;
        g->act[i].node =
            !fits || (word(r->world, g->act[i].at + 1) & HEAD_NODE);
    }
    return true;
}

/* Plus 1; 0: nobody asks. */
static uint64_t
fewest_preemptions(const struct rn__world *world)
{
    bool counts = world->options.flags & RN_SIM_KEEP_GOING &&
                  world->verdict != RN_SIM_PASS;
    if (!counts && world->plan->param == NO_BOUND)
        return 0;
    return (uint64_t)rn__preemptions(world->depend) + 1;
}

static void
end(struct rn__world *world)
{
    struct run r = {.world = world, .d = world->depend, .g = guide_of(world)};
    rn__depend_close(world->depend);
    if (!r.g || world->depend->failed || !find_nodes(&r) || r.g->lost) {
        rn__words_add(&world->words, 1);
        return;
    }
    rn__words_add(&world->words, 0);
    rn__words_add(&world->words, fewest_preemptions(world));
    const struct rn__depend *d = r.d;
    if (r.g->count)
        r.fresh = (uint32_t)word(world, 0);
    if (r.fresh < d->begun)
        r.fresh = d->begun;
    for (uint32_t a = r.fresh; a < d->act_count; a++) {
        bool last =
            r.g->act[a].node || (a + 1 < d->act_count && r.g->act[a + 1].node);
        for (uint32_t i = 0; last && i < d->acts[a].races; i++) {
            uint32_t e = d->races[d->acts[a].race + i];
            if (r.g->act[e].node && e >= d->begun && is_canonical(&r, e, a))
                propose_reversal(&r, e, a);
        }
        if (last && d->acts[a].choices)
            propose_choices(&r, a);
    }
}

/* ---- the searcher ------------------------------------------------------- */

struct stack {
    struct rn__words words; /* proposals, each followed by its length */
    uint64_t out;           /* schedules handed out, not learnt */
    bool begun;
    bool lost;
};

static bool
is_all(const struct rn__searcher *s)
{
    const struct stack *stack = s->state;
    return stack->words.count == 0 && stack->out == 0 && s->blocked == 0 &&
           !stack->lost;
}

static enum rn__planned
plan(struct rn__searcher *s, struct rn__plan *plan)
{
    struct stack *stack = s->state;
    struct rn__words *words = &stack->words;
    if (stack->begun && words->count == 0) {
        s->complete = is_all(s);
        return stack->out ? RN__PLAN_WAIT : RN__PLAN_EXHAUSTED;
    }
    if (stack->begun) {
        size_t length = words->list[--words->count];
        words->count -= length;
        plan->words.list = malloc(length * sizeof *plan->words.list + 1);
        if (!plan->words.list)
            return RN__PLAN_FAILED;
        plan->words.count = plan->words.room = length;
        memcpy(plan->words.list, &words->list[words->count],
               length * sizeof *words->list);
    }
    stack->begun = true;
    stack->out++;
    return RN__PLAN_MADE;
}

/* Of traces within the bound, and of failing ones. */
static void
count_preemptions(struct rn__searcher *s, const struct rn__log *log)
{
    uint64_t fewest = log->words.list[1];
    if (fewest && fewest - 1 <= s->param)
        s->within++;
    if (fewest && log->verdict != RN_SIM_PASS &&
        (s->preemptions < 0 || fewest <= (uint64_t)s->preemptions))
        s->preemptions = (int)(fewest - 1);
}

static void
learn(struct rn__searcher *s, const struct rn__plan *plan,
      const struct rn__log *log)
{
    struct stack *stack = s->state;
    const struct rn__words *words = &log->words;
    free(plan->words.list);
    stack->out--;
    if (!log->told || words->count < 2) {
        stack->lost = true; /* it crashed, and what it would have proposed */
        return;
    }
    if (words->list[0]) {
        s->blocked++;
        return;
    }
    count_preemptions(s, log);
    for (size_t i = 2; i < words->count;) {
        size_t length = words->list[i];
        for (size_t k = 0; k < length; k++)
            if (!rn__words_add(&stack->words, words->list[i + 1 + k]))
                abort();
        if (!rn__words_add(&stack->words, length))
            abort();
        i += 1 + length;
    }
    s->complete = is_all(s);
}

static bool
save(const struct rn__searcher *s, struct rn__words *words)
{
    const struct stack *stack = s->state;
    if (!rn__words_add(words, (uint64_t)stack->begun | stack->lost << 1))
        return false;
    for (size_t i = 0; i < stack->words.count; i++)
        if (!rn__words_add(words, stack->words.list[i]))
            return false;
    return true;
}

/* Whether these are the words of a plan. */
static bool
is_plan(const uint64_t *list, size_t count)
{
    size_t i = 1;
    while (i + 1 < count && list[i + 1] >> HEAD_SHIFT < count - i - 1)
        i += 2 + (size_t)(list[i + 1] >> HEAD_SHIFT);
    return i == count;
}

static bool
load(struct rn__searcher *s, const uint64_t *list, size_t count)
{
    struct stack *stack = s->state;
    if (count == 0)
        return false;
    stack->begun = list[0] & 1;
    stack->lost = list[0] & 2;
    for (size_t i = 1; i < count; i++)
        if (!rn__words_add(&stack->words, list[i]))
            return false;
    for (size_t i = count - 1; i > 0;) {
        size_t length = list[i];
        if (length >= i || !is_plan(&list[i - length], length))
            return false;
        i -= length + 1;
    }
    return true;
}

static void
close_stack(struct rn__searcher *s)
{
    free(((struct stack *)s->state)->words.list);
}

const struct rn__strategy rn__strategy_dpor = {
    .name = "dpor",
    .summary = "one schedule for each order of what meets; all of them",
    .parameter = "the most preemptions of a trace that counts",
    .param_max = NO_BOUND,
    .param_default = NO_BOUND,
    .looks = true,
    .acts = true,
    .bytes = sizeof(struct stack),
    .plan = plan,
    .learn = learn,
    .save = save,
    .load = load,
    .close = close_stack,
    .begin = begin,
    .pick = pick,
    .end = end,
};
