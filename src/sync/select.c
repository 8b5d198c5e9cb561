/* sync/select.c - wait for several things, do exactly one.
 *
 * First the channels are looked at without their locks. If some look ready one
 * of them is chosen and done as a plain operation, which it is: an arm that is
 * ready now may be taken now, whatever the others are.
 *
 * Otherwise all objects of the arms are locked, tasks first (the lock order in
 * core.h), in address order and each once; with all locks held one ready arm is
 * chosen and done, or a waiter is queued for every arm. So that nothing is
 * ready is seen in one moment, and crossed selects cannot lock each other. The
 * waiters live in the arms.
 *
 * A hint may be wrong: an arm that looks ready because a peer waits can find
 * that peer claimed by another a moment later. Then all arms are looked at
 * again; the peer has left the queue, so this ends.
 */
#include <runnel/select.h>

#include "sync/future.h"
#include "sync/sync.h"

/* The library's part of an arm. */
struct arm {
    struct rn__waiter waiter;
    struct rn__lock *lock; /* of its object; NULL: never ready, or a time */
    struct rn__task *task; /* JOIN */
    uint32_t order;        /* arms[k].order: the arm whose lock is k-th */
};

_Static_assert(sizeof(struct arm) <= sizeof((rn_arm *)0)->rn__opaque,
               "rn_arm has too little room");

static struct arm *
inner(rn_arm *arm)
{
    return (struct arm *)(void *)arm->rn__opaque;
}

/* Of a FUTURE arm; NULL: never ready. */
static rn_future *
future_of(const rn_arm *arm)
{
    return (rn_future *)(uintptr_t)arm->id;
}

/* One call of rn_select. */
struct call {
    rn_arm *arms;
    size_t count;
    struct rn__solitude since; /* from before the first look */
    size_t locks;              /* arms with a lock */
    bool locked; /* the locks are held; else we are alone, see slow */
    rn_time at;  /* earliest AT arm; RN_NEVER: none */
    int at_arm;
    struct rn__task *self;
    struct rn__rt *rt;
};

/* ---- locks -------------------------------------------------------------- */

static struct arm *
kth(const struct call *call, size_t k)
{
    return inner(&call->arms[inner(&call->arms[k])->order]);
}

/* Whether the lock of arm a is to be taken after that of arm b. */
static bool
comes_after(const struct call *call, uint32_t a, uint32_t b)
{
    const struct arm *x = inner(&call->arms[a]), *y = inner(&call->arms[b]);
    if (!x->task != !y->task)
        return !x->task;
    return (uintptr_t)x->lock > (uintptr_t)y->lock;
}

/* Shell sort of the order numbers (Shell, 1959; gaps of Ciura, 2001): in place,
 * and next to an insertion sort for the usual two or three arms. */
static void
sort_locks(struct call *call)
{
    static const uint16_t gaps[] = {1,   4,    10,   23,   57,    132,  301,
                                    701, 1566, 3524, 7929, 17841, 40142};
    size_t g = 0;
    while (g + 1 < sizeof gaps / sizeof *gaps && 4 * gaps[g] < call->locks)
        g++;
    for (;; g--) {
        size_t gap = gaps[g];
        for (size_t i = gap; i < call->locks; i++) {
            uint32_t moving = inner(&call->arms[i])->order;
            size_t j = i;
            for (; j >= gap; j -= gap) {
                uint32_t other = inner(&call->arms[j - gap])->order;
                if (!comes_after(call, other, moving))
                    break;
                inner(&call->arms[j])->order = other;
            }
            inner(&call->arms[j])->order = moving;
        }
        if (g == 0)
            return;
    }
}

static void
lock_all(const struct call *call)
{
    struct rn__lock *last = NULL;
    for (size_t k = 0; k < call->locks; k++) {
        struct rn__lock *lock = kth(call, k)->lock;
        if (lock != last)
            rn__lock(lock);
        last = lock;
    }
}

static void
unlock_all(const struct call *call)
{
    if (!call->locked) {
        rn__section_leave();
        return;
    }
    for (size_t k = call->locks; k-- > 0;) {
        struct rn__lock *lock = kth(call, k)->lock;
        if (k == 0 || kth(call, k - 1)->lock != lock)
            rn__unlock(lock);
    }
}

