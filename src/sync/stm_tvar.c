/* sync/stm_tvar.c - transactional variables: reading, committing, waiting.
 *
 * A word has the version of its value, the clock of the commit that wrote it,
 * and two bits: LOCKED by a commit (or for a moment by a retry), and WAITERS.
 *
 * Who may do what at once:
 *   read             anytime; waits while LOCKED
 *   write the value  who has LOCKED, and has moved the clock since
 *   the queue        who has LOCKED
 *   free             when no transaction can touch it any more
 * Unlocking is the last touch.
 *
 * Values are copied by a reader while a commit may be writing them: each piece
 * is an atomic, acquire when read and release when written, so that who reads
 * a new piece then sees LOCKED or a new version. (Boehm, "Can seqlocks get
 * along with programming language memory models?", 2012.)
 */
#include "sync/stm.h"

#include <string.h>

_Alignas(RN__LINE) _Atomic uint64_t rn__stm_clock;

/* ---- making ------------------------------------------------------------- */

int
rn_tvar_new(size_t bytes, const void *value, rn_tvar **tvar)
{
    rn__need(tvar, "rn_tvar_new", rn__site());
    if (bytes == 0 || bytes > RN_TVAR_MAX)
        return -EINVAL;
    struct rn__tvar *v = rn__alloc(NULL, sizeof(rn_tvar) + bytes);
    if (!v)
        return -ENOMEM;
    v->value = (char *)v + sizeof(rn_tvar);
    v->bytes = bytes;
    if (value)
        memcpy(v->value, value, bytes);
    *tvar = (rn_tvar *)(void *)v;
    return 0;
}

void
rn__tvar_check_idle(rn_tvar *tvar, const char *function, const void *site)
{
    struct rn__tvar *v = rn__tvar_inner(tvar);
    /* relaxed: it is the caller's alone */
    if (atomic_load_explicit(&v->word, memory_order_relaxed) &
        (RN__TVAR_LOCKED | RN__TVAR_WAITERS))
        rn__panic_at(site, "%s: a transaction waits for it", function);
}

void
rn_tvar_free(rn_tvar *tvar)
{
    if (!tvar)
        return;
    rn__tvar_check_idle(tvar, "rn_tvar_free", rn__site());
    rn__free(NULL, tvar);
}

/* ---- values ------------------------------------------------------------- */

/* How many bytes of a value go in pieces of 8. */
static size_t
in_words(const struct rn__tvar *v)
{
    return (uintptr_t)v->value % 8 ? 0 : v->bytes & ~(size_t)7;
}

/* As big as a pointer or a long, and lies so: nearly all do. */
static bool
is_word(const struct rn__tvar *v)
{
    return v->bytes == 8 && (uintptr_t)v->value % 8 == 0;
}

/* The pieces of a value, as the type that they are accessed by. */
typedef _Atomic uint64_t word_piece;
typedef _Atomic unsigned char byte_piece;

static void
load_value(const struct rn__tvar *v, char *to)
{
    size_t i = 0, words = in_words(v);
    const char *from = v->value;
    for (; i < words; i += 8) {
        /* acquire: partners with store_value */
        uint64_t piece = atomic_load_explicit(
            (const word_piece *)(const void *)(from + i), memory_order_acquire);
        memcpy(to + i, &piece, 8);
    }
    for (; i < v->bytes; i++)
        to[i] = (char)atomic_load_explicit(
            (const byte_piece *)(const void *)(from + i), memory_order_acquire);
}

/* Under LOCKED. */
static void
store_value(const struct rn__tvar *v, const char *from)
{
    size_t i = 0, words = in_words(v);
    char *to = v->value;
    for (; i < words; i += 8) {
        uint64_t piece;
        memcpy(&piece, from + i, 8);
        /* release: LOCKED, for who reads it; partners with load_value */
        atomic_store_explicit((word_piece *)(void *)(to + i), piece,
                              memory_order_release);
    }
    for (; i < v->bytes; i++)
        atomic_store_explicit((byte_piece *)(void *)(to + i),
                              (unsigned char)from[i], memory_order_release);
}

/* Under LOCKED: whether the value is another one. */
static bool
differs(const struct rn__tvar *v, const char *from)
{
    size_t i = 0, words = in_words(v);
    const char *to = v->value;
    for (; i < words; i += 8) {
        /* relaxed: written under LOCKED only */
        uint64_t piece = atomic_load_explicit(
            (const word_piece *)(const void *)(to + i), memory_order_relaxed);
        if (memcmp(from + i, &piece, 8) != 0)
            return true;
    }
    for (; i < v->bytes; i++)
        if (atomic_load_explicit((const byte_piece *)(const void *)(to + i),
                                 memory_order_relaxed) !=
            (unsigned char)from[i])
            return true;
    return false;
}

