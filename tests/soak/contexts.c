/* contexts.c - soak work of contexts: trees that several tasks cancel at once,
 * with waits, scopes and calls that end with them.
 */
#include "soak.h"

#include <errno.h>

enum { NODES = 14, TASKS = 4 };
enum kind { PLAIN, VALUE, MERGED, UNCANCELLED, KINDS };

static const char keys[3];

/* One context of the tree, made from those before it. */
struct node {
    rn_context *ctx;
    enum kind kind;
    int parent, second; /* -1: the background */
    int key;            /* of a value */
    rn_time deadline;
    _Atomic int dropped;
};

struct wood {
    struct node nodes[NODES];
    int count;
    uint64_t seed;
    _Atomic int next;
};

static void
drop_value(void *value)
{
    need(atomic_fetch_add(&((struct node *)value)->dropped, 1) == 0);
}

static rn_context *
at(const struct wood *w, int i)
{
    return i < 0 ? RN_CONTEXT_BACKGROUND : w->nodes[i].ctx;
}

static rn_time
earliest(const struct wood *w, int i)
{
    if (i < 0)
        return RN_NEVER;
    const struct node *n = &w->nodes[i];
    if (n->kind == UNCANCELLED)
        return RN_NEVER;
    rn_time first = n->deadline, other = earliest(w, n->parent);
    if (other < first)
        first = other;
    if (n->kind == MERGED && (other = earliest(w, n->second)) < first)
        first = other;
    return first;
}

static const struct node *
value_of(const struct wood *w, int i, int key)
{
    for (; i >= 0; i = w->nodes[i].parent)
        if (w->nodes[i].kind == VALUE && w->nodes[i].key == key)
            return &w->nodes[i];
    return NULL;
}

/* Whether a cancel of node a must be seen in node i. */
static bool
is_below(const struct wood *w, int i, int a)
{
    if (i < 0 || i == a)
        return i == a;
    const struct node *n = &w->nodes[i];
    return n->kind != UNCANCELLED &&
           (is_below(w, n->parent, a) ||
            (n->kind == MERGED && is_below(w, n->second, a)));
}

static void
plant(struct wood *w, uint64_t *prng)
{
    int i = w->count++;
    struct node *n = &w->nodes[i];
    n->kind = below(prng, KINDS + 2) % KINDS;
    n->parent = below(prng, i + 1) - 1;
    n->second = below(prng, i + 1) - 1;
    n->key = below(prng, 3);
    n->deadline = RN_NEVER;
    rn_context *parents[] = {at(w, n->parent), at(w, n->second)};
    if (n->kind == PLAIN) {
        if (below(prng, 4) == 0)
            n->deadline = rn_after(below(prng, 300) * RN_US);
        need(!rn_context_new(parents[0], n->deadline, &n->ctx));
    } else if (n->kind == VALUE) {
        need(!rn_context_with_value(parents[0], &keys[n->key], n, drop_value,
                                    &n->ctx));
    } else if (n->kind == MERGED) {
        need(!rn_context_merge(parents, 2, &n->ctx));
    } else {
        need(!rn_context_without_cancel(parents[0], &n->ctx));
    }
    need(rn_context_deadline(n->ctx) == earliest(w, i));
    for (int key = 0; key < 3; key++)
        need(rn_context_value(n->ctx, &keys[key]) == value_of(w, i, key));
}

/* What is said of one that is cancelled: always the same. */
static int
check_cause(const struct wood *w, int i)
{
    int status = rn_context_status(w->nodes[i].ctx);
    int cause = rn_context_cause(w->nodes[i].ctx);
    need(status == 0 || status == -ECANCELED || status == -ETIMEDOUT);
    need(cause <= 0 && (status == 0 || cause < 0));
    bool given = cause <= -1000 && is_below(w, i, -1000 - cause);
    need(cause == 0 || cause == -ETIMEDOUT || given);
    need(status != -ETIMEDOUT || rn_now() >= earliest(w, i));
    return cause;
}

static void
cancel_one(struct wood *w, int i)
{
    rn_context_cancel(w->nodes[i].ctx, -1000 - i);
    for (int k = i; k < w->count; k++) {
        if (!is_below(w, k, i))
            continue;
        int cause = check_cause(w, k);
        need(cause < 0 && check_cause(w, k) == cause);
    }
}

/* ---- what tasks do with them -------------------------------------------- */

struct context_calls {
    _Atomic int called;
};

static int
note_call(void *arg)
{
    atomic_fetch_add(&((struct context_calls *)arg)->called, 1);
    return 0;
}

/* A call that is stopped, or begins when the context is cancelled. */
static void
call_once(struct wood *w, int i, uint64_t *prng)
{
    struct context_calls calls = {0};
    rn_context_call *call;
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    need(!rn_context_after(w->nodes[i].ctx, NULL, note_call, &calls, &call));
    need(dawdle(prng) == 0);
    if (below(prng, 2))
        cancel_one(w, i);
    int stopped = rn_context_call_stop(call);
    need(rn_scope_close(scope) == 0);
    need(atomic_load(&calls.called) + stopped == 1);
}

