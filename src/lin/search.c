/* lin/search.c - look for an order of the items that the model explains.
 *
 * Wing and Gong, "Testing and verifying concurrent objects" (1993): an order
 * is made from its beginning; next may be any item that was called before the
 * first return of one that is not placed. Lowe, "Testing for linearizability"
 * (2017): what can follow depends on the set of items placed and on the state
 * only, so a pair met before is not gone into again; and an item is placed just
 * in time, because one that waits for it returns next.
 *
 * A pair is a config. All musts before base are placed; of later ones, only
 * those that were called before base returns can be. Any two of these overlap,
 * so they have different slots, and a bit a slot says which are placed: a
 * config is as long as the history is concurrent, not as it is long. Mays keep
 * a slot for ever.
 *
 * Three cuts, each because every order that is lost has a twin that is not:
 *  - a pure item that is legal now is placed, and nothing else is tried: it
 *    can be moved to here from wherever else it would stand;
 *  - of equal items only the one that returns first is tried;
 *  - a may that changes nothing is left out.
 *
 * Depth first; the item that must return first is tried first. The search ends
 * when all musts are placed. Configs are kept for the story of a failure.
 */
#include "lin/lin.h"

#include "base/prng.h"

#include <stdlib.h>
#include <string.h>

/* Odd, of random bits. */
#define STEP 0x2545f4914f6cdd1du

enum {
    CHUNK_SHIFT = 10,
    CHUNK = 1 << CHUNK_SHIFT, /* configs */
    ALIGNMENT = 16,           /* of a state */
    CHECK_EVERY = 64,         /* expansions between looks at the clock */
    ITEMS_MAX = 1 << 30
};

