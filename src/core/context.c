/* core/context.c - contexts: nodes of the tree of scopes without tasks.
 *
 * A context embeds a scope nobody spawns into, so that one algorithm cancels
 * both (cancel.c); it marks level by level, so chains may be of any depth.
 *
 * Life. A context has a reference to each one it was made from, so what is
 * above it, and its values, live as long as it does. It is in its parent's list
 * until it is freed, without a reference the other way: who is freed leaves the
 * list under the parent's lock, then waits for cancels that have pinned it. The
 * freed are taken apart one after the other, not by recursion.
 *
 * Under several. A node is right inside one other; what else cancels it, it
 * follows by an edge: a merged context its further parents, a scope the context
 * it is under. It is linked to the first as a scope is to its parent; only then
 * to the others, and if one of these is marked already it is cancelled like by
 * a stranger. So there is ever one that marks it.
 *
 * Scopes. The context of a scope is a node right inside it, made when somebody
 * first asks. The close of the scope takes it out, cancels it, and drops its
 * reference.
 *
 * Time. Only a deadline that is earlier than all timers above needs one of its
 * own. Of a scope, whose deadline may be moved, this takes no notice.
 *
 * Refused: a scope that lives as long as the references to its context; and
 * values as nodes that cannot be cancelled (two kinds for little gain).
 */
#include "core/core.h"

/* ---- memory ------------------------------------------------------------- */

enum { CONTEXTS_KEPT = 32 };

/* Only those without edges are kept. */
static rn_context *
take(struct rn__worker *worker, size_t edges)
{
    struct rn_scope *kept = worker->contexts;
    if (rn__likely(!edges && kept)) {
        worker->contexts = kept->work_next;
        worker->context_count--;
        return rn__container_of(kept, struct rn_context, node);
    }
    rn_context *c = rn__alloc(worker->rt, sizeof *c + edges * sizeof *c->edges);
    if (!c)
        return NULL;
    rn__scope_init(&c->node, NULL, NULL);
    rn__list_init(&c->followers);
    c->node.is_context = true;
    c->edge_count = (uint32_t)edges;
    return c;
}

static void
give(struct rn__worker *worker, rn_context *c)
{
    if (c->edge_count || worker->rt->env || rn__os_asan ||
        worker->context_count == CONTEXTS_KEPT) {
        rn__free(worker->rt, c);
        return;
    }
    c->node.work_next = worker->contexts;
    worker->contexts = &c->node;
    worker->context_count++;
}

void
rn__contexts_fini(struct rn__rt *rt)
{
    for (int i = 0; i < rt->worker_count; i++) {
        struct rn__worker *worker = &rt->workers[i];
        struct rn_scope *kept;
        while ((kept = worker->contexts)) {
            worker->contexts = kept->work_next;
            rn__free(rt, rn__container_of(kept, struct rn_context, node));
        }
    }
    rn_context *root = atomic_load(&rt->root.context);
    if (root && atomic_load(&root->refs) == 1)
        rn__free(rt, root);
}

/* ---- make and link ------------------------------------------------------ */

static rn_time
earlier(rn_time a, rn_time b)
{
    return a < b ? a : b;
}

static rn_context *
add_reference(rn_context *c)
{
    if (c)
        rn__add(&c->refs, 1);
    return c;
}

/* With one reference, not linked to anything. */
static rn_context *
make(struct rn__worker *worker, rn_context *parent, size_t edges)
{
    rn_context *c = take(worker, edges);
    if (!c)
        return NULL;
    /* Of one that was freed before, all lists are empty and the rest is set
     * before it is read. Relaxed: nobody else knows it. */
    atomic_store_explicit(&c->node.cancelled, 0, memory_order_relaxed);
    atomic_store_explicit(&c->node.expired, false, memory_order_relaxed);
    atomic_store_explicit(&c->refs, 1, memory_order_relaxed);
    rn__timer_init(&c->node.timer, rn__scope_expire);
    c->node.timed = c->of_scope = false;
    c->node.parent = c->scope = NULL;
    c->key = c->value = NULL;
    c->drop = NULL;
    c->parent = add_reference(parent);
    c->values = parent ? parent->values : NULL;
    c->deadline = c->sure = RN_NEVER;
    return c;
}