/* ---- arms --------------------------------------------------------------- */

static inline void
check_value(const rn_arm *arm, size_t i, const void *site)
{
    if (rn__unlikely(!arm->data) && arm->chan && arm->chan->elem_bytes)
        rn__panic_at(site, "rn_select: arm %zu sends from NULL", i);
}

static void
prepare_arm(struct call *call, uint32_t i)
{
    rn_arm *arm = &call->arms[i];
    struct arm *in = inner(arm);
    in->lock = NULL;
    in->task = NULL;
    if (arm->kind == RN_ARM_KIND_SEND || arm->kind == RN_ARM_KIND_RECV) {
        in->lock = arm->chan ? &arm->chan->lock : NULL;
    } else if (arm->kind == RN_ARM_KIND_JOIN) {
        in->task = rn__task_record(call->rt, arm->id);
        in->lock = in->task ? &in->task->lock : NULL;
    } else if (arm->kind == RN_ARM_KIND_SCOPE) {
        struct rn_scope *scope = arm->data;
        in->lock = scope ? &scope->watch_lock : NULL;
    } else if (arm->kind == RN_ARM_KIND_FUTURE) {
        in->lock = future_of(arm) ? &future_of(arm)->lock : NULL;
    } else if (arm->kind == RN_ARM_KIND_AT) {
        rn_time at = (rn_time)arm->id;
        if (at < call->at || call->at_arm < 0) {
            call->at = at;
            call->at_arm = (int)i;
        }
    }
    if (in->lock)
        inner(&call->arms[call->locks++])->order = i;
}

/* The object of a SCOPE arm, which may be a context's. */
static struct rn__object *
scope_of(const rn_arm *arm, enum rn__kind *kind)
{
    struct rn_scope *scope = arm->data;
    if (scope->is_context)
        *kind = RN__ARM_CONTEXT;
    return &scope->object;
}

static void
announce_slowly(const struct call *call, const void *site)
{
    static const enum rn__kind kinds[] = {
        RN__NONE,   RN__ARM_SEND,  RN__ARM_RECV,  RN__ARM_JOIN,
        RN__ARM_AT, RN__ARM_SCOPE, RN__ARM_FUTURE};
    for (size_t i = 0; i < call->count; i++) {
        rn_arm *arm = &call->arms[i];
        struct rn__object *object = NULL;
        struct rn__task *task;
        enum rn__kind kind = kinds[arm->kind];
        if (arm->kind == RN_ARM_KIND_NONE)
            continue;
        if (arm->chan)
            object = &arm->chan->object;
        else if (arm->kind == RN_ARM_KIND_JOIN &&
                 (task = rn__task_record(call->rt, arm->id)))
            object = &task->object;
        else if (arm->kind == RN_ARM_KIND_SCOPE && arm->data)
            object = scope_of(arm, &kind);
        else if (arm->kind == RN_ARM_KIND_FUTURE && future_of(arm))
            object = &future_of(arm)->object;
        rn__note(kind, object, site);
    }
    rn__step(RN__SELECT, NULL, site);
}

static inline void
announce(const struct call *call, const void *site)
{
    if (rn__steps_matter())
        announce_slowly(call, site);
}

/* Under its lock: a handle that was never given out names nobody. */
static bool
joinable(const struct rn__task *task, uint64_t id)
{
    return rn__task_is(task, id) && task->known;
}

/* Under the locks: whether the arm can be done now. */
static bool
ready(const struct call *call, rn_arm *arm)
{
    struct arm *in = inner(arm);
    switch (arm->kind) {
    case RN_ARM_KIND_SEND:
        return arm->chan && rn__chan_can_send(arm->chan);
    case RN_ARM_KIND_RECV:
        return arm->chan && rn__chan_can_recv(arm->chan);
    case RN_ARM_KIND_JOIN:
        return !in->task || !joinable(in->task, arm->id) || in->task->ended ||
               rn__join_is_endless(in->task, call->self);
    case RN_ARM_KIND_SCOPE:
        return arm->data && rn__scope_cancelled(arm->data);
    case RN_ARM_KIND_FUTURE:
        return future_of(arm) && rn__future_done(future_of(arm));
    case RN_ARM_KIND_AT:
        return (rn_time)arm->id <= rn__rt_now(call->rt);
    default:
        return false;
    }
}

