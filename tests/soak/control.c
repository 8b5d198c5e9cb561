/* control.c - soak work of single tasks: cancelled one by one, moved to other
 * scopes; and of scopes held by other OS threads.
 */
#include "soak.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

/* ---- cancelled one by one ----------------------------------------------- */

enum { VICTIMS = 16, KILLERS = 4 };

struct victim {
    uint64_t seed;
    rn_task task;
    _Atomic int begun, ended;
};

struct hunt {
    struct victim victims[VICTIMS];
    int count;
    uint64_t seed;
    _Atomic int killers;
};

static int
victim_ended(void *arg, int outcome)
{
    struct victim *v = arg;
    uint64_t prng = v->seed;
    (void)outcome;
    need(dawdle(&prng) == 0);
    atomic_store(&v->ended, 1);
    return 0;
}

static int
wait_below(void *arg)
{
    (void)arg;
    return rn_chan_recv(NULL, NULL, RN_NEVER);
}

/* In a scope of its own, with a task in it. */
static int
wait_inside(void)
{
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    int spawned = rn_go(scope, wait_below, NULL);
    need(spawned == 0 || spawned == -ECANCELED);
    int error = rn_sleep(1000 * RN_SEC);
    need(error == -ECANCELED);
    int closed = rn_scope_close(scope);
    need(closed == (spawned == 0 ? -ECANCELED : 0));
    return error;
}

static int
wait_to_die(uint64_t *prng)
{
    int error = 0;
    switch (below(prng, 5)) {
    case 0:
        return rn_chan_recv(NULL, NULL, RN_NEVER);
    case 1:
        return wait_inside();
    case 2:
        return rn_sleep(1000 * RN_SEC);
    case 3:
        while (error == 0)
            error = rn_yield();
        return error;
    default:
        while (error == 0)
            error = dawdle(prng);
        return error;
    }
}

static int
victim(void *arg)
{
    struct victim *v = arg;
    uint64_t prng = v->seed;
    atomic_store(&v->begun, 1);
    need(rn_defer(victim_ended, v) == 0);
    if (below(&prng, 4) == 0) {
        rn_shield shield = rn_shield_push();
        need(dawdle(&prng) == 0);
        rn_shield_restore(shield);
    }
    need(wait_to_die(&prng) == -ECANCELED);
    need(rn_yield() == -ECANCELED);
    tick();
    return -ECANCELED;
}

static void
kill_one(struct victim *v, uint64_t *prng)
{
    rn_time deadlines[] = {RN_NOW, rn_after(below(prng, 50) * RN_US), RN_NEVER};
    int how = below(prng, 4);
    if (how == 3) {
        rn_task_cancel(v->task);
        return;
    }
    int e = rn_task_cancel_join(v->task, deadlines[how]);
    need(e == 0 || e == (how == 0 ? -EAGAIN : how == 1 ? -ETIMEDOUT : 1));
    need(e < 0 || atomic_load(&v->ended) || !atomic_load(&v->begun));
}

static int
killer(void *arg)
{
    struct hunt *h = arg;
    int number = atomic_fetch_add(&h->killers, 1);
    uint64_t prng = h->seed + (uint64_t)number;
    /* each has some that it must kill */
    for (int i = 0; i < h->count; i++) {
        need(dawdle(&prng) == 0);
        if (i % KILLERS == number || below(&prng, 3) == 0)
            kill_one(&h->victims[i], &prng);
    }
    return 0;
}

int
work_cancel_one(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int round = 0; round < 12; round++) {
        struct hunt h = {.seed = rn__prng_next(&prng)};
        rn_scope *outer, *scope;
        need(rn_scope_open(RN_NEVER, &outer) == 0);
        need(rn_scope_open(RN_NEVER, &scope) == 0);
        h.count = 1 + below(&prng, VICTIMS);
        for (int i = 0; i < h.count; i++) {
            struct victim *v = &h.victims[i];
            v->seed = rn__prng_next(&prng);
            need(!rn_task_spawn(scope, victim, v, NULL, &v->task));
        }
        for (int i = 0; i < KILLERS; i++)
            need(rn_go(outer, killer, &h) == 0);
        /* that they gave up is what they were asked to do */
        need(rn_scope_close(scope) == 0);
        need(rn_scope_close(outer) == 0);
        for (int i = 0; i < h.count; i++)
            need(atomic_load(&h.victims[i].begun) ==
                 atomic_load(&h.victims[i].ended));
    }
    return 0;
}

/* ---- moved -------------------------------------------------------------- */

struct mover {
    uint64_t seed;
    rn_scope *to;
    _Atomic int *moved, *ended;
};

static int
mover_ended(void *arg, int outcome)
{
    struct mover *m = arg;
    (void)outcome;
    atomic_fetch_add(m->ended, 1);
    return 0;
}

