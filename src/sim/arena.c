/* sim/arena.c - see arena.h.
 *
 * A block has a header with its size. Small ones that are given back are used
 * again at once, newest first; large ones only after a rewind. Addresses so
 * depend on nothing but the order of calls.
 */
#include "sim/arena.h"

#include "os/os.h"

#include <errno.h>
#include <string.h>

enum { UNIT = 16 };

struct header {
    size_t bytes; /* of the block, a multiple of UNIT */
    size_t unused;
};

_Static_assert(sizeof(struct header) == UNIT, "blocks lose their alignment");

int
rn__arena_init(struct rn__arena *arena, size_t bytes)
{
    memset(arena, 0, sizeof *arena);
    arena->memory = rn__os_map(bytes);
    arena->bytes = bytes;
    return arena->memory ? 0 : -ENOMEM;
}

void
rn__arena_fini(struct rn__arena *arena)
{
    if (arena->memory)
        rn__os_unmap(arena->memory, arena->bytes);
    arena->memory = NULL;
}

void *
rn__arena_alloc(struct rn__arena *arena, size_t bytes)
{
    if (bytes > arena->bytes)
        return NULL;
    bytes = bytes ? (bytes + UNIT - 1) / UNIT * UNIT : UNIT;
    size_t class = bytes / UNIT;
    if (class < RN__ARENA_CLASSES && arena->free[class]) {
        void *memory = arena->free[class];
        memcpy(&arena->free[class], memory, sizeof(void *));
        return memset(memory, 0, bytes);
    }
    if (bytes + UNIT > arena->bytes - arena->used)
        return NULL;
    struct header *header = (void *)(arena->memory + arena->used);
    arena->used += UNIT + bytes;
    header->bytes = bytes;
    return memset(header + 1, 0, bytes);
}

bool
rn__arena_free(struct rn__arena *arena, void *memory)
{
    char *at = memory;
    if (at < arena->memory || at >= arena->memory + arena->bytes)
        return false;
    size_t class = ((struct header *)memory - 1)->bytes / UNIT;
    if (class < RN__ARENA_CLASSES) {
        memcpy(memory, &arena->free[class], sizeof(void *));
        arena->free[class] = memory;
    }
    return true;
}

void
rn__arena_rewind(struct rn__arena *arena)
{
    arena->peak = rn__arena_peak(arena);
    arena->used = 0;
    memset(arena->free, 0, sizeof arena->free);
}