static size_t
round_up(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- states ------------------------------------------------------------- */

bool
rn__lin_state_equal(const rn_lin_model *m, const void *a, const void *b)
{
    return m->equal ? m->equal(a, b, m->arg) != 0
                    : memcmp(a, b, m->state_bytes) == 0;
}

void
rn__lin_state_copy(const rn_lin_model *m, void *to, const void *from)
{
    if (m->copy)
        m->copy(to, from, m->arg);
    else if (m->state_bytes)
        memcpy(to, from, m->state_bytes);
}

void
rn__lin_state_fini(const rn_lin_model *m, void *state)
{
    if (m->fini)
        m->fini(state, m->arg);
}

static uint64_t
state_hash(const rn_lin_model *m, const void *state)
{
    const unsigned char *bytes = state;
    uint64_t hash = m->state_bytes, word;
    if (m->hash)
        return m->hash(state, m->arg);
    for (size_t i = 0; i < m->state_bytes; i += sizeof word) {
        size_t rest = m->state_bytes - i;
        word = 0;
        memcpy(&word, bytes + i, rest < sizeof word ? rest : sizeof word);
        hash = rn__mix64(hash ^ word) + STEP;
    }
    return hash;
}

/* ---- preparation -------------------------------------------------------- */

static int
by_return(const void *a, const void *b)
{
    const struct rn__lin_item *p = a, *q = b;
    uint64_t x = p->ret == q->ret ? p->call : p->ret;
    uint64_t y = p->ret == q->ret ? q->call : q->ret;
    return (x > y) - (x < y);
}

static void *
make(struct rn__lin_search *s, size_t count, size_t bytes)
{
    void *memory = rn__lin_grow(s->budget, NULL, 0, count * bytes);
    if (memory)
        memset(memory, 0, count * bytes);
    return memory;
}

static void
release(struct rn__lin_search *s, void *memory, size_t count, size_t bytes)
{
    rn__lin_release(s->budget, memory, count * bytes);
}

struct by_call {
    uint64_t call;
    uint32_t item;
};

static int
compare_calls(const void *a, const void *b)
{
    const struct by_call *p = a, *q = b;
    return (p->call > q->call) - (p->call < q->call);
}

/* Musts that have been called and not returned, by return. */
struct active {
    uint32_t *items, count;
    uint64_t *slots; /* a bit each that is taken */
    uint32_t slot_count;
};

static void
enter(struct rn__lin_search *s, struct active *a, uint32_t item)
{
    uint32_t i = a->count++, slot = 0;
    for (; i && a->items[i - 1] > item; i--)
        a->items[i] = a->items[i - 1];
    a->items[i] = item;
    while (a->slots[slot / 64] >> slot % 64 & 1)
        slot++;
    a->slots[slot / 64] |= (uint64_t)1 << slot % 64;
    s->slot[item] = slot;
    if (slot >= a->slot_count)
        a->slot_count = slot + 1;
}

/* The one that returns first. */
static void
leave(struct rn__lin_search *s, struct active *a)
{
    uint32_t slot = s->slot[a->items[0]];
    a->slots[slot / 64] &= ~((uint64_t)1 << slot % 64);
    a->count--;
    memmove(a->items, a->items + 1, a->count * sizeof *a->items);
}

/* Add what is active to pending. */
static bool
note_pending(struct rn__lin_search *s, const struct active *a, uint32_t must)
{
    size_t from = s->pending_at[must], word = sizeof *s->pending;
    if (from + a->count > UINT32_MAX / 2) {
        s->budget->end = RN__LIN_NO_BYTES;
        return false;
    }
    if (from + a->count > s->pending_room) {
        size_t room = 2 * (from + a->count);
        void *grown = rn__lin_grow(s->budget, s->pending,
                                   s->pending_room * word, room * word);
        if (!grown)
            return false;
        s->pending = grown;
        s->pending_room = room;
    }
    memcpy(s->pending + from, a->items, a->count * word);
    s->pending_at[must + 1] = (uint32_t)from + a->count;
    return true;
}

/* Walk through calls and returns. */
static bool
sweep(struct rn__lin_search *s, struct by_call *calls, struct active *a)
{
    uint32_t next = 0, may = s->must;
    for (uint32_t i = 0; i < s->must; i++)
        calls[i] = (struct by_call){s->items[i].call, i};
    qsort(calls, s->must, sizeof *calls, compare_calls);
    for (uint32_t b = 0; b < s->must; b++) {
        uint64_t ret = s->items[b].ret;
        while (next < s->must && calls[next].call < ret)
            enter(s, a, calls[next++].item);
        while (may < s->all && s->items[may].call < ret)
            may++;
        s->may_count[b] = may - s->must;
        if (!note_pending(s, a, b))
            return false;
        leave(s, a);
    }
    for (uint32_t i = s->must; i < s->all; i++)
        s->slot[i] = a->slot_count + i - s->must;
    s->words = (a->slot_count + s->all - s->must + 63) / 64;
    return true;
}

static bool
find_overlaps(struct rn__lin_search *s)
{
    size_t n = s->must, words = n / 64 + 1;
    struct by_call *calls = make(s, n, sizeof *calls);
    struct active a = {.items = make(s, n, sizeof *a.items),
                       .slots = make(s, words, sizeof *a.slots)};
    bool good = calls && a.items && a.slots && sweep(s, calls, &a);
    release(s, calls, n, sizeof *calls);
    release(s, a.items, n, sizeof *a.items);
    release(s, a.slots, words, sizeof *a.slots);
    return good;
}

/* What init makes whose size is known before the sweep. */
static bool
make_arrays(struct rn__lin_search *s)
{
    s->slot = make(s, s->all, sizeof *s->slot);
    s->pending_at = make(s, s->must + 1, sizeof *s->pending_at);
    s->may_count = make(s, s->must, sizeof *s->may_count);
    s->seen = make(s, s->kinds, sizeof *s->seen);
    s->state = make(s, 1, s->state_room);
    return s->slot && s->pending_at && s->may_count && s->seen && s->state;
}

bool
rn__lin_search_init(struct rn__lin_search *s, const rn_lin_model *model,
                    struct rn__lin_budget *budget, struct rn__lin_item *items,
                    uint32_t count)
{
    *s = (struct rn__lin_search){
        .model = model, .budget = budget, .items = items, .all = count};
    qsort(items, count, sizeof *items, by_return);
    for (uint32_t i = 0; i < count; i++) {
        s->must += items[i].ret != RN__LIN_OPEN;
        if (items[i].kind >= s->kinds)
            s->kinds = items[i].kind + 1;
    }
    s->state_room = round_up(model->state_bytes);
    if (!make_arrays(s) || !find_overlaps(s))
        return false;
    s->config_bytes = round_up(sizeof(struct rn__lin_config) + s->state_room +
                               s->words * sizeof(uint64_t));
    s->bits = make(s, s->words, sizeof *s->bits);
    return s->bits != NULL;
}

void
rn__lin_search_fini(struct rn__lin_search *s)
{
    if (!s->budget)
        return;
    for (uint32_t i = 0; i < s->count; i++)
        rn__lin_state_fini(s->model,
                           rn__lin_config_state(rn__lin_config_at(s, i)));
    for (uint32_t i = 0; i < s->chunk_count; i++)
        release(s, s->chunks[i], CHUNK, s->config_bytes);
    release(s, s->chunks, s->chunk_count, sizeof *s->chunks);
    release(s, s->slot, s->all, sizeof *s->slot);
    release(s, s->pending_at, s->must + 1, sizeof *s->pending_at);
    release(s, s->may_count, s->must, sizeof *s->may_count);
    release(s, s->seen, s->kinds, sizeof *s->seen);
    release(s, s->state, 1, s->state_room);
    release(s, s->bits, s->words, sizeof *s->bits);
    release(s, s->pending, s->pending_room, sizeof *s->pending);
    release(s, s->table, s->table_room, sizeof *s->table);
    release(s, s->stack, s->stack_room, sizeof *s->stack);
    *s = (struct rn__lin_search){0};
}

/* ---- configs ------------------------------------------------------------ */

struct rn__lin_config *
rn__lin_config_at(const struct rn__lin_search *s, uint32_t number)
{
    char *chunk = s->chunks[number >> CHUNK_SHIFT];
    size_t offset = (number & (CHUNK - 1)) * s->config_bytes;
    return (struct rn__lin_config *)(void *)(chunk + offset);
}

static uint64_t *
bits_of(const struct rn__lin_search *s, const struct rn__lin_config *c)
{
    return (uint64_t *)(void *)((char *)rn__lin_config_state(c) +
                                s->state_room);
}

bool
rn__lin_config_has(const struct rn__lin_search *s,
                   const struct rn__lin_config *c, uint32_t item)
{
    if (item < s->must && item < c->base)
        return true;
    if (item < s->must &&
        (c->base == s->must || s->items[item].call > s->items[c->base].ret))
        return false;
    uint32_t slot = s->slot[item];
    return bits_of(s, c)[slot / 64] >> slot % 64 & 1;
}

static bool
grow_table(struct rn__lin_search *s)
{
    uint32_t room = s->table_room ? 2 * s->table_room : 2 * CHUNK;
    uint32_t *table = make(s, room, sizeof *table);
    if (!table)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = (uint32_t)rn__lin_config_at(s, i)->hash & (room - 1);
        while (table[at])
            at = (at + 1) & (room - 1);
        table[at] = i + 1;
    }
    release(s, s->table, s->table_room, sizeof *s->table);
    s->table = table;
    s->table_room = room;
    return true;
}

