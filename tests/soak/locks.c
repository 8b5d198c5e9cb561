/* locks.c - soak work of read-write mutexes, semaphores, barriers, futures and
 * work groups, with deadlines and cancels at random moments.
 */
#include "soak.h"

#include <errno.h>

/* A deadline of any kind. */
static rn_time
some_deadline(uint64_t *prng)
{
    switch (below(prng, 4)) {
    case 0:
        return RN_NOW;
    case 1:
        return rn_after(below(prng, 60) * RN_US);
    default:
        return RN_NEVER;
    }
}

/* What a wait with that deadline may return. */
static void
need_result(int e, rn_time deadline)
{
    need(e == 0 ||
         e == (deadline == RN_NOW     ? -EAGAIN
               : deadline == RN_NEVER ? -ECANCELED
                                      : -ETIMEDOUT) ||
         (e == -ECANCELED && deadline != RN_NOW));
}

/* Tasks in a scope that is cancelled while they are at it, or not. */
struct crowd {
    uint64_t seed;
    void *object;
    _Atomic int next;
    int count;
    bool cancels;
};

static uint64_t
own_seed(struct crowd *c)
{
    return rn__mix64(c->seed + (uint64_t)atomic_fetch_add(&c->next, 1));
}

static void
run_crowd(struct crowd *crowd, rn_task_fn *fn)
{
    struct canceller c = {.seed = ~crowd->seed};
    rn_scope *outside;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    need(rn_scope_open(RN_NEVER, &c.scope) == 0);
    for (int i = 0; i < crowd->count; i++)
        need(rn_go(c.scope, fn, crowd) == 0);
    if (crowd->cancels) {
        rn_task task;
        rn_shield shield = rn_shield_push();
        need(!rn_task_spawn(outside, cancel_later, &c, NULL, &task));
        need(rn_task_join(task, RN_NEVER, NULL) == 0);
        rn_shield_restore(shield);
    }
    int e = rn_scope_close(c.scope);
    need(e == 0 || (e == -ECANCELED && crowd->cancels));
    need(rn_scope_close(outside) == 0);
}

/* ---- readers and writers ------------------------------------------------ */

struct table {
    rn_rwmutex mutex;
    long left, right; /* equal but for a writer */
    _Atomic int readers, writers;
    _Atomic long written;
};

static int
read_table(struct table *t, uint64_t *prng)
{
    rn_time deadline = some_deadline(prng);
    int e = rn_rwmutex_read_lock(&t->mutex, deadline);
    need_result(e, deadline);
    if (e < 0)
        return e;
    atomic_fetch_add(&t->readers, 1);
    long left = t->left;
    need(atomic_load(&t->writers) == 0);
    e = dawdle(prng);
    need(t->left == left && t->right == left);
    need(atomic_load(&t->writers) == 0);
    atomic_fetch_sub(&t->readers, 1);
    rn_rwmutex_read_unlock(&t->mutex);
    return e;
}

static int
write_table(struct table *t, uint64_t *prng)
{
    rn_time deadline = some_deadline(prng);
    int e = rn_rwmutex_lock(&t->mutex, deadline);
    need_result(e, deadline);
    if (e < 0)
        return e;
    need(atomic_fetch_add(&t->writers, 1) == 0);
    need(atomic_load(&t->readers) == 0);
    t->left++;
    e = dawdle(prng);
    t->right++;
    atomic_fetch_add(&t->written, 1);
    long left = t->left;
    need(atomic_fetch_sub(&t->writers, 1) == 1);
    if (below(prng, 3)) {
        rn_rwmutex_unlock(&t->mutex);
        return e;
    }
    rn_rwmutex_downgrade(&t->mutex);
    rn_yield();
    need(t->left == left && t->right == left);
    rn_rwmutex_read_unlock(&t->mutex);
    return e;
}

static int
table_user(void *arg)
{
    struct crowd *crowd = arg;
    uint64_t prng = own_seed(crowd);
    for (int i = 0; i < 80; i++) {
        int e = below(&prng, 4) ? read_table(crowd->object, &prng)
                                : write_table(crowd->object, &prng);
        if (e == -ECANCELED)
            return e;
        tick();
    }
    return 0;
}

int
work_rwmutex(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int round = 0; round < 6; round++) {
        struct table t = {.mutex = RN_RWMUTEX_INIT};
        struct crowd crowd = {.seed = rn__prng_next(&prng),
                              .object = &t,
                              .count = 1 + below(&prng, 10),
                              .cancels = below(&prng, 2)};
        run_crowd(&crowd, table_user);
        need(t.left == t.right && t.left == atomic_load(&t.written));
        need(rn_rwmutex_lock(&t.mutex, RN_NOW) == 0);
        rn_rwmutex_unlock(&t.mutex);
    }
    return 0;
}

/* ---- a semaphore -------------------------------------------------------- */

