/* sync/stm_commit.c - make the writes of a transaction happen, and wait for
 * somebody else's.
 *
 * A commit locks all it writes, moves the clock, looks again at what was read,
 * writes, wakes, unlocks. A retry locks one variable after the other for a
 * moment, to join its queue. Neither waits for a lock while it holds one, and
 * no task switch lies in between.
 */
#include "sync/stm.h"

/* ---- committing --------------------------------------------------------- */

/* How often to begin locking anew before it counts as a conflict. */
enum { ROUNDS = 16 };

enum got { GOT_IT, BUSY, CHANGED };

/* Lock it, if it is as it was when read. */
static enum got
lock(struct rn__tx_entry *entry)
{
    struct rn__tvar *v = entry->tvar;
    /* relaxed: the lock looks again */
    uint64_t word = atomic_load_explicit(&v->word, memory_order_relaxed);
    do {
        if (word & RN__TVAR_LOCKED)
            return BUSY;
        if (entry->seen != RN__TX_UNREAD &&
            (word & ~(uint64_t)RN__TVAR_WAITERS) != entry->seen)
            return CHANGED;
        /* acquire: value and queue; partners with the release of the last
         * unlock */
    } while (!rn__cas64(&v->word, &word, word | RN__TVAR_LOCKED));
    entry->held = word;
    return GOT_IT;
}

/* Unlock and leave it as it was. */
static void
unlock(struct rn__tx_entry *entry)
{
    /* release: nothing but the queue, which is as it was */
    atomic_store_explicit(&entry->tvar->word, entry->held,
                          memory_order_release);
}

static void
unlock_first(struct rn_tx *tx, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (tx->entries[i].slot)
            unlock(&tx->entries[i]);
}

/* Lock all that is written; or none, and *at is the entry that failed. */
static enum got
try_all(struct rn_tx *tx, uint32_t *at)
{
    for (uint32_t i = 0; i < tx->count; i++) {
        struct rn__tx_entry *entry = &tx->entries[i];
        enum got got = entry->slot ? lock(entry) : GOT_IT;
        if (rn__unlikely(got != GOT_IT)) {
            unlock_first(tx, i);
            *at = i;
            return got;
        }
    }
    return GOT_IT;
}

static void
wait_for_unlock(const struct rn__tvar *v)
{
    int spins = 0;
    /* relaxed: who locks looks again */
    while (atomic_load_explicit(&v->word, memory_order_relaxed) &
           RN__TVAR_LOCKED)
        rn__tvar_pause(&spins);
}

/* Others lock in another order: so hold none while waiting for one. */
static bool
lock_all(struct rn_tx *tx)
{
    uint32_t at = 0;
    for (int round = 0; round < ROUNDS; round++) {
        enum got got = try_all(tx, &at);
        if (rn__likely(got == GOT_IT))
            return true;
        if (got == CHANGED)
            return false;
        wait_for_unlock(tx->entries[at].tvar);
    }
    return false;
}

static inline bool
differs(const struct rn__tvar *v, const uint64_t *from)
{
    if (rn__unlikely(!rn__tvar_is_word(v)))
        return rn__tvar_differs(v, from);
    /* relaxed: written under LOCKED only */
    return atomic_load_explicit((rn__tvar_piece *)v->value,
                                memory_order_relaxed) != *from;
}

static inline void
store(const struct rn__tvar *v, const uint64_t *from)
{
    if (rn__unlikely(!rn__tvar_is_word(v)))
        rn__tvar_store(v, from);
    else
        /* release: as in rn__tvar_store */
        atomic_store_explicit((rn__tvar_piece *)v->value, *from,
                              memory_order_release);
}

/* Whether a write is of another value than is there. */
static bool
compare_all(struct rn_tx *tx)
{
    bool changes = false;
    for (uint32_t i = 0; i < tx->count; i++) {
        struct rn__tx_entry *entry = &tx->entries[i];
        if (!entry->slot)
            continue;
        entry->changed = differs(entry->tvar, &tx->values[entry->slot - 1]);
        changes |= entry->changed;
    }
    return changes;
}

/* Make one write visible; who waits for it goes to woken. */
static void
publish(struct rn_tx *tx, struct rn__tx_entry *entry, uint64_t version,
        struct rn__list *woken)
{
    struct rn__tvar *v = entry->tvar;
    if (!entry->changed) {
        unlock(entry);
        return;
    }
    store(v, &tx->values[entry->slot - 1]);
    if (rn__unlikely(entry->held & RN__TVAR_WAITERS))
        rn__wait_claim_all(&v->queue, 0, woken);
    /* release: value and queue; the last touch */
    atomic_store_explicit(&v->word, version * RN__TVAR_VERSION,
                          memory_order_release);
}

