/* tasks.c - soak work of tasks: trees, once and waitgroups, deep stacks,
 * sleeps, ping-pong, blocking calls, hogs.
 */
#include "soak.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* ---- a tree of joins ---------------------------------------------------- */

/* arg: the depth. Returns the number of leaves below. */
static int
node(void *arg)
{
    long depth = (long)arg;
    rn_task left, right;
    rn_scope *scope;
    int a = 0, b = 0;
    tick();
    if (depth == 0)
        return 1;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    need(!rn_task_spawn(scope, node, (void *)(depth - 1), NULL, &left));
    need(!rn_task_spawn(scope, node, (void *)(depth - 1), NULL, &right));
    int error = rn_task_join(right, RN_NOW, &b);
    need(error == 0 || error == -EAGAIN);
    need(error == 0 || rn_task_join(right, RN_NEVER, &b) == 0);
    need(rn_task_join(left, RN_NEVER, &a) == 0);
    need(rn_task_join(left, RN_NEVER, &a) == -ESRCH);
    need(rn_scope_close(scope) == 0);
    return a + b;
}

int
work_tree(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    long depth = 1 + below(&prng, 9);
    need(node((void *)depth) == 1 << depth);
    return 0;
}

/* ---- once and waitgroup ------------------------------------------------- */

struct onces {
    rn_once once;
    rn_waitgroup group;
    int value; /* written by the once */
    _Atomic int seen;
};

static void
set_value(void *arg)
{
    struct onces *o = arg;
    o->value++;
    rn_yield();
}

static int
call_once(void *arg)
{
    struct onces *o = arg;
    int error = rn_once_do(&o->once, set_value, o, RN_NOW);
    need(error == 0 || error == -EAGAIN);
    while (error == -ETIMEDOUT || error == -EAGAIN)
        error = rn_once_do(&o->once, set_value, o, rn_after(20000));
    need(error == 0 && o->value == 1);
    atomic_fetch_add(&o->seen, 1);
    rn_waitgroup_done(&o->group);
    tick();
    return 0;
}

int
work_once(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int round = 0; round < 20; round++) {
        struct onces o = {.once = RN_ONCE_INIT, .group = RN_WAITGROUP_INIT};
        int count = 1 + below(&prng, 12);
        rn_waitgroup_add(&o.group, count);
        for (int i = 0; i < count; i++)
            need(rn_go(scope, call_once, &o) == 0);
        int error = rn_waitgroup_wait(&o.group, RN_NOW);
        need(error == 0 || error == -EAGAIN);
        need(error == 0 || rn_waitgroup_wait(&o.group, RN_NEVER) == 0);
        need(atomic_load(&o.seen) == count && o.value == 1);
    }
    return rn_scope_close(scope);
}

/* ---- deep stacks -------------------------------------------------------- */

static unsigned __attribute__((noinline)) dig(int depth, unsigned salt)
{
    volatile unsigned frame[32];
    for (unsigned i = 0; i < 32; i++)
        frame[i] = salt + i;
    if (depth % 16 == 0)
        rn_yield();
    unsigned sum = depth > 0 ? dig(depth - 1, salt * 3 + 1) : 0;
    for (unsigned i = 0; i < 32; i++)
        need(frame[i] == salt + i);
    return sum + 1;
}

static int
digger(void *arg)
{
    enum { DEPTH = 80 }; /* some 20 KiB; more with sanitizers */
    need(dig(DEPTH, (unsigned)(uintptr_t)arg) == DEPTH + 1);
    tick();
    return 0;
}

int
work_deep(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 10 + below(&prng, 40); i > 0; i--)
        need(rn_go(scope, digger, (void *)(uintptr_t)(i * 7919)) == 0);
    return rn_scope_close(scope);
}

/* ---- sleeps ------------------------------------------------------------- */

static int
sleeper(void *arg)
{
    uint64_t prng = (uintptr_t)arg;
    for (int i = 0; i < 10; i++) {
        rn_time before = rn_now(), span = below(&prng, 300) * RN_US;
        need(rn_sleep(span) == 0);
        need(rn_now() - before >= span);
        tick();
    }
    return 0;
}

