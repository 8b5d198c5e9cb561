/* core/task.c - tasks: records, spawn, life and end, join.
 *
 * Records live in slabs of growing size that are never given back while the
 * runtime lives, so a handle can always be looked up: slot and generation.
 * task->lock guards the generation of a task that is known, ended and the
 * joiners. A record is freed (generation + 1) by exactly one of: the ending
 * task itself, a join, the close of its scope; which, is settled under
 * task->lock.
 */
#include "core/core.h"

#include "core/after.h"

#include <runnel/time.h>
#include <string.h>

/* ---- records ------------------------------------------------------------ */

/* Slot s lies in slab k = log2(s / FIRST + 1), after FIRST * (2^k - 1). */
static struct rn__task *
record_at(struct rn__rt *rt, uint32_t slot)
{
    uint32_t k = 31 - (uint32_t)__builtin_clz(slot / RN__SLAB_FIRST + 1);
    uint32_t first = RN__SLAB_FIRST * ((1u << k) - 1);
    /* acquire: partners with the release in carve */
    struct rn__task *slab =
        atomic_load_explicit(&rt->slabs[k], memory_order_acquire);
    return slab ? &slab[slot - first] : NULL;
}

/* Under rt->lock: a record that was never used. */
static struct rn__task *
carve(struct rn__rt *rt)
{
    uint32_t slot = atomic_load_explicit(&rt->carved, memory_order_relaxed);
    uint32_t k = 31 - (uint32_t)__builtin_clz(slot / RN__SLAB_FIRST + 1);
    if (k >= RN__SLABS)
        return NULL;
    if (!record_at(rt, slot)) {
        size_t count = (size_t)RN__SLAB_FIRST << k;
        struct rn__task *slab = rn__alloc(rt, count * sizeof *slab);
        if (!slab)
            return NULL;
        /* release: the zeroed records are seen by who finds the slab */
        atomic_store_explicit(&rt->slabs[k], slab, memory_order_release);
    }
    struct rn__task *task = record_at(rt, slot);
    task->rt = rt;
    task->object.id = slot + 1;
    task->slot = slot;
    atomic_store_explicit(&task->generation, 1, memory_order_relaxed);
    /* release: the slot is seen by who sees the count */
    atomic_store_explicit(&rt->carved, slot + 1, memory_order_release);
    return task;
}

/* Free records go around in magazines of MAGAZINE: each worker has one in use
 * and a spare, the rest are in rt->records, linked by arg. (Bonwick and Adams,
 * "Magazines and Vmem", 2001.) So the lock is taken once a magazine. */
enum { MAGAZINE = 256 };

__attribute__((noinline)) static struct rn__task *
record_get_slowly(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    struct rn__task *task = worker->spare_records;
    worker->spare_records = NULL;
    if (!task) {
        rn__lock(&rt->lock);
        task = rt->records;
        if (task)
            rt->records = task->arg;
        rn__unlock(&rt->lock);
    }
    if (task) {
        worker->records = task->next;
        worker->record_count = MAGAZINE - 1;
        return task;
    }
    rn__lock(&rt->lock);
    task = carve(rt);
    rn__unlock(&rt->lock);
    return task;
}

static inline struct rn__task *
record_get(struct rn__worker *worker)
{
    struct rn__task *task = worker->records;
    if (rn__unlikely(!task))
        return record_get_slowly(worker);
    worker->records = task->next;
    worker->record_count--;
    /* The next spawn finds its record in the cache. */
    rn__prefetch(task->next);
    rn__prefetch((void *)((uintptr_t)task->next + 64));
    return task;
}

/* The magazine is full. */
__attribute__((noinline)) static void
change_magazine(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    struct rn__task *full = worker->spare_records;
    worker->spare_records = worker->records;
    worker->records = NULL;
    worker->record_count = 0;
    if (!full)
        return;
    rn__lock(&rt->lock);
    full->arg = rt->records;
    rt->records = full;
    rn__unlock(&rt->lock);
}

static inline void
record_put(struct rn__worker *worker, struct rn__task *task)
{
    if (rn__unlikely(worker->record_count == MAGAZINE))
        change_magazine(worker);
    task->next = worker->records;
    worker->records = task;
    worker->record_count++;
}