static bool
commit(struct rn_tx *tx)
{
    struct rn__list woken;
    uint64_t version = 0;
    if (!lock_all(tx))
        return false;
    rn__perturb();
    bool changes = compare_all(tx);
    /* acquire, release: whoever has this clock as its snapshot finds our locks;
     * partners with rn__tx_begin and extend */
    if (changes)
        version = rn__add64_hard(&rn__stm_clock, 1);
    rn__perturb();
    /* With no other commit since the snapshot, all it has read is still so. */
    if (version != tx->snapshot + 1 && !rn__tx_valid(tx, true)) {
        unlock_first(tx, tx->count);
        return false;
    }
    rn__list_init(&woken);
    for (uint32_t i = 0; i < tx->count; i++)
        if (tx->entries[i].slot)
            publish(tx, &tx->entries[i], version, &woken);
    if (rn__unlikely(!rn__list_empty(&woken)))
        rn__fire_all(&woken);
    return true;
}

/* Others are serial, or want to be: commit as one of them. */
static bool
commit_in_turn(struct rn_tx *tx, struct rn__stm *stm)
{
    rn__mutex_relock(&stm->serial, rn__self(), rn__site());
    bool done = commit(tx);
    rn__mutex_release(&stm->serial);
    return done;
}

bool
rn__tx_commit(struct rn_tx *tx)
{
    struct rn__stm *stm = rn__stm_of(tx->rt);
    if (rn__unlikely(
            atomic_load_explicit(&stm->serials, memory_order_relaxed)) &&
        !tx->serial)
        return commit_in_turn(tx, stm);
    return commit(tx);
}

/* ---- waiting for a change ----------------------------------------------- */

/* Lock it unless it has changed since it was read. */
static bool
lock_patiently(struct rn__tx_entry *entry, bool even_if_changed)
{
    struct rn__tvar *v = entry->tvar;
    for (int spins = 0;;) {
        /* relaxed: the lock looks again */
        uint64_t word = atomic_load_explicit(&v->word, memory_order_relaxed);
        entry->held = word & ~(uint64_t)RN__TVAR_WAITERS;
        if (word & RN__TVAR_LOCKED)
            rn__tvar_pause(&spins);
        else if (!even_if_changed && entry->held != entry->seen)
            return false;
        /* acquire: the queue; partners with the release of the last lock */
        else if (rn__cas64(&v->word, &word, word | RN__TVAR_LOCKED))
            return true;
    }
}

static void
unlock_queue(struct rn__tx_entry *entry)
{
    struct rn__tvar *v = entry->tvar;
    uint64_t waiters = rn__list_empty(&v->queue) ? 0 : RN__TVAR_WAITERS;
    /* release: the queue */
    atomic_store_explicit(&v->word, entry->held | waiters,
                          memory_order_release);
}

/* Join the queues of all that was read; false: one has changed. */
static bool
enrol(struct rn_tx *tx, struct rn__task *self, uint32_t *count)
{
    for (uint32_t i = 0; i < tx->count; i++) {
        struct rn__tx_entry *entry = &tx->entries[i];
        *count = i;
        if (entry->seen == RN__TX_UNREAD)
            continue;
        if (!lock_patiently(entry, false))
            return false;
        rn__wait_add(&entry->tvar->queue, &tx->waiters[i], self, 0, NULL);
        unlock_queue(entry);
    }
    *count = tx->count;
    return true;
}

static void
leave(struct rn_tx *tx, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct rn__tx_entry *entry = &tx->entries[i];
        if (entry->seen == RN__TX_UNREAD)
            continue;
        lock_patiently(entry, true);
        rn__list_remove(&tx->waiters[i].link);
        unlock_queue(entry);
    }
}

static struct rn__object *
first_read(const struct rn_tx *tx, uint32_t *count)
{
    struct rn__object *first = NULL;
    *count = 0;
    for (uint32_t i = tx->count; i-- > 0;)
        if (tx->entries[i].seen != RN__TX_UNREAD) {
            first = &tx->entries[i].tvar->object;
            ++*count;
        }
    return first;
}

/* Each queue is joined while the variable is as it was read, and who changes it
 * later finds the WAITERS bit in the word it locks: no change is missed. */
int
rn__tx_wait(struct rn_tx *tx, struct rn__task *self, const void *site,
            rn_time deadline)
{
    uint32_t count = 0;
    int result = 0;
    struct rn__object *first = first_read(tx, &self->info.arm_count);
    rn__step(RN__RETRY, first, site);
    if (!rn__tx_reserve_waiters(tx))
        return -ENOMEM;
    rn__wait_open(self, RN__RETRY, first, site, true);
    if (enrol(tx, self, &count) || !rn__wait_claim(self, 0, false))
        result = rn__wait_park(self, deadline);
    leave(tx, count);
    return result;
}