static bool
grow_chunks(struct rn__lin_search *s)
{
    size_t word = sizeof *s->chunks, n = s->chunk_count;
    void *chunk = rn__lin_grow(s->budget, NULL, 0, CHUNK * s->config_bytes);
    char **chunks =
        chunk ? rn__lin_grow(s->budget, s->chunks, n * word, (n + 1) * word)
              : NULL;
    if (!chunks) {
        release(s, chunk, CHUNK, s->config_bytes);
        return false;
    }
    s->chunks = chunks;
    s->chunks[s->chunk_count++] = chunk;
    return true;
}

static bool
push(struct rn__lin_search *s, uint32_t config)
{
    size_t word = sizeof *s->stack;
    if (s->stacked == s->stack_room) {
        uint32_t room = s->stack_room ? 2 * s->stack_room : CHUNK;
        void *grown = rn__lin_grow(s->budget, s->stack, s->stack_room * word,
                                   room * word);
        if (!grown)
            return false;
        s->stack = grown;
        s->stack_room = room;
    }
    s->stack[s->stacked++] = config;
    return true;
}

/* Where in the table a config is, or would be: s->state, s->bits, base. */
static uint32_t
look_up(const struct rn__lin_search *s, uint32_t base, uint64_t hash)
{
    size_t bytes = s->words * sizeof *s->bits;
    uint32_t at = (uint32_t)hash & (s->table_room - 1);
    for (; s->table[at]; at = (at + 1) & (s->table_room - 1)) {
        const struct rn__lin_config *c = rn__lin_config_at(s, s->table[at] - 1);
        if (c->hash == hash && c->base == base &&
            memcmp(bits_of(s, c), s->bits, bytes) == 0 &&
            rn__lin_state_equal(s->model, rn__lin_config_state(c), s->state))
            break;
    }
    return at;
}

