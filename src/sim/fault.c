/* sim/fault.c - faults as choices.
 *
 * Whether a fault happens is a choice between 0, no, and 1. It is made only
 * while the kind is switched on and its budget lasts, so a token needs the
 * options it was made with. A budget without a chance gets a chance drawn for
 * each schedule, from one half to a thousandth: with a fixed one nearly all
 * schedules would have their faults at the first occasions.
 */
#include "sim/fault.h"

#include "sim/sim.h"

#include "base/prng.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[RN__MISHAPS] = {"alloc", "spurious", "trylock",
                                               "late", "kill"};
static const enum rn__kind kinds[RN__MISHAPS] = {
    RN__NO_MEMORY, RN__SPURIOUS, RN__TRY_FAILS, RN__LATE, RN__KILLED};

/* ---- options ------------------------------------------------------------ */

static rn_sim_fault *
member(rn_sim_faults *faults, int fault)
{
    rn_sim_fault *const members[RN__MISHAPS] = {
        &faults->alloc, &faults->spurious, &faults->trylock, &faults->late,
        &faults->kill};
    return members[fault];
}

char *
rn__faults_complain(const rn_sim_faults *faults)
{
    rn_sim_faults copy = *faults;
    for (int i = 0; i < RN__MISHAPS; i++) {
        double chance = member(&copy, i)->chance;
        if (!(chance >= 0 && chance <= 1))
            return rn__format("the chance of the fault %s is not from 0 to 1",
                              names[i]);
    }
    if (faults->late_by < 0)
        return rn__format("faults.late_by is negative");
    return NULL;
}

void
rn__injector_init(struct rn__injector *injector, const rn_sim_faults *faults)
{
    rn_sim_faults copy = *faults;
    for (int i = 0; i < RN__MISHAPS; i++) {
        rn_sim_fault *fault = member(&copy, i);
        if (fault->chance > 0 && !fault->most)
            fault->most = UINT32_MAX;
        injector->kinds[i] = *fault;
        injector->on = injector->on || fault->most;
    }
}

void
rn__injector_begin(struct rn__injector *injector, uint64_t seed)
{
    enum { RAREST = 10 };
    injector->total = 0;
    injector->odds = 0;
    memset(injector->done, 0, sizeof injector->done);
    for (int i = 0; injector->on && i < RN__MISHAPS; i++) {
        uint32_t halves =
            1 + (uint32_t)(rn__mix64(seed + (uint64_t)i) % RAREST);
        injector->chance[i] = injector->kinds[i].chance > 0
                                  ? injector->kinds[i].chance
                                  : 1.0 / (double)(1u << halves);
    }
}

/* ---- the text ----------------------------------------------------------- */

static int
kind_of(const char *text, size_t length)
{
    for (int i = 0; i < RN__MISHAPS; i++)
        if (strlen(names[i]) == length && !strncmp(names[i], text, length))
            return i;
    return -1;
}

/* "20ms" */
static bool
read_span(const char *text, rn_time *span)
{
    static const struct {
        const char *unit;
        rn_time ns;
    } units[] = {{"ns", 1}, {"us", RN_US}, {"ms", RN_MS}, {"s", RN_SEC}};
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    long long value = strtoll(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0)
            return value > 0 &&
                   !__builtin_mul_overflow(value, units[i].ns, span);
    return false;
}

/* "2", "10%" or "2@10%" */
static bool
read_fault(const char *text, rn_sim_fault *fault)
{
    char *end;
    memset(fault, 0, sizeof *fault);
    if (*text < '0' || *text > '9')
        return false;
    if (text[strspn(text, "0123456789")] != '.' &&
        text[strspn(text, "0123456789")] != '%') {
        unsigned long long most = strtoull(text, &end, 10);
        if (most > UINT32_MAX)
            return false;
        fault->most = (uint32_t)most;
        if (*end == 0)
            return true;
        if (*end != '@' || end[1] < '0' || end[1] > '9')
            return false;
        text = end + 1;
    }
    fault->chance = strtod(text, &end) / 100;
    return end[0] == '%' && end[1] == 0 && fault->chance <= 1;
}

