/* sim/depend.c - see depend.h. */
#include "sim/depend.h"

#include "base/prng.h"
#include <stdlib.h>
#include <string.h>

/* ---- which uses meet ---------------------------------------------------- */

#define BIT(mode) (1u << RN__MODE_##mode)

static const uint8_t meets[RN__MODE_COUNT] = {
    [RN__MODE_QUIET] = BIT(WHOLE),
    [RN__MODE_READ] = BIT(PUT) | BIT(TAKE) | BIT(WHOLE),
    [RN__MODE_PUT] = BIT(READ) | BIT(PUT) | BIT(WHOLE),
    [RN__MODE_TAKE] = BIT(READ) | BIT(TAKE) | BIT(WHOLE),
    [RN__MODE_WHOLE] =
        BIT(QUIET) | BIT(READ) | BIT(PUT) | BIT(TAKE) | BIT(WHOLE),
};

static bool
meet(uint8_t a, uint8_t b)
{
    return meets[a] >> b & 1;
}

/* ---- memory ------------------------------------------------------------- */

/* Room for count elements; the new part is zeroed. */
bool
rn__depend_grow(struct rn__depend *d, void *list, uint32_t *room,
                uint32_t count, size_t bytes)
{
    char *old;
    if (count <= *room)
        return true;
    uint32_t wanted = *room ? *room : 32;
    while (wanted < count)
        wanted *= 2;
    memcpy(&old, list, sizeof old);
    char *larger = realloc(old, wanted * bytes);
    if (!larger) {
        d->failed = true;
        return false;
    }
    memset(larger + *room * bytes, 0, (wanted - *room) * bytes);
    memcpy(list, &larger, sizeof larger);
    *room = wanted;
    return true;
}

#define GROW(d, list, room, count) \
    rn__depend_grow(d, &(d)->list, &(d)->room, count, sizeof *(d)->list)

void
rn__depend_fini(struct rn__depend *d)
{
    for (uint32_t i = 0; i < d->object_room; i++) {
        free(d->objects[i].puts.acts);
        free(d->objects[i].takes.acts);
    }
    free(d->acts);
    free(d->accesses);
    free(d->choices);
    free(d->widths);
    free(d->races);
    free(d->rows);
    free(d->clocks);
    free(d->causes);
    free(d->strands);
    free(d->thread_of);
    free(d->objects);
    free(d->woken);
    free(d->met);
    free(d->arms);
    memset(d, 0, sizeof *d);
}

/* ---- clocks ------------------------------------------------------------- */

static uint32_t *
row(const struct rn__depend *d, uint32_t i)
{
    return &d->rows[(size_t)i * d->width];
}

/* There is one more thread than a row has places. */
static bool
widen(struct rn__depend *d)
{
    uint32_t width = 2 * d->width;
    uint32_t *rows = calloc((size_t)d->row_room * width + 1, sizeof *rows);
    if (!rows) {
        d->failed = true;
        return false;
    }
    for (uint32_t i = 0; i < d->row_count && i < d->row_room; i++)
        memcpy(&rows[(size_t)i * width], row(d, i), d->width * sizeof *rows);
    free(d->rows);
    d->rows = rows;
    d->width = width;
    return true;
}

/* A row of zeros; 0: out of memory. */
static uint32_t
new_row(struct rn__depend *d)
{
    if (d->row_count == d->row_room || !d->rows) {
        uint32_t room = d->row_room ? 2 * d->row_room : 64;
        uint32_t *rows =
            realloc(d->rows, (size_t)room * d->width * sizeof *rows);
        if (!rows) {
            d->failed = true;
            return 0;
        }
        d->rows = rows;
        d->row_room = room;
    }
    memset(row(d, d->row_count), 0, d->width * sizeof *d->rows);
    return d->row_count++;
}

void
rn__depend_reset(struct rn__depend *d)
{
    for (uint32_t i = 0; i < d->object_count; i++) {
        struct rn__used *o = &d->objects[i];
        o->last = o->given = o->read = o->puts.count = o->takes.count = 0;
        o->spoilt = false;
    }
    if (d->number_room)
        memset(d->thread_of, 0, d->number_room * sizeof *d->thread_of);
    d->act_count = d->choice_count = d->race_count = d->strand_count = 0;
    d->object_count = d->woken_count = d->arm_count = d->last_cancel = 0;
    d->begun = 0;
    d->access_count = 1;
    d->row_count = d->instant = 0;
    d->open = d->failed = false;
    if (!d->width)
        d->width = 8;
    d->instant = new_row(d); /* 0, which also stands for none */
}

void
rn__depend_join_row(struct rn__depend *d, uint32_t to, uint32_t from)
{
    uint32_t *t = row(d, to);
    const uint32_t *f = row(d, from);
    for (uint32_t i = 0; i < d->strand_count; i++)
        if (f[i] > t[i])
            t[i] = f[i];
}