static uint64_t
hash_of(const struct rn__lin_search *s, uint32_t base)
{
    uint64_t hash = rn__mix64(state_hash(s->model, s->state) ^ base);
    for (uint32_t i = 0; i < s->words; i++)
        hash = rn__mix64(hash ^ s->bits[i]) + STEP;
    return hash;
}

/* Keep s->state with s->bits if that is new; header: base, parent, item, placed
 * are set. false: out of memory. */
static bool
add_config(struct rn__lin_search *s, struct rn__lin_config header)
{
    if (2 * (uint64_t)s->count >= s->table_room && !grow_table(s))
        return false;
    header.hash = hash_of(s, header.base);
    uint32_t at = look_up(s, header.base, header.hash);
    if (s->table[at])
        return true;
    if (s->count >= ITEMS_MAX) {
        s->budget->end = RN__LIN_NO_BYTES;
        return false;
    }
    if (s->count == s->chunk_count * (uint32_t)CHUNK && !grow_chunks(s))
        return false;
    if (!push(s, s->count))
        return false;
    struct rn__lin_config *c = rn__lin_config_at(s, s->count);
    if (header.item == UINT32_MAX)
        header.parent = s->count;
    *c = header;
    rn__lin_state_copy(s->model, rn__lin_config_state(c), s->state);
    if (s->words)
        memcpy(bits_of(s, c), s->bits, s->words * sizeof *s->bits);
    s->table[at] = ++s->count;
    const struct rn__lin_config *best = rn__lin_config_at(s, s->best);
    if (c->base > best->base ||
        (c->base == best->base && c->placed > best->placed))
        s->best = s->count - 1;
    return true;
}

bool
rn__lin_search_start(struct rn__lin_search *s, const void *state)
{
    rn__lin_state_copy(s->model, s->state, state);
    memset(s->bits, 0, s->words * sizeof *s->bits);
    bool good = add_config(s, (struct rn__lin_config){.item = UINT32_MAX});
    rn__lin_state_fini(s->model, s->state);
    return good;
}

bool
rn__lin_search_start_first(struct rn__lin_search *s)
{
    s->model->init(s->state, s->model->arg);
    memset(s->bits, 0, s->words * sizeof *s->bits);
    bool good = add_config(s, (struct rn__lin_config){.item = UINT32_MAX});
    rn__lin_state_fini(s->model, s->state);
    return good;
}

/* ---- the search --------------------------------------------------------- */