static inline struct rn__task *
make(struct rn__worker *worker, rn_task_fn *fn, void *arg, const void *site)
{
    struct rn__rt *rt = worker->rt;
    struct rn__task *task = record_get(worker);
    if (rn__unlikely(!task))
        return NULL;
    /* For real the slot is number enough; a recorded run wants new numbers. */
    if (rn__unlikely(rt->env))
        task->object.id = (uint64_t)rt->epoch << 32 | ++rt->task_numbers;
    task->fn = fn;
    task->arg = arg;
    /* relaxed: partners with learn in dump.c, which may see it of the next */
    __atomic_store_n(&task->spawn_site, site, __ATOMIC_RELAXED);
    return task; /* its state stays FREE until a scope has it */
}

struct rn__task *
rn__task_make(rn_task_fn *fn, void *arg, const void *site)
{
    return make(rn__worker_self(), fn, arg, site);
}

/* Nobody has its handle, or under task->lock: from here on no handle finds it,
 * and it is as carve left it. */
static inline void
retire(struct rn__task *task)
{
    task->stack = NULL;
    task->known = task->ended = false;
    task->at_home = 0;
    task->shields = 0;
    /* relaxed: nobody has its handle any more */
    atomic_store_explicit(&task->told, 0, memory_order_relaxed);
    uint32_t g = atomic_load_explicit(&task->generation, memory_order_relaxed);
    atomic_store_explicit(&task->generation, g + 1, memory_order_relaxed);
    atomic_store_explicit(&task->state, RN__TASK_FREE, memory_order_relaxed);
}

void
rn__task_free(struct rn__task *task)
{
    rn__lock(&task->lock); /* a dump may be reading the name */
    atomic_store_explicit(&task->name, NULL, memory_order_relaxed);
    retire(task);
    rn__unlock(&task->lock);
    record_put(rn__worker_self(), task);
}

struct rn__task *
rn__task_record(struct rn__rt *rt, uint64_t id)
{
    uint32_t slot = (uint32_t)id - 1;
    /* acquire: partners with the release in carve */
    if ((uint32_t)id == 0 ||
        slot >= atomic_load_explicit(&rt->carved, memory_order_acquire))
        return NULL;
    return record_at(rt, slot);
}

bool
rn__task_is(const struct rn__task *task, uint64_t id)
{
    return rn__task_handle(task).id == id &&
           atomic_load_explicit(&task->state, memory_order_relaxed) !=
               RN__TASK_FREE;
}

static inline struct rn__task *
find(struct rn__rt *rt, uint64_t id)
{
    uint32_t slot = (uint32_t)id - 1; /* an id of 0 is beyond all */
    /* acquire: partners with the release in carve */
    if (slot >= atomic_load_explicit(&rt->carved, memory_order_acquire))
        return NULL;
    struct rn__task *task = record_at(rt, slot);
    rn__lock(&task->lock);
    /* A stale handle is told by the generation: known may be of the next task,
     * and is written without the lock. A free record is not known. */
    if (rn__likely(rn__task_handle(task).id == id && task->known))
        return task;
    rn__unlock(&task->lock);
    return NULL;
}

struct rn__task *
rn__task_find(struct rn__rt *rt, uint64_t id)
{
    return find(rt, id);
}

int
rn__task_consume(struct rn__task *task)
{
    int result = task->result;
    rn__lock(&task->home->lock);
    rn__list_remove(&task->sibling);
    rn__unlock(&task->home->lock);
    retire(task);
    rn__unlock(&task->lock);
    record_put(rn__worker_self(), task);
    return result;
}

void
rn__task_each(struct rn__rt *rt, void (*fn)(struct rn__task *, void *),
              void *arg)
{
    uint32_t count = atomic_load_explicit(&rt->carved, memory_order_acquire);
    for (uint32_t slot = 0; slot < count; slot++) {
        struct rn__task *task = record_at(rt, slot);
        uint32_t state =
            atomic_load_explicit(&task->state, memory_order_relaxed);
        if (state != RN__TASK_FREE && state != RN__TASK_ENDED)
            fn(task, arg);
    }
}

