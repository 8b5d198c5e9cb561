/* sim/keep.c - shards, and searches kept in a file. */
#include "sim/keep.h"

#include <stdlib.h>
#include <string.h>

/* ---- which schedules ---------------------------------------------------- */

static bool
is_resumable(const struct rn__strategy *strategy)
{
    return strategy->by_index || strategy->save;
}

static char *
complain(const rn_sim_options *o, const struct rn__strategy *strategy)
{
    bool kept = o->out_path || o->checkpoint_path || o->resume_path;
    if (o->shard > o->shards || (o->shards && !o->shard))
        return rn__format("there is no shard %u of %u", o->shard, o->shards);
    if ((kept || o->shards > 1) && o->token)
        return rn__format("a token is one schedule: nothing to share or keep");
    if (o->shards > 1 && !strategy->by_index)
        return rn__format("strategy \"%s\" cannot be sharded: what it runs "
                          "next depends on all it has run before",
                          strategy->name);
    if (kept && !is_resumable(strategy))
        return rn__format("a search by strategy \"%s\" cannot be kept in a "
                          "file: its tree is in memory only",
                          strategy->name);
    return NULL;
}

static int
resume(struct rn__keep *keep, const rn_sim_options *o, char *identity,
       char **why)
{
    struct rn__part *part = &keep->part;
    uint32_t shard = part->shard, shards = part->shards;
    int error = rn__part_read(part, o->resume_path, why);
    if (error)
        return error;
    if (!rn__part_same(identity, part->identity, o->resume_path, why))
        return -EINVAL;
    if (part->shard != shard || part->shards != shards) {
        *why = rn__format("%s is shard %u/%u, not %u/%u", o->resume_path,
                          part->shard + 1, part->shards, shard + 1, shards);
        return -EINVAL;
    }
    keep->from = part->next;
    return 0;
}

int
rn__keep_open(struct rn__keep *keep, const rn_sim_options *o,
              struct rn__searcher *searcher, char *const argv[], char **why)
{
    struct rn__part *part = &keep->part;
    *why = complain(o, searcher->strategy);
    if (*why)
        return -EINVAL;
    keep->on = o->out_path || o->checkpoint_path || o->resume_path;
    keep->saved = rn__os_now();
    part->shards = o->shards ? o->shards : 1;
    part->shard = o->shard ? o->shard - 1 : 0;
    part->found = UINT64_MAX;
    if (!keep->on)
        return 0;
    char *name = rn__strategy_text(searcher->strategy, searcher->param);
    char *identity = name ? rn__part_identity(o, name, argv) : NULL;
    free(name);
    if (!identity)
        return -ENOMEM;
    int error = o->resume_path ? resume(keep, o, identity, why) : 0;
    free(part->identity);
    part->identity = identity;
    free(part->command);
    part->command = rn__format("%s", o->command ? o->command : "");
    return error ? error : part->command ? 0 : -ENOMEM;
}

static void
take_knowledge(struct rn__searcher *s, const rn_sim_report *r)
{
    s->complete = r->complete;
    s->bound = r->bound;
    s->estimated = r->estimated;
    s->blocked = r->blocked;
    s->preemptions = r->preemptions;
    s->within = r->within;
}

int
rn__keep_take(struct rn__keep *keep, struct rn__searcher *searcher,
              rn_sim_report *report, struct rn__distinct *distinct, char **why)
{
    const struct rn__part *part = &keep->part;
    const struct rn__sights *sights = &part->sights;
    const struct rn__words *state = &part->state;
    if (searcher->strategy->save &&
        !searcher->strategy->load(searcher, state->list, state->count)) {
        *why = rn__format("the file to resume from is damaged: its strategy's "
                          "part makes no sense");
        return -EINVAL;
    }
    for (size_t i = 0; i < sights->room; i++)
        if (sights->slots[i].digest)
            rn__distinct_add(distinct, sights->slots[i].digest);
    *report = part->report;
    report->distinct = distinct->count;
    report->token = report->text = report->strategy = NULL;
    take_knowledge(searcher, report);
    return 0;
}

uint64_t
rn__keep_next(const struct rn__keep *keep, const struct rn__searcher *searcher,
              uint64_t i)
{
    uint64_t shards = keep->part.shards;
    if (i < searcher->strategy->warm && (shards > 1 || keep->from > 0))
        return i;
    if (i < keep->from)
        i = keep->from;
    return i + (keep->part.shard + shards - i % shards) % shards;
}

bool
rn__keep_owns(const struct rn__keep *keep, uint64_t index)
{
    return index >= keep->from && index % keep->part.shards == keep->part.shard;
}

/* ---- saving ------------------------------------------------------------- */

bool
rn__keep_is_due(const struct rn__keep *keep, const rn_sim_options *o)
{
    rn_time every = o->checkpoint_every ? o->checkpoint_every : 10 * RN_SEC;
    return o->checkpoint_path && rn__os_now() - keep->saved >= every;
}

int
rn__keep_save(struct rn__keep *keep, const char *path,
              const struct rn__searcher *searcher, const rn_sim_report *report,
              char **why)
{
    struct rn__part part = keep->part;
    part.report = *report;
    if (!part.report.strategy)
        part.report.strategy = (char *)searcher->strategy->name;
    part.state = (struct rn__words){0};
    bool saved = !searcher->strategy->save ||
                 searcher->strategy->save(searcher, &part.state);
    int error = saved ? rn__part_write(&part, path, why) : -ENOMEM;
    free(part.state.list);
    keep->saved = rn__os_now();
    return error;
}

void
rn__keep_close(struct rn__keep *keep)
{
    rn__part_fini(&keep->part);
}
