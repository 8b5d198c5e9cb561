/* lin/check.c - check a history: its items, its parts, the verdict.
 *
 * Parts are checked one by one (P-compositionality: Horn and Kroening, "Faster
 * linearizability checking via P-compositionality", 2015), first with few steps
 * each, then the hard ones with all that are left: so a hard part does not hide
 * that another has failed.
 */
#include "lin/lin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FEW_STEPS = 20000, BYTES_DEFAULT = 1 << 30 };

struct check {
    const rn_lin_history *history;
    const rn_lin_model *given;
    rn_lin_model model; /* with nothing left NULL that has a default */
    struct rn__lin_budget budget;
    struct rn__lin_context context;
    struct rn__lin_item *items; /* by part, then by call */
    uint32_t count;
    rn_lin_report *report;
};

const char *
rn_lin_verdict_name(rn_lin_verdict verdict)
{
    static const char *const names[] = {
        [RN_LIN_OK] = "linearizable",
        [RN_LIN_BAD] = "not linearizable",
        [RN_LIN_UNKNOWN] = "unknown",
    };
    return (unsigned)verdict <= RN_LIN_UNKNOWN ? names[verdict] : "?";
}

void
rn_lin_report_fini(rn_lin_report *report)
{
    rn__need(report, "rn_lin_report_fini", rn__site());
    if (report->text)
        rn__free(NULL, report->text);
    report->text = NULL;
}

/* Keep a text in the memory of the world. */
static void
set_text(rn_lin_report *report, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (report->text)
        rn__free(NULL, report->text);
    report->text = rn__alloc(NULL, bytes);
    if (report->text)
        memcpy(report->text, text, bytes);
}

