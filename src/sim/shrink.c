/* sim/shrink.c - see shrink.h. */
#include "sim/shrink.h"

#include "os/os.h"
#include "sim/guide.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

enum { CONTRAST_RUNS = 1000, PARTS = 4 };
#define CONTRAST_TIME (RN_SEC / 2)

/* A schedule as a guide, to be varied. */
struct draft {
    struct rn__words words;
    struct rn__guide *guide;
    struct rn__leg *legs;
    struct rn__datum *data;
};

/* ---- which finding it is ------------------------------------------------ */

/* Numbers in a message differ from schedule to schedule. */
static uint64_t
hash_message(uint64_t hash, const char *text)
{
    for (; *text && *text != '\n'; text++)
        if (*text >= '0' && *text <= '9')
            text += strspn(text, "0123456789abcdefABCDEFx") - 1;
        else
            hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

uint64_t
rn__finding(const struct rn__world *world)
{
    bool anywhere = world->verdict >= RN_SIM_NO_PROGRESS;
    uint64_t hash = 14695981039346656037u + (uint64_t)world->verdict;
    if (world->verdict == RN_SIM_PASS)
        return 0;
    if (world->message)
        hash = hash_message(hash, world->message);
    if (!anywhere)
        hash +=
            rn__code_offset(&world->code, world->site) * 0x9e3779b97f4a7c15u;
    return hash | 1;
}

/* ---- what a schedule costs ---------------------------------------------- */

static void
price(struct rn__shrinker *to, const struct rn__log *log)
{
    to->faults = to->preemptions = to->deviations = 0;
    to->steps = log->steps;
    for (size_t i = 0; i < log->choices.count; i++) {
        const struct rn__forked *fork = &log->forked[i];
        if (log->choices.list[i] == 0)
            continue;
        to->deviations++;
        to->faults += fork->fault;
        to->preemptions += !fork->data && fork->self == 0;
    }
}

static bool
is_simpler(const struct rn__shrinker *a, const struct rn__shrinker *b)
{
    if (a->faults != b->faults)
        return a->faults < b->faults;
    if (a->preemptions != b->preemptions)
        return a->preemptions < b->preemptions;
    if (a->deviations != b->deviations)
        return a->deviations < b->deviations;
    return a->steps < b->steps;
}

/* ---- trials ------------------------------------------------------------- */

static bool
is_time_up(const struct rn__shrinker *s)
{
    return s->runs >= s->runs_most || rn__os_now() >= s->deadline;
}

static bool
copy(void *list, size_t *room, size_t bytes, const void *from, size_t count)
{
    void **to = list;
    if (count > *room || !*to) {
        void *larger = realloc(*to, count * bytes + 1);
        if (!larger)
            return false;
        *to = larger;
        *room = count;
    }
    if (count > 0)
        memcpy(*to, from, count * bytes);
    return true;
}

static bool
keep(struct rn__shrinker *s, const struct rn__log *log)
{
    size_t count = log->choices.count, room = s->choices.room;
    s->choices.count = s->words.count = 0;
    if (!copy(&s->forked, &room, sizeof *s->forked, log->forked, count) ||
        !copy(&s->choices.list, &s->choices.room, sizeof *s->choices.list,
              log->choices.list, count) ||
        !copy(&s->words.list, &s->words.room, sizeof *s->words.list,
              log->words.list, log->words.count))
        return false;
    s->choices.count = count;
    s->words.count = log->words.count;
    return true;
}

/* 1: it has the finding and is simpler than the best so far, or is the first;
 * 0: not. */
static int
judge(struct rn__shrinker *s, const struct rn__outcome *outcome)
{
    const struct rn__log *log = &outcome->log;
    struct rn__shrinker costs;
    if (outcome->finding != s->finding || !s->finding || !log->told ||
        (!log->forked && log->choices.count > 0))
        return 0;
    price(&costs, log);
    if (s->words.list && !is_simpler(&costs, s))
        return 0;
    price(s, log);
    return keep(s, log) ? 1 : -ENOMEM;
}

static int
try_plan(struct rn__shrinker *s, struct rn__plan *plan)
{
    struct rn__outcome outcome;
    s->runs++;
    int error = s->run(s->arg, plan, &outcome);
    if (!s->finding && outcome.log.verdict == s->verdict)
        s->finding = outcome.finding; /* it is the first */
    return error ? error : judge(s, &outcome);
}

static int
try_draft(struct rn__shrinker *s, const struct draft *draft)
{
    struct rn__plan plan = {.strategy = &rn__strategy_guide,
                            .words = draft->words};
    return try_plan(s, &plan);
}

/* ---- drafts ------------------------------------------------------------- */

static bool
has_guide(const struct rn__shrinker *s)
{
    return s->words.count == s->choices.count * RN__GUIDE_WORDS;
}

static void
add_leg(struct draft *draft, uint64_t lineage)
{
    uint64_t n = draft->guide->legs;
    if (n > 0 && lineage != 0 && draft->legs[n - 1].lineage == lineage &&
        draft->legs[n - 1].until == RN__GUIDE_ALL)
        return;
    draft->legs[n] = (struct rn__leg){lineage, RN__GUIDE_ALL};
    draft->guide->legs++;
}

static void
read_legs(struct draft *draft, const struct rn__shrinker *s)
{
    for (size_t i = 0; i < s->choices.count; i++) {
        const uint64_t *word = &s->words.list[i * RN__GUIDE_WORDS];
        if (s->forked[i].data)
            continue;
        if (word[1])
            add_leg(draft, word[1]); /* it has gone on without a choice */
        if (word[1] && word[0] != word[1])
            draft->legs[draft->guide->legs - 1].until = word[2];
        if (word[0] != word[1])
            add_leg(draft, word[0]);
    }
}

/* The best schedule so far as a draft; false: out of memory. */
static bool
open_draft(struct draft *draft, const struct rn__shrinker *s)
{
    size_t count = s->choices.count;
    size_t most = sizeof *draft->guide / 8 + (2 * count + 1) * 2 + count * 2;
    uint64_t *list = calloc(most, sizeof *list);
    if (!list)
        return false;
    draft->guide = (void *)list;
    draft->legs = (void *)(draft->guide + 1);
    read_legs(draft, s);
    draft->data = (void *)(draft->legs + draft->guide->legs);
    for (size_t i = 0; i < count; i++)
        if (s->forked[i].data)
            draft->data[draft->guide->data++] = (struct rn__datum){
                s->words.list[i * RN__GUIDE_WORDS], s->choices.list[i]};
    draft->words.list = list;
    draft->words.count = draft->words.room =
        (size_t)((uint64_t *)(draft->data + draft->guide->data) - list);
    return true;
}

/* ---- leaving out -------------------------------------------------------- */

/* Change a draft at a place, by size; false: there is nothing to change. */
typedef bool change_fn(struct draft *draft, uint64_t at, uint64_t size);

static bool
leave_out(struct draft *draft, uint64_t at, uint64_t size)
{
    uint64_t *list = draft->words.list;
    if (at >= draft->guide->legs)
        return false;
    if (size > draft->guide->legs - at)
        size = draft->guide->legs - at;
    struct rn__leg *to = &draft->legs[at], *from = to + size;
    size_t rest = (size_t)(list + draft->words.count - (const uint64_t *)from);
    memmove(to, from, rest * sizeof *list);
    draft->guide->legs -= size;
    draft->words.count -= size * (sizeof *to / sizeof *list);
    return true;
}

static bool
extend(struct draft *draft, uint64_t at, uint64_t size)
{
    bool changed = false;
    for (; size-- && at < draft->guide->legs; at++) {
        changed |= draft->legs[at].until != RN__GUIDE_ALL;
        draft->legs[at].until = RN__GUIDE_ALL;
    }
    return changed;
}

/* Choices that are not about who goes on; faults among them. */
static bool
reset(struct draft *draft, uint64_t at, uint64_t size)
{
    bool changed = false;
    for (; size-- && at < draft->guide->data; at++) {
        changed |= draft->data[at].choice != 0;
        draft->data[at].choice = 0;
    }
    return changed;
}

/* Where the draft ends there is nothing left to change. */
static bool
is_beyond(const struct draft *draft, change_fn *change, uint64_t at)
{
    return at >= (change == reset ? draft->guide->data : draft->guide->legs);
}

/* One change at each place; 1: some were for the better. */
static int
sweep(struct rn__shrinker *s, change_fn *change, uint64_t size)
{
    int better = 0;
    for (uint64_t at = 0; !is_time_up(s) && has_guide(s);) {
        struct draft draft;
        if (!open_draft(&draft, s))
            return -ENOMEM;
        bool beyond = is_beyond(&draft, change, at);
        int result =
            !beyond && change(&draft, at, size) ? try_draft(s, &draft) : 0;
        free(draft.words.list);
        if (result < 0)
            return result;
        better |= result;
        if (beyond)
            break;
        /* what has been left out is followed by something else */
        if (!result || change != leave_out)
            at += size;
    }
    return better;
}

static int
reduce(struct rn__shrinker *s)
{
    static change_fn *const changes[] = {reset, leave_out, extend};
    int better;
    do {
        better = 0;
        for (size_t i = 0; i < 3; i++)
            for (uint64_t size = s->choices.count; size > 0; size /= 2) {
                int result = sweep(s, changes[i], size);
                if (result < 0)
                    return result;
                better |= result;
            }
    } while (better && !is_time_up(s));
    return 0;
}

/* ---- fewer preemptions, fewer deviations -------------------------------- */

/* Run the schedules of a tree search until one is better; 1: one was, -ENODATA:
 * none is, and there are no more. */
static int
search(struct rn__shrinker *s, struct rn__searcher *searcher)
{
    for (uint64_t i = 0; !is_time_up(s); i++) {
        struct rn__plan plan;
        struct rn__outcome outcome;
        enum rn__planned planned = rn__searcher_plan(searcher, i, &plan);
        if (planned != RN__PLAN_MADE)
            return planned == RN__PLAN_EXHAUSTED ? -ENODATA : -ENOMEM;
        s->runs++;
        int result = s->run(s->arg, &plan, &outcome);
        if (result)
            return result;
        rn__searcher_learn(searcher, &plan, &outcome.log);
        if ((result = judge(s, &outcome)) != 0)
            return result;
    }
    return 0;
}

static int
search_below(struct rn__shrinker *s, const struct rn__strategy *strategy,
             uint64_t cost)
{
    enum { MOST = 1000 };
    struct rn__searcher searcher;
    if (cost == 0)
        return -ENODATA;
    int error = rn__searcher_open(&searcher, strategy,
                                  cost > MOST ? MOST : (uint32_t)cost - 1, 0);
    if (error)
        return error;
    int result = search(s, &searcher);
    rn__searcher_close(&searcher);
    return result;
}

/* A schedule of a tree search has no guide: run it for one. */
static int
guide_best(struct rn__shrinker *s)
{
    struct rn__choices choices = {NULL, 0, 0};
    if (!copy(&choices.list, &choices.room, sizeof *choices.list,
              s->choices.list, s->choices.count))
        return -ENOMEM;
    choices.count = s->choices.count;
    struct rn__plan plan = {.strategy = &rn__strategy_guide, .prefix = choices};
    s->steps++; /* or it would be no better */
    int result = try_plan(s, &plan);
    free(choices.list);
    return result < 0 ? result : reduce(s);
}

/* More of the budget, in parts of PARTS. */
static void
spend(struct rn__shrinker *s, rn_time started, unsigned parts)
{
    s->deadline = started + RN__SHRINK_SECONDS * RN_SEC / PARTS * parts;
    s->runs_most = (uint64_t)RN__SHRINK_RUNS / PARTS * parts;
}

/* Of levels below the one where a better one was found all have been run. */
static int
find_fewer(struct rn__shrinker *s)
{
    int result = search_below(s, &rn__strategy_preemption, s->preemptions);
    s->proved = result == 1 || result == -ENODATA;
    return result == 1 ? guide_best(s) : result;
}

static int
find_nearer(struct rn__shrinker *s)
{
    int result = search_below(s, &rn__strategy_delay, s->deviations);
    return result == 1 ? guide_best(s) : result;
}

int
rn__shrink(struct rn__shrinker *s, const struct rn__choices *found)
{
    struct rn__plan plan = {.strategy = &rn__strategy_guide, .prefix = *found};
    rn_time started = rn__os_now();
    spend(s, started, PARTS / 2);
    int result = try_plan(s, &plan);
    if (result <= 0)
        return result ? result : -ENOENT;
    if ((result = reduce(s)) < 0)
        return result;
    spend(s, started, PARTS * 3 / 4);
    if ((result = find_fewer(s)) < 0 && result != -ENODATA)
        return result;
    spend(s, started, PARTS);
    result = find_nearer(s);
    return result == -ENODATA ? 0 : result;
}

/* ---- one that passes ---------------------------------------------------- */

/* Another choice at a place, the default after it. */
static int
try_sibling(struct rn__shrinker *s, size_t at, uint32_t choice,
            const struct rn__record *failing)
{
    struct rn__choices prefix = {NULL, 0, 0};
    struct rn__outcome outcome;
    if (!copy(&prefix.list, &prefix.room, sizeof *prefix.list, s->choices.list,
              at + 1))
        return -ENOMEM;
    prefix.list[at] = choice;
    prefix.count = at + 1;
    struct rn__plan plan = {.strategy = &rn__strategy_preemption,
                            .prefix = prefix};
    s->runs++;
    int error = s->run(s->arg, &plan, &outcome);
    if (!error && outcome.log.verdict == RN_SIM_PASS &&
        !rn__contrast_find(failing, &outcome.record, &s->contrast))
        error = -ENOMEM;
    free(prefix.list);
    return error;
}

int
rn__shrink_contrast(struct rn__shrinker *s)
{
    struct rn__plan plan = {.strategy = &rn__strategy_preemption,
                            .prefix = s->choices};
    struct rn__outcome outcome;
    struct rn__record failing = {NULL, 0};
    size_t room = 0;
    s->deadline = rn__os_now() + CONTRAST_TIME;
    s->runs_most = s->runs + CONTRAST_RUNS;
    s->records = true;
    int error = s->run(s->arg, &plan, &outcome);
    if (error)
        return error;
    if (outcome.finding != s->finding)
        return 0;
    failing.count = outcome.record.count;
    if (!copy(&failing.events, &room, sizeof *failing.events,
              outcome.record.events, failing.count))
        return -ENOMEM;
    for (size_t at = s->choices.count; at-- > 0 && !error;)
        for (uint32_t choice = 0; choice < s->forked[at].n && !error; choice++)
            if (choice != s->choices.list[at] && !s->contrast.found &&
                !is_time_up(s))
                error = try_sibling(s, at, choice, &failing);
    s->records = false;
    free((void *)failing.events);
    return error;
}

void
rn__shrink_fini(struct rn__shrinker *s)
{
    free(s->choices.list);
    free(s->forked);
    free(s->words.list);
}

bool
rn__can_shrink(rn_sim_verdict verdict)
{
    return verdict != RN_SIM_PASS && verdict != RN_SIM_HANG &&
           verdict != RN_SIM_NONDETERMINISM && verdict != RN_SIM_UNSEEN;
}

void
rn__shrink_sum_up(const struct rn__shrinker *s, rn_sim_report *report)
{
    report->preemptions = (int)s->preemptions;
    report->deviations = (int)s->deviations;
    report->fewest = s->proved;
    report->shrinking = s->runs;
}
