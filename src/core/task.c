/* core/task.c - tasks: records, spawn, life and end, join.
 *
 * Records live in slabs of growing size that are never given back while the
 * runtime lives, so a handle can always be looked up: slot and generation.
 * task->lock guards the generation, ended and the joiners. A record is freed
 * (generation + 1) by exactly one of: the ending task itself, a join, the
 * close of its scope; which, is settled under task->lock.
 */
#include "core/core.h"

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
    task->slot = slot;
    atomic_store_explicit(&task->generation, 1, memory_order_relaxed);
    /* release: the slot is seen by who sees the count */
    atomic_store_explicit(&rt->carved, slot + 1, memory_order_release);
    return task;
}

static struct rn__task *
record_get(struct rn__worker *worker)
{
    struct rn__rt *rt = worker->rt;
    struct rn__task *task = worker->records;
    if (task) {
        worker->records = task->next;
        worker->record_count--;
        return task;
    }
    rn__lock(&rt->lock);
    task = rt->records;
    if (task)
        rt->records = task->next;
    rn__unlock(&rt->lock);
    if (task)
        return task;
    if (rn__timer_reserve(rt) < 0)
        return NULL;
    rn__lock(&rt->lock);
    task = carve(rt);
    rn__unlock(&rt->lock);
    if (!task)
        rn__timer_unreserve(rt);
    return task;
}

enum { RECORDS_KEPT = 128 };

static void
record_put(struct rn__worker *worker, struct rn__task *task)
{
    struct rn__rt *rt = worker->rt;
    if (worker->record_count < RECORDS_KEPT) {
        task->next = worker->records;
        worker->records = task;
        worker->record_count++;
        return;
    }
    rn__lock(&rt->lock);
    task->next = rt->records;
    rt->records = task;
    rn__unlock(&rt->lock);
}

struct rn__task *
rn__task_make(struct rn__rt *rt, rn_task_fn *fn, void *arg, const void *site)
{
    struct rn__worker *worker = rn__worker_self();
    struct rn__task *task = record_get(worker);
    if (!task)
        return NULL;
    /* For real the slot is number enough; a recorded run wants new numbers. */
    task->object.id = rt->env ? (uint64_t)rt->epoch << 32 | ++rt->task_numbers
                              : task->slot + 1;
    task->rt = rt;
    task->stack = NULL;
    task->fn = fn;
    task->arg = arg;
    task->scope = task->home = NULL;
    task->keep = task->ended = task->shielded = false;
    task->atomic_depth = 0;
    task->result = 0;
    task->defers = NULL;
    task->poke = NULL;
    task->spawn_site = site;
    atomic_store_explicit(&task->name, "task", memory_order_relaxed);
    return task; /* its state stays FREE until a scope has it */
}

/* Under task->lock: from here on no handle finds it. */
static void
retire(struct rn__task *task)
{
    uint32_t g = atomic_load_explicit(&task->generation, memory_order_relaxed);
    atomic_store_explicit(&task->generation, g + 1, memory_order_relaxed);
    atomic_store_explicit(&task->state, RN__TASK_FREE, memory_order_relaxed);
}

