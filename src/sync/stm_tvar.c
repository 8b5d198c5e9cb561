/* sync/stm_tvar.c - transactional variables: made, read, written.
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

/* A piece of a value, as the type that it is accessed by. */
typedef _Atomic unsigned char byte_piece;

static void
load_value(const struct rn__tvar *v, char *to)
{
    size_t i = 0, words = in_words(v);
    const char *from = v->value;
    for (; i < words; i += 8) {
        /* acquire: partners with rn__tvar_store */
        uint64_t piece = atomic_load_explicit(
            (const rn__tvar_piece *)(const void *)(from + i),
            memory_order_acquire);
        memcpy(to + i, &piece, 8);
    }
    for (; i < v->bytes; i++)
        to[i] = (char)atomic_load_explicit(
            (const byte_piece *)(const void *)(from + i), memory_order_acquire);
}

/* Under LOCKED. */
void
rn__tvar_store(const struct rn__tvar *v, const void *value)
{
    const char *from = value;
    size_t i = 0, words = in_words(v);
    char *to = v->value;
    for (; i < words; i += 8) {
        uint64_t piece;
        memcpy(&piece, from + i, 8);
        /* release: LOCKED, for who reads it; partners with load_value */
        atomic_store_explicit((rn__tvar_piece *)(void *)(to + i), piece,
                              memory_order_release);
    }
    for (; i < v->bytes; i++)
        atomic_store_explicit((byte_piece *)(void *)(to + i),
                              (unsigned char)from[i], memory_order_release);
}

/* Under LOCKED: whether the value is another one. */
bool
rn__tvar_differs(const struct rn__tvar *v, const void *value)
{
    const char *from = value;
    size_t i = 0, words = in_words(v);
    const char *to = v->value;
    for (; i < words; i += 8) {
        /* relaxed: written under LOCKED only */
        uint64_t piece =
            atomic_load_explicit((const rn__tvar_piece *)(const void *)(to + i),
                                 memory_order_relaxed);
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

/* Move the snapshot to now, if nothing that was read has changed. */
static bool
extend(struct rn_tx *tx)
{
    /* acquire: as in rn__tx_begin; before the look at what was read */
    uint64_t now = atomic_load_explicit(&rn__stm_clock, memory_order_acquire);
    if (!rn__tx_valid(tx, false))
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
         * publish (stm_commit.c) */
        uint64_t word = atomic_load_explicit(&v->word, memory_order_acquire);
        if (rn__unlikely(word & RN__TVAR_LOCKED)) {
            rn__tvar_pause(&spins);
            continue;
        }
        if (rn__unlikely(word / RN__TVAR_VERSION > tx->snapshot) && !extend(tx))
            return false;
        if (rn__likely(rn__tvar_is_word(v)))
            /* acquire: as in load_value */
            *(uint64_t *)to = atomic_load_explicit(
                (const rn__tvar_piece *)v->value, memory_order_acquire);
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

/* After the step: any variable in any state. */
__attribute__((noinline)) static int
read_slowly(rn_tvar *tvar, rn_tx *tx, void *value, const void *site)
{
    struct rn__tvar *v = rn__tvar_inner(tvar);
    check_size(v, "rn_tvar_read", site);
    if (rn__unlikely(tx->state != RN__TX_ACTIVE))
        return refuse(tx, "rn_tvar_read", site);
    struct rn__tx_entry *entry = rn__tx_find(tx, v);
    if (rn__likely(!entry || !entry->slot))
        return read_shared(tx, v, entry, value);
    memcpy(value, &tx->values[entry->slot - 1], v->bytes);
    return 0;
}

/* In line, one of the first reads of a word that is as old as the snapshot. */
int
rn_tvar_read(rn_tvar *tvar, rn_tx *tx, void *value)
{
    struct rn__tvar *v = rn__tvar_inner(tvar);
    rn__need(tvar, "rn_tvar_read", rn__site());
    rn__need(tx, "rn_tvar_read", rn__site());
    rn__step(RN__TVAR_READ, &v->object, rn__site());
    uint64_t bit = rn__tx_bit(v);
    if (rn__unlikely(tx->state != RN__TX_ACTIVE || !rn__tvar_is_word(v) ||
                     (tx->filter & bit) || tx->count >= RN__TX_FEW))
        return read_slowly(tvar, tx, value, rn__site());
    /* as in read_value */
    uint64_t word = atomic_load_explicit(&v->word, memory_order_acquire);
    uint64_t got = atomic_load_explicit((const rn__tvar_piece *)v->value,
                                        memory_order_acquire);
    uint64_t after = atomic_load_explicit(&v->word, memory_order_relaxed);
    if (rn__unlikely(word != after || (word & RN__TVAR_LOCKED) ||
                     word / RN__TVAR_VERSION > tx->snapshot))
        return read_slowly(tvar, tx, value, rn__site());
    struct rn__tx_entry *entry = &tx->entries[tx->count++];
    entry->tvar = v;
    entry->seen = word & ~(uint64_t)RN__TVAR_WAITERS;
    entry->slot = 0;
    tx->filter |= bit;
    memcpy(value, &got, sizeof got);
    return 0;
}

/* After the step: any variable in any state. */
__attribute__((noinline)) static int
write_slowly(rn_tvar *tvar, rn_tx *tx, const void *value, const void *site)
{
    struct rn__tvar *v = rn__tvar_inner(tvar);
    check_size(v, "rn_tvar_write", site);
    if (rn__unlikely(tx->state != RN__TX_ACTIVE))
        return refuse(tx, "rn_tvar_write", site);
    struct rn__tx_entry *entry = rn__tx_find(tx, v);
    if (!entry && !(entry = rn__tx_add(tx, v, RN__TX_UNREAD)))
        return doom(tx, RN__TX_NOMEM);
    void *slot = rn__tx_slot(tx, entry);
    if (!slot)
        return doom(tx, RN__TX_NOMEM);
    memcpy(slot, value, v->bytes);
    return 0;
}

/* In line, the first write of a word that is among a few that were read. */
int
rn_tvar_write(rn_tvar *tvar, rn_tx *tx, const void *value)
{
    struct rn__tvar *v = rn__tvar_inner(tvar);
    uint32_t i = 0;
    rn__need(tvar, "rn_tvar_write", rn__site());
    rn__need(tx, "rn_tvar_write", rn__site());
    rn__step(RN__TVAR_WRITE, &v->object, rn__site());
    if (rn__unlikely(tx->state != RN__TX_ACTIVE || !rn__tvar_is_word(v) ||
                     tx->count > RN__TX_FEW || tx->depth ||
                     tx->used >= tx->value_room))
        return write_slowly(tvar, tx, value, rn__site());
    while (i < tx->count && tx->entries[i].tvar != v)
        i++;
    if (rn__unlikely(i == tx->count || tx->entries[i].slot))
        return write_slowly(tvar, tx, value, rn__site());
    memcpy(&tx->values[tx->used], value, 8);
    tx->entries[i].slot = ++tx->used;
    tx->wrote = true;
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
