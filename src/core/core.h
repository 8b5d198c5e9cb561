/* core/core.h - the runtime's insides, shared by the folders above core.
 *
 * GLOSSARY
 *   task     a function with a stack, or one that has not started yet
 *   stack    stack memory with a context made on it; runs task after task
 *   worker   an OS thread that runs tasks
 *   runtime  (rt) all of one rn_run: workers, tasks, timers, root scope
 *   context  what has cancels and values, but no tasks: a node among scopes
 *   wait     a task's being blocked: registered with objects, then parked
 *   waiter   one registration of a wait with one object
 *   claim    to win the right to end a wait; exactly one does
 *   fire     to make a claimed task go on
 *   env      the environment of a world; NULL stands for the real one
 *   step     the announcement of a visible operation, before it happens
 *
 * LOCK ORDER, outer to inner:
 *   task.lock -> rt.cancel_lock -> scope.lock -> timers.lock -> chan.lock ->
 *   rt.lock, rt.idle_lock;
 *   timers.lock of the old home -> of the new one, which is only tried;
 *   select: all its task.locks, then all its chan.locks, future locks and
 *   scope.watch_locks, each in address order. A cancel takes a watch_lock under
 *   task.lock and rt.cancel_lock, a timer a chan.lock under timers.lock;
 *   variables of a transaction: in any order, and whoever has one waits for
 *   none; nothing is locked inside;
 *   The lock of a context is a scope.lock; nobody holds two of these.
 *   No lock is held across a task switch or a call of user code.
 */
#ifndef RN_CORE_H
#define RN_CORE_H

#include "base/list.h"
#include "base/lock.h"
#include "core/event.h"
#include "core/monitor.h"
#include "core/outside.h"
#include "core/runq.h"
#include "core/timers.h"
#include "os/os.h"

#include <errno.h>
#include <runnel/context.h>
#include <runnel/finalizer.h>
#include <runnel/report.h>
#include <runnel/run.h>
#include <runnel/scope.h>
#include <runnel/shield.h>
#include <runnel/task.h>

/* The call site of the public function it stands in. */
#define rn__site() __builtin_return_address(0)

struct rn__rt;
struct rn__task;
struct rn__worker;

/* ---- objects and steps -------------------------------------------------- */

/* First member of everything a step can be about. Numbered in the order of
 * first touch within a run, so numbers are the same from run to run. */
struct rn__object {
    uint64_t id;             /* epoch << 32 | number; 0: not numbered yet */
    _Atomic uint64_t holder; /* handle of the task that must act for it to
                                become free (a mutex's owner); 0: nobody in
                                particular. Relaxed: own writes, and reads
                                for reports */
};

/* A world other than the real one. All are called on the only OS thread. */
struct rn__env {
    /* Announce an operation of task; may switch to others before it returns. */
    void (*step)(struct rn__rt *rt, enum rn__kind kind,
                 struct rn__object *object, const void *site);
    /* Record something that is no operation. */
    void (*note)(struct rn__rt *rt, enum rn__kind kind, uint32_t object,
                 const void *site);
    uint32_t (*number)(struct rn__rt *rt, struct rn__object *object);
    uint32_t (*choose)(struct rn__rt *rt, uint32_t n);
    bool (*mishap)(struct rn__rt *rt, int mishap, struct rn__object *object,
                   const void *site); /* mishap.h */
    /* Task can go on. */
    void (*ready)(struct rn__rt *rt, struct rn__task *task);
    /* Whom to run next; NULL: the run is over, enter the idle context. */
    struct rn__task *(*next)(struct rn__rt *rt);
    rn_time (*now)(struct rn__rt *rt);
    void *(*alloc)(struct rn__rt *rt, size_t bytes);
    void (*free)(struct rn__rt *rt, void *memory);
    /* A panic: does not return. */
    void (*fail)(struct rn__rt *rt, const char *text, const void *site);
    /* A fatal signal, on the signal stack; the process dies after it. */
    void (*crash)(struct rn__rt *rt, int signal, const char *text);
};

/* How many runtimes of this process have an env (or delays, see rn__perturb).
 * While it is 0 a step costs one load and a branch. */
extern _Atomic uint32_t rn__env_count;

void rn__step_slow(enum rn__kind kind, struct rn__object *object,
                   const void *site);

