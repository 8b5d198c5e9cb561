/* core/wait.h - the calls of a wait; wait.c tells how it works.
 *
 * Part of core.h, which includes it once tasks and scopes are known.
 */
#ifndef RN_WAIT_H
#define RN_WAIT_H

#include "core/core.h"

/* task->wait; above these bits, how many shields the task has pushed; or BEGIN,
 * if it waits before it has begun (after.c). */
enum {
    RN__WAIT_OPEN = 1,
    RN__WAIT_CANCELLABLE = 2,
    RN__SHIELD = 4,
    RN__WAIT_BEGIN = 1 << 30
};

/* Open a wait of the calling task; may be claimed from now on. With
 * cancellable, a cancel claims it too. */
static inline void
rn__wait_open(struct rn__task *self, enum rn__kind kind,
              struct rn__object *object, const void *site, bool cancellable)
{
    struct rn__waitinfo *info = &self->info;
    /* relaxed: dumps read them one by one and expect no consistency */
    atomic_store_explicit(&info->object, object, memory_order_relaxed);
    atomic_store_explicit(&info->site, site, memory_order_relaxed);
    atomic_store_explicit(&info->kind, kind, memory_order_relaxed);
    uint32_t word = cancellable
                        ? RN__WAIT_OPEN | RN__WAIT_CANCELLABLE | self->shields
                        : RN__WAIT_OPEN;
    /* release: the result of the last wait has been read */
    atomic_store_explicit(&self->wait, word, memory_order_release);
    /* Before the look at the scope in park; partners with the heavy fence
     * between the marks and the claims of a cancel. */
    rn__fence_light();
}

/* Register with an object's queue, under the object's
 * lock. */
static inline void
rn__wait_add(struct rn__list *queue, struct rn__waiter *waiter,
             struct rn__task *self, int arm, void *slot)
{
    waiter->task = self;
    waiter->arm = arm;
    waiter->slot = slot;
    waiter->sibling = NULL;
    rn__list_append(queue, &waiter->link);
}

/* What the timer of a wait does when it expires. */
void rn__wait_expire(struct rn__timer *timer, struct rn__expired *out);

/* Park until fired. Returns what the claimer set: an arm, -ETIMEDOUT (the
 * deadline passed), -ECANCELED. */
int rn__wait_park(struct rn__task *self, rn_time deadline);

/* Under the object's lock: whether some waiter could be claimed now; stale ones
 * are dropped on the way. */
bool rn__wait_any(struct rn__list *queue);

/* Open, park, and leave a queue: the whole of a wait for one object. Called
 * with the object's lock held (and its waiter not yet added), returns without.
 * Returns 0 if fired through the queue; -ETIMEDOUT, -ECANCELED. */
struct rn__waitspec {
    enum rn__kind kind;
    struct rn__object *object;
    const void *site;
    struct rn__lock *lock;
    struct rn__list *queue;
    void *slot;
};

__attribute__((always_inline)) static inline int
rn__wait_here(struct rn__task *self, const struct rn__waitspec *spec,
              rn_time deadline)
{
    struct rn__waiter waiter;
    rn__wait_open(self, spec->kind, spec->object, spec->site, true);
    rn__wait_add(spec->queue, &waiter, self, 0, spec->slot);
    rn__unlock(spec->lock);
    int result = rn__wait_park(self, deadline);
    if (rn__unlikely(result < 0)) {
        rn__lock(spec->lock);
        rn__list_remove(&waiter.link);
        rn__unlock(spec->lock);
    }
    return result;
}

/* The same, out of line. */
int rn__wait_one(struct rn__task *self, const struct rn__waitspec *spec,
                 rn_time deadline);
/* Wait for nothing until the deadline or a cancel. */
int rn__wait_forever(struct rn__task *self, enum rn__kind kind,
                     const void *site, rn_time deadline);

/* Whether the task waits, and nobody has claimed its wait. */
static inline bool
rn__task_waits(const struct rn__task *task)
{
    /* acquire: what the task did before it opened */
    return atomic_load_explicit(&task->wait, memory_order_acquire) &
           RN__WAIT_OPEN;
}

/* End a wait if nobody has claimed it. cancel: only a cancellable one. */
static inline bool
rn__wait_claim(struct rn__task *task, int result, bool cancel)
{
    uint32_t word = atomic_load_explicit(&task->wait, memory_order_relaxed);
    do {
        if (!(word & (cancel ? RN__WAIT_CANCELLABLE : RN__WAIT_OPEN)))
            return false;
        /* acquire: what the task did before it opened */
    } while (rn__unlikely(!rn__cas(&task->wait, &word, 0)));
    task->wait_result = result;
    task->wait_status = 0;
    return true;
}

/* End a wait for a cancel of what lies inside so many of its shields. */
static inline bool
rn__wait_cancel(struct rn__task *task, uint32_t shields)
{
    uint32_t word = RN__WAIT_OPEN | RN__WAIT_CANCELLABLE | shields;
    /* acquire: what the task did before it opened */
    if (!rn__cas(&task->wait, &word, 0))
        return false;
    task->wait_result = -ECANCELED;
    task->wait_status = 0;
    return true;
}

/* Under the object's lock: take the first waiter whose wait can be claimed and
 * claim it; it goes on with its arm and status once fired. NULL: none. */
struct rn__waiter *rn__wait_claim_some(struct rn__list *queue, int status);

static inline struct rn__waiter *
rn__wait_claim_first(struct rn__list *queue, int status)
{
    if (rn__list_empty(queue))
        return NULL;
    struct rn__waiter *waiter =
        rn__container_of(queue->next, struct rn__waiter, link);
    /* Most stand in no other place of the queue, and have not been claimed. */
    if (rn__unlikely(waiter->sibling ||
                     !rn__wait_claim(waiter->task, waiter->arm, false)))
        return rn__wait_claim_some(queue, status);
    rn__list_unlink(&waiter->link);
    rn__list_init(&waiter->link);
    waiter->task->wait_status = status;
    return waiter;
}

/* Under the object's lock: claim all, moving them to list for rn__fire_all. */
void rn__wait_claim_all(struct rn__list *queue, int status,
                        struct rn__list *list);

/* Make a claimed task go on. After this the task and its waiter must not be
 * touched. */
static inline void
rn__fire(struct rn__task *task)
{
    rn__perturb();
    rn__sched_ready(task);
}

void rn__fire_all(struct rn__list *list);

#endif
