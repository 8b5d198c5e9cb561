/* sync/stm.h - the insides of software transactional memory; stm.c tells how
 * it works.
 */
#ifndef RN_SYNC_STM_H
#define RN_SYNC_STM_H

#include "sync/mutex.h"

#include <runnel/stm.h>

/* ---- variables ---------------------------------------------------------- */

/* A word: the clock of the commit that last changed the value, above these. */
enum { RN__TVAR_LOCKED = 1, RN__TVAR_WAITERS = 2, RN__TVAR_VERSION = 4 };

struct rn__tvar {
    void *value;  /* read and written atomically, in pieces */
    size_t bytes; /* of the value */
    struct rn__object object;
    _Atomic uint64_t word;
    struct rn__list queue; /* of retries; under LOCKED, empty if not WAITERS */
};

_Static_assert(sizeof(struct rn__tvar) <= sizeof(rn_tvar),
               "rn_tvar is too small");

/* No word of a variable that is not locked. */
#define RN__TX_UNREAD UINT64_MAX

/* Commits that have changed something, of the whole process: a variable may
 * serve one runtime after the other. */
extern _Atomic uint64_t rn__stm_clock;

static inline struct rn__tvar *
rn__tvar_inner(rn_tvar *tvar)
{
    return (struct rn__tvar *)(void *)tvar;
}

static inline void
rn__tvar_pause(int *spins)
{
    if (++*spins > 64)
        rn__os_relax();
    else
        rn__cpu_pause();
}

/* ---- a transaction ------------------------------------------------------ */

/* A variable it has touched. */
struct rn__tx_entry {
    struct rn__tvar *tvar;
    uint64_t seen; /* its word without WAITERS; RN__TX_UNREAD: not read */
    uint64_t held; /* while it is locked by the commit: the word before */
    uint32_t slot; /* where its new value is in values, plus 1; 0: not written
                    */
    bool changed;  /* by the commit: the new value is another one */
};

/* A nested transaction gave an entry another slot. */
struct rn__tx_undo {
    uint32_t entry, slot;
};

enum rn__tx_state {
    RN__TX_IDLE,   /* runs no body */
    RN__TX_ACTIVE, /* all is well */
    RN__TX_AGAIN,  /* a conflict: the run does not count */
    RN__TX_RETRY,  /* the body wants to wait for a change */
    RN__TX_NOMEM   /* the log could not grow */
};

enum { RN__TX_FEW = 8, RN__TX_FEW_WORDS = 16 };

/* Kept from one transaction to the next, with all that it has grown. */
struct rn_tx {
    uint32_t state;    /* enum rn__tx_state */
    uint32_t count;    /* entries in use */
    uint64_t snapshot; /* all that was read was so at this clock */
    uint64_t filter;   /* a bit for each of them, by hash */
    struct rn__tx_entry *entries;
    uint64_t *values;    /* the new ones, each at a multiple of 8 */
    uint32_t used;       /* of values */
    uint32_t level;      /* used when the innermost nesting began */
    bool wrote;          /* it has, or has undone it */
    bool serial;         /* it holds stm->serial */
    uint32_t entry_room; /* of these, in elements */
    uint32_t value_room;
    uint32_t undo_count, undo_room;
    uint32_t index_room, waiter_room;
    uint32_t depth; /* of nesting */
    struct rn__tx_undo *undos;
    uint32_t *index;            /* of entries, by hash; from some count on */
    struct rn__waiter *waiters; /* of a retry, one an entry */
    struct rn__rt *rt;
    struct rn_tx *next; /* on a shelf */
    struct rn__tx_entry few[RN__TX_FEW];
    uint64_t few_words[RN__TX_FEW_WORDS];
};

/* What a runtime has for transactions; made by the first one. */
struct rn__stm {
    struct rn__annex annex; /* first: the same address */
    struct rn__rt *rt;
    rn_mutex serial;          /* who holds it is not disturbed by commits */
    _Atomic uint32_t serials; /* that hold it or will; relaxed: who sees it
                                 late is one commit late */
    struct rn__shelf {
        _Alignas(RN__LINE) struct rn_tx *first; /* own use of a worker */
        uint32_t count;
    } shelves[]; /* one a worker */
};