/* What has happened up to now in a thread. */
void
rn__depend_join(struct rn__depend *d, uint32_t to,
                const struct rn__strand *thread)
{
    if (thread->last)
        rn__depend_join_row(d, to, d->clocks[thread->last - 1]);
    rn__depend_join_row(d, to, thread->pending);
}

/* Join a row into that of an object, which is made when it is first needed. */
static void
give(struct rn__depend *d, uint32_t *to, uint32_t from)
{
    uint32_t made = *to ? *to : new_row(d);
    *to = made;
    if (made)
        rn__depend_join_row(d, made, from);
}

/* ---- threads and objects ------------------------------------------------ */

struct rn__strand *
rn__depend_new_strand(struct rn__depend *d, struct rn__task *task,
                      uint64_t name)
{
    if (!GROW(d, strands, strand_room, d->strand_count + 1) ||
        (d->strand_count == d->width && !widen(d)))
        return NULL;
    uint32_t pending = new_row(d);
    if (!pending)
        return NULL;
    struct rn__strand *thread = &d->strands[d->strand_count++];
    *thread =
        (struct rn__strand){.name = name, .task = task, .pending = pending};
    return thread;
}

struct rn__strand *
rn__depend_strand(struct rn__depend *d, uint32_t number)
{
    if (!GROW(d, thread_of, number_room, number + 1))
        return NULL;
    if (!d->thread_of[number]) {
        if (!rn__depend_new_strand(d, NULL, 0))
            return NULL;
        d->thread_of[number] = d->strand_count;
    }
    return &d->strands[d->thread_of[number] - 1];
}

/* Objects and tasks are numbered apart; 0 and 1 stand for what has no number:
 * the root scope, and all else. */
uint32_t
rn__depend_object(struct rn__depend *d, uint32_t number, bool of_task)
{
    uint32_t index = 2 * number + of_task;
    if (!GROW(d, objects, object_room, index + 1))
        return 0;
    if (index >= d->object_count)
        d->object_count = index + 1;
    return index;
}

/* ---- an act ------------------------------------------------------------- */

struct rn__act *
rn__depend_last(struct rn__depend *d)
{
    return &d->acts[d->act_count - 1];
}

bool
rn__depend_open(struct rn__depend *d, struct rn__strand *thread,
                enum rn__kind kind)
{
    uint32_t a = d->act_count;
    if (!GROW(d, acts, act_room, a + 1))
        return false;
    if (d->clock_room < d->act_room) {
        uint32_t room = d->clock_room;
        if (!rn__depend_grow(d, &d->clocks, &room, d->act_room,
                             sizeof *d->clocks) ||
            !GROW(d, causes, clock_room, d->act_room))
            return false;
    }
    uint32_t clock = new_row(d), pending = new_row(d);
    if (!clock || !pending)
        return false;
    rn__depend_join(d, clock, thread);
    d->clocks[a] = clock;
    d->causes[a] = thread->pending;
    thread->pending = pending;
    d->acts[a] = (struct rn__act){.name = thread->name,
                                  .thread = (uint32_t)(thread - d->strands),
                                  .index = ++thread->count,
                                  .access = d->access_count,
                                  .choice = d->choice_count,
                                  .kind = (uint8_t)kind};
    thread->last = a + 1;
    d->act_count++;
    d->open = true;
    d->in_tx = false;
    return true;
}

void
rn__depend_use(struct rn__depend *d, uint32_t object, uint8_t mode, bool spoils)
{
    struct rn__act *act = rn__depend_last(d);
    if (!GROW(d, accesses, access_room, d->access_count + 1))
        return;
    if (d->objects[object].spoilt)
        mode = RN__MODE_WHOLE;
    d->accesses[d->access_count++] =
        (struct rn__access){.object = object,
                            .act = d->act_count - 1,
                            .mode = mode,
                            .spoils = spoils,
                            .choices = act->choices};
    act->accesses++;
}

/* ---- the end of an act -------------------------------------------------- */

static void
meet_act(struct rn__depend *d, uint32_t other)
{
    for (uint32_t i = 0; i < d->met_count; i++)
        if (d->met[i] == other)
            return;
    if (GROW(d, met, met_room, d->met_count + 1))
        d->met[d->met_count++] = other;
}

/* The acts that this one comes after because of an access. What an earlier one
 * of the same kind meets need not be looked for. */
static void
meet_object(struct rn__depend *d, const struct rn__access *access)
{
    uint32_t i = d->objects[access->object].last;
    while (i) {
        const struct rn__access *other = &d->accesses[i];
        if (other->act != access->act && meet(access->mode, other->mode)) {
            meet_act(d, other->act);
            if (other->mode == RN__MODE_WHOLE || other->mode == access->mode)
                return;
        }
        i = other->before;
    }
}

