/* io/pool.h - OS threads that run calls handed to them; the insides of
 * runnel/blocking.h.
 *
 * A call lies on its task's stack. It is QUEUED until a thread has it, RUNS,
 * and is DONE when a worker has let it arrive (core/outside.h).
 *
 * INVARIANT, under the lock: while a thread is idle no call is queued; while a
 * call is queued a thread runs another or is being started. The idle threads
 * are a stack: the last one to have worked is the next to work, so what is too
 * many sleeps long enough to end.
 *
 * The lock is taken by threads that are no workers, so it is not rn__lock
 * (base/atomic.h). Nothing is locked inside it; waits are opened and claimed
 * under it.
 */
#ifndef RN_POOL_H
#define RN_POOL_H

#include <runnel/blocking.h>

#include "core/core.h"

/* How long a thread without work stays. */
extern _Atomic rn_time rn__pool_keep;

enum rn__call_state { RN__CALL_QUEUED, RN__CALL_RUNS, RN__CALL_DONE };

struct rn__call {
    struct rn__outside outside; /* first: the same address */
    struct rn__list link;       /* in pool->queue; pool->lock */
    struct rn__pool *pool;
    struct rn__task *task; /* who waits */
    const void *site;
    int (*fn)(void *arg);
    void *arg;
    rn_time since;             /* when it was made */
    int result;                /* what fn returned */
    int error;                 /* why it could not be run; 0: it was */
    enum rn__call_state state; /* pool->lock */
};

/* word of a thread: IDLE, in the stack, awake; SLEEPS, the same on its futex;
 * GIVEN, out of the stack, with a call or with NULL: to end. */
enum { RN__POOL_IDLE, RN__POOL_SLEEPS, RN__POOL_GIVEN };

struct rn__pool_thread {
    struct rn__thread os;
    struct rn__pool *pool;
    struct rn__pool_thread *next; /* below it in the stack; pool->lock */
    struct rn__call *call;        /* to begin with, or written before GIVEN */
    _Atomic uint32_t word;        /* to GIVEN under pool->lock only */
    _Atomic bool started;         /* os has been filled in */
};

struct rn__pool {
    struct rn__annex annex; /* first: the same address */
    struct rn__rt *rt;
    _Atomic uint32_t lock; /* guards what follows */
    struct rn__list queue; /* calls, FIFO */
    /* The stack's top; without the lock only a hint, so relaxed. */
    _Atomic(struct rn__pool_thread *) idle;
    _Atomic uint32_t spin_misses;  /* of idle threads; core/outside.h */
    struct rn__pool_thread *ended; /* the last to end, not joined yet */
    _Atomic uint32_t threads;      /* being started or alive; a futex for the
                                      end; relaxed: written under the lock */
    bool stop;
    _Atomic uint64_t calls, queue_ns, longest; /* statistics, without the
                                                  lock; relaxed */
    rn_blocking_stats stats;                   /* the rest of them */
};

static inline void
rn__pool_lock(struct rn__pool *pool)
{
    enum { SPINS = 64 };
    /* acquire: partners with the release in unlock */
    for (int i = 0;
         atomic_exchange_explicit(&pool->lock, 1, memory_order_acquire); i++)
        if (i < SPINS)
            rn__cpu_pause();
        else
            rn__os_relax();
}

static inline void
rn__pool_unlock(struct rn__pool *pool)
{
    /* release: partners with the acquire in lock */
    atomic_store_explicit(&pool->lock, 0, memory_order_release);
}

/* ---- under the lock ----------------------------------------------------- */

static inline void
rn__pool_queue(struct rn__pool *pool, struct rn__call *call)
{
    call->state = RN__CALL_QUEUED;
    rn__list_append(&pool->queue, &call->link);
    if (++pool->stats.queued > pool->stats.queued_peak)
        pool->stats.queued_peak = pool->stats.queued;
}

static inline void
rn__pool_unqueue(struct rn__pool *pool, struct rn__call *call)
{
    rn__list_remove(&call->link);
    pool->stats.queued--;
}

static inline struct rn__call *
rn__pool_take(struct rn__pool *pool)
{
    if (rn__list_empty(&pool->queue))
        return NULL;
    struct rn__call *call =
        rn__container_of(pool->queue.next, struct rn__call, link);
    rn__pool_unqueue(pool, call);
    call->state = RN__CALL_RUNS;
    return call;
}

/* The thread that is to work next; NULL: none is idle. */
static inline struct rn__pool_thread *
rn__pool_idle(struct rn__pool *pool)
{
    return atomic_load_explicit(&pool->idle, memory_order_relaxed);
}

/* Take the idle thread and give it a call, or NULL. Returns whether its word
 * has to be woken, after the unlock (by then the thread may be gone). */
static inline bool
rn__pool_give(struct rn__pool *pool, struct rn__pool_thread *thread,
              struct rn__call *call)
{
    atomic_store_explicit(&pool->idle, thread->next, memory_order_relaxed);
    thread->call = call;
    if (call)
        call->state = RN__CALL_RUNS;
    /* release: the call; partners with the loads in doze */
    return atomic_exchange_explicit(&thread->word, RN__POOL_GIVEN,
                                    memory_order_acq_rel) == RN__POOL_SLEEPS;
}

/* ---- without the lock --------------------------------------------------- */

/* Start a thread, which is counted already, for a call; NULL: for the queue. 0
 * or -EAGAIN, -ENOMEM. */
int rn__pool_start(struct rn__pool *pool, struct rn__call *call);
/* No call is left: end all threads. */
void rn__pool_end(struct rn__annex *annex);

#endif