static int
mover(void *arg)
{
    struct mover *m = arg;
    uint64_t prng = m->seed;
    need(rn_defer(mover_ended, m) == 0);
    int error = dawdle(&prng);
    if (error == 0 || below(&prng, 2)) {
        need(rn_task_move(m->to) == 0);
        atomic_fetch_add(m->moved, 1);
        /* what was cancelled does not concern it any more */
        need(rn_yield() == 0 && rn_cancel_requested() == 0);
        need(dawdle(&prng) == 0);
        error = 0;
    }
    tick();
    return error;
}

static void
some_movers(uint64_t *prng)
{
    enum { MOVERS = 10 };
    struct mover movers[MOVERS];
    _Atomic int moved = 0, ended = 0;
    struct canceller c = {.seed = rn__prng_next(prng)};
    rn_scope *outside, *outer;
    bool cancels = below(prng, 2);
    int begun = 0;
    rn_task canceller;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    need(rn_scope_open(RN_NEVER, &outer) == 0);
    need(rn_scope_open(RN_NEVER, &c.scope) == 0);
    if (cancels)
        need(!rn_task_spawn(outside, cancel_later, &c, NULL, &canceller));
    for (; begun < MOVERS; begun++) {
        movers[begun] =
            (struct mover){rn__prng_next(prng), outer, &moved, &ended};
        if (rn_go(c.scope, mover, &movers[begun]) < 0)
            break;
    }
    need(cancels || begun == MOVERS);
    rn_shield shield = rn_shield_push();
    if (cancels)
        need(rn_task_join(canceller, RN_NEVER, NULL) == 0);
    rn_shield_restore(shield);
    int e = rn_scope_close(c.scope);
    need(e == 0 || (cancels && e == -ECANCELED));
    need(rn_scope_close(outer) == 0);
    need(cancels
             ? atomic_load(&ended) <= begun
             : atomic_load(&ended) == begun && atomic_load(&moved) == begun);
    need(atomic_load(&moved) <= atomic_load(&ended));
    need(rn_scope_close(outside) == 0);
}

int
work_move(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 20; i++)
        some_movers(&prng);
    return 0;
}

/* ---- held by other OS threads ------------------------------------------- */

struct visitor {
    uint64_t seed;
    rn_scope_handle *handle;
    pthread_t thread;
    int spawned;
    _Atomic int *ran;
};

static int
visit(void *arg)
{
    _Atomic int *ran = arg;
    rn_yield();
    atomic_fetch_add(ran, 1);
    tick();
    return 0;
}

static int
visit_scope(void *arg)
{
    struct visitor *v = arg;
    uint64_t prng = v->seed;
    for (int i = below(&prng, 30); i > 0; i--) {
        int e = rn_scope_handle_go(v->handle, visit, (void *)v->ran);
        need(e == 0 || e == -ECANCELED);
        v->spawned += e == 0;
        if (below(&prng, 4) == 0)
            sched_yield();
    }
    rn_scope_handle_release(v->handle);
    return 0;
}

static void *
visitor_main(void *arg)
{
    visit_scope(arg);
    return NULL;
}

static int
join_thread(void *arg)
{
    return pthread_join(*(pthread_t *)arg, NULL);
}

static int
visit_blocking(void *arg)
{
    rn_shield shield = rn_shield_push();
    need(rn_blocking(visit_scope, arg, RN_NEVER, NULL) == 0);
    rn_shield_restore(shield);
    return 0;
}

static void
one_visit(uint64_t *prng)
{
    enum { VISITORS = 3 };
    struct visitor visitors[VISITORS];
    struct canceller c = {.seed = rn__prng_next(prng)};
    _Atomic int ran = 0;
    rn_scope *outside;
    rn_task canceller;
    bool cancels = below(prng, 3) == 0;
    int spawned = 0, threads = 1 + below(prng, VISITORS);
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    need(rn_scope_open(RN_NEVER, &c.scope) == 0);
    for (int i = 0; i < VISITORS; i++) {
        struct visitor *v = &visitors[i];
        *v = (struct visitor){.seed = rn__prng_next(prng), .ran = &ran};
        need(rn_scope_hold(c.scope, &v->handle) == 0);
        if (i < threads)
            need(!pthread_create(&v->thread, NULL, visitor_main, v));
        else
            need(rn_go(outside, visit_blocking, v) == 0);
    }
    rn_shield shield = rn_shield_push();
    if (cancels) {
        need(!rn_task_spawn(outside, cancel_later, &c, NULL, &canceller));
        need(rn_task_join(canceller, RN_NEVER, NULL) == 0);
    }
    rn_shield_restore(shield);
    int e = rn_scope_close(c.scope);
    for (int i = 0; i < threads; i++)
        need(rn_blocking(join_thread, &visitors[i].thread, RN_NEVER, NULL) ==
             0);
    need(rn_scope_close(outside) == 0);
    for (int i = 0; i < VISITORS; i++)
        spawned += visitors[i].spawned;
    need(e == 0 || (cancels && e == -ECANCELED));
    need(cancels ? atomic_load(&ran) <= spawned : atomic_load(&ran) == spawned);
}

int
work_hold(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 8; i++)
        one_visit(&prng);
    return 0;
}
