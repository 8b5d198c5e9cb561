/* sync.c - soak work of mutexes, conditions, timers and cancels. */
#include "soak.h"

#include <errno.h>
#include <stdlib.h>

/* ---- a bounded buffer of a mutex and two conditions --------------------- */

enum { ROOM = 3, EACH = 150 };

struct buffer {
    rn_mutex mutex;
    rn_cond not_full, not_empty;
    int count, put, taken, sides;
    uint64_t seed;
    int next;
};

static void
await(struct buffer *b, rn_cond *cond, uint64_t *prng)
{
    static const int errors[] = {-EAGAIN, -ETIMEDOUT, 0, 0, 0};
    int how = below(prng, 5);
    rn_time deadlines[] = {RN_NOW, rn_after(30000), RN_NEVER};
    int error = rn_cond_wait(cond, &b->mutex, deadlines[how < 2 ? how : 2]);
    need(error == 0 || error == errors[how]);
}

/* One lock: with the time-outs that a user could set. */
static void
enter(struct buffer *b, uint64_t *prng)
{
    rn_time deadlines[] = {RN_NOW, rn_after(10000), RN_NEVER, RN_NEVER};
    int how = below(prng, 4);
    int error = rn_mutex_lock(&b->mutex, deadlines[how]);
    while (error == (how == 0 ? -EAGAIN : -ETIMEDOUT))
        error = rn_mutex_lock(&b->mutex, RN_NEVER);
    need(error == 0);
}

static void
announce(rn_cond *cond, uint64_t *prng)
{
    if (below(prng, 4))
        rn_cond_signal(cond);
    else
        rn_cond_broadcast(cond);
}

static int
putter(void *arg)
{
    struct buffer *b = arg;
    uint64_t prng = b->seed;
    for (int i = 0; i < EACH; i++) {
        enter(b, &prng);
        while (b->count == ROOM)
            await(b, &b->not_full, &prng);
        b->count++;
        b->put++;
        announce(&b->not_empty, &prng);
        rn_mutex_unlock(&b->mutex);
        tick();
    }
    return 0;
}

static int
taker(void *arg)
{
    struct buffer *b = arg;
    uint64_t prng = ~b->seed;
    for (int i = 0; i < EACH; i++) {
        enter(b, &prng);
        while (b->count == 0)
            await(b, &b->not_empty, &prng);
        b->count--;
        b->taken++;
        announce(&b->not_full, &prng);
        rn_mutex_unlock(&b->mutex);
    }
    return 0;
}

int
work_buffer(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    struct buffer b = {.mutex = RN_MUTEX_INIT,
                       .not_full = RN_COND_INIT,
                       .not_empty = RN_COND_INIT,
                       .seed = prng};
    rn_scope *scope;
    b.sides = 1 + below(&prng, 5);
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 0; i < b.sides; i++) {
        need(rn_go(scope, putter, &b) == 0);
        need(rn_go(scope, taker, &b) == 0);
    }
    need(rn_scope_close(scope) == 0);
    need(b.count == 0 && b.put == b.taken && b.put == b.sides * EACH);
    return 0;
}

/* ---- a counter ---------------------------------------------------------- */

struct counter {
    rn_mutex mutex;
    long value;
};

static int
adder(void *arg)
{
    struct counter *c = arg;
    for (int i = 0; i < 300; i++) {
        need(rn_mutex_lock(&c->mutex, RN_NEVER) == 0);
        long value = c->value;
        if (i % 32 == 0)
            rn_yield();
        c->value = value + 1;
        rn_mutex_unlock(&c->mutex);
        tick();
    }
    return 0;
}

int
work_mutex(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    struct counter c = {.mutex = RN_MUTEX_INIT};
    int count = 1 + below(&prng, 8);
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 0; i < count; i++)
        need(rn_go(scope, adder, &c) == 0);
    need(rn_scope_close(scope) == 0);
    need(c.value == count * 300);
    return 0;
}

/* ---- timers stopped by others ------------------------------------------- */

struct stopping {
    rn_timer *timer;
    int stopped; /* what rn_timer_stop said */
    uint64_t seed;
};

static int
stopper(void *arg)
{
    struct stopping *s = arg;
    uint64_t prng = s->seed;
    if (below(&prng, 2))
        need(rn_sleep(below(&prng, 150) * RN_US) == 0);
    s->stopped = rn_timer_stop(s->timer);
    return 0;
}

static void
one_timer(rn_scope *scope, uint64_t *prng)
{
    struct stopping s = {.seed = rn__prng_next(prng)};
    rn_task task;
    rn_time value, when = rn_after(below(prng, 150) * RN_US);
    need(rn_timer_new(RN_NEVER, 0, &s.timer) == 0);
    need(rn_timer_reset(s.timer, when, 0) == 0);
    need(rn_task_spawn(scope, stopper, &s, NULL, &task) == 0);
    need(rn_task_join(task, RN_NEVER, NULL) == 0);
    /* it was stopped, or has sent its value before the stop returned */
    int got = rn_chan_recv(rn_timer_chan(s.timer), &value, RN_NOW);
    need(got == (s.stopped ? -EAGAIN : 0));
    need(s.stopped || value >= when);
    rn_timer_free(s.timer);
    tick();
}