/* ---- life --------------------------------------------------------------- */

static inline void
count_end(struct rn__worker *worker)
{
    _Atomic uint64_t *ended = &worker->count.ended;
    uint64_t count = atomic_load_explicit(ended, memory_order_relaxed) + 1;
    /* release: with an end comes the spawn; partners with rn_task_count */
    atomic_store_explicit(ended, count, memory_order_release);
}

static void
end_main(struct rn__rt *rt, int result)
{
    /* its record may soon be another task's */
    atomic_store_explicit(&rt->main_task, NULL, memory_order_relaxed);
    rt->main_result = result;
    atomic_store(&rt->main_ended, true);
}

/* Under task->lock: give the result to the first that waits for it. Taken, it
 * need not be kept. */
static inline struct rn__waiter *
tell_joiner(struct rn__task *task)
{
    struct rn__waiter *joiner = rn__wait_claim_first(&task->joiners, 0);
    if (!joiner)
        return NULL;
    if (joiner->slot)
        *(int *)joiner->slot = task->result;
    if (rn__likely(joiner->arm != RN__ARM_WATCH))
        task->at_home &= (uint8_t)~RN__HOME_KEEP;
    return joiner;
}

/* Fire a claimed task that waited for the end of the calling one: it may go on
 * right after it, without a way through the queue. */
static inline void
hand_over(struct rn__worker *worker, struct rn__task *heir)
{
    if (rn__unlikely(worker->heir || worker->rt->env)) {
        rn__sched_ready(heir);
        return;
    }
    rn__perturb();
    rn__count(worker, wakes);
    worker->heir = heir;
}

/* Somebody has its handle: leave its result to him. */
static void
end_known(struct rn__worker *worker, struct rn__task *task)
{
    struct rn__list more; /* other joiners than the first; hardly ever any */
    more.next = NULL;
    rn__lock(&task->lock);
    task->ended = true;
    struct rn__waiter *joiner = tell_joiner(task), *other;
    while (rn__unlikely(joiner && (other = tell_joiner(task))))
        rn__list_append(&more, &other->link);
    bool keep = task->at_home & RN__HOME_KEEP;
    if (keep)
        atomic_store_explicit(&task->state, RN__TASK_ENDED,
                              memory_order_relaxed);
    struct rn__waiter *closer = rn__scope_leave(task);
    if (!keep)
        retire(task);
    rn__unlock(&task->lock);
    if (!keep)
        record_put(worker, task);
    if (joiner)
        hand_over(worker, joiner->task);
    if (rn__unlikely(more.next != NULL))
        rn__fire_all(&more);
    if (closer)
        hand_over(worker, closer->task);
}

static inline void
end(struct rn__worker *worker, struct rn__task *task, int result)
{
    struct rn__rt *rt = worker->rt;
    if (rn__unlikely(
            task == atomic_load_explicit(&rt->main_task, memory_order_relaxed)))
        end_main(rt, result);
    count_end(worker);
    task->result = result;
    if (rn__unlikely(result < 0))
        rn__scope_failed(task, result);
    if (task->known) {
        end_known(worker, task);
        return;
    }
    struct rn__waiter *closer = rn__scope_leave(task);
    retire(task);
    record_put(worker, task);
    if (closer)
        hand_over(worker, closer->task);
}

__attribute__((noinline)) static void
end_in_a_scope(void)
{
    rn__panic_at(NULL, "a task ended with a scope still open");
}

void
rn__task_run(struct rn__task *task)
{
    rn__note(RN__BEGIN, NULL, task->spawn_site);
    /* Cancelled before it began: it does not begin. */
    int result = rn__unlikely(rn__cancel_check(task)) &&
                         !(task->at_home & RN__HOME_BEGINS)
                     ? rn__after_unbegun(task)
                     : task->fn(task->arg);
    struct rn__worker *worker = rn__worker_self();
    if (rn__unlikely(!worker || !rn__current(worker)))
        rn__outside("the end of a task", NULL);
    if (rn__unlikely(task->scope != task->home))
        end_in_a_scope();
    if (rn__unlikely(task->defers != NULL)) {
        result = rn__finalize(task, result, task->spawn_site);
        if (task->scope != task->home)
            end_in_a_scope();
        worker = rn__worker_self();
    }
    /* for real it does not switch */
    rn__step_by(RN__END, NULL, task->spawn_site,
                result < 0 ? RN_NOW : RN_NEVER);
    end(worker, task, result);
}

