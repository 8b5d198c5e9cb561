/* sync/rwmutex.c - many readers or one writer, in phases.
 *
 * word: WRITER: a writer has it; WAITERS: a queue is not empty; QUEUE: somebody
 * is at the queues; the rest counts readers. The free lock is 0. Readers come
 * and go by one compare-and-swap while no other bit is set; with WAITERS only
 * under QUEUE. All is in one word so that the change that gives the lock up is
 * the last touch: whoever locks it next may free its memory.
 *
 * INVARIANT, under QUEUE, of waits that could be claimed: somebody waits only
 * if somebody else has the lock; a reader waits only behind a writer that has
 * it or waits. A writer whose wait has ended otherwise counts no more, and
 * looks after the readers behind it when it leaves the queue.
 *
 * Phases end on their own: the last reader lets one writer in, a writer lets
 * all readers in. (Brandenburg and Anderson, "Reader-writer synchronization for
 * shared-memory multiprocessor real-time systems", 2009: phase-fair.)
 *
 * Refused: a mutex with two conditions, which wakes tasks to wait again; and a
 * count of readers for each worker, which makes a lock of some hundred bytes.
 */
#include <runnel/rwmutex.h>

#include "core/core.h"
#include "sync/bitlock.h"

enum {
    WRITER = 1,
    WAITERS = 2,
    QUEUE = 4,
    READER = 8,
    FLAGS = WRITER | WAITERS | QUEUE,
};
#define FULL (UINT32_C(1) << 31) /* so many readers are a bug */

struct rwmutex {
    struct rn__object object; /* holder: the writer that has it */
    _Atomic uint32_t word;
    struct rn__list readers, writers; /* that wait; under QUEUE */
};

_Static_assert(sizeof(struct rwmutex) <= sizeof(rn_rwmutex),
               "rn_rwmutex is too small");

static struct rwmutex *
inner(rn_rwmutex *mutex)
{
    return (struct rwmutex *)(void *)mutex->rn__opaque;
}

static void
set_holder(struct rwmutex *m, const struct rn__task *task)
{
    atomic_store_explicit(&m->object.holder,
                          task ? rn__task_handle(task).id : 0,
                          memory_order_relaxed);
}

static bool
holds(struct rwmutex *m, const struct rn__task *self)
{
    return atomic_load_explicit(&m->object.holder, memory_order_relaxed) ==
           rn__task_handle(self).id;
}

/* ---- the queues --------------------------------------------------------- */

/* Take the queues; returns who has the lock. */
static uint32_t
lock_queue(struct rwmutex *m)
{
    return rn__bitlock(&m->word, QUEUE) & ~(uint32_t)WAITERS;
}

/* Give them back, and say who has the lock. */
static void
unlock_queue(struct rwmutex *m, uint32_t who)
{
    bool empty = rn__list_empty(&m->readers) && rn__list_empty(&m->writers);
    /* release: the queues for their next user, the data for the next owner */
    atomic_store_explicit(&m->word, who | (empty ? 0 : WAITERS),
                          memory_order_release);
}

/* Let all waiting readers have the lock; returns what they add to the word. */
static uint32_t
let_readers_in(struct rwmutex *m, struct rn__list *woken)
{
    struct rn__waiter *waiter;
    uint32_t readers = 0;
    while ((waiter = rn__wait_claim_first(&m->readers, 0))) {
        rn__list_append(woken, &waiter->link);
        readers += READER;
    }
    return readers;
}

static uint32_t
let_writer_in(struct rwmutex *m, struct rn__list *woken)
{
    struct rn__waiter *waiter = rn__wait_claim_first(&m->writers, 0);
    if (!waiter)
        return 0;
    set_holder(m, waiter->task);
    rn__list_append(woken, &waiter->link);
    return WRITER;
}

/* ---- lock --------------------------------------------------------------- */

static bool
try_read(struct rwmutex *m)
{
    /* acquire: partners with the release of a writer */
    return rn__add_unless(&m->word, READER, FLAGS | FULL);
}

static bool
try_write(struct rwmutex *m, struct rn__task *self)
{
    uint32_t free = 0;
    /* acquire: partners with the release of those that had it */
    if (!rn__cas(&m->word, &free, WRITER))
        return false;
    set_holder(m, self);
    return true;
}

/* What the word becomes if the lock can be had now; 0: it cannot. */
static uint32_t
with_reader(struct rwmutex *m, uint32_t who, const void *site)
{
    if (who & FULL) {
        unlock_queue(m, who);
        rn__panic_at(site, "an rwmutex has 2^28 readers");
    }
    return (who & WRITER) || rn__wait_any(&m->writers) ? 0 : who + READER;
}

static uint32_t
with_writer(struct rwmutex *m, uint32_t who, const struct rn__task *self)
{
    if (who)
        return 0;
    set_holder(m, self);
    return WRITER;
}

/* A wait has ended without the lock. If it was a writer's, those readers may
 * go on that only waited behind it. */
static void
give_up(struct rwmutex *m, struct rn__waiter *waiter)
{
    struct rn__list woken;
    rn__list_init(&woken);
    uint32_t who = lock_queue(m);
    rn__list_remove(&waiter->link);
    if (!(who & WRITER) && !rn__wait_any(&m->writers))
        who += let_readers_in(m, &woken);
    unlock_queue(m, who);
    rn__fire_all(&woken);
}