static void
meet_cancels(struct rn__depend *d, uint32_t a)
{
    if (d->acts[a].heeds && d->last_cancel)
        meet_act(d, d->last_cancel - 1);
    for (uint32_t t = 0; d->acts[a].cancels && t < d->strand_count; t++)
        if (t != d->acts[a].thread && d->strands[t].heeded)
            meet_act(d, d->strands[t].heeded - 1);
}

/* Met directly: not known before, and not through another. */
static bool
is_direct(const struct rn__depend *d, uint32_t other, const uint32_t *known)
{
    const struct rn__act *o = &d->acts[other];
    if (known[o->thread] >= o->index)
        return false;
    for (uint32_t j = 0; j < d->met_count; j++)
        if (d->met[j] != other && rn__act_before(d, other, d->met[j]))
            return false;
    return true;
}

static void
keep_races(struct rn__depend *d, uint32_t a, const uint32_t *known)
{
    d->acts[a].race = d->race_count;
    for (uint32_t i = 0; i < d->met_count; i++)
        if (is_direct(d, d->met[i], known) &&
            GROW(d, races, race_room, d->race_count + 1))
            d->races[d->race_count++] = d->met[i];
    d->acts[a].races = d->race_count - d->acts[a].race;
}

static void
add_to(struct rn__depend *d, struct rn__order *order, uint32_t act)
{
    if (rn__depend_grow(d, &order->acts, &order->room, order->count + 1,
                        sizeof *order->acts))
        order->acts[order->count++] = act;
}

/* A send or a receive takes its place; what has to come before its end has
 * happened, or will wake it. */
static void
take_place(struct rn__depend *d, struct rn__used *o, uint32_t a, bool put,
           struct rn__strand *thread)
{
    struct rn__order *mine = put ? &o->puts : &o->takes;
    struct rn__order *other = put ? &o->takes : &o->puts;
    size_t skip = put ? o->capacity : 0, k = mine->count;
    add_to(d, mine, a);
    if (k >= skip && k - skip < other->count)
        rn__depend_join_row(d, thread->pending,
                            d->clocks[other->acts[k - skip]]);
}

/* What has been given so far is a cause of what follows this operation. */
static void
acquire(struct rn__depend *d, const struct rn__act *act,
        struct rn__strand *thread)
{
    if (!rn__depend_takes(act->kind))
        return;
    for (uint32_t i = 0; i < act->accesses; i++) {
        const struct rn__used *o =
            &d->objects[d->accesses[act->access + i].object];
        if (o->given)
            rn__depend_join_row(d, thread->pending, o->given);
        if (o->read && act->kind != RN__RLOCK)
            rn__depend_join_row(d, thread->pending, o->read);
    }
}

static void
release(struct rn__depend *d, uint32_t a, struct rn__used *o, bool gives)
{
    uint8_t kind = d->acts[a].kind;
    if (kind == RN__COMPLETE && o->given)
        return; /* only the first one counts */
    if (gives)
        give(d, &o->given, d->clocks[a]);
    else if (kind == RN__RUNLOCK)
        give(d, &o->read, d->clocks[a]);
    else if (kind == RN__UNLOCK || kind == RN__WUNLOCK ||
             kind == RN__DOWNGRADE || kind == RN__COMPLETE ||
             kind == RN__GROUP_ADD || kind == RN__END)
        give(d, &o->given, d->clocks[a]);
}

/* The accesses of the act become part of their objects' past. */
static void
settle(struct rn__depend *d, uint32_t a, struct rn__strand *thread)
{
    const struct rn__act *act = &d->acts[a];
    for (uint32_t i = act->access; i < act->access + act->accesses; i++) {
        struct rn__access *access = &d->accesses[i];
        struct rn__used *o = &d->objects[access->object];
        access->before = o->last;
        o->last = i;
        o->spoilt |= access->spoils;
        if ((act->kind == RN__SEND || act->kind == RN__RECV) && !o->spoilt)
            take_place(d, o, a, act->kind == RN__SEND, thread);
        release(d, a, o, access->gives);
    }
}

/* Who waited for one of several things goes on for one: it meets all others
 * that come for the rest. */
static void
claim(struct rn__depend *d, const struct rn__strand *woken)
{
    const struct rn__act *act = &d->acts[woken->last - 1];
    if (act->accesses < 2)
        return;
    for (uint32_t i = 0; i < act->accesses; i++)
        rn__depend_use(d, d->accesses[act->access + i].object, RN__MODE_WHOLE,
                       false);
}