/* One to use, its log empty; NULL: out of memory. */
struct rn_tx *rn__tx_take(struct rn__worker *worker);
void rn__tx_give(struct rn__worker *worker, struct rn_tx *tx);

static inline struct rn__stm *
rn__stm_of(struct rn__rt *rt)
{
    /* acquire: partners with the release that made it */
    return (struct rn__stm *)(void *)atomic_load_explicit(&rt->stm,
                                                          memory_order_acquire);
}

/* ---- its log (stm_log.c) ------------------------------------------------ */

/* Empty the log and take a snapshot. */
void rn__tx_begin(struct rn_tx *tx);
/* Find by looking: the filter says there may be one. */
struct rn__tx_entry *rn__tx_search(struct rn_tx *tx,
                                   const struct rn__tvar *tvar);
/* Make room for one more entry; false: out of memory. */
bool rn__tx_grow(struct rn_tx *tx);
/* Put the last entry into the index. */
void rn__tx_index(struct rn_tx *tx);
/* Make room for so many bytes more in values. */
bool rn__tx_reserve(struct rn_tx *tx, size_t bytes);
/* Where the entry's new value is to be written; NULL: out of memory. */
void *rn__tx_slot(struct rn_tx *tx, struct rn__tx_entry *entry);
/* Whether all that was read still is so; when committing but for what is
 * written, too: that is locked and has been compared. */
bool rn__tx_valid(const struct rn_tx *tx, bool committing);
/* A waiter for each entry. */
bool rn__tx_reserve_waiters(struct rn_tx *tx);

/* A nested transaction begins, and ends with its writes kept or undone. */
struct rn__tx_mark {
    uint32_t level, undo_count;
};
struct rn__tx_mark rn__tx_enter(struct rn_tx *tx);
void rn__tx_leave(struct rn_tx *tx, struct rn__tx_mark mark, bool undo);

static inline uint32_t
rn__tx_hash(const struct rn__tvar *tvar)
{
    return (uint32_t)(((uint64_t)(uintptr_t)tvar >> 3) * 0x9e3779b97f4a7c15u >>
                      32);
}

/* Its bit in the filter. */
static inline uint64_t
rn__tx_bit(const struct rn__tvar *tvar)
{
    return (uint64_t)1 << (rn__tx_hash(tvar) >> 26);
}

static inline struct rn__tx_entry *
rn__tx_find(struct rn_tx *tx, const struct rn__tvar *tvar)
{
    return rn__likely(!(tx->filter & rn__tx_bit(tvar)))
               ? NULL
               : rn__tx_search(tx, tvar);
}

/* Add an entry; NULL: out of memory. */
static inline struct rn__tx_entry *
rn__tx_add(struct rn_tx *tx, struct rn__tvar *tvar, uint64_t seen)
{
    if (rn__unlikely(tx->count == tx->entry_room) && !rn__tx_grow(tx))
        return NULL;
    struct rn__tx_entry *entry = &tx->entries[tx->count++];
    entry->tvar = tvar;
    entry->seen = seen;
    entry->slot = 0;
    tx->filter |= rn__tx_bit(tvar);
    if (rn__unlikely(tx->count > RN__TX_FEW))
        rn__tx_index(tx);
    return entry;
}

/* ---- its variables (stm_tvar.c) ----------------------------------------- */

/* Panics if a transaction waits for a variable that is to be freed. */
void rn__tvar_check_idle(rn_tvar *tvar, const char *function, const void *site);
/* Under LOCKED: give it a value; whether its value is another one. */
void rn__tvar_store(const struct rn__tvar *v, const void *from);
bool rn__tvar_differs(const struct rn__tvar *v, const void *from);

typedef _Atomic uint64_t rn__tvar_piece;

/* As big as a pointer or a long, and lies so: nearly all do. */
static inline bool
rn__tvar_is_word(const struct rn__tvar *v)
{
    return v->bytes == 8 && (uintptr_t)v->value % 8 == 0;
}

/* ---- committing (stm_commit.c) ------------------------------------------ */

/* Make its writes happen; false: a conflict, and none has. */
bool rn__tx_commit(struct rn_tx *tx);
/* Wait for a change of what was read: 0, -ETIMEDOUT, -ECANCELED; -ENOMEM. */
int rn__tx_wait(struct rn_tx *tx, struct rn__task *self, const void *site,
                rn_time deadline);

#endif