/* Under the locks, which it gives up: take what a join arm waits for. */
static int
finish_join(const struct call *call, rn_arm *arm)
{
    struct arm *in = inner(arm);
    bool gone = !in->task || !joinable(in->task, arm->id);
    bool endless =
        !gone && !in->task->ended && rn__join_is_endless(in->task, call->self);
    uint64_t id = arm->id;
    unlock_all(call);
    if (gone || endless)
        return gone ? -ESRCH : -EDEADLK;
    struct rn__task *task = rn__task_find(call->rt, id);
    if (!task) /* another join was faster */
        return -ESRCH;
    int result = rn__task_consume(task);
    if (arm->data)
        *(int *)arm->data = result;
    return 0;
}

/* Under the locks: do a ready arm. True: done, and the locks are given up. */
static bool
perform(const struct call *call, rn_arm *arm)
{
    struct rn__waiter *wake = NULL;
    if (arm->kind == RN_ARM_KIND_JOIN) {
        arm->result = finish_join(call, arm);
        return true;
    }
    if (arm->kind == RN_ARM_KIND_FUTURE) { /* it may be any error */
        arm->result = rn__future_get(future_of(arm), arm->data);
        unlock_all(call);
        return true;
    }
    arm->result = 0;
    if (arm->kind == RN_ARM_KIND_SEND)
        arm->result = rn__chan_try_send(arm->chan, arm->data, &wake);
    else if (arm->kind == RN_ARM_KIND_RECV)
        arm->result = rn__chan_try_recv(arm->chan, arm->data, &wake);
    if (arm->result == -EAGAIN)
        return false;
    unlock_all(call);
    if (wake)
        rn__fire(wake->task);
    return true;
}

/* Under the locks: do one of the ready arms. Returns its index, having given
 * up the locks, or -EAGAIN with the locks still held. */
static int
do_one(const struct call *call, bool ordered)
{
    for (;;) {
        uint32_t found = 0;
        size_t i;
        for (i = 0; i < call->count; i++)
            if (ready(call, &call->arms[i]) && found++ == 0 && ordered)
                break;
        if (found == 0)
            return -EAGAIN;
        uint32_t wanted = ordered ? 0 : rn__choose(found);
        for (i = 0; i < call->count; i++)
            if (ready(call, &call->arms[i]) && wanted-- == 0)
                break;
        if (i < call->count && perform(call, &call->arms[i]))
            return (int)i;
    }
}

/* ---- waiting ------------------------------------------------------------ */

/* If the last waiter in the queue is of this very call, put ours next to it in
 * the circle of those on one object. Nobody else has come since. */
static inline bool
join_sibling(struct rn__list *queue, struct rn__waiter *waiter)
{
    if (rn__list_empty(queue))
        return false;
    struct rn__waiter *last =
        rn__container_of(queue->prev, struct rn__waiter, link);
    if (last->task != waiter->task)
        return false;
    waiter->sibling = last->sibling ? last->sibling : last;
    last->sibling = waiter;
    return true;
}

static inline void
queue_arm(struct rn__list *queue, struct rn__list *other, rn_arm *arm, int i,
          struct rn__task *self)
{
    struct rn__waiter *waiter = &inner(arm)->waiter;
    struct rn__waiter fresh = {{NULL, NULL}, self, arm->data, i, NULL};
    *waiter = fresh;
    if (!join_sibling(queue, waiter) && other)
        join_sibling(other, waiter);
    rn__list_append(queue, &waiter->link);
}