/* ---- public ------------------------------------------------------------- */

/* handle NULL: nobody will join it. */
__attribute__((always_inline)) static inline int
spawn(struct rn_scope *scope, rn_task_fn *fn, void *arg, const char *name,
      rn_task *handle, const void *site)
{
    struct rn__worker *worker = rn__worker_self();
    rn__need(fn, "rn_go or rn_task_spawn", site);
    struct rn__task *task = make(worker, fn, arg, site);
    if (rn__unlikely(!task))
        return -ENOMEM;
    /* relaxed: for dumps */
    atomic_store_explicit(&task->name, name, memory_order_relaxed);
    if (handle)
        task->at_home = RN__HOME_KEEP;
    task->known = handle || name; /* who dumps a name has the lock for it */
    rn__step(RN__SPAWN, &task->object, site);
    int error = rn__scope_enter(scope, task);
    if (rn__unlikely(error)) {
        rn__task_free(task);
        return error;
    }
    rn__count(worker, tasks);
    if (handle)
        *handle = rn__task_handle(task);
    rn__sched_ready(task);
    return 0;
}

int
rn__task_go(struct rn_scope *scope, rn_task_fn *fn, void *arg, const void *site)
{
    return spawn(scope, fn, arg, NULL, NULL, site);
}

int
rn_go(rn_scope *scope, rn_task_fn *fn, void *arg)
{
    struct rn__task *self = rn__self_in("rn_go");
    return spawn(scope ? scope : self->scope, fn, arg, NULL, NULL, rn__site());
}

int
rn_task_spawn(rn_scope *scope, rn_task_fn *fn, void *arg,
              const rn_task_options *options, rn_task *task)
{
    struct rn__task *self = rn__self_in("rn_task_spawn");
    return spawn(scope ? scope : self->scope, fn, arg,
                 options ? options->name : NULL, task, rn__site());
}

__attribute__((noinline, cold)) static void
announce_join(struct rn__rt *rt, rn_task task, rn_time deadline,
              const void *site)
{
    struct rn__task *record = rn__task_record(rt, task.id);
    bool named = record && rn__task_is(record, task.id);
    rn__step_by(RN__JOIN, named ? &record->object : NULL, site, deadline);
}

int
rn_task_join(rn_task task, rn_time deadline, int *result)
{
    struct rn__task *self = rn__self_in("rn_task_join");
    struct rn__rt *rt = self->rt;
    const void *site = rn__site();
    int got = 0;
    if (rn__steps_matter())
        announce_join(rt, task, deadline, site);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    struct rn__task *target = find(rt, task.id);
    if (!target)
        return -ESRCH;
    if (target->ended) {
        got = rn__task_consume(target);
    } else if (rn__unlikely(target->home != self->scope || target == self) &&
               rn__join_is_endless(target, self)) {
        rn__unlock(&target->lock);
        return -EDEADLK;
    } else if (deadline == RN_NOW) {
        rn__unlock(&target->lock);
        return -EAGAIN;
    } else {
        struct rn__waitspec spec = {RN__JOIN,      &target->object,  site,
                                    &target->lock, &target->joiners, &got};
        int error = rn__wait_here(self, &spec, deadline);
        if (error < 0)
            return error;
    }
    if (result)
        *result = got;
    return 0;
}

int
rn_yield(void)
{
    struct rn__task *self = rn__self_in("rn_yield");
    if (rn__unlikely(self->at_home & RN__HOME_ITEM))
        rn__carriers_suspend(self);
    rn__step(RN__YIELD, NULL, rn__site());
    if (!self->rt->env)
        rn__sched_yield(self);
    return rn__cancel_check(self);
}

