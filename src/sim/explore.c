/* sim/explore.c - schedule after schedule in this process. */
#include "sim/search.h"
#include "sim/shrink.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* What is run, and where the result goes. */
struct job {
    struct rn__world *world;
    rn_task_fn *fn;
    void *arg;
    const rn_sim_options *options;
    rn_sim_report *report;
    struct rn__searcher searcher;
    const struct rn__strategy *found_by; /* of the last schedule */
    uint32_t found_param;
    struct rn__distinct distinct;
    rn_time started, told;
};

/* Run the schedule that has just been run once more, with its own choices. */
static void
verify(struct job *job)
{
    struct rn__world *world = job->world;
    size_t count = world->event_count;
    uint64_t digest = world->digest;
    struct rn__choices choices = world->choices;
    struct rn__event *events = malloc(count * sizeof *events + 1);
    if (!events)
        return;
    memcpy(events, world->events, count * sizeof *events);
    memset(&world->choices, 0, sizeof world->choices);
    rn__world_begin(world, 0, &choices);
    rn__world_run(world, job->fn, job->arg);
    rn__verify(world, events, count, digest);
    free(world->choices.list);
    world->choices = choices;
    free(events);
}

/* ---- the search --------------------------------------------------------- */

static void
fill_report(struct job *job, uint64_t seed)
{
    struct rn__world *world = job->world;
    rn_sim_report *report = job->report;
    report->verdict = world->verdict;
    report->steps = world->steps;
    report->seed = seed;
    report->digest = world->digest;
    report->waiting = world->waiting;
    report->diverged = world->diverged;
    report->time = world->now;
    report->faults = world->injector.total;
    if (world->verdict == RN_SIM_PASS)
        return;
    report->token = rn__token_write(&world->choices);
    report->text =
        rn__format("%s%sto repeat it: rn_sim_options.token = \"%s\"\n",
                   world->text ? world->text : "",
                   report->contrast ? report->contrast : "",
                   report->token ? report->token : "");
}

/* The one that has begun. */
static void
finish(struct job *job, uint64_t seed)
{
    struct rn__world *world = job->world;
    if (job->options->flags & RN_SIM_VERIFY && world->verdict != RN_SIM_CRASH)
        verify(job);
    job->report->schedules++;
    job->report->distinct += rn__distinct_add(&job->distinct, world->digest);
    if (job->report->failing == 0)
        fill_report(job, seed);
    job->report->failing += world->verdict != RN_SIM_PASS;
    if (job->report->failing && job->options->flags & RN_SIM_KEEP_GOING)
        world->want_text = false; /* one is told */
}

static void
repeat(struct job *job, const struct rn__choices *replay)
{
    rn__world_begin(job->world, 0, replay);
    rn__world_run(job->world, job->fn, job->arg);
    finish(job, job->options->seed);
}

/* 1: go on. */
static int
one(struct job *job, uint64_t i)
{
    struct rn__world *world = job->world;
    struct rn__plan plan;
    struct rn__log log;
    enum rn__planned planned = rn__searcher_plan(&job->searcher, i, &plan);
    if (planned == RN__PLAN_EXHAUSTED)
        return 0;
    if (planned != RN__PLAN_MADE)
        return -ENOMEM;
    rn__world_plan(world, &plan);
    rn__world_run(world, job->fn, job->arg);
    rn__world_log(world, &log);
    rn__searcher_learn(&job->searcher, &plan, &log);
    if (job->report->failing == 0) {
        job->found_by = plan.strategy;
        job->found_param = plan.param;
    }
    finish(job, plan.seed);
    return (world->verdict == RN_SIM_PASS ||
            job->options->flags & RN_SIM_KEEP_GOING) &&
           rn__search_goes_on(job->options, job->started, &job->told,
                              job->report);
}

/* ---- a simpler finding -------------------------------------------------- */

static int
run_plan(void *arg, const struct rn__plan *plan, struct rn__outcome *outcome)
{
    struct job *job = arg;
    rn__world_plan(job->world, plan);
    rn__world_run(job->world, job->fn, job->arg);
    rn__world_log(job->world, &outcome->log);
    outcome->record =
        (struct rn__record){job->world->events, job->world->event_count};
    outcome->finding = rn__finding(job->world);
    return 0;
}

/* Report the simplest schedule that has been found instead. */
static void
report_shrunk(struct job *job, const struct rn__shrinker *s)
{
    rn_sim_report *report = job->report;
    job->world->want_text = true;
    rn__world_begin(job->world, 0, &s->choices);
    rn__world_run(job->world, job->fn, job->arg);
    free(report->token);
    free(report->text);
    report->contrast = rn__contrast_text(job->world, &s->contrast);
    fill_report(job, report->seed);
    rn__shrink_sum_up(s, report);
}