struct pot {
    rn_sema sema;
    int size;
    _Atomic int taken;
};

static int
pot_user(void *arg)
{
    struct crowd *crowd = arg;
    struct pot *pot = crowd->object;
    uint64_t prng = own_seed(crowd);
    for (int i = 0; i < 80; i++) {
        int n = below(&prng, pot->size + 1);
        rn_time deadline = some_deadline(&prng);
        int e = rn_sema_acquire(&pot->sema, (size_t)n, deadline);
        need_result(e, deadline);
        if (e == 0) {
            need(atomic_fetch_add(&pot->taken, n) + n <= pot->size);
            e = dawdle(&prng);
            need(atomic_fetch_sub(&pot->taken, n) >= n);
            rn_sema_release(&pot->sema, (size_t)n);
        }
        if (e == -ECANCELED)
            return e;
        tick();
    }
    return 0;
}

int
work_sema(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int round = 0; round < 6; round++) {
        int size = 1 + below(&prng, 5);
        struct pot pot = {.sema = RN_SEMA_INIT((uint64_t)size), .size = size};
        struct crowd crowd = {.seed = rn__prng_next(&prng),
                              .object = &pot,
                              .count = 1 + below(&prng, 10),
                              .cancels = below(&prng, 2)};
        run_crowd(&crowd, pot_user);
        need(rn_sema_acquire(&pot.sema, (size_t)size, RN_NOW) == 0);
        need(rn_sema_acquire(&pot.sema, 1, RN_NOW) == -EAGAIN);
    }
    return 0;
}

/* ---- a barrier ---------------------------------------------------------- */

enum { STEPS = 25 };

struct steps {
    rn_barrier barrier;
    int parties;
    _Atomic int arrived[STEPS], last[STEPS];
};

static int
party(void *arg)
{
    struct crowd *crowd = arg;
    struct steps *s = crowd->object;
    uint64_t prng = own_seed(crowd);
    for (int i = 0; i < STEPS; i++) {
        int e = dawdle(&prng);
        if (e < 0)
            return e;
        atomic_fetch_add(&s->arrived[i], 1);
        do {
            rn_time deadline = some_deadline(&prng);
            e = rn_barrier_wait(&s->barrier, deadline);
            need_result(e == 1 ? 0 : e, deadline);
            if (e == -EAGAIN)
                need(rn_yield() == 0 || crowd->cancels);
            if (e == -ECANCELED)
                return e;
        } while (e < 0);
        need(atomic_load(&s->arrived[i]) == s->parties);
        atomic_fetch_add(&s->last[i], e);
        tick();
    }
    return 0;
}

int
work_barrier(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int round = 0; round < 6; round++) {
        int parties = 1 + below(&prng, 7);
        struct steps s = {.barrier = RN_BARRIER_INIT((unsigned)parties),
                          .parties = parties};
        struct crowd crowd = {.seed = rn__prng_next(&prng),
                              .object = &s,
                              .count = parties,
                              .cancels = below(&prng, 3) == 0};
        run_crowd(&crowd, party);
        for (int i = 0; i < STEPS; i++)
            need(atomic_load(&s.last[i]) == 1 ||
                 (crowd.cancels && atomic_load(&s.last[i]) <= 1));
    }
    return 0;
}

/* ---- futures ------------------------------------------------------------ */

struct parcel {
    int64_t a, b;
};

struct delivery {
    rn_promise *promise;
    rn_future *future;
    int how;          /* 0: a value; 1: an error; 2: broken */
    _Atomic int sure; /* it is to be told by now */
};

static int
promiser(struct delivery *d, uint64_t *prng)
{
    struct parcel parcel = {41, 42};
    int e = dawdle(prng);
    atomic_store(&d->sure, 1);
    if (d->how == 0) {
        need(rn_promise_set(d->promise, &parcel) == 0);
        need(rn_promise_fail(d->promise, -EIO) == -EBUSY);
    } else if (d->how == 1) {
        need(rn_promise_fail(d->promise, -1000) == 0);
        need(rn_promise_set(d->promise, &parcel) == -EBUSY);
    }
    rn_promise_free(d->promise);
    return e;
}

static bool
is_told(const struct delivery *d, int e, const struct parcel *parcel)
{
    if (e == -EAGAIN || e == -ETIMEDOUT || e == -ECANCELED) {
        need(parcel->a == 1 && parcel->b == 2);
        return false;
    }
    need(atomic_load(&d->sure));
    need(e == (d->how == 0 ? 0 : d->how == 1 ? -1000 : -EPIPE));
    if (e == 0)
        need(parcel->a == 41 && parcel->b == 42);
    else
        need(parcel->a == 1 && parcel->b == 2);
    return true;
}