void
rn__task_free(struct rn__task *task)
{
    rn__lock(&task->lock);
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

struct rn__task *
rn__task_find(struct rn__rt *rt, uint64_t id)
{
    struct rn__task *task = rn__task_record(rt, id);
    if (!task)
        return NULL;
    rn__lock(&task->lock);
    if (rn__task_is(task, id))
        return task;
    rn__unlock(&task->lock);
    return NULL;
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

static void
run_defers(struct rn__rt *rt, struct rn__task *self, int result)
{
    self->shielded = true;
    struct rn__defer *d;
    while ((d = self->defers)) {
        self->defers = d->next;
        d->fn(d->arg, result);
        rn__free(rt, d);
    }
    self->shielded = false;
}

/* Under task->lock: give the result to all that wait for it. */
static bool
tell_joiners(struct rn__task *task, struct rn__list *woken)
{
    rn__wait_claim_all(&task->joiners, 0, woken);
    rn__list_each (node, woken) {
        struct rn__waiter *w = rn__container_of(node, struct rn__waiter, link);
        if (w->slot)
            *(int *)w->slot = task->result;
    }
    return !rn__list_empty(woken);
}

static void
count_end(struct rn__worker *worker)
{
    _Atomic uint64_t *ended = &worker->count.ended;
    uint64_t count = atomic_load_explicit(ended, memory_order_relaxed) + 1;
    /* release: with an end comes the spawn; partners with rn_task_count */
    atomic_store_explicit(ended, count, memory_order_release);
}

static void
end(struct rn__rt *rt, struct rn__task *task, int result)
{
    struct rn__list woken;
    rn__list_init(&woken);
    if (task == atomic_load_explicit(&rt->main_task, memory_order_relaxed)) {
        /* its record may soon be another task's */
        atomic_store_explicit(&rt->main_task, NULL, memory_order_relaxed);
        rt->main_result = result;
        atomic_store(&rt->main_ended, true);
    }
    count_end(rn__worker_self());
    rn__scope_failed(rt, task->home, result);
    rn__lock(&task->lock);
    task->result = result;
    task->ended = true;
    bool keep = !tell_joiners(task, &woken) && task->keep;
    if (keep)
        atomic_store_explicit(&task->state, RN__TASK_ENDED,
                              memory_order_relaxed);
    else
        retire(task);
    task->keep = keep;
    bool last = rn__scope_leave(task, &woken);
    rn__unlock(&task->lock);
    if (!keep)
        record_put(rn__worker_self(), task);
    rn__fire_all(&woken);
    if (last && !rt->env)
        rn__worker_stop_all(rt);
}

static void
check_scopes(const struct rn__task *task)
{
    if (rn__unlikely(task->scope != task->home))
        rn__panic_at(NULL, "a task ended with a scope still open");
}

void
rn__task_run(struct rn__task *task)
{
    struct rn__rt *rt = task->rt;
    rn__note(RN__BEGIN, NULL, task->spawn_site);
    /* Cancelled before it began: it does not begin. */
    int result =
        rn__scope_cancelled(task->home) ? -ECANCELED : task->fn(task->arg);
    if (rn__unlikely(!rn__self()))
        rn__outside("the end of a task", NULL);
    check_scopes(task);
    if (task->defers) {
        run_defers(rt, task, result);
        check_scopes(task);
    }
    rn__step(RN__END, NULL, task->spawn_site);
    end(rt, task, result);
}

/* ---- public ------------------------------------------------------------- */

/* What is to be spawned, and from where. */
struct spawn {
    rn_task_fn *fn;
    void *arg;
    const char *name;
    const void *site;
    rn_task *handle;
};

static int
spawn_into(struct rn__rt *rt, struct rn_scope *scope, const struct spawn *spec)
{
    rn__need(spec->fn, "rn_go or rn_task_spawn", spec->site);
    struct rn__task *task = rn__task_make(rt, spec->fn, spec->arg, spec->site);
    if (!task)
        return -ENOMEM;
    if (spec->name)
        atomic_store_explicit(&task->name, spec->name, memory_order_relaxed);
    task->keep = spec->handle != NULL;
    rn__step(RN__SPAWN, &task->object, spec->site);
    int error = rn__scope_enter(scope, task);
    if (error) {
        rn__task_free(task);
        return error;
    }
    if (spec->handle)
        *spec->handle = rn__task_handle(task);
    rn__sched_ready(task);
    return 0;
}

int
rn_go(rn_scope *scope, rn_task_fn *fn, void *arg)
{
    struct rn__task *self = rn__self_in("rn_go");
    struct spawn spec = {fn, arg, NULL, rn__site(), NULL};
    return spawn_into(self->rt, scope ? scope : self->scope, &spec);
}

int
rn_task_spawn(rn_scope *scope, rn_task_fn *fn, void *arg,
              const rn_task_options *options, rn_task *task)
{
    struct rn__task *self = rn__self_in("rn_task_spawn");
    struct spawn spec = {fn, arg, options ? options->name : NULL, rn__site(),
                         task};
    return spawn_into(self->rt, scope ? scope : self->scope, &spec);
}

int
rn_task_join(rn_task task, rn_time deadline, int *result)
{
    struct rn__task *self = rn__self_in("rn_task_join");
    struct rn__rt *rt = self->rt;
    const void *site = rn__site();
    int got = 0;
    rn__step(RN__JOIN, NULL, site);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    struct rn__task *target = rn__task_find(rt, task.id);
    if (!target)
        return -ESRCH;
    if (target->ended) {
        got = rn__task_consume(target);
    } else if (target == self || deadline == RN_NOW) {
        rn__unlock(&target->lock);
        return target == self ? -EDEADLK : -EAGAIN;
    } else {
        struct rn__waitspec spec = {RN__JOIN,      &target->object,  site,
                                    &target->lock, &target->joiners, &got};
        int error = rn__wait_one(self, &spec, deadline);
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
    rn__step(RN__YIELD, NULL, rn__site());
    if (rn__cancel_check(self))
        return -ECANCELED;
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
    if (when <= rn__rt_now(self->rt))
        return 0;
    int result = rn__wait_forever(self, RN__SLEEP, site, when);
    return result == -ETIMEDOUT ? 0 : result;
}

int
rn_sleep(rn_time span)
{
    struct rn__task *self = rn__self_in("rn_sleep");
    return sleep_until(self, rn_after(span), rn__site());
}

int
rn_sleep_until(rn_time when)
{
    struct rn__task *self = rn__self_in("rn_sleep_until");
    return sleep_until(self, when, rn__site());
}

int
rn_cancel_requested(void)
{
    struct rn__task *self = rn__self_in("rn_cancel_requested");
    rn__step(RN__POLL, NULL, rn__site());
    return rn__cancel_check(self) != 0;
}

int
rn_defer(void (*fn)(void *arg, int outcome), void *arg)
{
    struct rn__task *self = rn__self_in("rn_defer");
    rn__need(fn, "rn_defer", rn__site());
    struct rn__defer *d = rn__alloc(self->rt, sizeof *d);
    if (!d)
        return -ENOMEM;
    d->fn = fn;
    d->arg = arg;
    d->next = self->defers;
    self->defers = d;
    return 0;
}

rn_task
rn_task_self(void)
{
    struct rn__task *self = rn__self();
    rn_task none = {0};
    return self ? rn__task_handle(self) : none;
}

const char *
rn_task_name(void)
{
    struct rn__task *self = rn__self();
    return self ? self->name : "";
}

void
rn_task_set_name(const char *name)
{
    struct rn__task *self = rn__self_in("rn_task_set_name");
    rn__lock(&self->lock); /* a dump may be reading the old one */
    atomic_store_explicit(&self->name, name ? name : "task",
                          memory_order_relaxed);
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