/* Put it right inside a scope or another context. */
static void
put_inside(rn_context *c, struct rn_scope *outer)
{
    c->node.parent = outer;
    rn__lock(&outer->lock);
    rn__list_append(&outer->inner, &c->node.in_parent);
    if (rn__scope_cancelled(outer))
        rn__scope_inherit_from(&c->node, outer);
    rn__unlock(&outer->lock);
}

static void
put_inside_parent(rn_context *c)
{
    if (!c->parent)
        return;
    c->deadline = c->parent->deadline;
    c->sure = c->parent->sure;
    put_inside(c, &c->parent->node);
}

/* Add an edge to what it leads from; it has the reference. */
static void
follow(struct rn__rt *rt, struct rn__edge *edge)
{
    struct rn_scope *from = &edge->from->node;
    rn__lock(&from->lock);
    rn__list_append(&edge->from->followers, &edge->link);
    rn__unlock(&from->lock);
    /* A cancel has marked it before it took the lock to look for edges. */
    if (rn__scope_cancelled(from))
        rn__scope_cancel_from(rt, edge->target, from);
}

static void
unfollow(struct rn__edge *edge)
{
    rn__lock(&edge->from->node.lock);
    rn__list_remove(&edge->link);
    rn__unlock(&edge->from->node.lock);
}

static void
start_timer(struct rn__worker *worker, rn_context *c, rn_time deadline)
{
    c->deadline = earlier(c->deadline, deadline);
    if (rn__scope_cancelled(&c->node))
        return;
    if (deadline <= rn__rt_now(worker->rt)) {
        rn__scope_cancel(worker->rt, &c->node, RN__CANCEL_DEADLINE);
        return;
    }
    if (deadline >= c->sure)
        return;
    c->sure = deadline;
    rn__timer_start(&worker->timers, &c->node.timer, deadline, 0);
    if (rn__scope_cancelled(&c->node)) /* who did may have been too early */
        rn__timer_stop(&c->node.timer);
}

static void
stop_timer(struct rn_scope *node)
{
    /* relaxed: who has started it hands it to us, or stops it himself */
    if (atomic_load_explicit(&node->timer.home, memory_order_relaxed))
        rn__timer_stop(&node->timer);
}

/* ---- the end ------------------------------------------------------------ */

static bool
drop_reference(rn_context *c)
{
    /* acquire, release: all uses by others come before the free */
    return rn__add(&c->refs, UINT32_MAX) == 0;
}

/* Nobody refers to it: leave what it is in. Then no cancel finds it. */
static void
leave_all(rn_context *c, const void *site)
{
    struct rn_scope *node = &c->node;
    stop_timer(node);
    if (node->parent) {
        rn__lock(&node->parent->lock);
        rn__list_remove(&node->in_parent);
        rn__unlock(&node->parent->lock);
    }
    for (uint32_t i = 0; i < c->edge_count; i++)
        if (c->edges[i].from)
            unfollow(&c->edges[i]);
    /* acquire: partners with rn__scope_unpin */
    while (atomic_load_explicit(&node->pins, memory_order_acquire) > 0)
        rn__os_relax();
    if (rn__unlikely(!rn__list_empty(&node->watchers)))
        rn__panic_at(site, "rn_context_unref frees a context a task waits for");
}

static void
bury(struct rn_scope **dead, rn_context *c, const void *site)
{
    if (!c || !drop_reference(c))
        return;
    leave_all(c, site);
    c->node.work_next = *dead;
    *dead = &c->node;
}

static void
unref(rn_context *ctx, const void *site)
{
    struct rn_scope *dead = NULL;
    bury(&dead, ctx, site);
    while (dead) {
        rn_context *c = rn__container_of(dead, struct rn_context, node);
        dead = c->node.work_next;
        if (c->drop)
            c->drop(c->value);
        for (uint32_t i = 0; i < c->edge_count; i++)
            bury(&dead, c->edges[i].from, site);
        bury(&dead, c->parent, site);
        give(rn__worker_self(), c);
    }
}