__attribute__((noinline)) static int
lock_slow(struct rwmutex *m, struct rn__task *self, enum rn__kind kind,
          rn_time deadline, const void *site)
{
    struct rn__waiter waiter;
    bool write = kind == RN__WLOCK;
    if (holds(m, self))
        rn__panic_at(site, "lock of an rwmutex the task holds for writing");
    uint32_t who = lock_queue(m);
    uint32_t mine =
        write ? with_writer(m, who, self) : with_reader(m, who, site);
    if (mine || deadline == RN_NOW) {
        unlock_queue(m, mine ? mine : who);
        return mine ? 0 : -EAGAIN;
    }
    rn__wait_open(self, kind, &m->object, site, true);
    rn__wait_add(write ? &m->writers : &m->readers, &waiter, self, 0, NULL);
    unlock_queue(m, who);
    int result = rn__wait_park(self, deadline);
    if (result < 0)
        give_up(m, &waiter);
    return result;
}

/* ---- unlock ------------------------------------------------------------- */

/* Out of line, so that who needs no queue saves no registers for it. */
__attribute__((noinline)) static void
read_unlock_slow(struct rwmutex *m, const void *site)
{
    struct rn__list woken;
    rn__list_init(&woken);
    uint32_t who = lock_queue(m);
    if (who < READER) {
        unlock_queue(m, who);
        rn__panic_at(site, "read unlock of an rwmutex nobody reads");
    }
    who -= READER;
    if (who == 0 && !(who = let_writer_in(m, &woken)))
        who = let_readers_in(m, &woken);
    unlock_queue(m, who);
    rn__fire_all(&woken);
}

__attribute__((noinline)) static void
end_writing_slow(struct rwmutex *m, uint32_t readers)
{
    struct rn__list woken;
    rn__list_init(&woken);
    lock_queue(m);
    uint32_t who = readers + let_readers_in(m, &woken);
    if (who == 0)
        who = let_writer_in(m, &woken);
    unlock_queue(m, who);
    rn__fire_all(&woken);
}

/* The writer goes; readers stay in its place, who may be its own. */
static void
end_writing(struct rwmutex *m, uint32_t readers)
{
    uint32_t writer = WRITER;
    set_holder(m, NULL);
    /* release: partners with the acquire of the next owner */
    if (!rn__cas(&m->word, &writer, readers))
        end_writing_slow(m, readers);
}

/* ---- public ------------------------------------------------------------- */

int
rn_rwmutex_read_lock(rn_rwmutex *mutex, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_rwmutex_read_lock");
    const void *site = rn__site();
    rn__need(mutex, "rn_rwmutex_read_lock", site);
    struct rwmutex *m = inner(mutex);
    rn__step_by(RN__RLOCK, &m->object, site, deadline);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    if (deadline == RN_NOW && rn__mishap(RN__MISHAP_TRY, &m->object, site))
        return -EAGAIN;
    if (rn__likely(try_read(m)))
        return 0;
    return lock_slow(m, self, RN__RLOCK, deadline, site);
}

void
rn_rwmutex_read_unlock(rn_rwmutex *mutex)
{
    rn__self_in("rn_rwmutex_read_unlock");
    const void *site = rn__site();
    rn__need(mutex, "rn_rwmutex_read_unlock", site);
    struct rwmutex *m = inner(mutex);
    rn__step(RN__RUNLOCK, &m->object, site);
    /* release: our reads, for the next writer. Without readers FULL is set. */
    if (rn__unlikely(!rn__add_unless(&m->word, 0u - READER, FLAGS | FULL)))
        read_unlock_slow(m, site);
}

int
rn_rwmutex_lock(rn_rwmutex *mutex, rn_time deadline)
{
    struct rn__task *self = rn__self_in("rn_rwmutex_lock");
    const void *site = rn__site();
    rn__need(mutex, "rn_rwmutex_lock", site);
    struct rwmutex *m = inner(mutex);
    rn__step_by(RN__WLOCK, &m->object, site, deadline);
    if (deadline != RN_NOW && rn__cancel_check(self))
        return -ECANCELED;
    if (deadline == RN_NOW && rn__mishap(RN__MISHAP_TRY, &m->object, site))
        return -EAGAIN;
    if (try_write(m, self))
        return 0;
    return lock_slow(m, self, RN__WLOCK, deadline, site);
}

void
rn_rwmutex_unlock(rn_rwmutex *mutex)
{
    struct rn__task *self = rn__self_in("rn_rwmutex_unlock");
    const void *site = rn__site();
    rn__need(mutex, "rn_rwmutex_unlock", site);
    struct rwmutex *m = inner(mutex);
    if (!holds(m, self))
        rn__panic_at(site, "unlock of an rwmutex the task does not hold");
    rn__step(RN__WUNLOCK, &m->object, site);
    end_writing(m, 0);
}

void
rn_rwmutex_downgrade(rn_rwmutex *mutex)
{
    struct rn__task *self = rn__self_in("rn_rwmutex_downgrade");
    const void *site = rn__site();
    rn__need(mutex, "rn_rwmutex_downgrade", site);
    struct rwmutex *m = inner(mutex);
    if (!holds(m, self))
        rn__panic_at(site, "downgrade of an rwmutex the task does not hold");
    rn__step(RN__DOWNGRADE, &m->object, site);
    end_writing(m, READER);
}