int
work_sleep(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 1 + below(&prng, 60); i > 0; i--)
        need(rn_go(scope, sleeper, (void *)(uintptr_t)rn__prng_next(&prng)) ==
             0);
    return rn_scope_close(scope);
}

/* ---- ping-pong ---------------------------------------------------------- */

struct table {
    rn_chan *ping, *pong;
};

static int
echo(void *arg)
{
    struct table *t = arg;
    int ball;
    while (rn_chan_recv(t->ping, &ball, RN_NEVER) == 0) {
        ball++;
        need(rn_chan_send(t->pong, &ball, RN_NEVER) == 0);
    }
    return 0;
}

int
work_pingpong(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *scope;
    struct table t;
    int count = 100 + below(&prng, 2000), ball = 0;
    need(rn_chan_new(sizeof ball, 0, &t.ping) == 0);
    need(rn_chan_new(sizeof ball, (size_t)below(&prng, 2), &t.pong) == 0);
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    need(rn_go(scope, echo, &t) == 0);
    for (int i = 0; i < count; i++) {
        need(rn_chan_send(t.ping, &ball, RN_NEVER) == 0);
        need(rn_chan_recv(t.pong, &ball, RN_NEVER) == 0);
        tick();
    }
    need(ball == count);
    rn_chan_close(t.ping);
    need(rn_scope_close(scope) == 0);
    rn_chan_unref(t.ping);
    rn_chan_unref(t.pong);
    return 0;
}

/* ---- blocking calls ----------------------------------------------------- */

static int
blocks(void *arg)
{
    _Atomic int *count = arg;
    sched_yield();
    return atomic_fetch_add(count, 1);
}

static int
caller(void *arg)
{
    struct onces *o = arg;
    for (int i = 0; i < 10; i++) {
        rn_time deadlines[] = {rn_after(i * 10 * RN_US), RN_NOW, RN_NEVER};
        static const int errors[] = {-ETIMEDOUT, -EAGAIN, 1};
        int result = -1;
        int error = rn_blocking(blocks, &o->seen, deadlines[i % 3], &result);
        if (error == errors[i % 3]) {
            need(result == -1);
            error = rn_blocking(blocks, &o->seen, RN_NEVER, &result);
        }
        need(error == 0 && result >= 0);
        rn_waitgroup_done(&o->group);
        tick();
    }
    return 0;
}

int
work_blocking(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    struct onces o = {.group = RN_WAITGROUP_INIT};
    int count = 1 + below(&prng, 8);
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    rn_waitgroup_add(&o.group, 10 * count);
    for (int i = 0; i < count; i++)
        need(rn_go(scope, caller, &o) == 0);
    need(rn_waitgroup_wait(&o.group, RN_NEVER) == 0);
    need(atomic_load(&o.seen) == 10 * count);
    return rn_scope_close(scope);
}

/* ---- tasks behind one that computes ------------------------------------- */

static int
count_behind(void *arg)
{
    tick();
    return atomic_fetch_add((_Atomic int *)arg, 1) < 0;
}

static int
sleep_behind(void *arg)
{
    need(rn_sleep(RN_MS) == 0);
    return count_behind(arg);
}

/* For 20 to 50 ms, with tasks and timers queued behind it. */
static void
compute(uint64_t *prng)
{
    _Atomic int count = 0;
    int behind = 1 + below(prng, 20);
    rn_scope *inner;
    need(rn_scope_open(RN_NEVER, &inner) == 0);
    for (int i = 0; i < behind; i++)
        need(rn_go(inner, below(prng, 4) ? count_behind : sleep_behind,
                   (void *)&count) == 0);
    rn_time end = rn_now() + (20 + below(prng, 31)) * RN_MS;
    while (rn_now() < end)
        ;
    need(rn_scope_close(inner) == 0);
    need(atomic_load(&count) == behind);
}

static int
hog(void *arg)
{
    uint64_t prng = (uintptr_t)arg;
    for (int i = 1 + below(&prng, 3); i > 0; i--)
        compute(&prng);
    return 0;
}

int
work_hog(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 1 + below(&prng, 3); i > 0; i--)
        need(rn_go(scope, hog, (void *)(uintptr_t)rn__prng_next(&prng)) == 0);
    return rn_scope_close(scope);
}