/* ---- cancel ------------------------------------------------------------- */

bool
rn__context_is_leaf(struct rn_scope *node)
{
    const rn_context *c = rn__container_of(node, struct rn_context, node);
    rn__lock(&node->lock);
    bool leaf = rn__list_empty(&node->inner) && rn__list_empty(&c->followers);
    rn__unlock(&node->lock);
    if (leaf)
        stop_timer(node);
    return leaf;
}

/* Under cancel_lock. */
void
rn__context_wake(struct rn_scope *node)
{
    rn_context *c = rn__container_of(node, struct rn_context, node);
    struct rn__task *calls = NULL;
    rn__lock(&node->lock);
    if (!rn__list_empty(&c->followers))
        calls = rn__context_take_calls(c);
    rn__unlock(&node->lock);
    stop_timer(node);
    rn__context_begin(calls);
}

/* The scope whose context it is, pinned; NULL: it is none, or it is closed. */
static struct rn_scope *
pin_scope(rn_context *c)
{
    if (!c->of_scope)
        return NULL;
    rn__lock(&c->node.lock);
    struct rn_scope *scope = c->scope;
    if (scope)
        rn__scope_pin(scope);
    rn__unlock(&c->node.lock);
    return scope;
}

/* ---- scopes ------------------------------------------------------------- */

/* Whether a cancel of the scope around it goes on to it (see link_below in
 * scope.c). */
static bool
is_linked(const struct rn_scope *scope)
{
    const struct rn_scope *outer = scope->parent;
    return outer && scope->shields == rn__shields_outside(outer, scope->owner);
}

/* The nearest context that the scope is under. Those around it are open. */
static rn_context *
context_around(const struct rn_scope *scope)
{
    while (scope && !scope->under)
        scope = scope->parent;
    return scope ? scope->under->from : NULL;
}

static void
take_deadlines(rn_context *c, const struct rn_scope *scope)
{
    for (bool linked = true; scope && linked; scope = scope->parent) {
        rn_time own =
            atomic_load_explicit(&scope->deadline, memory_order_relaxed);
        if (own != 0) /* that of the root was never set */
            c->deadline = earlier(c->deadline, own);
        if (scope->under) {
            c->deadline = earlier(c->deadline, scope->under->from->deadline);
            c->sure = earlier(c->sure, scope->under->from->sure);
        }
        linked = is_linked(scope);
    }
}

/* Make c that of the scope, unless another was faster; returns which one it
 * is. */
static rn_context *
settle(struct rn_scope *scope, rn_context *c)
{
    rn__lock(&scope->lock);
    rn_context *other =
        atomic_load_explicit(&scope->context, memory_order_relaxed);
    if (!other) {
        c->of_scope = true;
        c->scope = c->node.parent = scope;
        rn__list_append(&scope->inner, &c->node.in_parent);
        if (rn__scope_cancelled(scope))
            rn__scope_inherit_from(&c->node, scope);
        /* relaxed: for the close, which comes after all of this */
        atomic_fetch_or_explicit(&scope->pins, RN__SCOPE_CONTEXTS,
                                 memory_order_relaxed);
        /* release: partners with the acquire in context_of */
        atomic_store_explicit(&scope->context, c, memory_order_release);
    }
    rn__unlock(&scope->lock);
    return other ? other : c;
}

/* NULL: no memory. */
static rn_context *
context_of(struct rn_scope *scope, const void *site)
{
    /* acquire: partners with the release in settle */
    rn_context *c = atomic_load_explicit(&scope->context, memory_order_acquire);
    if (rn__likely(c != NULL))
        return c;
    rn_context *made = make(rn__worker_self(), context_around(scope), 0);
    if (!made)
        return NULL;
    take_deadlines(made, scope);
    c = settle(scope, made);
    if (c != made)
        unref(made, site);
    return c;
}

