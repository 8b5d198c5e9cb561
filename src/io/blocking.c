/* io/blocking.c - the calling side of the blocking pool (io/pool.h).
 *
 * A cancel or a deadline only wakes the task. Under the lock it sees whether
 * its call is still in the queue, and takes it out, or has begun, and then
 * waits again for its end, through everything. So whether a call runs is
 * decided under one lock.
 *
 * Refused: a limit to the queue. Each call in it is a waiting task, which costs
 * more than its place in the queue, and who would rather not wait says so by
 * the deadline.
 */
#include <runnel/blocking.h>

#include "io/pool.h"

#include <string.h>

/* ---- the pool ----------------------------------------------------------- */

static void
read_stats(const struct rn__pool *pool, rn_blocking_stats *stats)
{
    *stats = pool->stats;
    stats->calls = atomic_load_explicit(&pool->calls, memory_order_relaxed);
    stats->queue_ns =
        atomic_load_explicit(&pool->queue_ns, memory_order_relaxed);
    stats->queue_ns_longest =
        atomic_load_explicit(&pool->longest, memory_order_relaxed);
    stats->threads = atomic_load_explicit(&pool->threads, memory_order_relaxed);
}

static void
print(const struct rn__annex *annex, bool json, FILE *out)
{
    rn_blocking_stats s;
    read_stats((const struct rn__pool *)(const void *)annex, &s);
    const char *format =
        json ? ", \"blocking\": {\"calls\": %llu, \"gave_up\": %llu, "
               "\"queued_peak\": %llu, \"queue_ns\": %llu, "
               "\"queue_ns_longest\": %llu, \"threads_peak\": %llu}"
             : "runnel: blocking calls %llu, gave up in the queue %llu; most "
               "queued %llu; ns in the queue %llu, longest %llu; most threads "
               "%llu\n";
    fprintf(out, format, (unsigned long long)s.calls,
            (unsigned long long)s.gave_up, (unsigned long long)s.queued_peak,
            (unsigned long long)s.queue_ns,
            (unsigned long long)s.queue_ns_longest,
            (unsigned long long)s.threads_peak);
}

static struct rn__pool *
find_pool(struct rn__rt *rt)
{
    /* acquire: partners with the release in make_pool */
    return (struct rn__pool *)(void *)atomic_load_explicit(
        &rt->blocking, memory_order_acquire);
}

/* Another worker may make it at the same time: the first one counts. */
static struct rn__pool *
make_pool(struct rn__rt *rt)
{
    struct rn__pool *pool = rn__alloc(rt, sizeof *pool);
    if (!pool)
        return NULL;
    pool->annex.end = rn__pool_end;
    pool->annex.print = print;
    pool->rt = rt;
    rn__lock(&rt->lock);
    struct rn__pool *first = find_pool(rt);
    if (!first)
        atomic_store_explicit(&rt->blocking, &pool->annex,
                              memory_order_release);
    rn__unlock(&rt->lock);
    if (first)
        rn__free(rt, pool);
    return first ? first : pool;
}

/* ---- the calling task --------------------------------------------------- */

/* By a worker: a call has ended, or could not be run. */
static void
arrive(struct rn__outside *item)
{
    struct rn__call *call = (struct rn__call *)(void *)item;
    struct rn__pool *pool = call->pool;
    struct rn__task *task = call->task;
    rn__pool_lock(pool);
    call->state = RN__CALL_DONE;
    /* Fails if the task has not opened its wait yet, or if a cancel or a
     * deadline has woken it: it looks at state before it waits again. */
    bool claimed = rn__wait_claim(task, 0, false);
    rn__pool_unlock(pool); /* unless claimed, the call may be gone */
    if (claimed)
        rn__fire(task);
}

static void
take_all(struct rn__pool *pool, struct rn__list *calls)
{
    struct rn__call *call;
    while ((call = rn__pool_take(pool)))
        rn__list_append(calls, &call->link);
}

/* No thread is left to take these calls. */
static void
fail_all(struct rn__pool *pool, struct rn__list *calls, int error)
{
    struct rn__list *node;
    while ((node = rn__list_pop(calls))) {
        struct rn__call *call = rn__container_of(node, struct rn__call, link);
        call->error = error;
        rn__outside_call_off(pool->rt);
        arrive(&call->outside);
    }
}

/* Start one more thread, which is counted already, for this call; NULL: for the
 * queue, where the caller's is. Without a thread the call is queued if it may
 * wait for another one. */
static int
grow(struct rn__pool *pool, struct rn__call *call, bool now)
{
    struct rn__list lost;
    rn__perturb();
    int error = rn__pool_start(pool, call);
    if (!error)
        return 0;
    rn__list_init(&lost);
    rn__pool_lock(pool);
    /* relaxed: under the lock */
    uint32_t left =
        atomic_fetch_sub_explicit(&pool->threads, 1, memory_order_relaxed) - 1;
    struct rn__pool_thread *thread = call ? rn__pool_idle(pool) : NULL;
    bool wake = thread && rn__pool_give(pool, thread, call);
    bool wait = call && !thread && left > 0 && !now;
    if (wait)
        rn__pool_queue(pool, call);
    if (left == 0)
        take_all(pool, &lost);
    rn__pool_unlock(pool);
    if (wake)
        rn__os_wake(&thread->word, 1);
    fail_all(pool, &lost, error);
    return !call || thread || wait ? 0 : error;
}

