/* core/report.c - reports of failures.
 *
 * A report lies in the caller's memory and has a fixed room, so that a failure
 * costs no memory and is never lost for want of it: what there is no room for
 * goes to rn_options.on_error, as does what has no report and is not what the
 * call returns. While the scope is open its lock guards the report.
 */
#include "core/core.h"

/* ---- keep --------------------------------------------------------------- */

static void
drop(const rn_failure *failure)
{
    if (failure->drop)
        failure->drop(failure->payload);
}

void
rn_report_fini(rn_report *report)
{
    static const rn_report empty = RN_REPORT_INIT;
    if (!report)
        return;
    for (size_t i = 0; i < report->count; i++)
        drop(&report->failures[i]);
    *report = empty;
}

void
rn__report_begin(rn_report *report)
{
    rn_failure *failures = report->failures;
    size_t capacity = report->capacity;
    rn_report_fini(report);
    bool own = !failures || failures == report->rn__own || capacity == 0;
    report->failures = own ? report->rn__own : failures;
    report->capacity = own ? 0 : capacity;
}

bool
rn__report_add(rn_report *report, const rn_failure *failure)
{
    size_t room = report->capacity ? report->capacity : RN_REPORT_ROOM;
    if (report->count == room) {
        report->more++;
        return false;
    }
    report->failures[report->count++] = *failure;
    return true;
}

/* ---- sort --------------------------------------------------------------- */

static void
reverse(rn_failure *f, size_t from, size_t to)
{
    while (from + 1 < to) {
        rn_failure swap = f[from];
        f[from++] = f[--to];
        f[to] = swap;
    }
}

/* The first one in [from, to) whose index is at least, or above, that. */
static size_t
bound(const rn_failure *f, size_t from, size_t to, size_t index, bool above)
{
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (f[middle].index < index || (above && f[middle].index == index))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Merge [a, b) and [b, c), both in order, where they lie. (Dudzinski and
 * Dydek, "On a stable minimum storage merging algorithm", 1981.) */
static void
merge(rn_failure *f, size_t a, size_t b, size_t c)
{
    if (a == b || b == c || f[b - 1].index <= f[b].index)
        return;
    /* The middle one of the longer goes where it stays, between what of both
     * is less and what is more. */
    bool first = b - a > c - b;
    size_t left, right;
    if (first) {
        left = a + (b - a) / 2;
        right = bound(f, b, c, f[left].index, false);
    } else {
        right = b + (c - b) / 2;
        left = bound(f, a, b, f[right].index, true);
        right++;
    }
    reverse(f, left, b);
    reverse(f, b, right);
    reverse(f, left, right);
    size_t middle = left + (right - b);
    merge(f, a, left, first ? middle : middle - 1);
    merge(f, first ? middle + 1 : middle, right, c);
}

static void
sort(rn_failure *f, size_t from, size_t to)
{
    if (to - from < 2)
        return;
    size_t middle = from + (to - from) / 2;
    sort(f, from, middle);
    sort(f, middle, to);
    merge(f, from, middle, to);
}

void
rn__report_sort(rn_report *report)
{
    if (report->count > 1)
        sort(report->failures, 1, report->count);
}

/* ---- what no report tells ----------------------------------------------- */

static void
print(const rn_failure *failure)
{
    static const char *const what[] = {"a task", "the body of a scope",
                                       "a deferred call"};
    char name[1][RN__SYMBOL_MAX];
    void *site = (void *)(uintptr_t)failure->site;
    rn__os_symbols(&site, 1, name);
    fprintf(stderr, "runnel: %s failed with %d and nobody is told; %s\n",
            what[failure->phase], failure->code, site ? name[0] : "");
}

void
rn__report_unheard(struct rn__rt *rt, const rn_failure *failure)
{
    rn__count(rn__worker_self(), unheard);
    if (rt->options.on_error)
        rt->options.on_error(failure, rt->options.on_error_arg);
    else if (!rt->env)
        print(failure);
}

/* ---- rn_fail ------------------------------------------------------------ */

struct rn__defer *
rn__fail_pop(struct rn__task *self)
{
    for (struct rn__defer **at = &self->defers; *at; at = &(*at)->next) {
        struct rn__defer *d = *at;
        if (d->when != RN__DEFER_NEVER)
            continue;
        *at = d->next;
        return d;
    }
    return NULL;
}

int
rn_fail(int code, void *payload, void (*drop_payload)(void *payload))
{
    struct rn__task *self = rn__self_in("rn_fail");
    if (code >= 0)
        rn__panic_at(rn__site(), "rn_fail: the code %d is not negative", code);
    struct rn__defer *d = rn__fail_pop(self);
    if (d && d->drop)
        d->drop(d->arg);
    if (!d)
        d = rn__alloc(self->rt, sizeof *d);
    if (!d) { /* the code is what matters */
        if (drop_payload)
            drop_payload(payload);
        return code;
    }
    d->when = RN__DEFER_NEVER;
    d->code = code;
    d->arg = payload;
    d->drop = drop_payload;
    d->next = self->defers;
    self->defers = d;
    rn__task_touch(self);
    return code;
}

void
rn__fail_take(struct rn__task *self, rn_failure *failure)
{
    struct rn__defer *d = self->defers ? rn__fail_pop(self) : NULL;
    if (!d)
        return;
    if (d->code == failure->code) {
        failure->payload = d->arg;
        failure->drop = d->drop;
    } else if (d->drop) {
        d->drop(d->arg);
    }
    rn__free(self->rt, d);
}
