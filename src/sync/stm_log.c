/* sync/stm_log.c - what a transaction remembers: the variables it has touched,
 * new values, and how to undo what a nested one has written.
 *
 * An entry a variable, in order of first touch. Up to FEW they are found by
 * looking at all, beyond that by a hash table; a filter of one word tells of
 * most variables that there is none. All is kept for the next transaction, so
 * nothing is allocated once it has grown. Refused: a log in blocks that are
 * never moved (a search would have to walk them).
 */
#include "sync/stm.h"

#include <string.h>

/* ---- shelves ------------------------------------------------------------ */

/* Idle ones that a worker keeps. */
enum { KEPT = 64 };

static void
give_up(struct rn__rt *rt, struct rn_tx *tx)
{
    if (tx->entries != tx->few)
        rn__free(rt, tx->entries);
    if (tx->values != tx->few_words)
        rn__free(rt, tx->values);
    rn__free(rt, tx->undos);
    rn__free(rt, tx->index);
    rn__free(rt, tx->waiters);
    rn__free(rt, tx);
}

static void
end(struct rn__annex *annex)
{
    struct rn__stm *stm = (struct rn__stm *)(void *)annex;
    for (int i = 0; i < stm->rt->worker_count; i++)
        for (struct rn_tx *tx = stm->shelves[i].first, *next; tx; tx = next) {
            next = tx->next;
            give_up(stm->rt, tx);
        }
    rn__free(stm->rt, stm->annex.memory);
}

/* Another worker may make it at the same time: the first one counts. */
static struct rn__stm *
make(struct rn__rt *rt)
{
    size_t bytes = sizeof(struct rn__stm) +
                   (size_t)rt->worker_count * sizeof(struct rn__shelf);
    char *memory = rn__alloc(rt, bytes + RN__LINE);
    if (!memory)
        return NULL;
    uintptr_t at = (uintptr_t)memory;
    struct rn__stm *stm =
        (void *)(memory + ((at + RN__LINE - 1) / RN__LINE * RN__LINE - at));
    stm->annex.end = end;
    stm->annex.memory = memory;
    stm->rt = rt;
    rn__lock(&rt->lock);
    struct rn__stm *first = rn__stm_of(rt);
    if (!first)
        /* release: partners with rn__stm_of */
        atomic_store_explicit(&rt->stm, &stm->annex, memory_order_release);
    rn__unlock(&rt->lock);
    if (first)
        rn__free(rt, memory);
    return first ? first : stm;
}

static struct rn_tx *
make_tx(struct rn__rt *rt)
{
    struct rn_tx *tx = rn__alloc(rt, sizeof *tx);
    if (!tx)
        return NULL;
    tx->rt = rt;
    tx->entries = tx->few;
    tx->entry_room = RN__TX_FEW;
    tx->values = tx->few_words;
    tx->value_room = RN__TX_FEW_WORDS;
    return tx;
}

struct rn_tx *
rn__tx_take(struct rn__worker *worker)
{
    struct rn__stm *stm = rn__stm_of(worker->rt);
    if (rn__unlikely(!stm) && !(stm = make(worker->rt)))
        return NULL;
    struct rn__shelf *shelf = &stm->shelves[worker->index];
    struct rn_tx *tx = shelf->first;
    if (rn__unlikely(!tx))
        return make_tx(worker->rt);
    shelf->first = tx->next;
    shelf->count--;
    return tx;
}

void
rn__tx_give(struct rn__worker *worker, struct rn_tx *tx)
{
    struct rn__shelf *shelf = &rn__stm_of(worker->rt)->shelves[worker->index];
    tx->state = RN__TX_IDLE;
    if (rn__unlikely(shelf->count == KEPT)) {
        give_up(worker->rt, tx);
        return;
    }
    tx->next = shelf->first;
    shelf->first = tx;
    shelf->count++;
}

/* ---- entries ------------------------------------------------------------ */

void
rn__tx_begin(struct rn_tx *tx)
{
    if (rn__unlikely(tx->count > RN__TX_FEW))
        memset(tx->index, 0, tx->index_room * sizeof *tx->index);
    tx->count = tx->used = tx->level = tx->undo_count = tx->depth = 0;
    tx->filter = 0;
    tx->wrote = false;
    tx->state = RN__TX_ACTIVE;
    /* acquire: the locks of all commits up to this one; partners with the add
     * in rn__tx_commit */
    tx->snapshot = atomic_load_explicit(&rn__stm_clock, memory_order_acquire);
}

/* The place of a variable in the index, or of none. */
static uint32_t *
probe(const struct rn_tx *tx, const struct rn__tvar *tvar)
{
    uint32_t mask = tx->index_room - 1;
    for (uint32_t i = rn__tx_hash(tvar) & mask;; i = (i + 1) & mask)
        if (!tx->index[i] || tx->entries[tx->index[i] - 1].tvar == tvar)
            return &tx->index[i];
}

struct rn__tx_entry *
rn__tx_search(struct rn_tx *tx, const struct rn__tvar *tvar)
{
    if (tx->count > RN__TX_FEW) {
        uint32_t i = *probe(tx, tvar);
        return i ? &tx->entries[i - 1] : NULL;
    }
    for (uint32_t i = 0; i < tx->count; i++)
        if (tx->entries[i].tvar == tvar)
            return &tx->entries[i];
    return NULL;
}

