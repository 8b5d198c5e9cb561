/* sim/merge.c - one report from the parts of a search. */
#include "sim/part.h"

#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* Whether the parts are one search, each once; all are read. */
static int
check_parts(struct rn__part *const *parts, char *const paths[], size_t count,
            char **why)
{
    uint32_t shards = parts[0]->shards;
    for (size_t i = 0; i < count; i++) {
        const struct rn__part *p = parts[i];
        if (!rn__part_same(parts[0]->identity, p->identity, paths[i], why))
            return -EINVAL;
        if (p->shards != shards)
            *why = rn__format("%s is one of %u shards, %s one of %u", paths[i],
                              p->shards, paths[0], shards);
        else if (!p->finished)
            *why = rn__format("%s is of a search that was stopped: resume it",
                              paths[i]);
        for (size_t k = 0; k < i && !*why; k++)
            if (parts[k]->shard == p->shard)
                *why = rn__format("%s and %s are both shard %u/%u", paths[k],
                                  paths[i], p->shard + 1, shards);
        if (*why)
            return -EINVAL;
    }
    return 0;
}

/* Name the shards that are missing. */
static int
check_all_there(struct rn__part *const *parts, size_t count, char **why)
{
    enum { NAMED = 20 };
    uint32_t shards = parts[0]->shards, named = 0;
    size_t size;
    FILE *out = count < shards ? open_memstream(why, &size) : NULL;
    if (!out)
        return count < shards ? -ENOMEM : 0;
    for (uint32_t shard = 0; shard < shards && named <= NAMED; shard++) {
        bool there = false;
        for (size_t i = 0; i < count; i++)
            there = there || parts[i]->shard == shard;
        if (there)
            continue;
        if (named++ < NAMED)
            fprintf(out, "%s%u/%u", named > 1 ? ", " : "missing: shard ",
                    shard + 1, shards);
        else
            fputs(" and others", out);
    }
    fclose(out);
    return -EINVAL;
}

static bool
add_part(struct rn__part *sum, const struct rn__part *part)
{
    rn_sim_report *to = &sum->report;
    const rn_sim_report *from = &part->report;
    to->schedules += from->schedules;
    to->failing += from->failing;
    to->seconds += from->seconds;
    to->complete = to->complete || from->complete;
    rn__properties_merge(&sum->properties, &part->properties);
    for (size_t i = 0; i < part->sights.room; i++)
        if (part->sights.slots[i].digest &&
            !rn__sights_add(&sum->sights, part->sights.slots[i].digest,
                            part->sights.slots[i].index))
            return false;
    return true;
}

static bool
keeps_going(const struct rn__part *part)
{
    const char *line = strstr(part->identity, "\nflags ");
    return line && strtoul(line + 7, NULL, 10) & RN_SIM_KEEP_GOING;
}

/* The finding with the smallest index is the one that a single search would
 * have reported; what was run beyond it does not count. */
static int
add_up(struct rn__part *const *parts, size_t count, rn_sim_report *report)
{
    struct rn__part sum = {.found = UINT64_MAX};
    struct rn__part *best = parts[0];
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        fits = add_part(&sum, parts[i]);
        if (parts[i]->found < best->found)
            best = parts[i];
    }
    rn_sim_report total = best->report;
    memset(&best->report, 0, sizeof best->report); /* its texts have moved */
    bool cut = best->found != UINT64_MAX && !keeps_going(best);
    total.schedules = cut ? best->found + 1 : sum.report.schedules;
    total.failing = cut ? 1 : sum.report.failing;
    total.seconds = sum.report.seconds;
    total.complete = sum.report.complete && !cut;
    total.distinct =
        rn__sights_count(&sum.sights, cut ? best->found : UINT64_MAX);
    if (fits && best->found == UINT64_MAX && total.schedules != 1)
        rn__properties_judge(&sum.properties, &total);
    *report = total;
    rn__part_fini(&sum);
    return fits ? 0 : -ENOMEM;
}

static int
merge(struct rn__part **parts, char *const paths[], size_t count,
      rn_sim_report *report)
{
    for (size_t i = 0; i < count; i++) {
        parts[i] = calloc(1, sizeof *parts[i]);
        int error = parts[i] ? rn__part_read(parts[i], paths[i], &report->text)
                             : -ENOMEM;
        if (error)
            return error;
    }
    int error = check_parts(parts, paths, count, &report->text);
    if (!error)
        error = check_all_there(parts, count, &report->text);
    return error ? error : add_up(parts, count, report);
}

int
rn_sim_merge(char *const paths[], char **command, rn_sim_report *report)
{
    size_t count = 0;
    memset(report, 0, sizeof *report);
    report->bound = report->preemptions = -1;
    if (command)
        *command = NULL;
    while (paths[count])
        count++;
    if (!count)
        report->text = rn__format("there is nothing to merge");
    if (!count)
        return -EINVAL;
    struct rn__part **parts = calloc(count, sizeof(struct rn__part *));
    int error = parts ? merge(parts, paths, count, report) : -ENOMEM;
    if (!error && command) {
        *command = parts[0]->command;
        parts[0]->command = NULL;
    }
    for (size_t i = 0; parts && i < count && parts[i]; i++) {
        rn__part_fini(parts[i]);
        free(parts[i]);
    }
    free(parts);
    return error;
}