/* s->bits and base after item was placed. */
static uint32_t
place(struct rn__lin_search *s, const struct rn__lin_config *c, uint32_t item)
{
    uint32_t base = c->base, slot = s->slot[item];
    memcpy(s->bits, bits_of(s, c), s->words * sizeof *s->bits);
    s->bits[slot / 64] |= (uint64_t)1 << slot % 64;
    for (; base < s->must; base++) {
        /* Also right if it was not called yet: who had its slot before has
         * returned, so that bit is clear. */
        slot = s->slot[base];
        if (!(s->bits[slot / 64] >> slot % 64 & 1))
            break;
        s->bits[slot / 64] &= ~((uint64_t)1 << slot % 64);
    }
    return base;
}

enum tried { REFUSED, PLACED, TROUBLE };

static enum tried
try_item(struct rn__lin_search *s, uint32_t number, uint32_t item)
{
    const struct rn__lin_config *c = rn__lin_config_at(s, number);
    const rn_lin_model *m = s->model;
    enum tried result = REFUSED;
    rn__lin_state_copy(m, s->state, rn__lin_config_state(c));
    s->budget->steps++;
    if (m->step(s->state, &s->items[item].op, m->arg) && !s->budget->end) {
        bool idle = item >= s->must &&
                    rn__lin_state_equal(m, s->state, rn__lin_config_state(c));
        result = PLACED;
        if (!idle) {
            struct rn__lin_config header = {.base = place(s, c, item),
                                            .parent = number,
                                            .item = item,
                                            .placed = c->placed + 1};
            result = add_config(s, header) ? PLACED : TROUBLE;
        }
    }
    rn__lin_state_fini(m, s->state);
    return s->budget->end ? TROUBLE : result;
}

/* Try the candidate i of a config: musts, then mays. */
static enum tried
try_candidate(struct rn__lin_search *s, uint32_t number, uint32_t i, bool pure)
{
    const struct rn__lin_config *c = rn__lin_config_at(s, number);
    uint32_t from = s->pending_at[c->base];
    uint32_t musts = s->pending_at[c->base + 1] - from;
    uint32_t item = i < musts ? s->pending[from + i] : s->must + i - musts;
    const struct rn__lin_item *it = &s->items[item];
    if (it->pure != pure || (pure && item >= s->must))
        return REFUSED;
    if (s->seen[it->kind] == s->expansion || rn__lin_config_has(s, c, item))
        return REFUSED;
    s->seen[it->kind] = s->expansion;
    return try_item(s, number, item);
}

/* Add all that can follow a config. */
static bool
expand(struct rn__lin_search *s, uint32_t number)
{
    uint32_t base = rn__lin_config_at(s, number)->base, first = s->stacked;
    uint32_t musts = s->pending_at[base + 1] - s->pending_at[base];
    uint32_t all = musts + s->may_count[base];
    s->expansion++;
    for (uint32_t i = 0; i < musts; i++) {
        enum tried t = try_candidate(s, number, i, true);
        if (t != REFUSED)
            return t == PLACED;
    }
    for (uint32_t i = 0; i < all; i++)
        if (try_candidate(s, number, i, false) == TROUBLE)
            return false;
    for (uint32_t i = first, k = s->stacked; i + 1 < k; i++) {
        uint32_t last = s->stack[--k];
        s->stack[k] = s->stack[i];
        s->stack[i] = last;
    }
    return true;
}

rn_lin_verdict
rn__lin_search_run(struct rn__lin_search *s)
{
    struct rn__lin_budget *b = s->budget;
    while (s->stacked) {
        const struct rn__lin_config *best = rn__lin_config_at(s, s->best);
        if (best->base == s->must)
            return RN_LIN_OK;
        if (s->expansion % CHECK_EVERY == 0 &&
            !rn__lin_goes_on(b, best->placed))
            return RN_LIN_UNKNOWN;
        if (!expand(s, s->stack[--s->stacked]))
            return RN_LIN_UNKNOWN;
        if (b->step_limit && b->steps >= b->step_limit) {
            b->end = RN__LIN_NO_STEPS;
            return RN_LIN_UNKNOWN;
        }
    }
    bool all = rn__lin_config_at(s, s->best)->base == s->must;
    return all ? RN_LIN_OK : RN_LIN_BAD;
}
