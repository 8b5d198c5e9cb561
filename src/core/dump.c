/* core/dump.c - what all tasks do, for people.
 *
 * Without the world standing still, only atomics are read, and under its lock
 * what a task does not change; with it, stacks are walked by the tasks
 * themselves: each is entered for a moment and walks its own.
 */
#include "core/core.h"

#include <runnel/select.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 32, TASKS_SHOWN = 64, STACKS_SHOWN = 16 };

void
rn__dump_object(struct rn__rt *rt, enum rn__kind kind,
                const struct rn__object *object, FILE *out)
{
    const char *word = rn__kind_object(kind);
    if (!object)
        fprintf(out, "a nil %s", word);
    else if (object->id >> 32 == rt->epoch && rt->env)
        fprintf(out, "%s#%u", word, (uint32_t)object->id);
    else
        fprintf(out, "%s %p", word, (const void *)object);
}

static void
dump_holder(struct rn__rt *rt, const struct rn__object *object, FILE *out)
{
    uint64_t id =
        object ? atomic_load_explicit(&object->holder, memory_order_relaxed)
               : 0;
    struct rn__task *holder = rn__task_record(rt, id);
    if (id && holder && rn__task_is(holder, id))
        fprintf(out, " held by task %u \"%s\"", rn__task_number(holder),
                rn__task_name(holder));
    else if (id)
        fprintf(out, " held by a task that has ended");
}

static void
dump_watched(struct rn__rt *rt, const struct rn_scope *scope, FILE *out)
{
    rn__dump_object(
        rt, scope && scope->is_context ? RN__ARM_CONTEXT : RN__ARM_SCOPE,
        scope ? &scope->object : NULL, out);
}

static void
dump_arms(struct rn__rt *rt, const struct rn__task *task, FILE *out)
{
    const char *comma = "";
    for (size_t i = 0; i < task->info.arm_count && i < 8; i++) {
        const rn_arm *arm = &task->info.arms[i];
        const struct rn__object *object = (const void *)arm->chan;
        if (arm->kind == RN_ARM_KIND_NONE)
            continue;
        fprintf(out, "%s", comma);
        comma = ", ";
        if (arm->kind == RN_ARM_KIND_SEND || arm->kind == RN_ARM_KIND_RECV) {
            bool send = arm->kind == RN_ARM_KIND_SEND;
            fprintf(out, send ? "send on " : "receive from ");
            rn__dump_object(rt, send ? RN__SEND : RN__RECV, object, out);
        } else {
            fprintf(out, "%s",
                    arm->kind == RN_ARM_KIND_JOIN     ? "a task's end"
                    : arm->kind == RN_ARM_KIND_SCOPE  ? "the cancel of "
                    : arm->kind == RN_ARM_KIND_FUTURE ? "a future"
                                                      : "a point in time");
            if (arm->kind == RN_ARM_KIND_SCOPE)
                dump_watched(rt, arm->data, out);
        }
    }
    if (task->info.arm_count > 8)
        fprintf(out, ", ...");
}

static const char *
purpose(enum rn__kind kind)
{
    switch (kind) {
    case RN__SEND:
        return "to send on ";
    case RN__RECV:
        return "to receive from ";
    case RN__LOCK:
        return "to lock ";
    case RN__RLOCK:
        return "to read ";
    case RN__WLOCK:
        return "to write ";
    case RN__PLACE:
        return "for a place in ";
    case RN__BARRIER:
        return "for the others at ";
    case RN__ACQUIRE:
        return "for units of ";
    case RN__JOIN:
        return "for the end of ";
    case RN__CONTEXT_WAIT:
        return "for the cancel of ";
    case RN__SCOPE_CLOSE:
        return "for all tasks of ";
    case RN__RETRY:
        return "for a change of ";
    default:
        return "for ";
    }
}

/* The name of a scope, and what its close waits for beside tasks. */
static void
dump_scope(const struct rn__object *object, FILE *out)
{
    const struct rn_scope *scope =
        rn__container_of(object, const struct rn_scope, object);
    uint32_t calls = atomic_load_explicit(&scope->calls, memory_order_relaxed);
    if (scope->name)
        fprintf(out, " \"%s\"", scope->name);
    if (calls)
        fprintf(out, ", and for %u call%s at a context", calls,
                calls == 1 ? "" : "s");
}

void
rn__dump_wait(struct rn__rt *rt, const struct rn__task *task, bool still,
              FILE *out)
{
    enum rn__kind kind = (enum rn__kind)atomic_load_explicit(
        &task->info.kind, memory_order_relaxed);
    struct rn__object *object =
        atomic_load_explicit(&task->info.object, memory_order_relaxed);
    if (kind == RN__SLEEP) {
        fprintf(out, "for time to pass");
    } else if (kind == RN__BLOCKING) {
        fprintf(out, "in a blocking call");
    } else if (kind == RN__RETRY && !object) {
        fprintf(out, "for ever: its transaction retries, and has read "
                     "nothing");
    } else if (kind == RN__SELECT) {
        fprintf(out, "in select");
        if (still && task->info.arm_count) {
            fprintf(out, ": ");
            dump_arms(rt, task, out);
        } else if (still) {
            fprintf(out, " without arms");
        }
    } else {
        fprintf(out, "%s", purpose(kind));
        if (still)
            rn__dump_object(rt, kind, object, out);
        else
            fprintf(out, "%s %p", rn__kind_object(kind), (void *)object);
        if (still && kind == RN__SCOPE_CLOSE)
            dump_scope(object, out);
        if (still)
            dump_holder(rt, object, out);
        if (still && kind == RN__RETRY && task->info.arm_count > 1)
            fprintf(out, " or %u more", task->info.arm_count - 1);
    }
}