/* Give the call to a thread, or queue it. */
static int
submit(struct rn__pool *pool, struct rn__call *call, bool now)
{
    uint32_t most = (uint32_t)pool->rt->options.blocking_threads;
    rn__pool_lock(pool);
    struct rn__pool_thread *thread = rn__pool_idle(pool);
    if (thread) {
        bool wake = rn__pool_give(pool, thread, call);
        rn__pool_unlock(pool);
        if (wake)
            rn__os_wake(&thread->word, 1);
        return 0;
    }
    uint32_t threads =
        atomic_load_explicit(&pool->threads, memory_order_relaxed);
    bool more = threads < most, first = rn__list_empty(&pool->queue);
    if (now && !(more && first)) {
        rn__pool_unlock(pool);
        return -EAGAIN;
    }
    if (more) {
        atomic_store_explicit(&pool->threads, ++threads, memory_order_relaxed);
        if (threads > pool->stats.threads_peak)
            pool->stats.threads_peak = threads;
    }
    if (more && first)
        call->state = RN__CALL_RUNS;
    else
        rn__pool_queue(pool, call);
    rn__pool_unlock(pool);
    return more ? grow(pool, first ? call : NULL, now) : 0;
}

/* Take it out of the queue, after the wait was ended early. */
static bool
give_up(struct rn__pool *pool, struct rn__call *call)
{
    rn__pool_lock(pool);
    bool queued = call->state == RN__CALL_QUEUED;
    if (queued) {
        rn__pool_unqueue(pool, call);
        pool->stats.gave_up++;
    }
    rn__pool_unlock(pool);
    return queued;
}

/* Wait until it is done, or until it gives up in the queue. */
static int
await(struct rn__pool *pool, struct rn__call *call, rn_time deadline)
{
    struct rn__task *self = call->task;
    for (;;) {
        rn__perturb();
        rn__pool_lock(pool);
        bool ends_early = call->state == RN__CALL_QUEUED && deadline != RN_NOW;
        bool done = call->state == RN__CALL_DONE;
        if (!done)
            rn__wait_open(self, RN__BLOCKING, NULL, call->site, ends_early);
        rn__pool_unlock(pool);
        if (done)
            return call->error;
        int error = rn__wait_park(self, ends_early ? deadline : RN_NEVER);
        if (error == 0)
            return call->error;
        if (give_up(pool, call)) {
            rn__outside_call_off(pool->rt);
            return error;
        }
    }
}

static int
run_on_thread(struct rn__pool *pool, struct rn__call *call, rn_time deadline)
{
    rn__outside_expect(pool->rt);
    int error = submit(pool, call, deadline == RN_NOW);
    if (!error)
        return await(pool, call, deadline);
    rn__outside_call_off(pool->rt);
    return error;
}

/* Simulated: on this very stack, but not as a task. */
static int
run_here(struct rn__pool *pool, struct rn__call *call)
{
    struct rn__rt *rt = pool->rt;
    struct rn__worker *worker = rn__worker_self();
    atomic_fetch_add_explicit(&pool->calls, 1, memory_order_relaxed);
    atomic_store_explicit(&worker->current, NULL, memory_order_relaxed);
    rt->lender = call->task;
    call->result = call->fn(call->arg);
    rt->lender = NULL;
    atomic_store_explicit(&worker->current, call->task, memory_order_relaxed);
    rn__step(RN__BLOCKING_END, NULL, call->site);
    return 0;
}

int
rn_blocking(int (*fn)(void *arg), void *arg, rn_time deadline, int *result)
{
    struct rn__task *self = rn__self_in("rn_blocking");
    const void *site = rn__site();
    rn__need(fn, "rn_blocking", site);
    rn__step(RN__BLOCKING, NULL, site);
    int error = deadline == RN_NOW ? 0 : rn__cancel_check(self);
    if (error)
        return error;
    struct rn__pool *pool = find_pool(self->rt);
    if (!pool && !(pool = make_pool(self->rt)))
        return -ENOMEM;
    struct rn__call call = {.outside.arrive = arrive,
                            .pool = pool,
                            .task = self,
                            .site = site,
                            .fn = fn,
                            .arg = arg,
                            .since = rn__rt_now(self->rt)};
    error = self->rt->env ? run_here(pool, &call)
                          : run_on_thread(pool, &call, deadline);
    if (error == 0 && result)
        *result = call.result;
    return error;
}

void
rn_blocking_stats_get(rn_blocking_stats *stats)
{
    struct rn__task *self = rn__self_in("rn_blocking_stats_get");
    rn__need(stats, "rn_blocking_stats_get", rn__site());
    struct rn__pool *pool = find_pool(self->rt);
    memset(stats, 0, sizeof *stats);
    if (!pool)
        return;
    rn__pool_lock(pool);
    read_stats(pool, stats);
    rn__pool_unlock(pool);
}