/* Under the locks. */
static void
queue_all(const struct call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        rn_arm *arm = &call->arms[i];
        struct arm *in = inner(arm);
        rn_chan *chan = arm->chan;
        if (!in->lock)
            continue;
        if (arm->kind == RN_ARM_KIND_RECV)
            queue_arm(&chan->receivers, &chan->senders, arm, (int)i,
                      call->self);
        else if (arm->kind == RN_ARM_KIND_SEND)
            queue_arm(&chan->senders, &chan->receivers, arm, (int)i,
                      call->self);
        else if (arm->kind == RN_ARM_KIND_SCOPE)
            queue_arm(&((struct rn_scope *)arm->data)->watchers, NULL, arm,
                      (int)i, call->self);
        else if (arm->kind == RN_ARM_KIND_FUTURE)
            queue_arm(&future_of(arm)->queue, NULL, arm, (int)i, call->self);
        else
            queue_arm(&in->task->joiners, NULL, arm, (int)i, call->self);
    }
}

/* Take back what was queued. The object of the arm that was fired may be gone
 * already; whoever fired it has taken all waiters out of its queues. */
static void
dequeue_all(const struct call *call, int fired)
{
    struct rn__lock *gone = fired >= 0 ? inner(&call->arms[fired])->lock : NULL;
    bool alone = rn__section_enter();
    for (size_t i = 0; i < call->count; i++) {
        struct arm *in = inner(&call->arms[i]);
        if (!in->lock || in->lock == gone)
            continue;
        if (!alone)
            rn__lock(in->lock);
        rn__list_remove(&in->waiter.link);
        if (!alone)
            rn__unlock(in->lock);
    }
    if (alone)
        rn__section_leave();
}

/* Under the locks, which it gives up: wait until an arm is fired. */
static int
wait(const struct call *call, const void *site, rn_time deadline)
{
    struct rn__task *self = call->self;
    self->info.arms = call->arms;
    self->info.arm_count = (uint32_t)call->count;
    rn__wait_open(self, RN__SELECT, NULL, site, true);
    queue_all(call);
    unlock_all(call);
    bool at = call->at_arm >= 0 && call->at <= deadline;
    int result = rn__wait_park(self, at ? call->at : deadline);
    dequeue_all(call, result);
    if (result >= 0)
        call->arms[result].result = self->wait_status;
    if (result == -ETIMEDOUT && at) {
        result = call->at_arm;
        call->arms[result].result = 0;
    }
    return result;
}

/* ---- the quick way ------------------------------------------------------ */

/* More arms than this take the long way. */
enum { QUICK_MAX = 64 };

/* Whether the arm looks ready. */
static inline bool
looks_ready(const rn_arm *arm, rn_time now)
{
    if (arm->kind == RN_ARM_KIND_RECV)
        return arm->chan && rn__chan_may_recv(arm->chan);
    if (arm->kind == RN_ARM_KIND_SEND)
        return arm->chan && rn__chan_may_send(arm->chan);
    return arm->kind == RN_ARM_KIND_AT && (rn_time)arm->id <= now;
}

/* Do one arm on its own: 0 or -EPIPE, or -EAGAIN. */
static int
do_alone(rn_arm *arm)
{
    struct rn__waiter *wake = NULL;
    rn_chan *chan = arm->chan;
    if (arm->kind == RN_ARM_KIND_AT)
        return 0;
    rn__lock(&chan->lock);
    int result = arm->kind == RN_ARM_KIND_SEND
                     ? rn__chan_try_send(chan, arm->data, &wake)
                     : rn__chan_try_recv(chan, arm->data, &wake);
    rn__unlock(&chan->lock);
    if (wake)
        rn__fire(wake->task);
    return result;
}

/* Channels and times only: do one that looks ready. Returns its index, or
 * -EAGAIN: none does, or it was not. */
static int
quick(rn_arm *arms, size_t count, unsigned flags, rn_time now, bool *none_ready)
{
    uint8_t found[QUICK_MAX];
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        found[n] = (uint8_t)i;
        n += looks_ready(&arms[i], now);
    }
    *none_ready = n == 0;
    /* The first in order can only be told in one moment, unless it is arm 0. */
    if (n == 0 || ((flags & RN_SELECT_ORDERED) && found[0] != 0))
        return -EAGAIN;
    uint32_t i = found[flags & RN_SELECT_ORDERED ? 0 : rn__choose(n)];
    int result = do_alone(&arms[i]);
    if (result == -EAGAIN)
        return result;
    arms[i].result = result;
    return (int)i;
}

