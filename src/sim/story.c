/* sim/story.c - see story.h.
 *
 * The finding is about the objects that the tasks of a wait-for cycle wait for;
 * without one, those that anybody waits for, ends of tasks and the like only if
 * there is nothing else; and about what the task that failed did last.
 */
#include "sim/story.h"

#include "sim/contrast.h"
#include "sim/graph.h"
#include "sim/sim.h"

#include <runnel/select.h>
#include <stdlib.h>
#include <string.h>

enum { TOPICS = 32, LINES = 10, LEAST = 2, CULPRIT_OPS = 4 };

/* Objects by what they are called. */
struct topics {
    struct {
        const char *word;
        uint32_t number;
    } list[TOPICS];
    size_t count;
    bool ends; /* ends of tasks, too */
};

struct line {
    uint32_t event;
    bool waits, preempted, pending;
};

struct story {
    struct line lines[LINES]; /* a ring */
    size_t count;             /* ever added */
};

/* ---- what it is about --------------------------------------------------- */

static bool
has_topic(const struct topics *topics, enum rn__kind kind, uint32_t number)
{
    const char *word = rn__kind_object(kind);
    for (size_t i = 0; number && word[0] && i < topics->count; i++)
        if (topics->list[i].number == number &&
            strcmp(topics->list[i].word, word) == 0)
            return true;
    return false;
}

static void
add_topic(struct topics *topics, enum rn__kind kind, uint32_t number)
{
    const char *word = rn__kind_object(kind);
    if (!number || !word[0] || topics->count == TOPICS ||
        has_topic(topics, kind, number))
        return;
    topics->list[topics->count].word = word;
    topics->list[topics->count++].number = number;
}

static bool
is_of_ends(enum rn__kind kind)
{
    return kind == RN__JOIN || kind == RN__SCOPE_CLOSE ||
           kind == RN__GROUP_WAIT || kind == RN__SCOPE_OPEN ||
           kind == RN__SPAWN;
}

static void
add_arms(struct topics *topics, const struct rn__task *task)
{
    for (size_t i = 0; i < task->info.arm_count; i++) {
        const rn_arm *arm = &task->info.arms[i];
        const struct rn__object *object = (const void *)arm->chan;
        if ((arm->kind == RN_ARM_KIND_SEND || arm->kind == RN_ARM_KIND_RECV) &&
            object)
            add_topic(topics, RN__SEND, (uint32_t)object->id);
    }
}

/* What a task waits for. */
static void
add_wait(struct rn__task *task, void *arg)
{
    struct topics *topics = arg;
    enum rn__kind kind = (enum rn__kind)atomic_load_explicit(
        &task->info.kind, memory_order_relaxed);
    struct rn__object *object =
        atomic_load_explicit(&task->info.object, memory_order_relaxed);
    if (!rn__task_waits(task) || is_of_ends(kind) != topics->ends)
        return;
    if (kind == RN__SELECT)
        add_arms(topics, task);
    else if (object)
        add_topic(topics, kind, (uint32_t)object->id);
}

static void
add_waits(struct rn__world *world, struct topics *topics)
{
    struct rn__graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return;
    rn__graph_make(graph, &world->rt, world->events, world->event_count);
    for (size_t i = 0; i < graph->cycle_length && graph->cycle; i++)
        add_wait(graph->tasks[graph->cycle[i]], topics);
    if (!topics->count)
        rn__task_each(&world->rt, add_wait, topics);
    topics->ends = !topics->count;
    if (topics->ends)
        rn__task_each(&world->rt, add_wait, topics);
    free(graph);
}

static void
add_culprit(struct rn__world *world, struct topics *topics)
{
    int ops = 0;
    for (size_t i = world->event_count; i-- > 0 && ops < CULPRIT_OPS;) {
        const struct rn__event *e = &world->events[i];
        enum rn__kind kind = rn__event_kind(e);
        if (e->task != world->culprit || kind >= RN__ANNOTATE_FIRST ||
            is_of_ends(kind))
            continue;
        add_topic(topics, kind, e->object);
        ops++;
    }
}

/* ---- the lines ---------------------------------------------------------- */

