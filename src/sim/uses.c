/* sim/uses.c - see surw.h. */
#include "sim/surw.h"

#include "base/prng.h"
#include "sim/fair.h"

#include <stdlib.h>
#include <string.h>

static bool
grow(struct rn__uses *uses)
{
    size_t room = uses->room ? 2 * uses->room : 64;
    struct rn__use *list = realloc(uses->list, room * sizeof *list);
    if (list)
        uses->list = list;
    uint32_t *slots = calloc(2 * room, sizeof *slots);
    if (!list || !slots) {
        free(slots);
        return false;
    }
    free(uses->slots);
    uses->slots = slots;
    uses->room = room;
    return true;
}

static uint32_t *
slot_of(const struct rn__uses *uses, uint64_t lineage, uint64_t address)
{
    size_t mask = 2 * uses->room - 1;
    size_t i = rn__mix64(lineage + 31 * address) & mask;
    for (; uses->slots[i]; i = (i + 1) & mask) {
        const struct rn__use *use = &uses->list[uses->slots[i] - 1];
        if (use->lineage == lineage && use->address == address)
            break;
    }
    return &uses->slots[i];
}

static void
refill(struct rn__uses *uses)
{
    for (size_t i = 0; i < uses->count; i++)
        *slot_of(uses, uses->list[i].lineage, uses->list[i].address) =
            (uint32_t)i + 1;
}

struct rn__use *
rn__uses_at(struct rn__uses *uses, uint64_t lineage, uint64_t parent,
            uint64_t address)
{
    if (uses->count == uses->room) {
        if (!grow(uses))
            return NULL;
        refill(uses);
    }
    uint32_t *slot = slot_of(uses, lineage, address);
    if (!*slot) {
        uses->list[uses->count++] =
            (struct rn__use){lineage, parent, address, 0};
        *slot = (uint32_t)uses->count;
    }
    return &uses->list[*slot - 1];
}

void
rn__uses_clear(struct rn__uses *uses)
{
    uses->count = 0;
    if (uses->slots)
        memset(uses->slots, 0, 2 * uses->room * sizeof *uses->slots);
}

void
rn__uses_free(struct rn__uses *uses)
{
    free(uses->list);
    free(uses->slots);
    memset(uses, 0, sizeof *uses);
}

/* A task is in the log also if it has used nothing: its children may have. */
void
rn__uses_tell(struct rn__world *world, struct rn__uses *uses)
{
    rn__uses_clear(uses);
    for (size_t i = 0; i < world->event_count; i++) {
        const struct rn__event *e = &world->events[i];
        enum rn__kind kind = rn__event_kind(e);
        const struct rn__pending *p = &world->pending[e->task];
        bool counts = kind < RN__ANNOTATE_FIRST && e->object &&
                      rn__is_shared(kind) && e->object <= world->rt.objects;
        if (!e->task || (!counts && kind != RN__BEGIN))
            continue;
        struct rn__use *use = rn__uses_at(
            uses, p->lineage, p->parent,
            counts ? (uint64_t)(uintptr_t)world->addresses[e->object] : 0);
        if (use)
            use->count += counts;
    }
    for (size_t i = 0; i < uses->count; i++) {
        const struct rn__use *use = &uses->list[i];
        if (!rn__words_add(&world->words, use->lineage) ||
            !rn__words_add(&world->words, use->parent) ||
            !rn__words_add(&world->words, use->address) ||
            !rn__words_add(&world->words, use->count))
            return;
    }
}