/* Announce an operation, before it happens. object may be NULL. */
static inline void
rn__step(enum rn__kind kind, struct rn__object *object, const void *site)
{
    /* relaxed: a runtime raises it before its tasks exist */
    if (rn__unlikely(
            atomic_load_explicit(&rn__env_count, memory_order_relaxed)))
        rn__step_slow(kind, object, site);
}

#include "core/mishap.h"
#include "core/step.h"

/* A moment between two parts of an operation: with RUNNEL_DELAYS set, wait for
 * a random while here, so that rare orders of workers become common. */
void rn__perturb_slow(void);

static inline void
rn__perturb(void)
{
    if (rn__unlikely(
            atomic_load_explicit(&rn__env_count, memory_order_relaxed)))
        rn__perturb_slow();
}

void rn__note_slow(enum rn__kind kind, struct rn__object *object,
                   const void *site);

/* Record what is no operation (an arm of a select). */
static inline void
rn__note(enum rn__kind kind, struct rn__object *object, const void *site)
{
    if (rn__unlikely(
            atomic_load_explicit(&rn__env_count, memory_order_relaxed)))
        rn__note_slow(kind, object, site);
}

/* A free decision among 0 .. n-1, n > 0. */
uint32_t rn__choose(uint32_t n);

/* ---- waits (wait.h) ----------------------------------------------------- */

/* One registration of a wait; lives on the waiting task's stack. */
struct rn__waiter {
    struct rn__list link;  /* in an object's queue; guarded by its lock */
    struct rn__task *task; /* who waits */
    void *slot;            /* value to take or place for one; or NULL */
    int arm;               /* what the wait returns when fired through it */
    struct rn__waiter *sibling; /* next one of the same wait with the same
                                   object, in a circle; NULL: the only one */
};

/* What a task waits for, for dumps. Written by the task itself, read by
 * anybody at any time, so relaxed atomics. */
struct rn__waitinfo {
    _Atomic uint32_t kind;               /* enum rn__kind; NONE: not waiting */
    uint32_t arm_count;                  /* below; of a retry: variables read */
    _Atomic(struct rn__object *) object; /* NULL: none */
    _Atomic(const void *) site;
    _Atomic rn_time since;     /* coarse: worker's clock */
    const struct rn_arm *arms; /* of a select; valid while it waits, for who
                                  looks while the world stands still */
};

/* ---- tasks -------------------------------------------------------------- */

/* Whether a live task runs, is ready or waits is not stored: rn__task_waits and
 * the workers' current tasks tell. */
enum rn__task_state {
    RN__TASK_FREE,
    RN__TASK_LIVE,
    RN__TASK_MOVED, /* the same, in another scope than it was spawned into */
    RN__TASK_ENDED, /* kept for a join */
    RN__TASK_OPENED = 128 /* beside these: outer is set; home->lock */
};

/* What a task is to its home; own use. */
enum {
    RN__HOME_LISTED = 1,  /* in home->tasks, and in no transaction */
    RN__HOME_KEEP = 2,    /* to be kept for a join */
    RN__HOME_COUNTED = 4, /* home wants to know how it ends */
    RN__HOME_FAILED = 8,  /* its failure has been noted already */
    RN__HOME_BEGINS = 16, /* it has not, but will even if home is cancelled */
    RN__HOME_ITEM = 32,   /* it is in an item (par/) that has not waited yet */
    RN__HOME_LATE = 64,   /* it waited before it began (after.c) */
    RN__HOME_PLACED = 128 /* home wants to know when it leaves */
};

/* Stack memory with a context made on it; sits at the top of that memory. */
struct rn__stack {
    struct rn__ctx ctx;
    _Atomic bool away;      /* ctx is saved: may be entered (sched.c) */
    bool ended;             /* its task has; it is being left for good */
    bool watched;           /* it may have a canary */
    struct rn__task *task;  /* whom it runs or is to run */
    struct rn__stack *next; /* in a free list */
    void *low;              /* as rn__stack_get gave it */
};

/* A task. Records are never given back to the allocator while the runtime
 * lives, so a stale pointer or handle can be told by its generation. Ordered by
 * use: a task that is spawned, runs and ends touches the first two lines. */
