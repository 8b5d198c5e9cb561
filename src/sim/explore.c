/* sim/explore.c - schedule after schedule in this process. */
#include "sim/search.h"
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
    struct rn__distinct distinct;
    rn_time started, told;
};

static void
run(struct job *job, uint64_t seed, const struct rn__choices *replay)
{
    struct rn__world *world = job->world;
    rn__world_begin(world, seed, replay);
    rn__world_run(world, job->fn, job->arg);
}

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
    run(job, 0, &choices);
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
    if (world->verdict == RN_SIM_PASS)
        return;
    report->token = rn__token_write(&world->choices);
    report->text = rn__format("%sto repeat it: rn_sim_options.token = \"%s\"\n",
                              world->text ? world->text : "",
                              report->token ? report->token : "");
}

static bool
one(struct job *job, uint64_t seed, const struct rn__choices *replay)
{
    struct rn__world *world = job->world;
    run(job, seed, replay);
    if (job->options->flags & RN_SIM_VERIFY && world->verdict != RN_SIM_CRASH)
        verify(job);
    job->report->schedules++;
    job->report->distinct += rn__distinct_add(&job->distinct, world->digest);
    fill_report(job, seed);
    return world->verdict == RN_SIM_PASS;
}

static void
search(struct job *job)
{
    const rn_sim_options *o = job->options;
    for (uint64_t i = 0; i < o->schedules; i++) {
        if (!one(job, rn__schedule_seed(o->seed, i), NULL))
            return;
        if (!rn__search_goes_on(o, job->started, &job->told, job->report))
            return;
    }
}

static int
start(struct job *job, const struct rn__choices *replay, uint64_t schedules)
{
    struct rn__world *world = job->world;
    world->options.schedules = schedules;
    world->want_text = world->judge_result = true;
    job->started = job->told = rn__os_now();
    if (replay)
        one(job, job->options->seed, replay);
    else
        search(job);
    job->report->seconds = (double)(rn__os_now() - job->started) / 1e9;
    free(job->distinct.slots);
    const char *path = world->options.trace_path;
    return path ? rn__world_trace(world, path, job->report->token) : 0;
}

static int
explore(const rn_sim_options *options, uint64_t schedules, rn_task_fn *fn,
        void *arg, rn_sim_report *report)
{
    if (rn__self())
        rn__panic_at(rn__site(), "a simulation started by a task");
    rn__need(fn, "rn_sim_run or rn_sim_explore", rn__site());
    memset(report, 0, sizeof *report);
    struct rn__world *world;
    int error = rn__world_open(options, &world, &report->text);
    if (error)
        return error;
    struct rn__choices replay = {NULL, 0, 0};
    bool seeded = true;
    rn_sim_options *o = &world->options;
    world->keep_events = o->trace_path || o->flags & RN_SIM_VERIFY;
    if (o->token) {
        error =
            rn__token_read(o->token, &replay, &seeded, &o->seed, &report->text);
        schedules = 1;
    }
    if (!error) {
        struct job job = {.world = world,
                          .fn = fn,
                          .arg = arg,
                          .options = o,
                          .report = report};
        error = start(&job, seeded ? NULL : &replay,
                      schedules ? schedules : o->schedules);
    }
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
    report->token = report->text = NULL;
}
