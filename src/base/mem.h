/* base/mem.h - memory that is cleared again and again. */
#ifndef RN_MEM_H
#define RN_MEM_H

#include <string.h>

/* Clear an object of a constant size. For more than some words gcc emits one
 * string instruction, which takes longer to begin than this takes in all. */
__attribute__((always_inline)) static inline void
rn__clear(void *memory, size_t bytes)
{
    enum { PIECE = 64 };
    char *at = memory;
#pragma GCC unroll 16
    for (size_t i = 0; i < bytes / PIECE; i++)
        memset(at + i * PIECE, 0, PIECE);
    memset(at + bytes / PIECE * PIECE, 0, bytes % PIECE);
}

#endif