struct rn__task {
    struct rn__object object; /* numbered by the runtime, 1 is main */
    struct rn__rt *rt;        /* always the same */
    struct rn__stack *stack;  /* NULL until it first runs */
    struct rn_scope *scope;   /* innermost; own use and cancel's */
    struct rn__task *next;    /* in a free list, injected, starved, or claimed
                                 and to be fired */
    _Atomic uint32_t wait;    /* wait.c: the state of its wait */
    int wait_result;          /* written by the claimer, before firing */
    int wait_status;          /* 0 or -EPIPE, likewise */
    uint32_t slot;            /* place in the task table; always the same */

    union { /* before it begins, and after */
        rn_task_fn *fn;
        struct rn_scope *outer; /* if state has OPENED: the outermost it has
                                   opened, to which a cancel of the task goes
                                   on; home->lock */
    };
    union {
        void *arg;
        struct {
            uint32_t shield_top;  /* number of the last push in force, if any
                                     is; own use */
            uint32_t shield_last; /* number of the last push; own use */
        };
    };
    struct rn_scope *home;   /* spawned into */
    struct rn__list sibling; /* in home->tasks or ->ended; home->lock */
    struct rn__lock lock;    /* of a known task: generation, ended, joiners */
    _Atomic uint32_t generation;
    int result;
    _Atomic uint32_t told;   /* why it alone is cancelled; 0: it is not */
    _Atomic uint8_t state;   /* enum rn__task_state; a hint for dumps */
    bool known;              /* somebody has its handle */
    bool ended;              /* guarded by lock */
    _Atomic uint8_t touched; /* enum below */
    uint8_t at_home;         /* RN__HOME_...; own use */
    bool in_tx;              /* it runs a transaction's body; own use */
    uint16_t atomic_depth;   /* simulator: not preempted */
    uint32_t shields;        /* pushed now, times RN__SHIELD; own use */
    uint32_t index;          /* in order of spawn, if COUNTED */

    struct rn__waitinfo info;
    struct rn__list joiners; /* guarded by lock */

    union {
        struct rn__timer timer; /* of its wait */
        struct rn_tx *tx;       /* if in_tx; own use */
    };
    struct rn__defer *defers;    /* last first */
    _Atomic(const char *) name;  /* NULL: "task" */
    const void *spawn_site;      /* stored and, by dumps, read atomically */
    struct rn__carrier *carrier; /* of the innermost operator it runs items of;
                                    NULL: none */
};

/* task->touched: what an operator (par/) looks at after each item. Relaxed: own
 * use, but for CALLED. */
enum {
    RN__TOUCHED = 1, /* it has opened a scope, pushed a shield, deferred a call,
                        since this was last reset */
    RN__CALLED = 2   /* another carrier has nothing to do; may get lost */
};

static inline void
rn__task_touch(struct rn__task *self)
{
    uint8_t now = atomic_load_explicit(&self->touched, memory_order_relaxed);
    atomic_store_explicit(&self->touched, now | RN__TOUCHED,
                          memory_order_relaxed);
}

/* What core knows of a task that runs items of an operator (par/): whom to tell
 * when an item is about to wait for the first time, and what its failures are
 * noted as. */
struct rn__carrier {
    void (*suspend)(struct rn__carrier *carrier);
    struct rn__carrier *outer; /* the item this operator was called in */
    struct rn_scope *scope;    /* of the operator */
    size_t item;               /* that is ending */
    bool suspended;            /* the item has waited */
};

/* The calling task is about to wait, or to yield, and RN__HOME_ITEM is set:
 * tell all its carriers that do not know. It is not to be preempted: no step.
 */
void rn__carriers_suspend(struct rn__task *self);

static inline rn_task
rn__task_handle(const struct rn__task *task)
{
    uint32_t generation =
        atomic_load_explicit(&task->generation, memory_order_relaxed);
    rn_task handle = {(uint64_t)generation << 32 | (task->slot + 1)};
    return handle;
}

static inline const char *
rn__task_name(const struct rn__task *task)
{
    const char *name = atomic_load_explicit(&task->name, memory_order_relaxed);
    return name ? name : "task";
}

static inline uint32_t
rn__task_number(const struct rn__task *task)
{
    return (uint32_t)task->object.id;
}