static int
sleep_long(void *arg)
{
    (void)arg;
    int e = rn_sleep(1000 * RN_SEC);
    need(e == -ECANCELED);
    return e;
}

/* A scope that ends with it. */
static void
scope_under(struct wood *w, int i, uint64_t *prng)
{
    rn_scope_options options = {.context = w->nodes[i].ctx};
    rn_scope *scope;
    rn_context *own;
    bool shields = below(prng, 2);
    rn_shield shield = {0};
    if (shields)
        shield = rn_shield_push();
    need(rn_scope_open_with(&options, &scope) == 0);
    need(rn_scope_context(scope, &own) == 0);
    rn_context_ref(own);
    for (int key = 0; key < 3; key++)
        need(rn_context_value(own, &keys[key]) == value_of(w, i, key));
    int spawned = rn_go(scope, sleep_long, NULL);
    need(spawned == 0 || spawned == -ECANCELED);
    need(spawned == 0 || rn_context_status(w->nodes[i].ctx) < 0);
    if (below(prng, 2))
        cancel_one(w, i);
    else if (below(prng, 2))
        rn_context_cancel(own, -1000 - i);
    else
        rn_scope_cancel(scope);
    need(rn_yield() == -ECANCELED && rn_context_status(own) < 0);
    int e = rn_scope_close(scope);
    need(e == (spawned == 0 ? -ECANCELED : 0));
    need(rn_context_status(own) < 0);
    rn_context_unref(own);
    if (shields)
        rn_shield_restore(shield);
}

static void
wait_for(struct wood *w, int i, uint64_t *prng)
{
    rn_context *ctx = rn_context_ref(w->nodes[i].ctx);
    rn_time soon = rn_after(below(prng, 100) * RN_US);
    if (below(prng, 2)) {
        int e = rn_context_wait(ctx, soon);
        need(e == -ETIMEDOUT || (e == 0 && check_cause(w, i) < 0));
    } else {
        rn_arm arms[] = {RN_ARM_CONTEXT(ctx), RN_ARM_AT(soon)};
        int arm = rn_select(arms, 2, 0, RN_NEVER);
        need(arm == 1 || (arm == 0 && check_cause(w, i) < 0));
    }
    int e = rn_context_wait(ctx, RN_NOW);
    need(e == -EAGAIN || (e == 0 && rn_context_status(ctx) < 0));
    rn_context_unref(ctx);
}

/* A branch of its own, cancelled from above or not at all. */
static void
branch(struct wood *w, int i)
{
    rn_context *child, *grandchild;
    need(rn_context_new(w->nodes[i].ctx, RN_NEVER, &child) == 0);
    need(rn_context_new(child, RN_NEVER, &grandchild) == 0);
    rn_context_unref(child);
    need(rn_yield() == 0);
    int e = rn_context_status(grandchild);
    need(e == 0 || rn_context_status(w->nodes[i].ctx) < 0);
    rn_context_unref(grandchild);
}

static int
forester(void *arg)
{
    struct wood *w = arg;
    uint64_t prng =
        rn__mix64(w->seed + (uint64_t)atomic_fetch_add(&w->next, 1));
    for (int round = 0; round < 8; round++) {
        int i = below(&prng, w->count);
        need(dawdle(&prng) == 0);
        switch (below(&prng, 7)) {
        case 0:
            cancel_one(w, i);
            break;
        case 1:
            call_once(w, i, &prng);
            break;
        case 2:
            scope_under(w, i, &prng);
            break;
        case 3:
            branch(w, i);
            break;
        default:
            wait_for(w, i, &prng);
        }
        tick();
    }
    return 0;
}

/* In the end all are cancelled, and given up in either order. */
static void
one_wood(uint64_t *prng)
{
    struct wood w = {.seed = rn__prng_next(prng)};
    struct context_calls calls = {0};
    rn_context_call *pending[NODES];
    rn_scope *scope;
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 2 + below(prng, NODES - 1); i > 0; i--)
        plant(&w, prng);
    for (int i = 0; i < w.count; i++)
        need(!rn_context_after(w.nodes[i].ctx, NULL, note_call, &calls,
                               &pending[i]));
    for (int i = 1 + below(prng, TASKS); i > 0; i--)
        need(rn_go(scope, forester, &w) == 0);
    for (int i = 0; i < w.count; i++) {
        need(dawdle(prng) == 0);
        cancel_one(&w, i);
    }
    int stopped = 0;
    for (int i = 0; i < w.count; i++)
        stopped += rn_context_call_stop(pending[i]);
    need(stopped == 0);
    need(rn_scope_close(scope) == 0);
    need(atomic_load(&calls.called) == w.count);
    bool forth = below(prng, 2);
    for (int i = 0; i < w.count; i++)
        rn_context_unref(w.nodes[forth ? i : w.count - 1 - i].ctx);
    for (int i = 0; i < w.count; i++)
        need(atomic_load(&w.nodes[i].dropped) == (w.nodes[i].kind == VALUE));
}

int
work_context(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    for (int i = 0; i < 12; i++)
        one_wood(&prng);
    return 0;
}