static int
many_timers(void *arg)
{
    uint64_t prng = (uintptr_t)arg;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 0; i < 20; i++)
        one_timer(scope, &prng);
    return rn_scope_close(scope);
}

/* A ticker, read until it has ticked some times. */
static int
ticker(void *arg)
{
    rn_timer *timer;
    rn_time last = 0, value;
    (void)arg;
    need(rn_timer_new(rn_after(RN_US * 50), RN_US * 50, &timer) == 0);
    for (int i = 0; i < 10; i++) {
        need(rn_chan_recv(rn_timer_chan(timer), &value, RN_NEVER) == 0);
        need(value > last);
        last = value;
        tick();
    }
    rn_timer_free(timer);
    return 0;
}

int
work_timers(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 1 + below(&prng, 8); i > 0; i--)
        need(rn_go(scope, i % 4 ? many_timers : ticker,
                   (void *)(uintptr_t)rn__prng_next(&prng)) == 0);
    return rn_scope_close(scope);
}

/* ---- cancels ------------------------------------------------------------ */

/* What waits for ever in each way there is. */
struct prison {
    rn_chan *empty;
    rn_mutex mutex; /* the guard holds it */
    rn_cond never;
    rn_waitgroup group;
    _Atomic int inside, left;
};

static int
cond_wait(struct prison *p)
{
    rn_mutex own = RN_MUTEX_INIT;
    int error = rn_mutex_lock(&own, RN_NEVER);
    if (error)
        return error;
    error = rn_cond_wait(&p->never, &own, RN_NEVER);
    rn_mutex_unlock(&own);
    return error;
}

static int
wait_somehow(struct prison *p, int how)
{
    rn_arm arms[] = {RN_ARM_RECV(p->empty, NULL), RN_ARM_SEND(NULL, NULL),
                     RN_ARM_AT(rn_after(1000 * RN_SEC))};
    switch (how) {
    case 0:
        return rn_chan_recv(p->empty, NULL, RN_NEVER);
    case 1:
        return rn_sleep(1000 * RN_SEC);
    case 2:
        return rn_select(arms, 3, 0, RN_NEVER);
    case 3:
        return rn_mutex_lock(&p->mutex, RN_NEVER);
    case 4:
        return rn_waitgroup_wait(&p->group, RN_NEVER);
    default:
        return cond_wait(p);
    }
}

static int
prisoner(void *arg)
{
    struct prison *p = arg;
    int how = atomic_fetch_add(&p->inside, 1) % 6;
    rn_scope *scope;
    int error =
        rn_scope_open(how % 2 ? RN_NEVER : rn_after(1000 * RN_SEC), &scope);
    need(error == 0);
    need(wait_somehow(p, how) == -ECANCELED);
    need(rn_scope_close(scope) <= 0);
    atomic_fetch_add(&p->left, 1);
    tick();
    return -ECANCELED;
}

/* From outside: it is not in the scope. */
static int
canceller(void *arg)
{
    void **args = arg;
    uint64_t prng = (uintptr_t)args[1];
    if (below(&prng, 2))
        need(rn_sleep(below(&prng, 200) * RN_US) == 0);
    rn_scope_cancel(args[0]);
    return 0;
}

/* Fill a scope that is about to be cancelled; returns how many came in. */
static int
imprison(rn_scope *scope, struct prison *p, int count)
{
    int in = 0;
    for (int i = 0; i < count; i++) {
        int error = rn_go(scope, prisoner, p);
        need(error == 0 || error == -ECANCELED);
        in += error == 0;
    }
    return in;
}

static void
prison_round(uint64_t *prng, bool by_deadline)
{
    struct prison p = {.mutex = RN_MUTEX_INIT,
                       .never = RN_COND_INIT,
                       .group = RN_WAITGROUP_INIT};
    rn_scope *scope, *outside;
    need(rn_chan_new(0, 0, &p.empty) == 0);
    need(rn_mutex_lock(&p.mutex, RN_NEVER) == 0);
    rn_waitgroup_add(&p.group, 1);
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    rn_time deadline =
        by_deadline ? rn_after(below(prng, 300) * RN_US) : RN_NEVER;
    need(rn_scope_open(deadline, &scope) == 0);
    void *args[] = {scope, (void *)(uintptr_t)rn__prng_next(prng)};
    if (!by_deadline)
        need(rn_go(outside, canceller, args) == 0);
    int in = imprison(scope, &p, 1 + below(prng, 30));
    if (by_deadline && below(prng, 4) == 0)
        need(rn_scope_set_deadline(scope, rn_now()) <= 0);
    int error = rn_scope_close(scope);
    need(in == 0 || error == (by_deadline ? -ETIMEDOUT : -ECANCELED));
    /* some had not begun when the cancel came, and never did */
    need(atomic_load(&p.left) == atomic_load(&p.inside));
    need(atomic_load(&p.inside) <= in);
    rn_mutex_unlock(&p.mutex);
    rn_waitgroup_done(&p.group);
    rn_chan_unref(p.empty);
    need(rn_scope_close(outside) == 0);
    tick();
}

int
work_cancel(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 20; i++)
        prison_round(&prng, false);
    return 0;
}

int
work_deadline(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 20; i++)
        prison_round(&prng, true);
    return 0;
}