/* The record a handle once named, maybe another's by now; NULL: never. */
struct rn__task *rn__task_record(struct rn__rt *rt, uint64_t id);
/* Under its lock: whether the handle still names it. */
bool rn__task_is(const struct rn__task *task, uint64_t id);
/* The record a handle names, locked; NULL if it is gone. */
struct rn__task *rn__task_find(struct rn__rt *rt, uint64_t id);
/* Take the result of an ended, locked task; frees the record and unlocks. */
int rn__task_consume(struct rn__task *task);

/* The body of every stack: runs tasks until the runtime ends. */
void rn__task_run(struct rn__task *task);
struct rn__task *rn__task_make(rn_task_fn *fn, void *arg, const void *site);
void rn__task_free(struct rn__task *task);
/* rn_go into a scope; also where no task runs. */
int rn__task_go(struct rn_scope *scope, rn_task_fn *fn, void *arg,
                const void *site);
/* No other thread posts any more (hold.c). */
void rn__hold_end(struct rn__rt *rt);
/* Walk all records in use; racy unless the world stands still. */
void rn__task_each(struct rn__rt *rt,
                   void (*fn)(struct rn__task *task, void *arg), void *arg);
/* Print all tasks. still: nothing runs meanwhile, so stacks may be walked and
 * what waits name may be looked at. */
void rn__dump(struct rn__rt *rt, bool still, FILE *out);
/* Print what a waiting task waits for, as "to receive from chan#3". */
void rn__dump_wait(struct rn__rt *rt, const struct rn__task *task, bool still,
                   FILE *out);
/* Print an object, as "chan#3" or, without a number, "chan 0x5581...". */
void rn__dump_object(struct rn__rt *rt, enum rn__kind kind,
                     const struct rn__object *object, FILE *out);
/* The return addresses on a parked task's stack, innermost first; only while
 * the world stands still, from a worker's idle context. */
int rn__task_backtrace(struct rn__task *task, void **frames, int max);

/* Task can go on: queue it (sched.c). */
void rn__sched_ready(struct rn__task *task);
/* The same for a task that any worker should take at once: wakes one. */
void rn__sched_offer(struct rn__task *task);
/* Leave the calling task; it has opened a wait. */
void rn__sched_park(struct rn__task *self);

#include "core/scope.h"
#include "core/wait.h"
#include "core/context.h"

/* ---- scheduler ---------------------------------------------------------- */

/* ns of queued work that are worth waking a sleeping worker for, or worth a
 * robbery by one that is awake (sched.c, PACE). */
enum { RN__WAKE_WORTH = 50000, RN__ROB_WORTH = 20000 };

/* ns that it costs to move a task to another worker: some cache lines of its
 * record and of what it works on. One that has waited may run often there; one
 * that has not begun, and is shorter than this, is better run where it is. */
enum { RN__MOVE_COST = 1000 };

struct rn__counters {
    _Atomic uint64_t tasks, ended, unheard, deferred, finalized, switches,
        parks, wakes, steals, sleeps, timers, timers_late_max,
        timers_late_total,
        passes; /* a task yielded, and nothing else was ready */
};

/* Two cache lines, as they are fetched in pairs: what different threads write
 * all the time lies no nearer. */
#define RN__LINE 128

/* How long a worker's tasks run between switches, and what follows from that
 * (sched.c, PACE). */
struct rn__worker_pace {
    _Atomic uint32_t rounds; /* left until the next look at clock and global
                                queue */
    uint32_t given;          /* rounds between the last look and the next */
    uint32_t wake_at;        /* queued tasks that are worth a wake-up, of those
                                that others may take */
    _Atomic uint32_t ns;     /* about what a task runs; relaxed, a guess */
    rn_time measured;        /* ns at the last look */
    uint64_t ran;            /* tasks that had run by then */
};