/* ---- reading ------------------------------------------------------------ */

/* Whether the variable still is as it was when read. */
static bool
unchanged(const struct rn__tx_entry *entry)
{
    /* acquire: what is looked at next is at least as new */
    uint64_t word =
        atomic_load_explicit(&entry->tvar->word, memory_order_acquire);
    return (word & ~(uint64_t)RN__TVAR_WAITERS) == entry->seen;
}

/* Whether all that was read still is so; but for what the commit has locked,
 * which it has compared. */
static bool
valid(const struct rn_tx *tx, bool committing)
{
    for (uint32_t i = 0; i < tx->count; i++) {
        const struct rn__tx_entry *entry = &tx->entries[i];
        if (entry->seen == RN__TX_UNREAD || (committing && entry->slot))
            continue;
        if (!unchanged(entry))
            return false;
    }
    return true;
}

/* Move the snapshot to now, if nothing that was read has changed. */
static bool
extend(struct rn_tx *tx)
{
    /* acquire: as in rn__tx_begin; before the look at what was read */
    uint64_t now = atomic_load_explicit(&rn__stm_clock, memory_order_acquire);
    if (!valid(tx, false))
        return false;
    tx->snapshot = now;
    return true;
}

/* The run does not count, or the log is full. */
static int
doom(struct rn_tx *tx, enum rn__tx_state state)
{
    tx->state = state;
    return state == RN__TX_NOMEM ? -ENOMEM : -EAGAIN;
}

/* The transaction is not active: what its body's calls return. */
static int
refuse(const struct rn_tx *tx, const char *function, const void *site)
{
    if (tx->state == RN__TX_IDLE)
        rn__panic_at(site, "%s outside a transaction", function);
    return tx->state == RN__TX_NOMEM ? -ENOMEM : -EAGAIN;
}

/* Copy a value that is part of the snapshot; *seen is its word. False: there is
 * no such value any more. */
static inline bool
read_value(struct rn_tx *tx, const struct rn__tvar *v, void *to, uint64_t *seen)
{
    for (int spins = 0;;) {
        /* acquire: the value of this version; partners with the release in
         * publish */
        uint64_t word = atomic_load_explicit(&v->word, memory_order_acquire);
        if (rn__unlikely(word & RN__TVAR_LOCKED)) {
            rn__tvar_pause(&spins);
            continue;
        }
        if (rn__unlikely(word / RN__TVAR_VERSION > tx->snapshot) && !extend(tx))
            return false;
        if (rn__likely(is_word(v)))
            /* acquire: as in load_value */
            *(uint64_t *)to = atomic_load_explicit((const word_piece *)v->value,
                                                   memory_order_acquire);
        else
            load_value(v, to);
        /* relaxed: after the acquire loads of the value */
        uint64_t after = atomic_load_explicit(&v->word, memory_order_relaxed);
        *seen = word & ~(uint64_t)RN__TVAR_WAITERS;
        if (rn__likely((after & ~(uint64_t)RN__TVAR_WAITERS) == *seen))
            return true;
    }
}

static void
check_size(const struct rn__tvar *v, const char *function, const void *site)
{
    if (rn__unlikely(v->bytes - 1 >= RN_TVAR_MAX))
        rn__panic_at(site, "%s: a variable of %zu bytes", function, v->bytes);
}

/* Read what the transaction has not written. */
static int
read_shared(struct rn_tx *tx, struct rn__tvar *v, struct rn__tx_entry *entry,
            void *value)
{
    uint64_t word, seen;
    char *to = (char *)&word;
    if (v->bytes > sizeof word) {
        if (!rn__tx_reserve(tx, v->bytes))
            return doom(tx, RN__TX_NOMEM);
        to = (char *)&tx->values[tx->used];
    }
    if (!read_value(tx, v, to, &seen))
        return doom(tx, RN__TX_AGAIN);
    if (!entry && !rn__tx_add(tx, v, seen))
        return doom(tx, RN__TX_NOMEM);
    if (entry && entry->seen == RN__TX_UNREAD)
        entry->seen = seen; /* a write to it has been undone */
    else if (entry && entry->seen != seen)
        return doom(tx, RN__TX_AGAIN);
    if (rn__likely(v->bytes == 8))
        memcpy(value, &word, 8);
    else
        memcpy(value, to, v->bytes);
    return 0;
}