static int
sleep_until(struct rn__task *self, rn_time when, const void *site)
{
    rn__step(RN__SLEEP, NULL, site);
    if (rn__cancel_check(self))
        return -ECANCELED;
    if (when == RN_NOW)
        return 0;
    int result = rn__wait_forever(self, RN__SLEEP, site, when);
    return result == -ETIMEDOUT ? 0 : result;
}

int
rn_sleep(rn_time span)
{
    struct rn__task *self = rn__self_in("rn_sleep");
    return sleep_until(self, span > 0 ? rn_after(span) : RN_NOW, rn__site());
}

int
rn_sleep_until(rn_time when)
{
    struct rn__task *self = rn__self_in("rn_sleep_until");
    return sleep_until(self, when > rn__rt_now(self->rt) ? when : RN_NOW,
                       rn__site());
}

/* Under task->lock: from one home to another. */
static struct rn__waiter *
move(struct rn__task *self, struct rn_scope *from, struct rn_scope *to)
{
    if (self->at_home & RN__HOME_LISTED)
        rn__scope_delist(self);
    if (self->at_home & RN__HOME_PLACED)
        from->on_leave(from->on_leave_arg);
    self->at_home &= RN__HOME_KEEP;
    self->known = true; /* who dumps it has the lock for its home */
    rn__scope_admit(to, self);
    if (atomic_load_explicit(&self->told, memory_order_relaxed))
        rn__task_tell_home(self);
    /* relaxed: under the lock */
    atomic_store_explicit(&self->state, RN__TASK_MOVED, memory_order_relaxed);
    return rn__scope_give_back(self->rt, from);
}

static bool
is_around(const struct rn_scope *scope, const struct rn_scope *inner)
{
    while (inner && inner != scope)
        inner = inner->parent;
    return inner != NULL;
}

int
rn_task_move(rn_scope *scope)
{
    struct rn__task *self = rn__self_in("rn_task_move");
    const void *site = rn__site();
    struct rn_scope *home = self->home;
    rn__need(scope, "rn_task_move", site);
    if (self->scope != home || self->shields)
        rn__panic_at(site, "rn_task_move with a scope open or inside a shield");
    if (self->carrier)
        rn__panic_at(site, "rn_task_move in an item of an operator");
    if (self->in_tx) /* it counts as not listed, but is */
        rn__panic_at(site, "rn_task_move inside the body of a transaction");
    rn__step(RN__TASK_MOVE, &scope->object, site);
    if (scope == home)
        return 0;
    if (!is_around(scope, home))
        return -EINVAL;
    int error = rn__scope_reserve(scope);
    if (error)
        return error;
    rn__lock(&self->lock);
    struct rn__waiter *closer = move(self, home, scope);
    rn__unlock(&self->lock);
    if (closer)
        rn__fire(closer->task);
    return 0;
}

rn_task
rn_task_self(void)
{
    struct rn__task *self = rn__self();
    rn_task none = {0};
    if (!self)
        return none;
    /* Others may have its handle already, and read known under its lock. */
    if (!self->known)
        self->known = true;
    return rn__task_handle(self);
}

const char *
rn_task_name(void)
{
    struct rn__task *self = rn__self();
    return self ? rn__task_name(self) : "";
}

void
rn_task_set_name(const char *name)
{
    struct rn__task *self = rn__self_in("rn_task_set_name");
    rn__lock(&self->lock); /* a dump may be reading the old one */
    self->known = true;
    atomic_store_explicit(&self->name, name, memory_order_relaxed);
    rn__unlock(&self->lock);
}

size_t
rn_task_count(void)
{
    rn__self_in("rn_task_count");
    struct rn__rt *rt = rn__rt_self();
    uint64_t made = 0, ended = 0;
    /* acquire: all the ends before all the spawns, so that none that ended is
     * missing among those that were spawned */
    for (int i = 0; i < rt->worker_count; i++)
        ended += atomic_load_explicit(&rt->workers[i].count.ended,
                                      memory_order_acquire);
    for (int i = 0; i < rt->worker_count; i++)
        made += atomic_load_explicit(&rt->workers[i].count.tasks,
                                     memory_order_relaxed);
    return (size_t)(made - ended);
}