static bool
read_item(const char *item, rn_sim_faults *faults)
{
    const char *colon = strchr(item, ':');
    if (!colon)
        return false;
    size_t length = (size_t)(colon - item);
    int kind = kind_of(item, length);
    if (kind >= 0)
        return read_fault(colon + 1, member(faults, kind));
    return length == strlen("late_by") && !strncmp(item, "late_by", length) &&
           read_span(colon + 1, &faults->late_by);
}

int
rn_sim_faults_parse(const char *text, rn_sim_faults *faults)
{
    rn_sim_faults read = {0};
    rn__need(text, "rn_sim_faults_parse", rn__site());
    rn__need(faults, "rn_sim_faults_parse", rn__site());
    char *copy = strdup(text), *rest = copy, *item;
    bool good = copy && *copy;
    while (good && (item = strsep(&rest, ",")))
        good = read_item(item, &read);
    free(copy);
    if (!good)
        return -EINVAL;
    *faults = read;
    return 0;
}

/* ---- injecting ---------------------------------------------------------- */

uint32_t
rn__inject_draw(struct rn__world *world)
{
    /* from 0 up to 1 */
    double drawn = (double)(rn__world_random(world) >> 11) * 0x1p-53;
    return drawn < world->injector.odds;
}

bool
rn__inject(struct rn__world *world, enum rn__mishap fault, const void *site)
{
    struct rn__injector *injector = &world->injector;
    if (!injector->on || injector->done[fault] >= injector->kinds[fault].most ||
        world->fairness.on || world->looking)
        return false;
    injector->odds = injector->chance[fault];
    bool happens = world->rt.env->choose(&world->rt, 2) == 1;
    injector->odds = 0;
    if (!happens)
        return false;
    injector->done[fault]++;
    injector->total++;
    world->rt.env->note(&world->rt, kinds[fault], 0, site);
    return true;
}

void
rn__inject_kill(struct rn__world *world, struct rn__task *self,
                const void *site)
{
    struct rn__rt *rt = &world->rt;
    bool may =
        self != atomic_load_explicit(&rt->main_task, memory_order_relaxed) &&
        !atomic_load_explicit(&self->told, memory_order_relaxed) &&
        !self->carrier && !self->in_tx;
    if (!may || !rn__inject(world, RN__MISHAP_KILL, site))
        return;
    rn__lock(&self->lock);
    rn__task_tell(self, RN__CANCEL_USER);
    rn__unlock(&self->lock);
}

rn_time
rn__inject_late(struct rn__world *world, rn_time first)
{
    struct rn__heap_node *due[RN__SIM_CANDIDATES];
    rn_time span = world->options.faults.late_by;
    rn_time last = first + (span ? span : RN_MS), next = RN_NEVER;
    if (!rn__inject(world, RN__MISHAP_LATE, NULL))
        return first;
    size_t count =
        rn__timers_due(&world->worker.timers, last, due, RN__SIM_CANDIDATES);
    for (size_t i = 0; i < count; i++)
        if (due[i]->key > first && due[i]->key < next)
            next = due[i]->key;
    return next == RN_NEVER ? last : next;
}

/* ---- the report --------------------------------------------------------- */

void
rn__inject_tell(struct rn__world *world, FILE *out)
{
    enum { SHOWN = 20 };
    uint64_t told = 0;
    if (!world->injector.total)
        return;
    fprintf(out, "faults injected:\n");
    for (size_t i = 0; i < world->event_count; i++) {
        const struct rn__event *event = &world->events[i];
        enum rn__kind kind = rn__event_kind(event);
        if (kind >= RN__NO_MEMORY && kind <= RN__KILLED && told++ < SHOWN)
            rn__print_event(world, event, out);
    }
    if (told > SHOWN)
        fprintf(out, "  ... and %llu more\n",
                (unsigned long long)(told - SHOWN));
}
