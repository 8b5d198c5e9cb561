/* sim/report.c - a finding, told to a person. */
#include "sim/sim.h"

#include "sim/graph.h"
#include "sim/story.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

enum { LAST_STEPS = 10 };

const char *
rn_sim_verdict_name(rn_sim_verdict verdict)
{
    static const char *const names[] = {
        "pass",           "deadlock",   "leak",         "panic",
        "assert",         "failed",     "crash",        "no progress",
        "step limit",     "time limit", "memory limit", "hang",
        "nondeterminism", "unseen",     "starvation"};
    size_t i = (size_t)verdict;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}

/* ---- names -------------------------------------------------------------- */

void
rn__world_keep_name(struct rn__world *world, const struct rn__task *task)
{
    uint32_t n = rn__task_number(task);
    const char *name = rn__task_name(task);
    size_t length = strnlen(name, RN__SIM_NAME - 1);
    if (n >= RN__SIM_NAMES)
        return;
    memcpy(world->names[n], name, length);
    world->names[n][length] = 0;
    world->handles[n] = rn__task_handle(task).id;
}

uint32_t
rn__world_ended_task(struct rn__world *world, uint64_t id)
{
    uint32_t last = world->rt.task_numbers;
    for (uint32_t n = last < RN__SIM_NAMES ? last : RN__SIM_NAMES - 1; n; n--)
        if (world->handles[n] == id)
            return n;
    return 0;
}

const char *
rn__world_task_name(struct rn__world *world, uint32_t number)
{
    return number < RN__SIM_NAMES ? world->names[number] : "";
}

static void
keep_name(struct rn__task *task, void *arg)
{
    rn__world_keep_name(arg, task);
}

/* ---- who waits ---------------------------------------------------------- */

static void
count_waiting(struct rn__task *task, void *arg)
{
    uint64_t *count = arg;
    if (rn__task_waits(task))
        ++*count;
}

uint64_t
rn__report_waiting(struct rn__world *world)
{
    uint64_t count = 0;
    rn__task_each(&world->rt, count_waiting, &count);
    return count;
}

static void
print_task(struct rn__world *world, struct rn__task *task, FILE *out)
{
    void *site = (void *)(uintptr_t)atomic_load_explicit(&task->info.site,
                                                         memory_order_relaxed);
    char where[1][RN__SYMBOL_MAX] = {""};
    if (site)
        rn__os_symbols(&site, 1, where);
    fprintf(out, "  task %u \"%s\" waits ", rn__task_number(task),
            rn__task_name(task));
    rn__dump_wait(&world->rt, task, true, out);
    fprintf(out, ", at %s\n", where[0]);
}

static bool
has_holder(const struct rn__task *task)
{
    struct rn__object *object =
        atomic_load_explicit(&task->info.object, memory_order_relaxed);
    return object &&
           atomic_load_explicit(&object->holder, memory_order_relaxed);
}

static void
print_cycle(struct rn__world *world, FILE *out)
{
    struct rn__graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return;
    rn__graph_make(graph, &world->rt, world->events, world->event_count);
    if (graph->cycle) {
        fprintf(out, "wait-for cycle:\n");
        for (size_t i = 0; i < graph->cycle_length; i++) {
            struct rn__task *task = graph->tasks[graph->cycle[i]];
            struct rn__task *actor =
                graph->tasks[graph->cycle[(i + 1) % graph->cycle_length]];
            print_task(world, task, out);
            if (!has_holder(task))
                fprintf(out, "    which task %u \"%s\" would have to end\n",
                        rn__task_number(actor), actor->name);
        }
    } else if (graph->count > 0) {
        fprintf(out,
                "no cycle%s: some task that was to act has ended, or "
                "never came to it\n",
                graph->left_out ? " among those looked at" : "");
    }
    free(graph);
}

/* ---- the last steps ----------------------------------------------------- */

void
rn__print_event(struct rn__world *world, const struct rn__event *event,
                FILE *out)
{
    enum rn__kind kind = rn__event_kind(event);
    void *site = (void *)(uintptr_t)rn__event_site(event);
    char where[1][RN__SYMBOL_MAX] = {""};
    char object[32] = "";
    if (event->object && rn__kind_object(kind)[0])
        snprintf(object, sizeof object, " %s#%u", rn__kind_object(kind),
                 event->object);
    if (site)
        rn__os_symbols(&site, 1, where);
    fprintf(out, "  %12.6f s  task %-3u %-12s %s%s  %s\n",
            (double)event->time / 1e9, event->task,
            rn__world_task_name(world, event->task), rn__kind_text(kind),
            object, where[0]);
}

static void
print_last_steps(struct rn__world *world, FILE *out)
{
    size_t first = world->event_count, steps = 0;
    while (first > 0 && steps < LAST_STEPS)
        if (rn__event_kind(&world->events[--first]) < RN__ANNOTATE_FIRST)
            steps++;
    fprintf(out, "last steps:\n");
    for (size_t i = first; i < world->event_count; i++)
        if (rn__event_kind(&world->events[i]) < RN__ANNOTATE_FIRST)
            rn__print_event(world, &world->events[i], out);
}

/* ---- the whole ---------------------------------------------------------- */

static void
print_where(struct rn__world *world, FILE *out)
{
    if (world->culprit)
        fprintf(out, "  in task %u \"%s\"\n", world->culprit,
                rn__world_task_name(world, world->culprit));
    if (!world->site)
        return;
    void *site = (void *)(uintptr_t)world->site;
    char name[1][RN__SYMBOL_MAX];
    rn__os_symbols(&site, 1, name);
    fprintf(out, "  at %s\n", name[0]);
}

void
rn__report_write(struct rn__world *world)
{
    size_t length = 0;
    char *text = NULL;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    /* Then this is a task's stack: nothing may be entered from here. */
    bool crashed = rn__current(&world->worker) != NULL;
    rn__task_each(&world->rt, keep_name, world);
    fprintf(out, "%s: %s\n", rn_sim_verdict_name(world->verdict),
            world->message ? world->message : "");
    print_where(world, out);
    fprintf(out, "after %llu steps, at %.6f s of virtual time\n",
            (unsigned long long)world->steps, (double)world->now / 1e9);
    bool told = rn__story_tell(world, out);
    rn__freed_tell(world, out);
    if (world->verdict == RN_SIM_DEADLOCK || world->verdict == RN_SIM_LEAK) {
        print_cycle(world, out);
        rn__stuck_tell(world, out);
    }
    if (world->verdict == RN_SIM_NO_PROGRESS ||
        world->verdict == RN_SIM_STARVATION)
        rn__tail_tell(world, out);
    rn__inject_tell(world, out);
    if (world->rt.root.live > 0 && rn__world_self() == world) {
        fprintf(out, "tasks:\n");
        rn__dump(&world->rt, !crashed, out);
    }
    if (!told)
        print_last_steps(world, out);
    if (fclose(out) == 0)
        world->text = text;
}

int
rn__world_trace(struct rn__world *world, const char *path, const char *token)
{
    uint32_t count = world->rt.task_numbers;
    if (count >= RN__SIM_NAMES)
        count = RN__SIM_NAMES - 1;
    const char **names = calloc(count + 1, sizeof *names);
    if (!names)
        return -ENOMEM;
    for (uint32_t i = 0; i <= count; i++)
        names[i] = world->names[i];
    struct rn__trace trace = {world->events,
                              world->event_count,
                              names,
                              count,
                              rn_sim_verdict_name(world->verdict),
                              token ? token : "",
                              world->seed,
                              world->digest};
    int error = rn__trace_write(&trace, path);
    free(names);
    return error;
}
