/* sim/distinct.c - the set of digests seen: open addressing, at most half
 * full.
 */
#include "sim/sim.h"

#include <stdlib.h>

static bool
insert(uint64_t *slots, size_t room, uint64_t digest)
{
    size_t i = digest & (room - 1);
    while (slots[i] && slots[i] != digest)
        i = (i + 1) & (room - 1);
    bool fresh = !slots[i];
    slots[i] = digest;
    return fresh;
}

bool
rn__distinct_add(struct rn__distinct *set, uint64_t digest)
{
    if (digest == 0) /* stands for an empty slot */
        digest = 1;
    if (2 * set->count >= set->room) {
        size_t room = set->room ? 2 * set->room : 1024;
        uint64_t *slots = calloc(room, sizeof *slots);
        if (!slots)
            return false;
        for (size_t i = 0; i < set->room; i++)
            if (set->slots[i])
                insert(slots, room, set->slots[i]);
        free(set->slots);
        set->slots = slots;
        set->room = room;
    }
    bool fresh = insert(set->slots, set->room, digest);
    set->count += fresh;
    return fresh;
}