bool
rn__scope_under(struct rn_scope *scope, struct rn_context *context)
{
    struct rn__edge *edge = rn__alloc(NULL, sizeof *edge);
    if (!edge)
        return false;
    edge->from = add_reference(context);
    edge->target = scope;
    scope->under = edge;
    /* relaxed: nobody else knows it */
    atomic_store_explicit(&scope->pins, RN__SCOPE_CONTEXTS,
                          memory_order_relaxed);
    return true;
}

void
rn__scope_follow(struct rn_scope *scope)
{
    follow(rn__rt_self(), scope->under);
}

void
rn__scope_leave_contexts(struct rn_scope *scope)
{
    /* relaxed: it was set by a task of the scope, or by the caller */
    rn_context *own =
        atomic_load_explicit(&scope->context, memory_order_relaxed);
    if (scope->under)
        unfollow(scope->under);
    if (!own)
        return;
    rn__lock(&scope->lock);
    rn__list_remove(&own->node.in_parent);
    rn__unlock(&scope->lock);
    rn__lock(&own->node.lock);
    own->scope = NULL;
    own->node.parent = NULL;
    rn__unlock(&own->node.lock);
}

void
rn__scope_drop_contexts(struct rn_scope *scope)
{
    rn_context *own =
        atomic_load_explicit(&scope->context, memory_order_relaxed);
    if (own) {
        rn__scope_cancel_by(rn__rt_self(), &own->node, RN__CANCEL_PARENT,
                            -EPIPE, RN_INDEX_NONE);
        unref(own, NULL);
    }
    if (scope->under) {
        unref(scope->under->from, NULL);
        rn__free(NULL, scope->under);
    }
}

/* ---- public ------------------------------------------------------------- */

static struct rn__object *
object_of(const rn_context *ctx)
{
    return ctx ? &((rn_context *)(uintptr_t)ctx)->node.object : NULL;
}

int
rn_context_new(rn_context *parent, rn_time deadline, rn_context **ctx)
{
    rn__self_in("rn_context_new");
    const void *site = rn__site();
    rn__need(ctx, "rn_context_new", site);
    rn__step(RN__CONTEXT_NEW, object_of(parent), site);
    struct rn__worker *worker = rn__worker_self();
    rn_context *c = make(worker, parent, 0);
    if (!c)
        return -ENOMEM;
    put_inside_parent(c);
    if (deadline != RN_NEVER)
        start_timer(worker, c, deadline);
    *ctx = c;
    return 0;
}

int
rn_context_with_value(rn_context *parent, const void *key, void *value,
                      void (*drop)(void *value), rn_context **ctx)
{
    rn__self_in("rn_context_with_value");
    const void *site = rn__site();
    rn__need(key, "rn_context_with_value", site);
    rn__need(ctx, "rn_context_with_value", site);
    rn__step(RN__CONTEXT_NEW, object_of(parent), site);
    rn_context *c = make(rn__worker_self(), parent, 0);
    if (!c)
        return -ENOMEM;
    c->key = key;
    c->value = value;
    c->drop = drop;
    c->values = c;
    put_inside_parent(c);
    *ctx = c;
    return 0;
}

int
rn_context_without_cancel(rn_context *parent, rn_context **ctx)
{
    struct rn__worker *worker = rn__worker_in("rn_context_without_cancel");
    rn__need(ctx, "rn_context_without_cancel", rn__site());
    rn_context *c = make(worker, parent, 0);
    if (!c)
        return -ENOMEM;
    *ctx = c;
    return 0;
}

int
rn_context_merge(rn_context *const *parents, size_t count, rn_context **ctx)
{
    rn__self_in("rn_context_merge");
    const void *site = rn__site();
    rn__need(ctx, "rn_context_merge", site);
    if (count > 0)
        rn__need(parents, "rn_context_merge", site);
    if (count > UINT32_MAX)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        rn__step(RN__CONTEXT_NEW, object_of(parents[i]), site);
    struct rn__worker *worker = rn__worker_self();
    size_t more = count > 0 ? count - 1 : 0;
    rn_context *c = make(worker, count > 0 ? parents[0] : NULL, more);
    if (!c)
        return -ENOMEM;
    put_inside_parent(c);
    for (size_t i = 0; i < more; i++) {
        rn_context *from = add_reference(parents[i + 1]);
        c->edges[i].from = from;
        c->edges[i].target = &c->node;
        if (!from)
            continue;
        c->deadline = earlier(c->deadline, from->deadline);
        c->sure = earlier(c->sure, from->sure);
        follow(worker->rt, &c->edges[i]);
    }
    *ctx = c;
    return 0;
}