__attribute__((format(printf, 2, 3))) static int
refuse(struct check *c, const char *format, ...)
{
    char text[200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    set_text(c->report, text);
    return -EINVAL;
}

/* ---- items -------------------------------------------------------------- */

static int
by_kind(const void *a, const void *b)
{
    const rn_lin_op *p = &((const struct rn__lin_item *)a)->op;
    const rn_lin_op *q = &((const struct rn__lin_item *)b)->op;
    int64_t x[] = {p->f, p->known, p->key, p->arg, p->arg2, p->ret};
    int64_t y[] = {q->f, q->known, q->key, q->arg, q->arg2, q->ret};
    for (int i = 0; i < 6; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int
by_part(const void *a, const void *b)
{
    const struct rn__lin_item *p = a, *q = b;
    if (p->part != q->part)
        return p->part < q->part ? -1 : 1;
    return (p->call > q->call) - (p->call < q->call);
}

/* An operation that may have happened becomes an item. */
static int
add_item(struct check *c, const struct rn__lin_record *r, uint64_t number)
{
    const rn_lin_model *m = &c->model;
    struct rn__lin_item *it = &c->items[c->count];
    uint32_t outcome = atomic_load_explicit(&r->outcome, memory_order_relaxed);
    if (outcome == RN__LIN_FAILED || outcome == RN__LIN_NONE)
        return 0;
    *it = (struct rn__lin_item){
        .op = r->op,
        .call = r->call,
        .ret = outcome == RN__LIN_RETURNED ? r->ret : RN__LIN_OPEN,
        .number = (uint32_t)number,
    };
    if (m->arg == &c->context) {
        const char *word = rn__lin_word(it->op.f);
        if (!rn__lin_knows(c->given, it->op.f))
            return refuse(c, "operation %" PRIu64 ": a %s has no %s", number,
                          m->name, word ? word : "such operation");
        rn__lin_normalize(&c->context, &it->op);
    }
    c->report->ops++;
    it->part = m->partition ? m->partition(&it->op, m->arg) : 0;
    it->pure = m->pure && m->pure(&it->op, m->arg);
    c->count += !(it->pure && it->ret == RN__LIN_OPEN); /* says nothing */
    return 0;
}

static int
make_items(struct check *c)
{
    uint64_t count = rn_lin_history_count(c->history);
    size_t size = sizeof *c->items;
    if (count > UINT32_MAX / 4)
        c->budget.end = RN__LIN_NO_BYTES;
    else
        c->items = rn__lin_grow(&c->budget, NULL, 0, count * size);
    if (!c->items)
        return 0;
    for (uint64_t i = 0; i < count; i++) {
        int e = add_item(c, rn__lin_log_at(&c->history->records, i), i);
        if (e < 0)
            return e;
    }
    qsort(c->items, c->count, size, by_kind);
    for (uint32_t i = 1; i < c->count; i++)
        c->items[i].kind = c->items[i - 1].kind +
                           (by_kind(&c->items[i - 1], &c->items[i]) != 0);
    qsort(c->items, c->count, size, by_part);
    c->budget.ops = c->count;
    return 0;
}

/* ---- parts -------------------------------------------------------------- */

static uint32_t
part_end(const struct check *c, uint32_t from)
{
    uint32_t to = from;
    while (to < c->count && c->items[to].part == c->items[from].part)
        to++;
    return to;
}

/* Kinds are by number within the part, so that its arrays are short. */
static void
renumber_kinds(struct rn__lin_item *items, uint32_t count)
{
    uint32_t kinds = 0, last = 0;
    qsort(items, count, sizeof *items, by_kind);
    for (uint32_t i = 0; i < count; i++) {
        kinds += i > 0 && items[i].kind != last;
        last = items[i].kind;
        items[i].kind = kinds;
    }
}

static void
explain(struct check *c, const struct rn__lin_search *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    rn__lin_explain(s, c->history, out);
    if (fclose(out) == 0)
        set_text(c->report, text);
    free(text);
}

/* Check one part within so many steps; 0: all that are left. */
static rn_lin_verdict
check_part(struct check *c, uint32_t from, uint32_t to, uint64_t steps)
{
    struct rn__lin_search s;
    struct rn__lin_budget *b = &c->budget;
    rn_lin_verdict verdict = RN_LIN_UNKNOWN;
    uint64_t last = b->options.max_steps, mine = steps ? b->steps + steps : 0;
    b->step_limit = mine && (!last || mine < last) ? mine : last;
    if (rn__lin_search_init(&s, &c->model, b, c->items + from, to - from) &&
        rn__lin_search_start_first(&s))
        verdict = rn__lin_search_run(&s);
    uint32_t placed = s.count ? rn__lin_config_at(&s, s.best)->placed : 0;
    c->report->placed = b->placed + placed;
    if (verdict == RN_LIN_OK)
        b->placed += placed;
    if (verdict == RN_LIN_BAD) {
        uint32_t base = rn__lin_config_at(&s, s.best)->base;
        c->report->placed = placed;
        c->report->culprit = s.items[base].number;
        explain(c, &s);
    }
    rn__lin_search_fini(&s);
    if (steps && b->end == RN__LIN_NO_STEPS && (!last || b->steps < last))
        b->end = RN__LIN_GOES_ON;
    return verdict;
}

static rn_lin_verdict
check_parts(struct check *c)
{
    uint32_t *hard = NULL;
    size_t count = 0, size = c->count * sizeof *hard;
    rn_lin_verdict verdict = RN_LIN_OK;
    hard = rn__lin_grow(&c->budget, NULL, 0, size);
    if (!hard)
        return RN_LIN_UNKNOWN;
    for (uint32_t i = 0, k; i < c->count && verdict == RN_LIN_OK; i = k) {
        k = part_end(c, i);
        c->report->parts++;
        renumber_kinds(c->items + i, k - i);
        verdict = check_part(c, i, k, FEW_STEPS);
        if (verdict == RN_LIN_UNKNOWN && !c->budget.end) {
            hard[count++] = i;
            verdict = RN_LIN_OK;
        }
    }
    for (size_t i = 0; i < count && verdict == RN_LIN_OK; i++)
        verdict = check_part(c, hard[i], part_end(c, hard[i]), 0);
    rn__lin_release(&c->budget, hard, size);
    return verdict;
}

/* ---- the check ---------------------------------------------------------- */

static int
set_up(struct check *c, const rn_lin_model *model,
       const rn_lin_options *options)
{
    if (options)
        c->budget.options = *options;
    rn_lin_options *o = &c->budget.options;
    if (!(o->seconds >= 0))
        return refuse(c, "seconds is negative or no number");
    if (o->max_bytes == 0)
        o->max_bytes = BYTES_DEFAULT;
    c->given = model;
    c->model = *model;
    if (!c->model.print)
        c->model.print = rn__lin_print_plain;
    c->budget.started = c->budget.told = rn__os_now();
    c->context.history = c->history;
    c->context.budget = &c->budget;
    if (rn__lin_built_in(model)) {
        c->model.arg = &c->context;
        rn__lin_context_init(&c->context, model);
    } else if (!model->init || !model->step) {
        return refuse(c, "the model has no init or no step");
    }
    return c->budget.end ? 0 : make_items(c);
}

/* Tell which limit was reached; -ENOMEM if it was the machine's. */
static int
tell_limit(struct check *c)
{
    const struct rn__lin_budget *b = &c->budget;
    char text[200];
    const char *limit = b->end == RN__LIN_NO_TIME    ? "seconds"
                        : b->end == RN__LIN_NO_STEPS ? "steps"
                                                     : "memory";
    if (b->end == RN__LIN_NO_MEMORY)
        return -ENOMEM;
    snprintf(text, sizeof text,
             "unknown: the limit of %s was reached after %" PRIu64
             " steps and %zu MiB, with %" PRIu64 " of %" PRIu64
             " operations placed",
             limit, b->steps, b->most >> 20, c->report->placed, b->ops);
    set_text(c->report, text);
    return c->report->text ? 0 : -ENOMEM;
}

int
rn_lin_check(const rn_lin_history *history, const rn_lin_model *model,
             const rn_lin_options *options, rn_lin_report *report)
{
    struct check c = {.history = history, .report = report};
    rn__need(history, "rn_lin_check", rn__site());
    rn__need(model, "rn_lin_check", rn__site());
    rn__need(report, "rn_lin_check", rn__site());
    *report = (rn_lin_report){.culprit = -1};
    if (atomic_load_explicit(&history->incomplete, memory_order_relaxed))
        return -ENOMEM;
    int e = set_up(&c, model, options);
    if (e == 0) {
        report->verdict = c.budget.end ? RN_LIN_UNKNOWN : check_parts(&c);
        if (report->verdict == RN_LIN_UNKNOWN)
            e = tell_limit(&c);
        else if (report->verdict == RN_LIN_BAD && !report->text)
            e = -ENOMEM;
    }
    report->steps = c.budget.steps;
    report->bytes = c.budget.most;
    report->seconds =
        (double)(rn__os_now() - c.budget.started) / (double)RN_SEC;
    free(c.items);
    rn__lin_context_fini(&c.context);
    return e;
}
