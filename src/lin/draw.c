/* lin/draw.c - a window as bars over time, a line an item.
 *
 *     #3  read -> 2              |----|      lines 40-44
 *
 * A column stands for one or more calls and returns, in their order; time is
 * not to scale. < and > go beyond the window, ? never returned.
 */
#include "lin/lin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 30, STRETCH = 4, LABEL = 30, ROWS = 24 };

static void
print_span(const rn_lin_history *history, const rn_lin_op *op, FILE *out)
{
    if (history->lines) {
        fprintf(out, "line%s %" PRId64, op->returned < 0 ? "" : "s",
                op->called);
        if (op->returned >= 0)
            fprintf(out, "-%" PRId64, op->returned);
        return;
    }
    /* Since the first call: the clock's own zero says nothing for real. */
    const struct rn__lin_record *first = rn__lin_log_at(&history->records, 0);
    rn_time zero = first->op.called;
    fprintf(out, "%.9g", (double)(op->called - zero) / 1e9);
    if (op->returned >= 0)
        fprintf(out, " - %.9g", (double)(op->returned - zero) / 1e9);
    fputs(" s", out);
}

void
rn__lin_print_item(const struct rn__lin_search *s,
                   const rn_lin_history *history,
                   const struct rn__lin_item *item, FILE *out)
{
    fprintf(out, "  #%" PRId64 "  ", item->op.process);
    s->model->print(&item->op, out, s->model->arg);
    fputs("  (", out);
    print_span(history, &item->op, out);
    fputs(")\n", out);
}

/* ---- rows --------------------------------------------------------------- */

static int
by_call(const void *a, const void *b)
{
    const struct rn__lin_item *p = a, *q = b;
    return (p->call > q->call) - (p->call < q->call);
}

/* Musts, inside the window from end to end, come before others. */
static bool
inside(const struct rn__lin_window *w, const struct rn__lin_item *it)
{
    return it->call >= w->from && it->ret <= w->to;
}

static int
by_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The items to show, first in w->items: all that are inside, others while there
 * is room. */
static uint32_t
choose(const struct rn__lin_window *w)
{
    uint32_t shown = 0;
    for (int want = 1; want >= 0; want--)
        for (uint32_t i = shown; i < w->count && shown < ROWS; i++)
            if (inside(w, &w->items[i]) == want) {
                struct rn__lin_item it = w->items[shown];
                w->items[shown++] = w->items[i];
                w->items[i] = it;
            }
    qsort(w->items, shown, sizeof *w->items, by_call);
    return shown;
}

/* The calls and returns that have columns. */
struct columns {
    uint64_t places[2 * ROWS];
    uint32_t count, width;
};

static void
add_place(struct columns *c, const struct rn__lin_window *w, uint64_t place)
{
    if (place >= w->from && place <= w->to)
        c->places[c->count++] = place;
}

static int
column(const struct columns *c, uint64_t place)
{
    uint32_t i = 0;
    while (i < c->count && c->places[i] < place)
        i++;
    return (int)(c->count > 1 ? i * (c->width - 1) / (c->count - 1) : 0);
}

static void
draw_bar(const struct columns *c, const struct rn__lin_window *w,
         const struct rn__lin_item *it, FILE *out)
{
    int last = (int)c->width - 1;
    bool early = it->call<w->from, late = it->ret> w->to;
    int from = early ? 0 : column(c, it->call);
    int to = late ? last : column(c, it->ret);
    for (int i = 0; i <= last; i++) {
        char mark = i < from || i > to ? ' ' : '-';
        if (i == from)
            mark = early ? '<' : '|';
        if (i == to && to > from)
            mark = !late ? '|' : it->ret == RN__LIN_OPEN ? '?' : '>';
        putc(mark, out);
    }
}

static void
draw_row(const struct rn__lin_search *s, const struct columns *c,
         const struct rn__lin_window *w, const struct rn__lin_item *it,
         FILE *out)
{
    char label[LABEL * 4] = "";
    FILE *text = fmemopen(label, sizeof label - 1, "w");
    if (text) {
        fprintf(text, "#%-3" PRId64 " ", it->op.process);
        s->model->print(&it->op, text, s->model->arg);
        fclose(text);
    }
    fprintf(out, "  %-*.*s ", LABEL, LABEL, label);
    draw_bar(c, w, it, out);
}

void
rn__lin_draw(const struct rn__lin_search *s, const struct rn__lin_window *w,
             const rn_lin_history *history, FILE *out)
{
    struct columns c = {0};
    uint32_t shown = choose(w);
    for (uint32_t i = 0; i < shown; i++) {
        add_place(&c, w, w->items[i].call);
        if (w->items[i].ret != RN__LIN_OPEN)
            add_place(&c, w, w->items[i].ret);
    }
    qsort(c.places, c.count, sizeof c.places[0], by_place);
    c.width = c.count * STRETCH < BAR ? c.count * STRETCH : BAR;
    for (uint32_t i = 0; i < shown; i++) {
        draw_row(s, &c, w, &w->items[i], out);
        fputs("  ", out);
        print_span(history, &w->items[i].op, out);
        fputs(w->items[i].ret == w->to ? " <\n" : "\n", out);
    }
    if (shown < w->count)
        fprintf(out, "  and %u more that overlap\n", w->count - shown);
}
