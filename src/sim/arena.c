/* sim/arena.c - see arena.h.
 *
 * The link of a free block is its second word: the first, where an object would
 * have its number, stays as it was (freed.h).
 *
 * A block has a header with its size. Small ones that are given back are used
 * again at once, newest first; large ones only after a rewind. Addresses so
 * depend on nothing but the order of calls.
 */
#include "sim/arena.h"

#include "os/os.h"

#include <errno.h>
#include <string.h>

enum { UNIT = 16, LINK = 8 };

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
        memcpy(&arena->free[class], (char *)memory + LINK, sizeof(void *));
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
rn__arena_has(const struct rn__arena *arena, const void *memory)
{
    const char *at = memory;
    return at >= arena->memory && at < arena->memory + arena->bytes;
}

size_t
rn__arena_bytes(const void *memory)
{
    return ((const struct header *)memory - 1)->bytes;
}

bool
rn__arena_free(struct rn__arena *arena, void *memory)
{
    char *at = memory;
    if (!rn__arena_has(arena, memory))
        return false;
    size_t class = rn__arena_bytes(memory) / UNIT;
    if (class < RN__ARENA_CLASSES) {
        memcpy(at + LINK, &arena->free[class], sizeof(void *));
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
