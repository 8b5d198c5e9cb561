/* sim/arena.h - the memory of a simulated world: taken piece by piece, given
 * back all at once.
 */
#ifndef RN_ARENA_H
#define RN_ARENA_H

#include <stdbool.h>
#include <stddef.h>

enum { RN__ARENA_CLASSES = 64 };

struct rn__arena {
    char *memory;
    size_t bytes; /* reserved */
    size_t used;
    size_t peak;                   /* of used, before the last rewind */
    void *free[RN__ARENA_CLASSES]; /* given back, by size in 16 bytes */
};

/* Reserve memory, which costs nothing until it is used. 0 or -ENOMEM. */
int rn__arena_init(struct rn__arena *arena, size_t bytes);
void rn__arena_fini(struct rn__arena *arena);
/* Zeroed memory; NULL: used up. */
void *rn__arena_alloc(struct rn__arena *arena, size_t bytes);
/* Give memory back; false if it is not the arena's. */
bool rn__arena_free(struct rn__arena *arena, void *memory);
/* The most that was in use. */
static inline size_t
rn__arena_peak(const struct rn__arena *arena)
{
    return arena->used > arena->peak ? arena->used : arena->peak;
}
bool rn__arena_has(const struct rn__arena *arena, const void *memory);
/* Size of a block of the arena. */
size_t rn__arena_bytes(const void *memory);
/* Take everything back. */
void rn__arena_rewind(struct rn__arena *arena);

#endif
