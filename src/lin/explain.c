/* lin/explain.c - tell a person why a history is not linearizable. */
#include "lin/lin.h"

#include <stdlib.h>

enum {
    ORDER_SHOWN = 8, /* of the longest order, its end */
    STATES_SHOWN = 6,
    PENDING_SHOWN = 8
};

/* The states before the culprit's return, in the orders that come so far. */
static void
tell_states(const struct rn__lin_search *s, uint32_t base, FILE *out)
{
    const void *shown[STATES_SHOWN];
    uint32_t count = 0;
    if (!s->model->print_state)
        return;
    fputs("When it returned the state could be: ", out);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct rn__lin_config *c = rn__lin_config_at(s, i);
        const void *state = rn__lin_config_state(c);
        uint32_t k = 0;
        if (c->base != base)
            continue;
        while (k < count && !rn__lin_state_equal(s->model, shown[k], state))
            k++;
        if (k < count)
            continue;
        if (count == STATES_SHOWN) {
            fputs(", ...", out);
            break;
        }
        fputs(count ? ", " : "", out);
        s->model->print_state(state, out, s->model->arg);
        shown[count++] = state;
    }
    putc('\n', out);
}

/* The longest order found, its end. */
static void
tell_order(const struct rn__lin_search *s, const rn_lin_history *history,
           FILE *out)
{
    uint32_t order[ORDER_SHOWN], count = 0;
    const struct rn__lin_config *c = rn__lin_config_at(s, s->best);
    uint32_t placed = c->placed;
    while (c->item != UINT32_MAX && count < ORDER_SHOWN) {
        order[count++] = c->item;
        c = rn__lin_config_at(s, c->parent);
    }
    fprintf(out, "The longest order found has %u of %u operations%s\n", placed,
            s->all,
            count == 0        ? "."
            : count == placed ? ":"
                              : "; its end:");
    while (count)
        rn__lin_print_item(s, history, &s->items[order[--count]], out);
}

/* Others that were running when the culprit returned, and do not help. */
static void
tell_pending(const struct rn__lin_search *s, const rn_lin_history *history,
             uint32_t culprit, FILE *out)
{
    const struct rn__lin_config *best = rn__lin_config_at(s, s->best);
    uint32_t count = 0;
    for (uint32_t i = culprit + 1; i < s->all; i++) {
        if (s->items[i].call > s->items[culprit].ret ||
            rn__lin_config_has(s, best, i))
            continue;
        if (count == 0)
            fputs("Nor does it help to place these, which may come before:\n",
                  out);
        if (++count <= PENDING_SHOWN)
            rn__lin_print_item(s, history, &s->items[i], out);
    }
    if (count > PENDING_SHOWN)
        fprintf(out, "  and %u more\n", count - PENDING_SHOWN);
}

void
rn__lin_explain(const struct rn__lin_search *s, const rn_lin_history *history,
                FILE *out)
{
    uint32_t culprit = rn__lin_config_at(s, s->best)->base;
    struct rn__lin_window window;
    fputs("not linearizable: no order of the operations explains their "
          "results\nThe first to return that cannot be placed:\n",
          out);
    rn__lin_print_item(s, history, &s->items[culprit], out);
    tell_states(s, culprit, out);
    tell_order(s, history, out);
    tell_pending(s, history, culprit, out);
    if (rn__lin_window_find(s, &window)) {
        fputs(window.proved
                  ? "The smallest window that no order explains, whatever it "
                    "began with:\n"
                  : "The last operations before it returned:\n",
              out);
        rn__lin_draw(s, &window, history, out);
    }
    free(window.items);
}
