/* base/wheel.c - see wheel.h. */
#include "base/wheel.h"

/* Scanning so many for the smallest costs less than waking up for nothing. */
enum { FEW = 16 };

static int
shift_of(int level)
{
    return RN__WHEEL_GRAIN + level * RN__WHEEL_BITS;
}

/* When the time of a slot begins. */
static int64_t
start_of(const struct rn__wheel *wheel, int slot)
{
    int shift = shift_of(slot / RN__WHEEL_SLOTS);
    uint64_t below = ((uint64_t)RN__WHEEL_SLOTS << shift) - 1;
    uint64_t digit = (uint64_t)slot % RN__WHEEL_SLOTS;
    return (int64_t)(((uint64_t)wheel->horizon & ~below) | digit << shift);
}

/* The first slot with nodes; there is one. */
static int
first_slot(const struct rn__wheel *wheel)
{
    int level = __builtin_ctzll(wheel->levels);
    return level * RN__WHEEL_SLOTS + __builtin_ctzll(wheel->used[level]);
}

int64_t
rn__wheel_find_bound(struct rn__wheel *wheel)
{
    int64_t bound = INT64_MAX;
    if (wheel->levels) {
        int slot = first_slot(wheel), count = 0;
        const struct rn__heap_node *n = wheel->slots[slot];
        for (; n && count < FEW; n = n->next, count++)
            bound = n->key < bound ? n->key : bound;
        if (n)
            bound = start_of(wheel, slot);
    }
    wheel->bound = bound;
    return bound;
}

/* Bring the horizon up to the start of the first slot, and its nodes nearer. */
static void
spread(struct rn__wheel *wheel, int slot)
{
    struct rn__heap_node *node = wheel->slots[slot];
    wheel->slots[slot] = NULL;
    rn__wheel_clear(wheel, (size_t)slot);
    wheel->horizon = start_of(wheel, slot);
    while (node) {
        struct rn__heap_node *next = node->next;
        if (next)
            __builtin_prefetch(next->next);
        if (rn__wheel_is_near(wheel, node->key))
            rn__heap_put(&wheel->near, node);
        else
            rn__wheel_put(wheel, node);
        node = next;
    }
}

void
rn__wheel_advance(struct rn__wheel *wheel, int64_t now)
{
    if (rn__wheel_is_near(wheel, now))
        return;
    while (wheel->levels && start_of(wheel, first_slot(wheel)) <= now)
        spread(wheel, first_slot(wheel));
    wheel->horizon = now >> RN__WHEEL_GRAIN << RN__WHEEL_GRAIN;
    wheel->bound = RN__WHEEL_UNKNOWN;
}

struct rn__heap_node *
rn__wheel_first(struct rn__wheel *wheel)
{
    int64_t next;
    while (!rn__heap_min(&wheel->near) &&
           (next = rn__wheel_next(wheel)) != INT64_MAX)
        rn__wheel_advance(wheel, next);
    return rn__heap_min(&wheel->near);
}

static bool
slot_valid(const struct rn__wheel *wheel, int slot, size_t *count)
{
    struct rn__heap_node *const *at = &wheel->slots[slot];
    int level = slot / RN__WHEEL_SLOTS, place = slot % RN__WHEEL_SLOTS;
    int64_t start = start_of(wheel, slot);
    bool used = wheel->used[level] >> place & 1;
    if (used != (*at != NULL) || (used && start <= wheel->horizon))
        return false;
    for (const struct rn__heap_node *n; (n = *at); at = &n->next) {
        *count += 1;
        if (n->pprev != at || n->child != n || n->key < wheel->bound)
            return false;
        if (n->key < start || (n->key - start) >> shift_of(level) != 0)
            return false;
    }
    return true;
}

bool
rn__wheel_valid(const struct rn__wheel *wheel, size_t *count)
{
    if (!rn__heap_valid(&wheel->near, count))
        return false;
    for (int level = 0; level < RN__WHEEL_LEVELS; level++)
        if ((wheel->levels >> level & 1) != (wheel->used[level] != 0))
            return false;
    for (int slot = 0; slot < RN__WHEEL_LEVELS * RN__WHEEL_SLOTS; slot++)
        if (!slot_valid(wheel, slot, count))
            return false;
    return true;
}