void
rn__story_line(struct rn__world *world, const struct rn__event *event,
               const char *remark, FILE *out)
{
    enum rn__kind kind = rn__event_kind(event);
    void *site = (void *)(uintptr_t)rn__event_site(event);
    char where[1][RN__SYMBOL_MAX] = {""};
    char name[RN__SIM_NAME + 3], what[80];
    snprintf(name, sizeof name, "\"%s\"",
             rn__world_task_name(world, event->task));
    if (rn__kind_object(kind)[0] && event->object)
        snprintf(what, sizeof what, "%s %s#%u%s", rn__kind_text(kind),
                 rn__kind_object(kind), event->object, remark);
    else
        snprintf(what, sizeof what, "%s%s", rn__kind_text(kind), remark);
    if (site)
        rn__os_symbols(&site, 1, where);
    if (world->now > 0)
        fprintf(out, "  %12.6f s", (double)event->time / 1e9);
    fprintf(out, "  task %-3u %-12s %-30s %s\n", event->task, name, what,
            where[0]);
}

static void
add_line(struct story *story, const struct rn__world *world, uint32_t event,
         uint32_t done)
{
    const struct rn__event *e = world->events;
    struct line *line = &story->lines[story->count++ % LINES];
    *line = (struct line){.event = event, .pending = done == UINT32_MAX};
    line->waits = !line->pending && rn__event_kind(&e[done]) == RN__BLOCK;
    uint32_t end = line->pending ? (uint32_t)world->event_count : done;
    for (uint32_t i = event + 1; i < end; i++)
        line->preempted |= e[i].task != e[event].task && e[i].task != 0;
}

static bool
belongs(const struct rn__world *world, const struct topics *topics, uint32_t i)
{
    const struct rn__event *e = &world->events[i];
    enum rn__kind kind = rn__event_kind(e);
    return kind < RN__ANNOTATE_FIRST && has_topic(topics, kind, e->object);
}

/* What is done at an event is what its task announced before. */
static bool
gather(struct story *story, const struct rn__world *world,
       const struct topics *topics)
{
    uint32_t count = (uint32_t)world->event_count;
    uint32_t *done = rn__done_at(world->events, count);
    uint32_t *doing = malloc(count * sizeof *doing + 1);
    bool good = done && doing;
    if (good) {
        memset(doing, 0xff, count * sizeof *doing);
        for (uint32_t i = 0; i < count; i++)
            if (done[i] != UINT32_MAX)
                doing[done[i]] = i;
        for (uint32_t i = 0; i < count; i++)
            if (doing[i] != UINT32_MAX && belongs(world, topics, doing[i]))
                add_line(story, world, doing[i], i);
        for (uint32_t i = 0; i < count; i++)
            if (done[i] == UINT32_MAX && belongs(world, topics, i))
                add_line(story, world, i, UINT32_MAX);
    }
    free(done);
    free(doing);
    return good;
}

static const char *
remark(const struct line *line)
{
    if (line->pending)
        return ": not yet";
    if (line->waits)
        return line->preempted ? ", late, waits" : ", waits";
    return line->preempted ? ", late" : "";
}

bool
rn__story_tell(struct rn__world *world, FILE *out)
{
    struct topics topics = {.count = 0};
    struct story story = {.count = 0};
    bool late = false;
    if (world->verdict == RN_SIM_DEADLOCK || world->verdict == RN_SIM_LEAK)
        add_waits(world, &topics);
    else if (world->culprit)
        add_culprit(world, &topics);
    if (!topics.count || !gather(&story, world, &topics) || story.count < LEAST)
        return false;
    size_t first = story.count > LINES ? story.count - LINES : 0;
    fprintf(out, "what happened, as far as it matters:\n");
    if (first > 0)
        fprintf(out, "  ... %zu earlier\n", first);
    for (size_t i = first; i < story.count; i++) {
        const struct line *line = &story.lines[i % LINES];
        late |= line->preempted;
        rn__story_line(world, &world->events[line->event], remark(line), out);
    }
    if (late)
        fprintf(out, "  (late: others went on just before it)\n");
    return true;
}