/* Room for at least want elements in place of room of them; NULL: no memory. */
static void *
larger(struct rn_tx *tx, const void *old, uint32_t *room, size_t want,
       size_t each)
{
    size_t more = *room < 8 ? 8 : *room;
    while (more < want)
        more *= 2;
    if (more > UINT32_MAX / 2)
        return NULL;
    void *memory = rn__alloc(tx->rt, more * each);
    if (memory && old)
        memcpy(memory, old, *room * each);
    if (memory)
        *room = (uint32_t)more;
    return memory;
}

static bool
grow_index(struct rn_tx *tx, uint32_t entries)
{
    uint32_t room = 0;
    uint32_t *index =
        larger(tx, NULL, &room, (size_t)entries * 2, sizeof *index);
    if (!index)
        return false;
    rn__free(tx->rt, tx->index);
    tx->index = index;
    tx->index_room = room;
    for (uint32_t i = 0; i < tx->count && tx->count > RN__TX_FEW; i++)
        *probe(tx, tx->entries[i].tvar) = i + 1;
    return true;
}

bool
rn__tx_grow(struct rn_tx *tx)
{
    uint32_t room = tx->entry_room;
    struct rn__tx_entry *entries =
        larger(tx, tx->entries, &room, (size_t)room + 1, sizeof *entries);
    if (!entries)
        return false;
    if (!grow_index(tx, room)) {
        rn__free(tx->rt, entries);
        return false;
    }
    if (tx->entries != tx->few)
        rn__free(tx->rt, tx->entries);
    tx->entries = entries;
    tx->entry_room = room;
    return true;
}

void
rn__tx_index(struct rn_tx *tx)
{
    uint32_t first = tx->count == RN__TX_FEW + 1 ? 0 : tx->count - 1;
    for (uint32_t i = first; i < tx->count; i++)
        *probe(tx, tx->entries[i].tvar) = i + 1;
}

bool
rn__tx_reserve_waiters(struct rn_tx *tx)
{
    if (tx->count <= tx->waiter_room)
        return true;
    uint32_t room = 0;
    struct rn__waiter *waiters =
        larger(tx, NULL, &room, tx->count, sizeof *waiters);
    if (!waiters)
        return false;
    rn__free(tx->rt, tx->waiters);
    tx->waiters = waiters;
    tx->waiter_room = room;
    return true;
}

/* Whether the variable still is as it was when read. */
static bool
unchanged(const struct rn__tx_entry *entry)
{
    /* acquire: what is looked at next is at least as new */
    uint64_t word =
        atomic_load_explicit(&entry->tvar->word, memory_order_acquire);
    return (word & ~(uint64_t)RN__TVAR_WAITERS) == entry->seen;
}

bool
rn__tx_valid(const struct rn_tx *tx, bool committing)
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

/* ---- values ------------------------------------------------------------- */

bool
rn__tx_reserve(struct rn_tx *tx, size_t bytes)
{
    size_t want = tx->used + (bytes + 7) / 8;
    if (want <= tx->value_room)
        return true;
    uint64_t *values =
        larger(tx, tx->values, &tx->value_room, want, sizeof *values);
    if (!values)
        return false;
    if (tx->values != tx->few_words)
        rn__free(tx->rt, tx->values);
    tx->values = values;
    return true;
}

/* A nested transaction is about to give the entry another slot. */
static bool
remember(struct rn_tx *tx, const struct rn__tx_entry *entry)
{
    if (tx->undo_count == tx->undo_room) {
        struct rn__tx_undo *undos =
            larger(tx, tx->undos, &tx->undo_room, (size_t)tx->undo_count + 1,
                   sizeof *undos);
        if (!undos)
            return false;
        rn__free(tx->rt, tx->undos);
        tx->undos = undos;
    }
    tx->undos[tx->undo_count++] =
        (struct rn__tx_undo){(uint32_t)(entry - tx->entries), entry->slot};
    return true;
}

void *
rn__tx_slot(struct rn_tx *tx, struct rn__tx_entry *entry)
{
    if (entry->slot > tx->level) /* written at this level already */
        return &tx->values[entry->slot - 1];
    if (!rn__tx_reserve(tx, entry->tvar->bytes) ||
        (tx->depth && !remember(tx, entry)))
        return NULL;
    entry->slot = tx->used + 1;
    tx->used += (uint32_t)((entry->tvar->bytes + 7) / 8);
    tx->wrote = true;
    return &tx->values[entry->slot - 1];
}

struct rn__tx_mark
rn__tx_enter(struct rn_tx *tx)
{
    struct rn__tx_mark mark = {tx->level, tx->undo_count};
    tx->level = tx->used;
    tx->depth++;
    return mark;
}

void
rn__tx_leave(struct rn_tx *tx, struct rn__tx_mark mark, bool undo)
{
    if (undo) {
        while (tx->undo_count > mark.undo_count) {
            const struct rn__tx_undo *last = &tx->undos[--tx->undo_count];
            tx->entries[last->entry].slot = last->slot;
        }
        tx->used = tx->level;
    }
    tx->level = mark.level;
    tx->depth--;
}
