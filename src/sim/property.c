/* sim/property.c - properties of a search, and invariants of a schedule.
 *
 * A name is found by its hash in a table that is never more than half full.
 * The table outlives schedules; of a program it lies in the shared memory, and
 * a child adds to what those before it have seen.
 */
#include "sim/property.h"

#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* ---- the table ---------------------------------------------------------- */

static uint32_t
hash(const char *name, size_t length)
{
    uint32_t sum = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)name[i]) * 16777619u;
    return sum;
}

/* The property of that name, made if there is none; NULL: too many. */
static struct rn__property *
find(struct rn__properties *properties, const char *name)
{
    size_t length = strnlen(name, RN__PROPERTY_NAME - 1);
    uint32_t i = hash(name, length) % RN__PROPERTY_SLOTS;
    for (;; i = (i + 1) % RN__PROPERTY_SLOTS) {
        struct rn__property *p = &properties->slots[i];
        if (strncmp(p->name, name, length) == 0 && p->name[length] == 0 &&
            p->name[0])
            return p;
        if (p->name[0])
            continue;
        if (properties->count == RN__PROPERTIES)
            return NULL;
        properties->count++;
        memcpy(p->name, name, length);
        p->name[length] = 0;
        return p;
    }
}

static void
tell(const char *name, bool seen, bool expected, const void *site)
{
    struct rn__world *world = rn__world_self();
    if (!world || !world->properties)
        return;
    if (!name || !*name)
        rn__panic_at(site, "a property needs a name");
    struct rn__property *p = find(world->properties, name);
    if (!p)
        rn__panic_at(site, "more than %d names of properties", RN__PROPERTIES);
    p->seen += seen;
    p->asked += !seen && !expected;
    p->expected = p->expected || expected;
}

void
rn__properties_merge(struct rn__properties *to,
                     const struct rn__properties *from)
{
    for (int i = 0; i < RN__PROPERTY_SLOTS; i++) {
        const struct rn__property *p = &from->slots[i];
        struct rn__property *known = p->name[0] ? find(to, p->name) : NULL;
        if (!known)
            continue;
        known->asked += p->asked;
        known->seen += p->seen;
        known->expected = known->expected || p->expected;
    }
}

static int
by_name(const void *a, const void *b)
{
    const struct rn__property *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void
print_unseen(const struct rn__property *const *unseen, size_t count,
             const rn_sim_report *report, FILE *out)
{
    fprintf(out, "unseen: %zu propert%s seen in none of %llu schedules\n",
            count, count == 1 ? "y was" : "ies were",
            (unsigned long long)report->schedules);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "  \"%s\": ", unseen[i]->name);
        if (unseen[i]->asked)
            fprintf(out, "asked %llu times, and it never held\n",
                    (unsigned long long)unseen[i]->asked);
        else
            fprintf(out, "expected, and no schedule came to it\n");
    }
    fprintf(out, "either the program cannot do it, or the search is too small "
                 "or leads elsewhere\n");
}

void
rn__properties_judge(const struct rn__properties *properties,
                     rn_sim_report *report)
{
    const struct rn__property *unseen[RN__PROPERTIES];
    size_t count = 0, length;
    if (report->verdict != RN_SIM_PASS || !properties)
        return;
    for (int i = 0; i < RN__PROPERTY_SLOTS; i++) {
        const struct rn__property *p = &properties->slots[i];
        if (p->name[0] && !p->seen && (p->asked || p->expected))
            unseen[count++] = p;
    }
    if (!count)
        return;
    qsort(unseen, count, sizeof *unseen, by_name);
    report->verdict = RN_SIM_UNSEEN;
    free(report->text);
    report->text = NULL;
    FILE *out = open_memstream(&report->text, &length);
    if (!out)
        return;
    print_unseen(unseen, count, report, out);
    if (fclose(out) != 0)
        report->text = NULL;
}

/* ---- properties --------------------------------------------------------- */

static void
broken(const char *what, const char *name, const void *site)
{
    struct rn__world *world = rn__world_self();
    if (world && rn__self_or_lender())
        rn__world_fail(world, RN_SIM_ASSERT, site, "%s \"%s\"", what, name);
    rn__panic_at(site, "%s \"%s\"", what, name);
}

void
rn_sim_always(int condition, const char *name)
{
    tell(name, true, false, rn__site());
    if (rn__unlikely(!condition))
        broken("does not always hold:", name, rn__site());
}

void
rn_sim_sometimes(int condition, const char *name)
{
    tell(name, condition != 0, false, rn__site());
}

void
rn_sim_reachable(const char *name)
{
    tell(name, true, false, rn__site());
}

void
rn_sim_unreachable(const char *name)
{
    broken("was reached:", name, rn__site());
}

void
rn_sim_expect(const char *name)
{
    tell(name, false, true, rn__site());
}

/* ---- invariants --------------------------------------------------------- */

void
rn_sim_invariant(const char *name, rn_sim_invariant_fn *fn, void *arg)
{
    rn__self_in("rn_sim_invariant");
    const void *site = rn__site();
    struct rn__world *world = rn__world_self();
    rn__need(name, "rn_sim_invariant", site);
    rn__need(fn, "rn_sim_invariant", site);
    if (!world)
        return;
    struct rn__invariants *all = &world->invariants;
    if (all->count == RN__INVARIANTS)
        rn__panic_at(site, "more than %d invariants at a time", RN__INVARIANTS);
    all->list[all->count++] = (struct rn__invariant){name, fn, arg};
    world->calm = false;
}

void
rn_sim_invariant_end(rn_sim_invariant_fn *fn, void *arg)
{
    struct rn__world *world = rn__world_self();
    struct rn__invariants *all = world ? &world->invariants : NULL;
    for (uint32_t i = 0; all && i < all->count; i++) {
        if (all->list[i].fn != fn || all->list[i].arg != arg)
            continue;
        all->list[i] = all->list[--all->count];
        return;
    }
}

/* The last step of the running task: what came after it broke something. */
static const struct rn__event *
last_step(struct rn__world *world)
{
    uint32_t number = rn__task_number(rn__current(&world->worker));
    for (size_t i = world->event_count; i-- > 0;) {
        const struct rn__event *event = &world->events[i];
        if (event->task == number && rn__event_kind(event) < RN__ANNOTATE_FIRST)
            return event;
    }
    return NULL;
}

static void
report_broken(struct rn__world *world, const char *name)
{
    const struct rn__event *event = last_step(world);
    if (!event) {
        rn__world_fail(world, RN_SIM_ASSERT, NULL,
                       "invariant \"%s\" does not hold before the first step",
                       name);
        return;
    }
    enum rn__kind kind = rn__event_kind(event);
    char object[32] = "";
    if (event->object && rn__kind_object(kind)[0])
        snprintf(object, sizeof object, " %s#%u", rn__kind_object(kind),
                 event->object);
    rn__world_fail(world, RN_SIM_ASSERT, rn__event_site(event),
                   "invariant \"%s\" does not hold after step %zu: %s%s", name,
                   (size_t)(event - world->events) + 1, rn__kind_text(kind),
                   object);
}

void
rn__invariants_check(struct rn__world *world)
{
    struct rn__invariants *all = &world->invariants;
    if (world->looking || world->over)
        return;
    world->looking = true;
    const char *name = NULL;
    for (uint32_t i = 0; i < all->count && !name; i++)
        if (!all->list[i].fn(all->list[i].arg))
            name = all->list[i].name;
    world->looking = false;
    if (name)
        report_broken(world, name);
}