struct rn__worker {
    _Alignas(RN__LINE) struct rn__rt *rt;
    _Atomic(struct rn__task *) current; /* who runs; NULL in the idle context;
                                           relaxed: own use, and dumps */
    struct rn__stack *left;             /* whom we have just left; NULL: come
                                           to poke */
    struct rn__worker_pace pace;
    uint32_t slot_run;       /* times in a row the slot was taken */
    uint32_t fresh_run;      /* takes since something fresh was taken */
    uint32_t fresh_deep;     /* newest ones taken since the oldest was */
    uint64_t timers_seen;    /* that had expired when it last lay down as the
                                last one */
    void (*poke)(void *arg); /* to be called on the stack that is entered */
    void *poke_arg;
    struct rn__task *heir;   /* ready, runs when the one that ends has ended */
    struct rn__task *handed; /* to run once another worker has left it */
    rn_time clock;           /* last reading of the clock */
    uint64_t prng;
    struct rn__stack *stacks; /* free, hottest first */
    uint32_t stack_count;
    struct rn__task *records;       /* free task records */
    struct rn__task *spare_records; /* as many as fit in a magazine, or none */
    uint32_t record_count;
    uint32_t scope_count;
    uint32_t block_count;
    struct rn_scope *scopes; /* free, by work_next; real world only */
    void *blocks; /* memory of freed rn_timers, each points to the next */
    struct rn_scope *contexts; /* memory of freed ones, by work_next */
    uint32_t context_count;
    _Atomic uint32_t wake;        /* futex: 0 while it sleeps or is about to */
    bool searching;               /* counted in rt->searching */
    struct rn__inside *inside;    /* of its thread; rt->idle_lock */
    struct rn__worker *idle_next; /* in rt->sleepers; rt->idle_lock */
    bool asleep;                  /* is in rt->sleepers; rt->idle_lock */
    struct rn__timers timers;     /* started here */
    int helped;                   /* whose timers it looked at last */
    struct rn__runq queue;
    struct rn__counters count;
    struct rn__stack idle; /* the worker's own stack */
    struct rn__thread thread;
    _Atomic uintptr_t os_thread; /* of the idle context; 0: not yet */
    _Atomic bool stuck; /* its task has not yielded for a while: others may
                           take what is in the slot; relaxed, a hint */
    int index;
};

/* Slab k of the task table holds FIRST << k records. */
enum { RN__SLAB_FIRST = 16, RN__SLABS = 26 };

struct rn__rt {
    const struct rn__env *env; /* NULL: the real world */
    void *env_state;
    uint32_t epoch;        /* of object numbers */
    uint32_t objects;      /* numbers given (env) */
    uint32_t task_numbers; /* the same for tasks (env) */
    rn_time step_deadline; /* of the step being announced (env); RN_NEVER */
    rn_options options;
    struct rn__stackpool pool;
    struct rn_scope root;
    struct rn__lock cancel_lock;          /* one cancel at a time (scope.c) */
    _Atomic(struct rn__task *) main_task; /* NULL once it has ended */
    int main_result;
    _Atomic bool main_ended; /* the main function has returned */
    _Atomic bool stop;       /* all is over: workers leave */
    bool deadlocked;         /* and that is why */
    bool delays;             /* RUNNEL_DELAYS is set */
    rn_time started;
    _Atomic uint64_t allocs; /* counted only with options.fail_alloc */

    struct rn__lock lock;                      /* the lists below */
    struct rn__task *injected, **injected_end; /* global queue, FIFO */
    _Atomic size_t injected_count;
    struct rn__task *starved; /* ready, but no memory for a stack */
    _Atomic size_t starved_count;
    struct rn__task *records; /* magazines of free task records */
    struct rn__stack *stacks; /* free stacks (spare.c) */
    size_t spare;             /* how many */
    size_t spare_least;       /* the fewest there were in this period, and of
                                 these what is not given back yet */
    _Atomic rn_time trim_at;  /* the period ends; RN_NEVER: none are spare.
                                 Relaxed: a hint outside the lock */
    _Atomic(struct rn__task *) slabs[RN__SLABS];
    _Atomic uint32_t carved; /* records handed out of slabs so far */

    struct rn__lock idle_lock; /* by rn__lock_hard */
    int awake;                 /* workers that may use other locks; idle_lock */
    bool windows;              /* a worker may be alone (base/atomic.h) */
    struct rn__worker *sleepers;
    _Atomic uint32_t asleep;
    _Atomic uint32_t searching;
    struct rn__monitor monitor;

    _Atomic(struct rn__outside *) outside; /* posted, last first */
    _Atomic uint32_t outside_due;          /* expected, not arrived yet */
    _Atomic uint32_t posting;        /* other threads that post (hold.c) */
    _Atomic uint32_t watching;       /* workers that spin for what is posted */
    _Atomic uint32_t spin_misses;    /* of watching, in a row; outside.h */
    _Atomic(struct rn__annex *) stm; /* transactions; set under lock. NULL: no
                                        transaction yet */
    bool may_spin;                   /* there is more than one CPU */
    _Atomic(struct rn__annex *) blocking; /* the blocking pool; set under
                                             lock. NULL: no call yet */
    struct rn__task *lender; /* env: current is NULL because a blocking call
                                runs on this one's stack */

