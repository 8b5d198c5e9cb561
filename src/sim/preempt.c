/* sim/preempt.c - see preempt.h.
 *
 * A state is how far each strand has come and which one ran last; from it every
 * strand may do its next act that has all before it that happened before. What
 * costs nothing is walked before what costs a preemption, so each state is
 * first met at its least cost. (Musuvathi and Qadeer, "Iterative context
 * bounding for systematic testing of multithreaded programs", 2007: why few
 * preemptions matter.)
 */
#include "sim/preempt.h"

#include "base/prng.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 1 << 17 };

struct search {
    const struct rn__depend *d;
    uint32_t strands;
    uint32_t *acts;   /* of each strand in a row, by place */
    uint32_t *starts; /* where a strand's begin; strands + 1 */
    uint16_t *states; /* strands places, and who ran last + 1 */
    uint32_t count, room;
    uint32_t *now, *later; /* states at this cost and at the next */
    uint32_t now_count, later_count;
    struct rn__distinct met; /* cost is paid when a state is left */
};

static size_t
width(const struct search *s)
{
    return s->strands + 1;
}

static uint32_t
next_act(const struct search *s, const uint16_t *state, uint32_t strand)
{
    uint32_t i = s->starts[strand] + state[strand];
    return i < s->starts[strand + 1] ? s->acts[i] : UINT32_MAX;
}

/* Whether all that a row of act names, itself left out, has happened. */
static bool
has_happened(const struct search *s, const uint16_t *state, uint32_t act,
             uint32_t row)
{
    const uint32_t *past = &s->d->rows[(size_t)row * s->d->width];
    for (uint32_t t = 0; t < s->strands; t++)
        if (t != s->d->acts[act].thread && past[t] > state[t])
            return false;
    return true;
}

static bool
could_go_on(const struct search *s, const uint16_t *state, uint32_t strand)
{
    uint32_t act = next_act(s, state, strand);
    if (act == UINT32_MAX || state[strand] == 0)
        return false;
    uint32_t last = s->acts[s->starts[strand] + state[strand] - 1u];
    return s->d->acts[last].kind != RN__YIELD &&
           has_happened(s, state, act, s->d->causes[act]);
}

static bool
is_new(struct search *s, const uint16_t *state)
{
    uint64_t digest = 1;
    for (size_t i = 0; i < width(s); i++)
        digest = rn__mix64(digest * 31 + state[i]);
    return rn__distinct_add(&s->met, digest);
}

/* Take state from by an act of strand. */
static bool
go(struct search *s, uint32_t from, uint32_t strand)
{
    if (s->count == s->room)
        return false;
    size_t w = width(s);
    const uint16_t *old = &s->states[from * w];
    uint16_t *state = &s->states[s->count * w];
    uint32_t last = old[s->strands];
    bool costs = last && last - 1 != strand && could_go_on(s, old, last - 1);
    memcpy(state, old, w * sizeof *state);
    state[strand]++;
    state[s->strands] = (uint16_t)(strand + 1);
    if (costs)
        s->later[s->later_count++] = s->count++;
    else if (is_new(s, state))
        s->now[s->now_count++] = s->count++;
    return true;
}

/* All states of this cost; 1: the end is among them; -1: too many. */
static int
walk(struct search *s)
{
    while (s->now_count) {
        uint32_t at = s->now[--s->now_count];
        const uint16_t *state = &s->states[at * width(s)];
        bool ended = true;
        for (uint32_t t = 0; t < s->strands; t++) {
            uint32_t act = next_act(s, state, t);
            if (act == UINT32_MAX)
                continue;
            ended = false;
            if (has_happened(s, state, act, s->d->clocks[act]) && !go(s, at, t))
                return -1;
        }
        if (ended)
            return 1;
    }
    return 0;
}

static int
search(struct search *s)
{
    memset(s->states, 0, width(s) * sizeof *s->states);
    s->now[s->now_count++] = s->count++;
    for (int cost = 0;; cost++) {
        int found = walk(s);
        if (found)
            return found > 0 ? cost : -1;
        for (uint32_t i = 0; i < s->later_count; i++)
            if (is_new(s, &s->states[s->later[i] * width(s)]))
                s->now[s->now_count++] = s->later[i];
        s->later_count = 0;
        if (!s->now_count)
            return -1;
    }
}

static void
sort_acts(struct search *s)
{
    const struct rn__depend *d = s->d;
    for (uint32_t i = 0; i < d->act_count; i++)
        s->starts[d->acts[i].thread + 1]++;
    for (uint32_t t = 0; t < s->strands; t++)
        s->starts[t + 1] += s->starts[t];
    for (uint32_t i = 0; i < d->act_count; i++) {
        const struct rn__act *act = &d->acts[i];
        s->acts[s->starts[act->thread] + act->index - 1] = i;
    }
}

int
rn__preemptions(const struct rn__depend *d)
{
    struct search s = {.d = d, .strands = d->strand_count, .room = STATES_MAX};
    int cost = -1;
    if (!d->act_count)
        return 0;
    s.acts = calloc(d->act_count, sizeof *s.acts);
    s.starts = calloc(s.strands + 1u, sizeof *s.starts);
    s.states = malloc(s.room * width(&s) * sizeof *s.states);
    s.now = malloc(s.room * sizeof *s.now);
    s.later = malloc(s.room * sizeof *s.later);
    if (s.acts && s.starts && s.states && s.now && s.later) {
        sort_acts(&s);
        cost = search(&s);
    }
    free(s.acts);
    free(s.starts);
    free(s.states);
    free(s.now);
    free(s.later);
    free(s.met.slots);
    return cost;
}
