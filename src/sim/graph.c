/* sim/graph.c - who could wake whom, and the circle in it.
 *
 * The world has stopped. Where an object has a holder (a mutex, a once) or
 * names a task (a join, the close of a scope) that is who must act. For a
 * channel, a condition or a wait group anybody could; the record tells who has
 * done the other side of it before, or touched it at all, and that is who a
 * reader will suspect.
 */
#include "sim/graph.h"

#include <runnel/select.h>
#include <stdlib.h>

static enum rn__kind
wait_kind(const struct rn__task *task)
{
    return (enum rn__kind)atomic_load_explicit(&task->info.kind,
                                               memory_order_relaxed);
}

/* ---- the tasks ---------------------------------------------------------- */

/* Who holds the object; 0: nobody in particular. */
static uint64_t
holder(const struct rn__object *object)
{
    return object ? atomic_load_explicit(&object->holder, memory_order_relaxed)
                  : 0;
}

/* Whether what it waits for names the task that must act. */
static bool
names_who(const struct rn__task *task)
{
    enum rn__kind kind = wait_kind(task);
    return kind == RN__JOIN || kind == RN__SCOPE_CLOSE ||
           holder(
               atomic_load_explicit(&task->info.object, memory_order_relaxed));
}

static void
collect(struct rn__task *task, void *arg)
{
    struct rn__graph *graph = arg;
    if (!rn__task_waits(task) || names_who(task) != graph->exact)
        return;
    if (graph->count < RN__GRAPH_MAX)
        graph->tasks[graph->count++] = task;
    else
        graph->left_out++;
}

static int
find(const struct rn__graph *graph, uint32_t number)
{
    for (size_t i = 0; i < graph->count; i++)
        if (rn__task_number(graph->tasks[i]) == number)
            return (int)i;
    return -1;
}

static void
add_edge(struct rn__graph *graph, size_t from, const struct rn__task *to)
{
    int i = to ? find(graph, rn__task_number(to)) : -1;
    if (i >= 0)
        graph->edge[from][i] = true;
}

static void
add_holder(struct rn__graph *graph, size_t from,
           const struct rn__object *object)
{
    uint64_t id = holder(object);
    struct rn__task *task = rn__task_record(graph->rt, id);
    if (task && rn__task_is(task, id))
        add_edge(graph, from, task);
}

/* ---- what the record tells ---------------------------------------------- */

static bool
wakes(enum rn__kind done, enum rn__kind wait)
{
    switch (wait) {
    case RN__SEND:
        return done == RN__RECV || done == RN__ARM_RECV || done == RN__CLOSE;
    case RN__RECV:
        return done == RN__SEND || done == RN__ARM_SEND || done == RN__CLOSE;
    case RN__RLOCK:
    case RN__WLOCK:
        return done == RN__RLOCK || done == RN__WLOCK || done == RN__DOWNGRADE;
    case RN__FUTURE:
        return done == RN__COMPLETE;
    case RN__ACQUIRE:
        return done == RN__ACQUIRE || done == RN__GIVE_BACK;
    case RN__COND_WAIT:
        return done == RN__COND_SIGNAL || done == RN__COND_BROADCAST;
    case RN__GROUP_WAIT:
        return done == RN__GROUP_ADD;
    case RN__RETRY:
        return done == RN__TVAR_SET;
    case RN__CONTEXT_WAIT:
        return done == RN__CONTEXT_CANCEL;
    default:
        return false;
    }
}

static bool
same_sort(enum rn__kind a, enum rn__kind b)
{
    return rn__kind_object(a)[0] == rn__kind_object(b)[0];
}

/* Edges to tasks that did the other side of the wait on this object; if none
 * ever did, to those that touched it. */
static void
suspects(struct rn__graph *graph, size_t from, enum rn__kind wait,
         const struct rn__object *object)
{
    uint32_t number = (uint32_t)object->id;
    for (int pass = 0; pass < 2; pass++) {
        bool found = false;
        for (size_t e = 0; e < graph->event_count; e++) {
            const struct rn__event *event = &graph->events[e];
            enum rn__kind kind = rn__event_kind(event);
            if (event->object != number || !same_sort(kind, wait) ||
                !(pass == 0 ? wakes(kind, wait) : kind != wait))
                continue;
            int i = find(graph, event->task);
            if (i < 0 || (size_t)i == from)
                continue;
            graph->edge[from][i] = found = true;
        }
        if (found)
            return;
    }
}

static void
arm_edges(struct rn__graph *graph, size_t from)
{
    const struct rn__waitinfo *info = &graph->tasks[from]->info;
    for (size_t i = 0; i < info->arm_count; i++) {
        const rn_arm *arm = &info->arms[i];
        if (arm->kind == RN_ARM_KIND_FUTURE && arm->id)
            suspects(graph, from, RN__FUTURE, (const void *)(uintptr_t)arm->id);
        if (!arm->chan)
            continue;
        const struct rn__object *object = (const void *)arm->chan;
        suspects(graph, from,
                 arm->kind == RN_ARM_KIND_SEND ? RN__SEND : RN__RECV, object);
    }
}

static void
scope_edges(struct rn__graph *graph, size_t from, struct rn_scope *scope)
{
    rn__list_each (node, &scope->tasks)
        add_edge(graph, from, rn__container_of(node, struct rn__task, sibling));
}

static void
edges(struct rn__graph *graph, size_t from)
{
    struct rn__task *task = graph->tasks[from];
    enum rn__kind kind = wait_kind(task);
    struct rn__object *object =
        atomic_load_explicit(&task->info.object, memory_order_relaxed);
    if (kind == RN__SELECT)
        arm_edges(graph, from);
    if (!object)
        return;
    if (kind == RN__JOIN)
        add_edge(graph, from,
                 rn__container_of(object, struct rn__task, object));
    else if (kind == RN__SCOPE_CLOSE)
        scope_edges(graph, from,
                    rn__container_of(object, struct rn_scope, object));
    else if (holder(object))
        add_holder(graph, from, object);
    else
        suspects(graph, from, kind, object);
}

/* ---- the circle --------------------------------------------------------- */

/* Depth first; path holds the way from the start. */
static bool
search(struct rn__graph *graph, size_t at, size_t depth)
{
    graph->seen[at] = true;
    graph->path[depth] = at;
    for (size_t to = 0; to < graph->count; to++) {
        if (!graph->edge[at][to])
            continue;
        for (size_t i = 0; i <= depth; i++) {
            if (graph->path[i] == to) {
                graph->cycle = &graph->path[i];
                graph->cycle_length = depth - i + 1;
                return true;
            }
        }
        if (!graph->seen[to] && search(graph, to, depth + 1))
            return true;
    }
    return false;
}

void
rn__graph_make(struct rn__graph *graph, struct rn__rt *rt,
               const struct rn__event *events, size_t event_count)
{
    graph->rt = rt;
    graph->events = events;
    graph->event_count = event_count;
    graph->exact = true; /* those first, in case there are too many */
    rn__task_each(rt, collect, graph);
    graph->exact = false;
    rn__task_each(rt, collect, graph);
    for (size_t i = 0; i < graph->count; i++)
        edges(graph, i);
    for (size_t i = 0; i < graph->count; i++)
        if (!graph->seen[i] && search(graph, i, 0))
            return;
}