rn_context *
rn_context_ref(rn_context *ctx)
{
    rn__self_in("rn_context_ref");
    return add_reference(ctx);
}

void
rn_context_unref(rn_context *ctx)
{
    rn__self_in("rn_context_unref");
    unref(ctx, rn__site());
}

void
rn_context_cancel(rn_context *ctx, int cause)
{
    rn__self_in("rn_context_cancel");
    const void *site = rn__site();
    rn__need(ctx, "rn_context_cancel", site);
    if (cause > 0)
        rn__panic_at(site, "rn_context_cancel: the cause %d is not negative",
                     cause);
    rn__step(RN__CONTEXT_CANCEL, object_of(ctx), site);
    struct rn_scope *scope = pin_scope(ctx);
    rn__scope_cancel_by(rn__rt_self(), scope ? scope : &ctx->node,
                        RN__CANCEL_USER, cause ? cause : -ECANCELED,
                        RN_INDEX_NONE);
    if (scope)
        rn__scope_unpin(scope);
}

int
rn_context_status(const rn_context *ctx)
{
    rn__step(RN__CONTEXT_LOOK, object_of(ctx), rn__site());
    if (!ctx || !rn__scope_cancelled(&ctx->node))
        return 0;
    return ctx->node.timed ? -ETIMEDOUT : -ECANCELED;
}

int
rn_context_cause(const rn_context *ctx)
{
    rn__step(RN__CONTEXT_LOOK, object_of(ctx), rn__site());
    if (!ctx || !rn__scope_cancelled(&ctx->node))
        return 0;
    return ctx->node.code < 0 ? ctx->node.code : -ECANCELED;
}

rn_time
rn_context_deadline(const rn_context *ctx)
{
    return ctx ? ctx->deadline : RN_NEVER;
}

void *
rn_context_value(const rn_context *ctx, const void *key)
{
    rn__need(key, "rn_context_value", rn__site());
    const rn_context *at = ctx ? ctx->values : NULL;
    while (at && at->key != key)
        at = at->parent ? at->parent->values : NULL;
    return at ? at->value : NULL;
}

int
rn_context_wait(rn_context *ctx, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_context_wait");
    const void *site = rn__site();
    rn__step(RN__CONTEXT_WAIT, object_of(ctx), site);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    if (!ctx)
        return rn__wait_forever(self, RN__CONTEXT_WAIT, site, deadline);
    struct rn_scope *node = &ctx->node;
    rn__lock(&node->watch_lock);
    bool cancelled = rn__scope_cancelled(node);
    if (cancelled || deadline == RN_NOW) {
        rn__unlock(&node->watch_lock);
        return cancelled ? 0 : -EAGAIN;
    }
    struct rn__waitspec spec = {.kind = RN__CONTEXT_WAIT,
                                .object = &node->object,
                                .site = site,
                                .lock = &node->watch_lock,
                                .queue = &node->watchers};
    return rn__wait_here(self, &spec, deadline);
}

int
rn_scope_context(rn_scope *scope, rn_context **ctx)
{
    rn__self_in("rn_scope_context");
    const void *site = rn__site();
    rn__need(scope, "rn_scope_context", site);
    rn__need(ctx, "rn_scope_context", site);
    rn__step(RN__CONTEXT_OF, &scope->object, site);
    rn_context *c = context_of(scope, site);
    if (!c)
        return -ENOMEM;
    *ctx = c;
    return 0;
}

int
rn_context_current(rn_context **ctx)
{
    struct rn__task *self = rn__self_in("rn_context_current");
    const void *site = rn__site();
    rn__need(ctx, "rn_context_current", site);
    rn_context *c = context_of(self->scope, site);
    if (!c)
        return -ENOMEM;
    *ctx = c;
    return 0;
}