/* One arm on a channel is a plain send or receive. */
__attribute__((noinline)) static int
single(struct rn__task *self, rn_arm *arm, rn_time deadline, const void *site)
{
    bool recv = arm->kind == RN_ARM_KIND_RECV;
    rn_chan *chan = arm->chan;
    if (deadline == RN_NOW && chan &&
        !(recv ? rn__chan_may_recv(chan) : rn__chan_may_send(chan)) &&
        !rn__steps_matter())
        return -EAGAIN;
    int result = recv ? rn__chan_recv(self, chan, arm->data, deadline, site)
                      : rn__chan_send(self, chan, arm->data, deadline, site);
    if (result != 0 && result != -EPIPE)
        return result;
    arm->result = result;
    return 0;
}

/* What kinds of arms there are. */
struct kinds {
    bool valid;
    bool quick; /* channels and times only, and not too many */
    bool times;
};

static struct kinds
look_over(const rn_arm *arms, size_t count, unsigned flags, const void *site)
{
    struct kinds kinds = {false, count <= QUICK_MAX, false};
    if (count > RN_SELECT_MAX || (flags & ~RN_SELECT_ORDERED))
        return kinds;
    for (size_t i = 0; i < count; i++) {
        unsigned kind = arms[i].kind;
        if (kind > RN_ARM_KIND_FUTURE)
            return kinds;
        if (kind == RN_ARM_KIND_SEND)
            check_value(&arms[i], i, site);
        else if (kind == RN_ARM_KIND_AT)
            kinds.times = true;
        else if (kind > RN_ARM_KIND_RECV)
            kinds.quick = false;
    }
    kinds.valid = true;
    return kinds;
}

/* Lock all, and do one arm or wait. A worker that is alone (base/atomic.h)
 * stays so for a section and locks nothing; if it has been alone since the
 * quick way, what that has seen still holds. */
static int
slow(struct call *call, unsigned flags, rn_time deadline, bool none_ready,
     const void *site)
{
    call->locked = !rn__section_enter();
    for (size_t i = 0; i < call->count; i++)
        prepare_arm(call, (uint32_t)i);
    if (call->locked) {
        sort_locks(call);
        lock_all(call);
    }
    if (call->locked || !none_ready || !rn__alone_since(call->since)) {
        int result = do_one(call, flags & RN_SELECT_ORDERED);
        if (result != -EAGAIN)
            return result;
    }
    if (deadline == RN_NOW) {
        unlock_all(call);
        return -EAGAIN;
    }
    return wait(call, site, deadline);
}

__attribute__((noinline)) static int
several(struct rn__task *self, rn_arm *arms, size_t count, unsigned flags,
        rn_time deadline, const void *site)
{
    struct kinds kinds = look_over(arms, count, flags, site);
    if (!kinds.valid)
        return -EINVAL;
    struct call call = {.arms = arms,
                        .count = count,
                        .at = RN_NEVER,
                        .at_arm = -1,
                        .self = self,
                        .rt = self->rt};
    announce(&call, site);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    bool none_ready = false;
    if (kinds.quick) {
        rn_time now = kinds.times ? rn__rt_now(self->rt) : 0;
        call.since = rn__solitude_now();
        int result = quick(arms, count, flags, now, &none_ready);
        if (result != -EAGAIN)
            return result;
    }
    return slow(&call, flags, deadline, none_ready, site);
}

int
rn_select(rn_arm *arms, size_t count, unsigned flags, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_select");
    const void *site = rn__site();
    if (count > 0)
        rn__need(arms, "rn_select", site);
    if (count == 1 && !(flags & ~RN_SELECT_ORDERED) &&
        (arms->kind == RN_ARM_KIND_SEND || arms->kind == RN_ARM_KIND_RECV))
        return single(self, arms, deadline, site);
    return several(self, arms, count, flags, deadline, site);
}