/* ---- stacks ------------------------------------------------------------- */

struct walk {
    void **frames;
    int max;
    int count;
};

static void
walk_own_stack(void *arg)
{
    struct walk *walk = arg;
    walk->count = rn__os_backtrace(walk->frames, walk->max);
}

int
rn__task_backtrace(struct rn__task *task, void **frames, int max)
{
    struct walk walk = {frames, max, 0};
    if (task->stack && rn__task_waits(task))
        rn__sched_poke(task, walk_own_stack, &walk);
    return walk.count;
}

/* ---- all tasks ---------------------------------------------------------- */

struct listing {
    struct rn__rt *rt;
    FILE *out;
    bool still;
    uint32_t shown, more;
    rn_time now;
};

static bool
runs(struct rn__rt *rt, const struct rn__task *task)
{
    for (int i = 0; i < rt->worker_count; i++)
        if (rn__current(&rt->workers[i]) == task)
            return true;
    return false;
}

static void
print_site(const char *what, const void *site, FILE *out)
{
    if (!site)
        return;
    void *address = (void *)(uintptr_t)site;
    char name[1][RN__SYMBOL_MAX];
    rn__os_symbols(&address, 1, name);
    fprintf(out, "%s%s", what, name[0]);
}

/* What belongs to the task, not to its record. */
struct facts {
    uint32_t number;
    const void *spawn_site;
    char name[64];
    bool moved;    /* into another scope: */
    char home[64]; /* its name */
};

/* Unless the world stands still the task may end meanwhile, and another may
 * get its record: then its facts are mixed with ours. But a name is looked at
 * under the lock that the end of a task with a name takes. False: it has
 * ended. */
static bool
learn(const struct listing *list, struct rn__task *task, struct facts *facts)
{
    if (!list->still)
        rn__lock(&task->lock);
    /* acquire: partners with the release in rn__scope_enter */
    uint8_t state = atomic_load_explicit(&task->state, memory_order_acquire) &
                    (uint8_t)~RN__TASK_OPENED;
    bool live = state == RN__TASK_LIVE || state == RN__TASK_MOVED;
    if (live) {
        facts->number = rn__task_number(task);
        facts->spawn_site =
            __atomic_load_n(&task->spawn_site, __ATOMIC_RELAXED);
        facts->moved = state == RN__TASK_MOVED;
        if (facts->moved)
            snprintf(facts->home, sizeof facts->home, "%s",
                     task->home->name ? task->home->name : "");
        snprintf(facts->name, sizeof facts->name, "%s", rn__task_name(task));
    }
    if (!list->still)
        rn__unlock(&task->lock);
    return live;
}

static void
print_task(struct rn__task *task, void *arg)
{
    struct listing *list = arg;
    FILE *out = list->out;
    struct facts facts;
    if (!learn(list, task, &facts))
        return;
    if (list->shown >= TASKS_SHOWN) {
        list->more++;
        return;
    }
    bool waits = rn__task_waits(task);
    fprintf(out, "  task %u \"%s\" %s", facts.number, facts.name,
            waits                  ? "waits"
            : runs(list->rt, task) ? "runs"
                                   : "is ready");
    if (waits) {
        rn_time since =
            atomic_load_explicit(&task->info.since, memory_order_relaxed);
        fputc(' ', out);
        rn__dump_wait(list->rt, task, list->still, out);
        fprintf(out, ", for %.3f s", (double)(list->now - since) / 1e9);
    }
    print_site(", spawned at ", facts.spawn_site, out);
    if (facts.moved)
        fprintf(out, ", moved to a scope \"%s\"", facts.home);
    fputc('\n', out);
    if (list->still && list->shown < STACKS_SHOWN && waits) {
        void *frames[FRAMES];
        int count = rn__task_backtrace(task, frames, FRAMES);
        rn__print_frames(
            frames, count,
            atomic_load_explicit(&task->info.site, memory_order_relaxed), out);
    }
    list->shown++;
}

void
rn__dump(struct rn__rt *rt, bool still, FILE *out)
{
    struct listing list = {rt, out, still, 0, 0, rn__rt_now(rt)};
    rn__task_each(rt, print_task, &list);
    if (list.more)
        fprintf(out, "  ... and %u more\n", list.more);
}

void
rn_task_dump(FILE *out)
{
    rn__self_in("rn_task_dump");
    rn__need(out, "rn_task_dump", rn__site());
    rn__dump(rn__rt_self(), false, out);
}
