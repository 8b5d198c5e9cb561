/* sim/contrast.c - see contrast.h. */
#include "sim/contrast.h"

#include "sim/fair.h"
#include "sim/sim.h"
#include "sim/story.h"

#include <stdlib.h>
#include <string.h>

enum { LATER_MAX = 2000 /* operations of others that one is compared with */ };

/* An operation that others can come before or after. */
struct op {
    uint32_t event;
    uint32_t done;  /* when it was, see rn__done_at */
    uint32_t nth;   /* of its task */
    uint32_t match; /* in the other run; UINT32_MAX: it is not there */
};

struct ops {
    const struct rn__event *events;
    struct op *list; /* in the order of events */
    uint32_t count;
};

/* ---- lists of operations ------------------------------------------------ */

/* One more than the largest number of a task. */
static size_t
tasks_of(const struct rn__event *events, size_t count)
{
    size_t tasks = 1;
    for (size_t i = 0; i < count; i++)
        if (events[i].task >= tasks)
            tasks = (size_t)events[i].task + 1;
    return tasks;
}

uint32_t *
rn__done_at(const struct rn__event *events, size_t count)
{
    size_t tasks = tasks_of(events, count);
    uint32_t *next = malloc(count * sizeof *next + 1);
    uint32_t *last = malloc(tasks * sizeof *last);
    if (next && last) {
        memset(last, 0xff, tasks * sizeof *last);
        for (size_t i = count; i-- > 0;) {
            next[i] = last[events[i].task];
            last[events[i].task] = (uint32_t)i;
        }
    } else {
        free(next);
        next = NULL;
    }
    free(last);
    return next;
}

static bool
read_ops(struct ops *ops, const struct rn__record *record)
{
    size_t tasks = tasks_of(record->events, record->count);
    uint32_t *next = rn__done_at(record->events, record->count);
    uint32_t *nth = calloc(tasks, sizeof *nth);
    ops->events = record->events;
    ops->list = malloc(record->count * sizeof *ops->list + 1);
    ops->count = 0;
    bool good = next && nth && ops->list;
    for (uint32_t i = 0; good && i < record->count; i++) {
        const struct rn__event *e = &record->events[i];
        if (rn__event_kind(e) >= RN__ANNOTATE_FIRST)
            continue;
        ops->list[ops->count++] =
            (struct op){i, next[i], nth[e->task]++, UINT32_MAX};
    }
    free(next);
    free(nth);
    return good;
}

/* The operation of a task that is its nth; UINT32_MAX: it has not so many. */
static uint32_t
find(const struct ops *ops, uint32_t task, uint32_t nth)
{
    for (uint32_t i = nth; i < ops->count; i++)
        if (ops->events[ops->list[i].event].task == task &&
            ops->list[i].nth == nth)
            return i;
    return UINT32_MAX;
}

/* The same operations, as far as the tasks did the same in both runs. */
static void
match(struct ops *a, const struct ops *b)
{
    for (uint32_t i = 0; i < a->count && i < LATER_MAX * 2; i++) {
        const struct rn__event *e = &a->events[a->list[i].event];
        uint32_t k = find(b, e->task, a->list[i].nth);
        if (k != UINT32_MAX &&
            b->events[b->list[k].event].site_kind == e->site_kind)
            a->list[i].match = k;
    }
}

/* ---- the pair ----------------------------------------------------------- */

static bool
only_looks(enum rn__kind kind)
{
    return kind == RN__LOAD || kind == RN__CELL_READ || kind == RN__TVAR_READ ||
           kind == RN__CHAN_LEN || kind == RN__CONTEXT_LOOK;
}

static bool
meet(const struct rn__event *a, const struct rn__event *b)
{
    enum rn__kind x = rn__event_kind(a), y = rn__event_kind(b);
    return a->task != b->task && a->object == b->object && a->object &&
           strcmp(rn__kind_object(x), rn__kind_object(y)) == 0 &&
           rn__kind_object(x)[0] && rn__is_shared(x) && rn__is_shared(y) &&
           !(only_looks(x) && only_looks(y));
}

static const struct op *
matched(const struct ops *other, const struct op *op)
{
    return op->match == UINT32_MAX ? NULL : &other->list[op->match];
}

/* Done by the task elsewhere in its way, as loops are. */
static const struct op *
find_like(const struct ops *ops, const struct rn__event *like)
{
    for (uint32_t i = 0; i < ops->count; i++) {
        const struct rn__event *e = &ops->events[ops->list[i].event];
        if (e->task == like->task && e->site_kind == like->site_kind)
            return &ops->list[i];
    }
    return NULL;
}

/* What was done before op in the passing run but after it in the failing one.
 */
static void
look_before(const struct ops *failing, const struct ops *passing,
            const struct op *op, struct rn__contrast *contrast)
{
    const struct op *there = matched(passing, op);
    if (!there || there->done == UINT32_MAX)
        return;
    const struct rn__event *mine = &passing->events[there->event];
    for (uint32_t i = 0; i < passing->count && i < LATER_MAX; i++) {
        const struct op *other = &passing->list[i];
        const struct rn__event *theirs = &passing->events[other->event];
        if (other->done >= there->done || !meet(mine, theirs))
            continue;
        const struct op *here = matched(failing, other);
        if (!here)
            here = find_like(failing, theirs);
        if (here && here->done < op->done)
            continue;
        *contrast = (struct rn__contrast){
            .found = true,
            .late = !here || here->done == UINT32_MAX,
            .first = failing->events[op->event],
            .second = here ? failing->events[here->event] : *theirs};
        contrast->second.object = contrast->first.object;
        return;
    }
}

bool
rn__contrast_find(const struct rn__record *failing,
                  const struct rn__record *passing,
                  struct rn__contrast *contrast)
{
    struct ops f = {0}, p = {0};
    bool good = read_ops(&f, failing) && read_ops(&p, passing);
    uint32_t first = UINT32_MAX;
    contrast->found = false;
    if (good) {
        match(&f, &p);
        match(&p, &f);
    }
    for (uint32_t i = 0; good && i < f.count && i < LATER_MAX; i++) {
        struct rn__contrast found = {.found = false};
        if (f.list[i].done < first)
            look_before(&f, &p, &f.list[i], &found);
        if (!found.found)
            continue;
        first = f.list[i].done;
        *contrast = found;
    }
    free(f.list);
    free(p.list);
    return good;
}

void
rn__contrast_tell(struct rn__world *world, const struct rn__contrast *contrast,
                  FILE *out)
{
    if (!contrast->found)
        return;
    fprintf(out, "it passes if\n");
    rn__story_line(world, &contrast->second, "", out);
    fprintf(out, "comes before\n");
    rn__story_line(world, &contrast->first, "", out);
    fprintf(out, contrast->late ? "(here it has not come yet)\n"
                                : "(here it comes after that)\n");
}

char *
rn__contrast_text(struct rn__world *world, const struct rn__contrast *contrast)
{
    char *text = NULL;
    size_t size;
    FILE *out = contrast->found ? open_memstream(&text, &size) : NULL;
    if (!out)
        return NULL;
    rn__contrast_tell(world, contrast, out);
    return fclose(out) == 0 ? text : NULL;
}
