/* lin/window.c - the smallest piece of a history that fails by itself.
 *
 * A window ends with the culprit's return and begins just after an earlier one.
 * It fails by itself if no order of the items called and returned inside
 * explains them, whatever state it begins in, of all the search has met, and
 * whatever effect those have that overlap its ends (they become mays). The
 * search has met every state the object can have been in, so such a window is
 * a proof, and what is before it need not be read.
 */
#include "lin/lin.h"

#include <stdlib.h>
#include <string.h>

enum {
    WIDEST = 40,   /* returns in a window */
    FALLBACK = 6,  /* the same of one that proves nothing */
    STATES = 256,  /* most to begin in */
    STEPS = 50000, /* for one window */
    STEPS_ALL = 400000,
    COMPARES = 20000000 /* of states, to tell them apart */
};
#define BYTES ((size_t)128 << 20)

struct states {
    const void *list[STATES];
    uint32_t count;
};

/* All states met; false: too many. */
static bool
collect(const struct rn__lin_search *s, struct states *states)
{
    uint64_t compares = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const void *state = rn__lin_config_state(rn__lin_config_at(s, i));
        uint32_t k = 0;
        while (k < states->count &&
               !rn__lin_state_equal(s->model, states->list[k], state))
            k++;
        compares += k;
        if (k == STATES || compares > COMPARES)
            return false;
        if (k == states->count)
            states->list[states->count++] = state;
    }
    return true;
}

/* Copy what a window is about: from must b to the culprit. */
static bool
fill(const struct rn__lin_search *s, uint32_t b, struct rn__lin_window *w)
{
    uint32_t culprit = rn__lin_config_at(s, s->best)->base;
    w->from = b ? s->items[b - 1].ret : 0;
    w->to = s->items[culprit].ret;
    w->count = 0;
    w->items = malloc((s->all + 1) * sizeof *w->items);
    for (uint32_t i = b; w->items && i < s->all; i++)
        if (s->items[i].call < w->to)
            w->items[w->count++] = s->items[i];
    return w->items != NULL;
}

/* Whether no order explains a window. */
static bool
fails(const struct rn__lin_search *s, const struct rn__lin_window *w,
      const struct states *states, uint64_t *steps)
{
    struct rn__lin_search inner;
    struct rn__lin_budget budget = {.step_limit = STEPS};
    budget.options.max_bytes = BYTES;
    size_t bytes = (w->count + 1) * sizeof *w->items;
    struct rn__lin_item *items = malloc(bytes);
    if (!items)
        return false;
    memcpy(items, w->items, w->count * sizeof *w->items);
    for (uint32_t i = 0; i < w->count; i++)
        if (items[i].call < w->from || items[i].ret > w->to)
            items[i].ret = RN__LIN_OPEN;
    bool good = rn__lin_search_init(&inner, s->model, &budget, items, w->count);
    for (uint32_t i = 0; good && i < states->count; i++)
        good = rn__lin_search_start(&inner, states->list[i]);
    bool bad = good && rn__lin_search_run(&inner) == RN_LIN_BAD;
    *steps += budget.steps;
    rn__lin_search_fini(&inner);
    free(items);
    /* A built-in model's step may have met the outer limit of memory. */
    bool trusted = s->budget->end == RN__LIN_GOES_ON;
    s->budget->end = RN__LIN_GOES_ON;
    return bad && trusted;
}

bool
rn__lin_window_find(const struct rn__lin_search *s, struct rn__lin_window *w)
{
    struct states *states = calloc(1, sizeof *states);
    uint32_t culprit = rn__lin_config_at(s, s->best)->base;
    uint64_t call = s->items[culprit].call, steps = 0;
    *w = (struct rn__lin_window){0};
    bool known = states && collect(s, states);
    for (uint32_t n = 0; known && n <= culprit && n < WIDEST; n++) {
        uint32_t b = culprit - n;
        if ((b && s->items[b - 1].ret > call) || steps > STEPS_ALL)
            continue;
        if (!fill(s, b, w))
            break;
        w->proved = fails(s, w, states, &steps);
        if (w->proved)
            break;
        free(w->items);
        w->items = NULL;
    }
    free(states);
    if (!w->items)
        return fill(s, culprit > FALLBACK ? culprit - FALLBACK : 0, w);
    return true;
}