static void
tell_woken(struct rn__depend *d, uint32_t a)
{
    for (uint32_t i = 0; i < d->woken_count; i++) {
        struct rn__strand *woken = &d->strands[d->woken[i]];
        rn__depend_join_row(d, woken->pending, d->clocks[a]);
        if (woken->last)
            acquire(d, &d->acts[woken->last - 1], woken);
    }
    d->woken_count = 0;
}

void
rn__depend_close(struct rn__depend *d)
{
    if (!d->open || d->failed)
        return;
    uint32_t a = d->act_count - 1;
    struct rn__act *act = &d->acts[a];
    struct rn__strand *thread = &d->strands[act->thread];
    d->open = false;
    for (uint32_t i = 0; i < d->woken_count; i++)
        if (d->strands[d->woken[i]].last)
            claim(d, &d->strands[d->woken[i]]);
    d->met_count = 0;
    for (uint32_t i = 0; i < act->accesses; i++)
        meet_object(d, &d->accesses[act->access + i]);
    if (act->cancels || (act->heeds && d->last_cancel))
        meet_cancels(d, a);
    if (act->heeds)
        thread->heeded = a + 1;
    if (act->cancels)
        d->last_cancel = a + 1;
    if (d->met_count)
        keep_races(d, a, row(d, d->clocks[a]));
    for (uint32_t i = 0; i < d->met_count; i++)
        rn__depend_join_row(d, d->clocks[a], d->clocks[d->met[i]]);
    row(d, d->clocks[a])[act->thread] = act->index;
    settle(d, a, thread);
    if (thread->task && !rn__task_waits(thread->task))
        acquire(d, act, thread);
    tell_woken(d, a);
}

/* ---- what happens -------------------------------------------------------- */

/* An object is given up within an act, or after a wait of which it is the end.
 */
void
rn__depend_give_up(struct rn__depend *d, struct rn__strand *strand,
                   uint32_t object)
{
    uint32_t now = 0;
    if (d->open && strand->last == d->act_count) {
        rn__depend_use(d, object, RN__MODE_PUT, false);
        d->accesses[d->access_count - 1].gives = true;
    } else if ((now = new_row(d))) {
        rn__depend_join(d, now, strand);
        give(d, &d->objects[object].given, now);
    }
}

void
rn__depend_choice(struct rn__depend *d, uint32_t width, uint32_t choice)
{
    uint32_t i = d->choice_count;
    if (!d->open || d->failed)
        return;
    if (i >= d->choice_room) {
        uint32_t room = d->choice_room;
        if (!rn__depend_grow(d, &d->widths, &room, i + 1, sizeof *d->widths) ||
            !GROW(d, choices, choice_room, i + 1))
            return;
    }
    d->choices[i] = choice;
    d->widths[i] = width;
    d->choice_count++;
    rn__depend_last(d)->choices++;
}

void
rn__depend_wake(struct rn__depend *d, uint32_t by, uint32_t task)
{
    struct rn__strand *woken = d->failed ? NULL : rn__depend_strand(d, task);
    if (!woken)
        return;
    uint32_t place = (uint32_t)(woken - d->strands);
    struct rn__strand *from = by ? rn__depend_strand(d, by) : NULL;
    woken = &d->strands[place];
    if (d->open && (!from || from->last == d->act_count)) {
        if (GROW(d, woken, woken_room, d->woken_count + 1))
            d->woken[d->woken_count++] = place;
        return;
    }
    rn__depend_close(d);
    if (from) {
        rn__depend_join(d, woken->pending, from);
        if (woken->last)
            acquire(d, &d->acts[woken->last - 1], woken);
    }
}

void
rn__depend_tick(struct rn__depend *d)
{
    rn__depend_close(d);
    uint32_t now = d->failed ? 0 : new_row(d);
    if (!now)
        return;
    for (uint32_t t = 0; t < d->strand_count; t++)
        rn__depend_join(d, now, &d->strands[t]);
    for (uint32_t t = 0; t < d->strand_count; t++)
        rn__depend_join_row(d, d->strands[t].pending, now);
    d->instant = now;
}

int
rn__act_meets(const struct rn__depend *d, uint32_t a, uint32_t b)
{
    const struct rn__act *x = &d->acts[a], *y = &d->acts[b];
    for (uint32_t i = 0; i < x->accesses; i++)
        for (uint32_t j = 0; j < y->accesses; j++) {
            const struct rn__access *p = &d->accesses[x->access + i];
            const struct rn__access *q = &d->accesses[y->access + j];
            if (p->object == q->object && meet(p->mode, q->mode))
                return (int)i;
        }
    bool cancel =
        (x->cancels && (y->heeds || y->cancels)) || (x->heeds && y->cancels);
    return cancel ? (int)x->accesses : -1;
}
