/* base/wheel.h - timers by time: the near in a heap, the far in a radix wheel.
 *
 * Keys are times >= 0. Those before the end of the grain that the horizon is in
 * are near: they stand in a pairing heap, in exact order. The far ones stand
 * unsorted in slots: the level of a slot is the highest digit, of 6 bits, in
 * which the key differs from the horizon, its place the key's digit there. So
 * all of a level come before all of the next. As time goes on the horizon
 * follows, and the first slot is spread over the levels below it or the heap.
 * (Varghese and Lauck, "Hashed and hierarchical timing wheels", 1987; the
 * levels are those of a radix heap: Ahuja, Mehlhorn, Orlin, Tarjan, 1990.)
 *
 * INVARIANT: in the digit of its level a far key is larger than the horizon,
 * in those above it is equal.
 *
 * Most timers are stopped where they were put, at the price of a list, and the
 * heap is small, and with it what its nodes cost in cache misses.
 * docs/RATIONALE.md has the figures.
 */
#ifndef RN_WHEEL_H
#define RN_WHEEL_H

#include "base/heap.h"

enum {
    RN__WHEEL_GRAIN = 16, /* bits: 65 us */
    RN__WHEEL_BITS = 6,
    RN__WHEEL_SLOTS = 1 << RN__WHEEL_BITS,
    RN__WHEEL_LEVELS = 8,
    RN__WHEEL_UNKNOWN = -1
};

/* Zeroed it is empty, but for bound. */
struct rn__wheel {
    struct rn__heap near;
    int64_t horizon;
    int64_t bound; /* no far key is smaller; INT64_MAX: there is none; UNKNOWN:
                      to be found out */
    uint64_t levels;                 /* bits: those with used slots */
    uint64_t used[RN__WHEEL_LEVELS]; /* bits: slots with nodes */
    struct rn__heap_node *slots[RN__WHEEL_LEVELS * RN__WHEEL_SLOTS];
};

static inline bool
rn__wheel_is_near(const struct rn__wheel *wheel, int64_t key)
{
    return key <= (wheel->horizon | ((1 << RN__WHEEL_GRAIN) - 1));
}

/* Into the slot of its key. A far node is its own child. */
static inline void
rn__wheel_put(struct rn__wheel *wheel, struct rn__heap_node *node)
{
    uint64_t key = (uint64_t)node->key;
    int highest = 63 - __builtin_clzll(key ^ (uint64_t)wheel->horizon);
    int level = (highest - RN__WHEEL_GRAIN) / RN__WHEEL_BITS;
    uint64_t place = key >> (RN__WHEEL_GRAIN + level * RN__WHEEL_BITS) &
                     (RN__WHEEL_SLOTS - 1);
    struct rn__heap_node **slot =
        &wheel->slots[(uint64_t)level * RN__WHEEL_SLOTS + place];
    wheel->levels |= (uint64_t)1 << level;
    wheel->used[level] |= (uint64_t)1 << place;
    node->child = node;
    node->next = *slot;
    node->pprev = slot;
    if (node->next)
        node->next->pprev = &node->next;
    *slot = node;
}

/* A slot has become empty. */
static inline void
rn__wheel_clear(struct rn__wheel *wheel, size_t slot)
{
    size_t level = slot / RN__WHEEL_SLOTS;
    wheel->used[level] &= ~((uint64_t)1 << slot % RN__WHEEL_SLOTS);
    if (!wheel->used[level])
        wheel->levels &= ~((uint64_t)1 << level);
}

/* Insert a node that is in no wheel, with key. */
static inline void
rn__wheel_insert(struct rn__wheel *wheel, struct rn__heap_node *node,
                 int64_t key)
{
    if (rn__wheel_is_near(wheel, key)) {
        rn__heap_insert(&wheel->near, node, key);
        return;
    }
    node->key = key;
    node->order = wheel->near.next_order++;
    rn__wheel_put(wheel, node);
    if (key < wheel->bound)
        wheel->bound = key;
}

/* Remove a node that is in the wheel. */
static inline void
rn__wheel_remove(struct rn__wheel *wheel, struct rn__heap_node *node)
{
    if (node->child != node) {
        rn__heap_remove(&wheel->near, node);
        return;
    }
    struct rn__heap_node **at = node->pprev, *next = node->next;
    *at = next;
    if (next)
        next->pprev = at;
    else if (at >= wheel->slots &&
             at < wheel->slots + RN__WHEEL_LEVELS * RN__WHEEL_SLOTS)
        rn__wheel_clear(wheel, (size_t)(at - wheel->slots));
    node->prev = NULL;
    if (node->key == wheel->bound)
        wheel->bound = wheel->levels ? RN__WHEEL_UNKNOWN : INT64_MAX;
}

/* The bound, found out. */
int64_t rn__wheel_find_bound(struct rn__wheel *wheel);

/* When the first leaves; INT64_MAX: there is none. It may be later, if it is
 * far and not one of a few; then a call of advance with this time helps. */
static inline int64_t
rn__wheel_next(struct rn__wheel *wheel)
{
    struct rn__heap_node *min = rn__heap_min(&wheel->near);
    if (min)
        return min->key;
    return wheel->bound != RN__WHEEL_UNKNOWN ? wheel->bound
                                             : rn__wheel_find_bound(wheel);
}

/* Bring the horizon up to now. Afterwards what is due at now is near. */
void rn__wheel_advance(struct rn__wheel *wheel, int64_t now);

/* The node that leaves first, whenever that is; NULL: there is none. */
struct rn__heap_node *rn__wheel_first(struct rn__wheel *wheel);

/* Whether the structure is whole, and the number of its nodes; for tests. */
bool rn__wheel_valid(const struct rn__wheel *wheel, size_t *count);

#endif