    int worker_count;
    struct rn__worker *workers;
};

/* The worker of the calling OS thread; NULL on a foreign one. */
static inline struct rn__worker *
rn__worker_self(void)
{
    return rn__os_self();
}

/* Whether others may take its tasks that have not begun. */
static inline bool
rn__moves_fresh(const struct rn__worker *worker)
{
    return atomic_load_explicit(&worker->pace.ns, memory_order_relaxed) >=
           RN__MOVE_COST;
}

static inline struct rn__task *
rn__current(const struct rn__worker *worker)
{
    return atomic_load_explicit(&worker->current, memory_order_relaxed);
}

/* The runtime that runs here; NULL outside one. */
static inline struct rn__rt *
rn__rt_self(void)
{
    struct rn__worker *worker = rn__worker_self();
    return worker ? worker->rt : NULL;
}

/* The task that runs here; NULL outside one. */
static inline struct rn__task *
rn__self(void)
{
    struct rn__worker *worker = rn__worker_self();
    return rn__likely(worker) ? rn__current(worker) : NULL;
}

/* The task whose stack this runs on, even if it is lent to a blocking call. */
static inline struct rn__task *
rn__self_or_lender(void)
{
    struct rn__task *self = rn__self();
    struct rn__rt *rt = rn__rt_self();
    return self || !rt ? self : rt->lender;
}

/* The panic of a public function called outside a task. */
_Noreturn void rn__outside(const char *function, const void *site);

/* The task that runs here, for a public function that needs one. */
__attribute__((always_inline)) static inline struct rn__task *
rn__self_in(const char *function)
{
    struct rn__task *self = rn__self();
    if (rn__unlikely(!self))
        rn__outside(function, rn__site());
    return self;
}

/* The worker of the calling task, for a public function that needs one and
 * does not wait. */
__attribute__((always_inline)) static inline struct rn__worker *
rn__worker_in(const char *function)
{
    struct rn__worker *worker = rn__worker_self();
    if (rn__unlikely(!worker || !rn__current(worker)))
        rn__outside(function, rn__site());
    return worker;
}

#define rn__count(worker, what)                                                \
    atomic_store_explicit(                                                     \
        &(worker)->count.what,                                                 \
        atomic_load_explicit(&(worker)->count.what, memory_order_relaxed) + 1, \
        memory_order_relaxed)

/* Leave the calling task, but stay ready. */
void rn__sched_yield(struct rn__task *self);
/* An env: leave the calling task for next, or for the idle context if NULL.
 * Whether it is ready or never goes on is the env's business. */
void rn__sched_switch(struct rn__task *self, struct rn__task *next);
/* The task of this stack has ended: returns with another to run on it. */
void rn__sched_end(struct rn__stack *stack);
/* From a worker's idle context: run task until the worker has none. */
void rn__sched_enter(struct rn__worker *worker, struct rn__task *task);
/* First thing on a stack that was switched to. */
void rn__sched_arrived(void);
/* Queue tasks on this worker, which is the caller's. */
void rn__sched_adopt(struct rn__worker *worker, struct rn__task **tasks,
                     uint32_t count);
/* Measure the pace since the last look, at worker->clock. */
void rn__sched_measure(struct rn__worker *worker, rn_time now);
/* Between its switches a task runs about pace ns. */
void rn__sched_set_pace(struct rn__worker *worker, rn_time pace);
/* Run fn(arg) on a parked task's stack; only while the world stands still. */
void rn__sched_poke(struct rn__task *task, void (*fn)(void *), void *arg);
/* Find work for a worker that has none (worker.c); NULL: rt->stop. */
struct rn__task *rn__worker_find(struct rn__worker *worker);
struct rn__task *rn__sched_local(struct rn__worker *worker);
/* A ready task that had no memory for a stack; NULL: none. */
struct rn__task *rn__sched_starved(struct rn__rt *rt);
/* The same, once there is a stack for it; NULL: none, or still no memory. */
struct rn__task *rn__sched_feed(struct rn__worker *worker);
/* The calling thread is this worker from here on, and awake. */
void rn__worker_begin(struct rn__worker *worker);
/* It is none any more. */
void rn__worker_end(struct rn__worker *worker);
/* Make all workers leave. */
void rn__worker_stop_all(struct rn__rt *rt);
void rn__worker_wake_one(struct rn__rt *rt);
/* The last one lies down until a timer at next: until when it may sleep, as
 * many have expired since it last did. */
