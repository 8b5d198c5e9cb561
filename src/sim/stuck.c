/* sim/stuck.c - tasks that wait for each other for ever, beside others that go
 * on.
 *
 * Looked at are waits that name who must act: for a lock its holder, for a join
 * the task, for the close of a scope all tasks in it. A set of tasks is stuck
 * if each waits so, without a deadline of its own or of a scope around it, and
 * only for others of the set or for a lock whose holder has ended. Nobody
 * outside can end that but by a cancel, which is no way to get a lock.
 *
 * The last wait that makes a set complete is the one that parks last, so it is
 * enough to look at who parks, at what it waits for, and so on. Such a task is
 * remembered, and the schedule goes on: usually it soon comes to rest, and is a
 * deadlock or a leak of all that wait. Only if time moves, or many steps
 * happen, others do go on, and the set alone is the finding.
 *
 * Who could send on a channel is not known, so waits for channels are judged
 * at rest only.
 */
#include "sim/stuck.h"

#include "sim/sim.h"

enum { SET_MAX = 64, PATIENCE = 1000 };

/* A set of tasks that must all be stuck. */
struct set {
    struct rn__rt *rt;
    struct rn__task *tasks[SET_MAX];
    size_t count;
};

static enum rn__kind
wait_kind(const struct rn__task *task)
{
    return (enum rn__kind)atomic_load_explicit(&task->info.kind,
                                               memory_order_relaxed);
}

static struct rn__object *
wait_object(const struct rn__task *task)
{
    return atomic_load_explicit(&task->info.object, memory_order_relaxed);
}

static bool
is_lock(enum rn__kind kind)
{
    return kind == RN__LOCK || kind == RN__RLOCK || kind == RN__WLOCK ||
           kind == RN__ONCE;
}

static uint64_t
holder_of(const struct rn__task *task)
{
    struct rn__object *object = wait_object(task);
    return object && is_lock(wait_kind(task))
               ? atomic_load_explicit(&object->holder, memory_order_relaxed)
               : 0;
}

/* The live task of a handle; NULL: it has ended. */
static struct rn__task *
live_task(struct rn__rt *rt, uint64_t id)
{
    struct rn__task *task = rn__task_record(rt, id);
    uint8_t state =
        task ? atomic_load_explicit(&task->state, memory_order_relaxed) : 0;
    return task && rn__task_is(task, id) && state != RN__TASK_ENDED ? task
                                                                    : NULL;
}

/* ---- the set ------------------------------------------------------------ */

/* Whether nothing but who it waits for can end its wait. */
static bool
waits_without_end(const struct rn__task *task)
{
    if (!rn__task_waits(task) || task->timer.node.prev)
        return false;
    for (const struct rn_scope *s = task->scope; s; s = s->parent)
        if (s->under || s->timer.node.prev)
            return false;
    return true;
}

static bool
add(struct set *set, struct rn__task *task)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->tasks[i] == task)
            return true;
    if (set->count == SET_MAX || !waits_without_end(task))
        return false;
    set->tasks[set->count++] = task;
    return true;
}

/* All that keeps a scope from being closed. */
static bool
add_members(struct set *set, struct rn_scope *scope)
{
    uint32_t live = atomic_load_explicit(&scope->live, memory_order_relaxed) &
                    ~RN__SCOPE_COUNTS;
    uint32_t count = 0;
    if (atomic_load_explicit(&scope->calls, memory_order_relaxed))
        return false;
    rn__list_each (node, &scope->tasks) {
        count++;
        if (!add(set, rn__container_of(node, struct rn__task, sibling)))
            return false;
    }
    return count == live && count > 0;
}

/* Those its wait depends on. */
static bool
add_needed(struct set *set, const struct rn__task *task)
{
    enum rn__kind kind = wait_kind(task);
    struct rn__object *object = wait_object(task);
    uint64_t holder = holder_of(task);
    if (holder) {
        struct rn__task *who = live_task(set->rt, holder);
        return !who || add(set, who);
    }
    if (!object)
        return false;
    if (kind == RN__JOIN)
        return add(set, rn__container_of(object, struct rn__task, object));
    return kind == RN__SCOPE_CLOSE &&
           add_members(set, rn__container_of(object, struct rn_scope, object));
}

static bool
is_stuck(struct set *set, struct rn__task *task)
{
    if (!add(set, task))
        return false;
    for (size_t i = 0; i < set->count; i++)
        if (!add_needed(set, set->tasks[i]))
            return false;
    return true;
}

/* ---- when --------------------------------------------------------------- */

static void
suspect(struct rn__world *world, const struct rn__task *task)
{
    struct rn__stuck *s = &world->stuck;
    if (s->count == RN__SUSPECTS)
        return;
    s->suspects[s->count++] = rn__task_handle(task).id;
    s->since = world->steps;
    world->calm = false;
}

void
rn__stuck_check(struct rn__world *world, struct rn__task *self)
{
    enum rn__kind kind = wait_kind(self);
    if (is_lock(kind))
        world->stuck.locks = true;
    else if (kind != RN__SCOPE_CLOSE && kind != RN__JOIN)
        return;
    struct set set;
    set.rt = &world->rt;
    set.count = 0;
    if (is_stuck(&set, self))
        suspect(world, self);
}

struct ending {
    struct rn__world *world;
    uint64_t id;
};

static void
check_holder(struct rn__task *task, void *arg)
{
    struct ending *ending = arg;
    if (rn__task_waits(task) && holder_of(task) == ending->id)
        suspect(ending->world, task);
}

void
rn__stuck_ended(struct rn__world *world, struct rn__task *self)
{
    struct ending ending = {world, rn__task_handle(self).id};
    if (world->stuck.locks)
        rn__task_each(&world->rt, check_holder, &ending);
}

bool
rn__stuck_for_long(const struct rn__world *world)
{
    return world->stuck.count && world->steps - world->stuck.since > PATIENCE;
}

size_t
rn__stuck_judge(struct rn__world *world)
{
    struct rn__stuck *s = &world->stuck;
    for (; s->count > 0; s->count--) {
        struct set set = {.rt = &world->rt};
        struct rn__task *task =
            live_task(&world->rt, s->suspects[s->count - 1]);
        if (task && is_stuck(&set, task))
            return set.count;
    }
    return 0;
}

/* ---- locks of the dead -------------------------------------------------- */

struct telling {
    struct rn__world *world;
    FILE *out;
    uint64_t told; /* holder of the last one */
};

static void
tell_lock(struct rn__task *task, void *arg)
{
    struct telling *t = arg;
    uint64_t id = rn__task_waits(task) ? holder_of(task) : 0;
    if (!id || id == t->told || live_task(&t->world->rt, id))
        return;
    t->told = id;
    uint32_t number = rn__world_ended_task(t->world, id);
    fprintf(t->out, "  ");
    rn__dump_object(&t->world->rt, wait_kind(task), wait_object(task), t->out);
    if (number)
        fprintf(t->out, " is held by task %u \"%s\", which has ended\n", number,
                rn__world_task_name(t->world, number));
    else
        fprintf(t->out, " is held by a task that has ended\n");
}

void
rn__stuck_tell(struct rn__world *world, FILE *out)
{
    struct telling telling = {.world = world, .out = out};
    rn__task_each(&world->rt, tell_lock, &telling);
}