int
rn_tvar_read(rn_tvar *tvar, rn_tx *tx, void *value)
{
    const void *site = rn__site();
    struct rn__tvar *v = rn__tvar_inner(tvar);
    rn__need(tvar, "rn_tvar_read", site);
    rn__need(tx, "rn_tvar_read", site);
    check_size(v, "rn_tvar_read", site);
    rn__step(RN__TVAR_READ, &v->object, site);
    if (rn__unlikely(tx->state != RN__TX_ACTIVE))
        return refuse(tx, "rn_tvar_read", site);
    struct rn__tx_entry *entry = rn__tx_find(tx, v);
    if (rn__likely(!entry || !entry->slot))
        return read_shared(tx, v, entry, value);
    memcpy(value, &tx->values[entry->slot - 1], v->bytes);
    return 0;
}

int
rn_tvar_write(rn_tvar *tvar, rn_tx *tx, const void *value)
{
    const void *site = rn__site();
    struct rn__tvar *v = rn__tvar_inner(tvar);
    rn__need(tvar, "rn_tvar_write", site);
    rn__need(tx, "rn_tvar_write", site);
    check_size(v, "rn_tvar_write", site);
    rn__step(RN__TVAR_WRITE, &v->object, site);
    if (rn__unlikely(tx->state != RN__TX_ACTIVE))
        return refuse(tx, "rn_tvar_write", site);
    struct rn__tx_entry *entry = rn__tx_find(tx, v);
    if (!entry && !(entry = rn__tx_add(tx, v, RN__TX_UNREAD)))
        return doom(tx, RN__TX_NOMEM);
    void *slot = rn__tx_slot(tx, entry);
    if (!slot)
        return doom(tx, RN__TX_NOMEM);
    if (rn__likely(v->bytes == 8))
        memcpy(slot, value, 8);
    else
        memcpy(slot, value, v->bytes);
    return 0;
}

int
rn_tx_retry(rn_tx *tx)
{
    rn__need(tx, "rn_tx_retry", rn__site());
    if (tx->state != RN__TX_ACTIVE)
        return refuse(tx, "rn_tx_retry", rn__site());
    return doom(tx, RN__TX_RETRY);
}

int
rn_tx_check(rn_tx *tx, int condition)
{
    rn__need(tx, "rn_tx_check", rn__site());
    if (tx->state != RN__TX_ACTIVE)
        return refuse(tx, "rn_tx_check", rn__site());
    return condition ? 0 : doom(tx, RN__TX_RETRY);
}

/* ---- committing --------------------------------------------------------- */

/* How often to look at a lock before it counts as a conflict. */
enum { LOOKS = 100 };

/* Lock it, if it is as it was when read. Commits lock in any order, so none
 * waits for long while it holds a lock. */
static bool
lock(struct rn__tx_entry *entry)
{
    struct rn__tvar *v = entry->tvar;
    int spins = 0;
    /* relaxed: the lock looks again */
    uint64_t word = atomic_load_explicit(&v->word, memory_order_relaxed);
    for (;;) {
        if (!(word & RN__TVAR_LOCKED)) {
            if (entry->seen != RN__TX_UNREAD &&
                (word & ~(uint64_t)RN__TVAR_WAITERS) != entry->seen)
                return false;
            /* acquire: the queue; release: all the same, as rn__cas64 is */
            if (rn__cas64(&v->word, &word, word | RN__TVAR_LOCKED))
                break;
        } else if (spins < LOOKS) {
            rn__tvar_pause(&spins);
            word = atomic_load_explicit(&v->word, memory_order_relaxed);
        } else {
            return false;
        }
    }
    entry->held = word;
    return true;
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

/* Lock all that is written; *changes: whether a value is another one. */
static bool
lock_all(struct rn_tx *tx, bool *changes)
{
    for (uint32_t i = 0; i < tx->count; i++) {
        struct rn__tx_entry *entry = &tx->entries[i];
        if (!entry->slot)
            continue;
        if (!lock(entry)) {
            unlock_first(tx, i);
            return false;
        }
        entry->changed =
            differs(entry->tvar, (const char *)&tx->values[entry->slot - 1]);
        *changes |= entry->changed;
    }
    return true;
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
    store_value(v, (const char *)&tx->values[entry->slot - 1]);
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
    bool changes = false;
    if (!lock_all(tx, &changes))
        return false;
    rn__perturb();
    /* acquire, release: whoever has this clock as its snapshot finds our locks;
     * partners with rn__tx_begin and extend */
    if (changes)
        version = rn__add64(&rn__stm_clock, 1);
    rn__perturb();
    /* With no other commit since the snapshot, all it has read is still so. */
    if (version != tx->snapshot + 1 && !valid(tx, true)) {
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
first_read(const struct rn_tx *tx, size_t *count)
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