static int
shrink(struct job *job)
{
    rn_sim_report *report = job->report;
    struct rn__choices found = {NULL, 0, 0};
    struct rn__shrinker s = {
        .run = run_plan, .arg = job, .verdict = report->verdict};
    bool seeded;
    uint64_t seed;
    char *why = NULL;
    if (!(job->options->flags & RN_SIM_SHRINK) || !report->token ||
        !rn__can_shrink(report->verdict))
        return 0;
    int error = rn__token_read(report->token, &found, &seeded, &seed, &why);
    job->world->want_text = false;
    if (!error)
        error = rn__shrink(&s, &found);
    if (!error)
        error = rn__shrink_contrast(&s);
    if (!error)
        report_shrunk(job, &s);
    rn__shrink_fini(&s);
    free(found.list);
    free(why);
    return error == -ENOENT ? 0 : error;
}

/* ---- all of it ---------------------------------------------------------- */

static int
search(struct job *job)
{
    int more = 1;
    for (uint64_t i = 0; more > 0 && i < job->options->schedules; i++)
        more = one(job, i);
    rn__search_sum_up(&job->searcher, job->options->flags & RN_SIM_KEEP_GOING,
                      job->report);
    if (job->report->verdict != RN_SIM_PASS)
        job->report->strategy =
            rn__strategy_text(job->found_by, job->found_param);
    else
        job->report->strategy =
            rn__strategy_text(job->searcher.strategy, job->searcher.param);
    return more < 0 ? more : shrink(job);
}

static int
start(struct job *job, const struct rn__choices *replay, uint64_t schedules,
      bool whole)
{
    struct rn__world *world = job->world;
    world->options.schedules = schedules;
    if (!(world->properties = calloc(1, sizeof *world->properties)))
        return -ENOMEM;
    world->want_text = world->judge_result = true;
    job->started = job->told = rn__os_now();
    int error = 0;
    if (replay) {
        repeat(job, replay);
        error = shrink(job);
    } else {
        error = search(job);
    }
    if (whole && !error)
        rn__properties_judge(world->properties, job->report);
    job->report->seconds = (double)(rn__os_now() - job->started) / 1e9;
    free(job->distinct.slots);
    free(world->properties);
    const char *path = world->options.trace_path;
    if (error || !path)
        return error;
    return rn__world_trace(world, path, job->report->token);
}

static int
explore(const rn_sim_options *options, uint64_t schedules, rn_task_fn *fn,
        void *arg, rn_sim_report *report)
{
    if (rn__self())
        rn__panic_at(rn__site(), "a simulation started by a task");
    rn__need(fn, "rn_sim_run or rn_sim_explore", rn__site());
    memset(report, 0, sizeof *report);
    report->bound = report->preemptions = report->deviations = -1;
    struct rn__world *world;
    int error = rn__world_open(options, &world, &report->text);
    if (error)
        return error;
    struct rn__choices replay = {NULL, 0, 0};
    bool seeded = true;
    bool whole = schedules == 0;
    rn_sim_options *o = &world->options;
    world->keep_events = o->trace_path || o->flags & RN_SIM_VERIFY;
    if (o->token) {
        error =
            rn__token_read(o->token, &replay, &seeded, &o->seed, &report->text);
        schedules = 1;
        whole = false;
    }
    struct job job = {
        .world = world, .fn = fn, .arg = arg, .options = o, .report = report};
    if (!error)
        error = rn__search_open(&job.searcher, o, o->token || schedules == 1,
                                &report->text);
    if (!error)
        error = start(&job, seeded ? NULL : &replay,
                      schedules ? schedules : o->schedules, whole);
    rn__searcher_close(&job.searcher);
    free(replay.list);
    rn__world_close(world);
    return error;
}

int
rn_sim_run(const rn_sim_options *options, rn_task_fn *fn, void *arg,
           rn_sim_report *report)
{
    return explore(options, 1, fn, arg, report);
}

int
rn_sim_explore(const rn_sim_options *options, rn_task_fn *fn, void *arg,
               rn_sim_report *report)
{
    return explore(options, 0, fn, arg, report);
}

void
rn_sim_report_fini(rn_sim_report *report)
{
    free(report->token);
    free(report->text);
    free(report->strategy);
    free(report->contrast);
    report->token = report->text = report->strategy = report->contrast = NULL;
}
