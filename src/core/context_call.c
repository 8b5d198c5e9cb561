/* core/context_call.c - calls that a context begins when it is cancelled.
 *
 * All that can fail is done beforehand: the call has a task that was never
 * started, and a place in its scope, counted as a task is. Who takes the call
 * out of the list of its context, under that one's lock, has the task: the
 * cancel, which starts it in that place, or the stop, which gives both back. A
 * cancel does not look at the call afterwards, so the stop may free it.
 */
#include "core/core.h"

struct rn_context_call {
    struct rn__edge edge;
    struct rn__task *task; /* not begun, its home set; NULL: it was taken.
                              edge.from->node.lock */
};

/* Whoever has it next has its place, too. */
static struct rn__task *
take_task(struct rn_context_call *call)
{
    struct rn__task *task = call->task;
    call->task = NULL;
    rn__list_remove(&call->edge.link);
    if (task) /* relaxed: for dumps */
        atomic_fetch_sub_explicit(&task->home->calls, 1, memory_order_relaxed);
    return task;
}

struct rn__task *
rn__context_take_calls(struct rn_context *context)
{
    struct rn__task *first = NULL, **end = &first;
    struct rn__list *head = &context->followers;
    for (struct rn__list *link = head->next, *next; link != head; link = next) {
        struct rn__edge *edge = rn__container_of(link, struct rn__edge, link);
        next = link->next;
        if (edge->target)
            continue;
        struct rn__task *task =
            take_task(rn__container_of(edge, struct rn_context_call, edge));
        task->next = NULL;
        *end = task;
        end = &task->next;
    }
    return first;
}

void
rn__context_begin(struct rn__task *tasks)
{
    while (tasks) {
        struct rn__task *task = tasks;
        tasks = task->next;
        task->at_home = RN__HOME_BEGINS;
        rn__scope_admit(task->home, task);
        rn__count(rn__worker_self(), tasks);
        rn__sched_ready(task);
    }
}

/* Under the lock of its context, unless that is the background. */
static bool
wait_for_cancel(struct rn_context_call *call)
{
    rn_context *from = call->edge.from;
    if (!from)
        return true;
    rn__lock(&from->node.lock);
    /* A cancel that has marked it will come for the lock. */
    bool waits = !rn__scope_cancelled(&from->node);
    if (waits)
        rn__list_append(&from->followers, &call->edge.link);
    rn__unlock(&from->node.lock);
    return waits;
}

/* A place in the scope and a task for it: 0 or an error. */
static int
prepare(struct rn_context_call *call, rn_scope *scope, rn_task_fn *fn,
        void *arg, const void *site)
{
    call->task = rn__task_make(fn, arg, site);
    if (!call->task)
        return -ENOMEM;
    /* relaxed: for dumps */
    atomic_store_explicit(&call->task->name, NULL, memory_order_relaxed);
    call->task->home = scope;
    int error = rn__scope_reserve(scope);
    if (error)
        rn__task_free(call->task);
    else /* relaxed: for dumps */
        atomic_fetch_add_explicit(&scope->calls, 1, memory_order_relaxed);
    return error;
}

int
rn_context_after(rn_context *ctx, rn_scope *scope, rn_task_fn *fn, void *arg,
                 rn_context_call **call)
{
    struct rn__task *self = rn__self_in("rn_context_after");
    const void *site = rn__site();
    rn__need(fn, "rn_context_after", site);
    rn__need(call, "rn_context_after", site);
    rn__step(RN__CONTEXT_CALL, ctx ? &ctx->node.object : NULL, site);
    struct rn_context_call *c = rn__alloc(self->rt, sizeof *c);
    if (!c)
        return -ENOMEM;
    int error = prepare(c, scope ? scope : self->scope, fn, arg, site);
    if (error) {
        rn__free(self->rt, c);
        return error;
    }
    c->edge.from = rn_context_ref(ctx);
    if (!wait_for_cancel(c)) {
        struct rn__task *task = take_task(c);
        task->next = NULL;
        rn__context_begin(task);
    }
    *call = c;
    return 0;
}

int
rn_context_call_stop(rn_context_call *call)
{
    struct rn__task *self = rn__self_in("rn_context_call_stop");
    if (!call)
        return 0;
    rn_context *from = call->edge.from;
    rn__step(RN__CONTEXT_STOP, from ? &from->node.object : NULL, rn__site());
    if (from)
        rn__lock(&from->node.lock);
    struct rn__task *task = take_task(call);
    if (from)
        rn__unlock(&from->node.lock);
    if (task) {
        struct rn_scope *home = task->home;
        rn__task_free(task);
        struct rn__waiter *closer = rn__scope_give_back(self->rt, home);
        if (closer)
            rn__fire(closer->task);
    }
    rn_context_unref(from);
    rn__free(self->rt, call);
    return task != NULL;
}
