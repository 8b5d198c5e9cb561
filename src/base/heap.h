/* base/heap.h - a 4-ary min-heap of nodes that live in their owners.
 *
 * Keys are 64-bit; equal keys leave in the order they came (a sequence number
 * breaks ties). A node knows its place, so it is removed in O(log n). Four
 * children a node halve the depth against a binary heap (LaMarca and Ladner,
 * "The influence of caches on the performance of heaps", 1996).
 */
#ifndef RN_HEAP_H
#define RN_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rn__heap_node {
    int64_t key;
    uint64_t order; /* among equal keys */
    size_t place;   /* index + 1; 0: in no heap */
};

struct rn__heap {
    struct rn__heap_node **nodes;
    size_t count;
    size_t room;
    uint64_t next_order;
};

/* Make room for count nodes in all. grow(memory, old_bytes, new_bytes) returns
 * larger memory with the old contents, or NULL. Returns 0 or -ENOMEM. */
int rn__heap_reserve(struct rn__heap *heap, size_t count,
                     void *(*grow)(void *memory, size_t old_bytes,
                                   size_t new_bytes, void *context),
                     void *context);

/* Insert node with key; there must be room. */
void rn__heap_insert(struct rn__heap *heap, struct rn__heap_node *node,
                     int64_t key);

/* Remove a node that is in the heap. */
void rn__heap_remove(struct rn__heap *heap, struct rn__heap_node *node);

/* The node with the smallest key; NULL if there is none. */
static inline struct rn__heap_node *
rn__heap_min(const struct rn__heap *heap)
{
    return heap->count > 0 ? heap->nodes[0] : NULL;
}

/* Collect up to max nodes with key <= limit, sorted in leaving order; with more
 * than max of them the smallest is among those collected, the rest are any.
 * Returns how many. O(k^2) for k found, so keep max small. */
size_t rn__heap_due(const struct rn__heap *heap, int64_t limit,
                    struct rn__heap_node **out, size_t max);

/* Whether the structure is whole, for tests. */
bool rn__heap_valid(const struct rn__heap *heap);

#endif