rn_time rn__worker_slack(struct rn__worker *worker, rn_time next);
/* The same for any OS thread: without a lock. */
void rn__worker_wake_from_outside(struct rn__rt *rt);
/* A free stack whose context waits for a task (or was never entered). */
struct rn__stack *rn__stack_take(struct rn__worker *worker);
void rn__stack_give(struct rn__worker *worker, struct rn__stack *stack);
/* The same beyond what the worker keeps (spare.c). NULL: none is free. */
struct rn__stack *rn__spare_take(struct rn__rt *rt);
void rn__spare_give(struct rn__worker *worker, struct rn__stack *stack);
/* A busy worker has read the clock: give back a few stacks if it is time. */
void rn__spare_trim(struct rn__worker *worker);
/* A worker without work has: give back more. Returns whether to call it again
 * after a look for work. */
bool rn__spare_trim_idle(struct rn__worker *worker);
/* Forget what an abandoned task left on its stack; then it is free again. */
int rn__stack_reset(struct rn__stack *stack);

/* ---- runtime ------------------------------------------------------------ */

/* Prepare a zeroed runtime whose workers and pool are set; for both worlds. */
void rn__rt_init(struct rn__rt *rt, const rn_options *options,
                 const struct rn__env *env, void *env_state);
void rn__rt_fini(struct rn__rt *rt);
/* Make the root scope and the main task, ready to run. 0 or -ENOMEM. */
int rn__rt_main(struct rn__rt *rt, rn_task_fn *fn, void *arg);
/* Fill in what is 0 from the environment variables and the machine. 0 or
 * -EINVAL, said on standard error. */
int rn__options_resolve(rn_options *options);
/* RUNNEL_STATS; NULL: no statistics are wanted. */
const char *rn__options_stats(void);
/* Choose the switch for this process and a pool of stacks. 0 or a negative
 * errno, said on standard error. */
int rn__options_apply(const rn_options *options, struct rn__stackpool *pool);
/* Run it for real on the calling thread and others. */
int rn__rt_run_real(const rn_options *options, rn_task_fn *fn, void *arg);
/* A run is over: each task has ended, each deferred call was made. */
void rn__rt_check_counts(const struct rn__rt *rt);
void rn__rt_stats(struct rn__rt *rt, rn_stats *stats);
rn_time rn__rt_now(struct rn__rt *rt);

/* Memory by the rules of the world; zeroed. NULL: out of memory, or the turn
 * of options.fail_alloc. rt NULL: the caller's, or plain memory outside. */
void *rn__alloc(struct rn__rt *rt, size_t bytes);
void rn__free(struct rn__rt *rt, void *memory);
/* Set by a world that is left for good while its memory stays: whether memory
 * is its own, which nobody need free. */
extern bool (*rn__free_outside)(void *memory);

/* ---- panics ------------------------------------------------------------- */

/* rn_panic with the call site of the public function that was misused. */
_Noreturn void rn__panic_at(const void *site, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A public function's argument that must not be NULL. */
#define rn__need(argument, function, site) \
    (rn__likely((argument) != NULL)        \
         ? (void)0                         \
         : rn__panic_at((site), "%s: " #argument " is NULL", (function)))
/* Cheap checks that are always on; a failure is our own bug. */
#define rn__assert(condition)                                                \
    ((condition) ? (void)0                                                   \
                 : rn__panic_at(rn__site(), "internal: %s:%d: %s", __FILE__, \
                                __LINE__, #condition))
/* Says what a fault in a task means, if it is ours to say. */
bool rn__report_fault(const struct rn__fault *fault);
/* Print frames, symbols looked up, without the runtime's own: starting at the
 * frame that called it (from, a call site; NULL: unknown), and without what is
 * below a task's function. */
void rn__print_frames(void *const *frames, int count, const void *from,
                      FILE *out);

#endif
