/* io/pool.c - the OS threads of the blocking pool.
 *
 * A thread becomes idle before it posts the end of its call, so that a task
 * that calls again finds it. Idle, it spins for a moment and then sleeps, once;
 * if nobody has given it a call by then it ends, and joins the one that ended
 * before it.
 */
#include "io/pool.h"

#define KEEP (5 * RN_SEC)

_Atomic rn_time rn__pool_keep = KEEP;

/* With RUNNEL_DELAYS, where threads and workers meet. */
static void
delay(const struct rn__pool_thread *thread)
{
    if (thread->pool->rt->delays && (rn__os_now() >> 4) % 4 == 0)
        rn__os_relax();
}

/* The next call, or NULL: the thread is idle, or given up. */
static struct rn__call *
next_call(struct rn__pool_thread *thread)
{
    struct rn__pool *pool = thread->pool;
    rn__pool_lock(pool);
    struct rn__call *call = rn__pool_take(pool);
    if (!call && !pool->stop) {
        atomic_store_explicit(&thread->word, RN__POOL_IDLE,
                              memory_order_relaxed);
        thread->next = rn__pool_idle(pool);
        atomic_store_explicit(&pool->idle, thread, memory_order_relaxed);
    } else if (!call) {
        thread->call = NULL;
        atomic_store_explicit(&thread->word, RN__POOL_GIVEN,
                              memory_order_relaxed);
    }
    rn__pool_unlock(pool);
    return call;
}

static void
count_call(struct rn__pool *pool, const struct rn__call *call)
{
    uint64_t waited = (uint64_t)(rn__os_now() - call->since);
    /* relaxed: statistics */
    uint64_t longest =
        atomic_load_explicit(&pool->longest, memory_order_relaxed);
    while (waited > longest && !atomic_compare_exchange_weak_explicit(
                                   &pool->longest, &longest, waited,
                                   memory_order_relaxed, memory_order_relaxed))
        ;
    atomic_fetch_add_explicit(&pool->queue_ns, waited, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->calls, 1, memory_order_relaxed);
}

/* Returns the next one, as next_call. */
static struct rn__call *
run_call(struct rn__pool_thread *thread, struct rn__call *call)
{
    struct rn__pool *pool = thread->pool;
    count_call(pool, call);
    call->result = call->fn(call->arg);
    delay(thread);
    struct rn__call *next = next_call(thread);
    delay(thread);
    rn__outside_post(pool->rt, &call->outside);
    return next;
}

static bool
given(struct rn__pool_thread *thread)
{
    /* acquire: partners with the release in give */
    return atomic_load_explicit(&thread->word, memory_order_acquire) ==
           RN__POOL_GIVEN;
}

/* Idle: wait for a call. On return the thread is given one, or is to end, or
 * has waited for its whole time. */
static void
doze(struct rn__pool_thread *thread)
{
    struct rn__pool *pool = thread->pool;
    uint32_t word = RN__POOL_IDLE;
    rn_time span = pool->rt->may_spin ? rn__spin_span(&pool->spin_misses) : 0;
    if (span) {
        rn_time end = rn__os_now() + span;
        /* relaxed: a hint; who is not on top is not given the next call */
        while (!given(thread) && rn__pool_idle(pool) == thread &&
               rn__os_now() < end)
            rn__cpu_pause();
    }
    rn__spin_learn(&pool->spin_misses, given(thread));
    delay(thread);
    /* acquire: as in given */
    if (!atomic_compare_exchange_strong_explicit(
            &thread->word, &word, RN__POOL_SLEEPS, memory_order_acquire,
            memory_order_acquire))
        return;
    rn_time end = rn__os_now() +
                  atomic_load_explicit(&rn__pool_keep, memory_order_relaxed);
    while (!given(thread) && rn__os_now() < end)
        rn__os_wait(&thread->word, RN__POOL_SLEEPS, end);
}

static void
leave_idle(struct rn__pool *pool, struct rn__pool_thread *thread)
{
    struct rn__pool_thread *above = rn__pool_idle(pool);
    if (above == thread) {
        atomic_store_explicit(&pool->idle, thread->next, memory_order_relaxed);
        return;
    }
    while (above->next != thread)
        above = above->next;
    above->next = thread->next;
}

/* After a doze: the call that was given, or NULL: the thread has signed off. */
static struct rn__call *
wake_up(struct rn__pool_thread *thread)
{
    struct rn__pool *pool = thread->pool;
    if (given(thread) && thread->call)
        return thread->call;
    /* Who joins it needs the whole of os. acquire: partners with the release
     * in start_thread. */
    while (!atomic_load_explicit(&thread->started, memory_order_acquire))
        rn__os_relax();
    rn__pool_lock(pool);
    if (!given(thread)) {
        leave_idle(pool, thread);
    } else if (thread->call) {
        rn__pool_unlock(pool);
        return thread->call;
    }
    struct rn__pool_thread *before = pool->ended;
    bool stop = pool->stop;
    pool->ended = thread;
    /* relaxed: under the lock; the futex is looked at again after the wake */
    atomic_fetch_sub_explicit(&pool->threads, 1, memory_order_relaxed);
    rn__pool_unlock(pool);
    if (stop)
        rn__os_wake(&pool->threads, 1);
    if (before) {
        rn__thread_join(&before->os);
        rn__free(pool->rt, before);
    }
    return NULL;
}

static void
serve(void *arg)
{
    struct rn__pool_thread *thread = arg;
    struct rn__call *call = thread->call ? thread->call : next_call(thread);
    do {
        while (call)
            call = run_call(thread, call);
        doze(thread);
        call = wake_up(thread);
    } while (call);
}

/* ---- start and end ------------------------------------------------------ */

int
rn__pool_start(struct rn__pool *pool, struct rn__call *call)
{
    struct rn__pool_thread *thread = rn__alloc(pool->rt, sizeof *thread);
    if (!thread)
        return -ENOMEM;
    thread->pool = pool;
    thread->call = call;
    int error = rn__thread_start(&thread->os, serve, thread);
    if (error) {
        rn__free(pool->rt, thread);
        return error;
    }
    /* release: os; partners with the acquire in wake_up. It may be gone after
     * this. */
    atomic_store_explicit(&thread->started, true, memory_order_release);
    return 0;
}

void
rn__pool_end(struct rn__annex *annex)
{
    struct rn__pool *pool = (struct rn__pool *)(void *)annex;
    uint32_t threads;
    rn__pool_lock(pool);
    pool->stop = true;
    struct rn__pool_thread *thread;
    while ((thread = rn__pool_idle(pool)))
        if (rn__pool_give(pool, thread, NULL))
            rn__os_wake(&thread->word, 1);
    rn__pool_unlock(pool);
    while ((threads =
                atomic_load_explicit(&pool->threads, memory_order_relaxed)) > 0)
        rn__os_wait(&pool->threads, threads, RN_NEVER);
    rn__pool_lock(pool);
    thread = pool->ended;
    rn__pool_unlock(pool);
    if (thread) {
        rn__thread_join(&thread->os);
        rn__free(pool->rt, thread);
    }
}