static int
wait_delivery(struct delivery *d, uint64_t *prng)
{
    rn_future *own = rn_future_ref(d->future);
    for (bool told = false; !told;) {
        struct parcel parcel = {1, 2};
        rn_time deadline = some_deadline(prng);
        int e;
        if (below(prng, 2)) {
            e = rn_future_wait(own, &parcel, deadline);
        } else {
            rn_arm arms[] = {RN_ARM_FUTURE(own, &parcel),
                             RN_ARM_AT(rn_after(below(prng, 90) * RN_US))};
            e = rn_select(arms, 2, 0, deadline);
            e = e == 0 ? arms[0].result : e == 1 ? -ETIMEDOUT : e;
        }
        told = is_told(d, e, &parcel);
        if (e == -ECANCELED)
            break;
        if (!told)
            rn_yield();
    }
    rn_future_unref(own);
    tick();
    return rn_cancel_requested() ? -ECANCELED : 0;
}

static int
receiver(void *arg)
{
    struct crowd *crowd = arg;
    uint64_t prng = own_seed(crowd);
    return wait_delivery(crowd->object, &prng);
}

static int
deliver(void *arg)
{
    struct crowd *crowd = arg;
    uint64_t prng = crowd->seed;
    need(promiser(crowd->object, &prng) == 0);
    return 0;
}

int
work_future(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *outside;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    for (int round = 0; round < 20; round++) {
        struct delivery d = {.how = below(&prng, 3)};
        struct crowd crowd = {.seed = rn__prng_next(&prng),
                              .object = &d,
                              .count = below(&prng, 8),
                              .cancels = below(&prng, 3) == 0};
        rn_task task;
        need(rn_future_new(sizeof(struct parcel), &d.promise, &d.future) == 0);
        need(!rn_task_spawn(outside, deliver, &crowd, NULL, &task));
        run_crowd(&crowd, receiver);
        rn_future_unref(d.future);
        need(rn_task_join(task, RN_NEVER, NULL) == 0);
    }
    return rn_scope_close(outside);
}

/* ---- work groups -------------------------------------------------------- */

struct gang {
    rn_workgroup group;
    uint64_t seed;
    int limit;
    bool fails;
    _Atomic int active, begun, ended, failed, next;
};

static int
leave_gang(void *arg, int outcome)
{
    struct gang *g = arg;
    (void)outcome;
    atomic_fetch_sub(&g->active, 1);
    atomic_fetch_add(&g->ended, 1);
    return 0;
}

static int
ganger(void *arg)
{
    struct gang *g = arg;
    uint64_t prng =
        rn__mix64(g->seed + (uint64_t)atomic_fetch_add(&g->next, 1));
    int active = atomic_fetch_add(&g->active, 1) + 1;
    atomic_fetch_add(&g->begun, 1);
    need(!g->limit || active <= g->limit);
    need(rn_defer(leave_gang, g) == 0);
    int e = dawdle(&prng);
    if (e == 0 && below(&prng, 10) == 0)
        e = rn_workgroup_go(&g->group, ganger, g, RN_NOW) < 0 ? 0 : 1;
    if (e >= 0 && g->fails && below(&prng, 25) == 0) {
        atomic_fetch_add(&g->failed, 1);
        e = -EIO;
    }
    tick();
    return e;
}

static void
one_gang(uint64_t *prng)
{
    struct gang g = {.seed = rn__prng_next(prng), .fails = below(prng, 3) == 0};
    bool timed = below(prng, 3) == 0, gave_up = false;
    rn_report report = RN_REPORT_INIT;
    rn_scope_options options = {.report = &report};
    int went = 0;
    g.limit = below(prng, 5);
    options.flags = below(prng, 2) ? RN_SCOPE_COLLECT : 0;
    if (timed)
        options.deadline = rn_after(below(prng, 400) * RN_US);
    need(!rn_workgroup_open(&g.group, (size_t)g.limit, &options));
    for (int i = below(prng, 60); i > 0; i--) {
        rn_time deadline = some_deadline(prng);
        int e = rn_workgroup_go(&g.group, ganger, &g, deadline);
        gave_up |= e == -ECANCELED;
        went += e == 0;
        need(e == 0 || e == -EAGAIN || e == -ETIMEDOUT || e == -ECANCELED);
        need(e != -EAGAIN || (g.limit && deadline == RN_NOW));
        need(e != -ECANCELED || timed || g.fails);
    }
    int e = rn_workgroup_wait(&g.group, 0);
    need(e == report.status);
    need(atomic_load(&g.active) == 0);
    need(atomic_load(&g.begun) == atomic_load(&g.ended));
    need(report.count + report.more == (size_t)atomic_load(&g.failed));
    need((e == -EIO) == (atomic_load(&g.failed) > 0));
    need(e == 0 || e == -EIO || (timed && (e == -ETIMEDOUT)));
    need(e < 0 || gave_up || atomic_load(&g.begun) >= went);
    rn_report_fini(&report);
}

int
work_workgroup(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 12; i++)
        one_gang(&prng);
    return 0;
}
