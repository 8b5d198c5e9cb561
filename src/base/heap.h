/* base/heap.h - a min-heap of nodes that live in their owners.
 *
 * Keys are 64-bit; equal keys leave in the order they came (a sequence number
 * breaks ties). The heap owns no memory, so an insertion never fails.
 *
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan: "The pairing heap: a
 * new form of self-adjusting heap", 1986): a tree in which no child leaves
 * before its parent. Two trees are linked by making the later root the first
 * child of the other. Insertion is one link, and so is the removal of a node
 * without children, as most timers are when they are stopped. Whoever has
 * children leaves them to be linked in two passes: O(log n) amortised, O(n)
 * for the first to leave after n insertions.
 *
 * Refused: a heap in an array, which must grow when a timer is made. Its nodes
 * leave faster if there are many; there are few (wheel.h).
 */
#ifndef RN_HEAP_H
#define RN_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* prev is NULL in a node that is in no heap; zero it before its first use. */
struct rn__heap_node {
    int64_t key;
    uint64_t order;              /* among equal keys */
    struct rn__heap_node *child; /* the first */
    struct rn__heap_node *next;  /* sibling */
    union {
        struct rn__heap_node *prev;   /* sibling; of a first child its parent,
                                         of the root itself */
        struct rn__heap_node **pprev; /* for other uses (wheel.h) */
    };
};

/* Zeroed it is empty. */
struct rn__heap {
    struct rn__heap_node *root;
    uint64_t next_order;
};

/* Remove a node that has children or is the root. */
void rn__heap_remove_slow(struct rn__heap *heap, struct rn__heap_node *node);

static inline void
rn__heap_add_child(struct rn__heap_node *parent, struct rn__heap_node *node)
{
    struct rn__heap_node *first = parent->child;
    node->next = first;
    if (first)
        first->prev = node;
    node->prev = parent;
    parent->child = node;
}

/* Insert a node that is in no heap, with key. */
static inline void
rn__heap_insert(struct rn__heap *heap, struct rn__heap_node *node, int64_t key)
{
    struct rn__heap_node *root = heap->root;
    node->key = key;
    node->order = heap->next_order++;
    node->child = NULL;
    if (root && key >= root->key) {
        rn__heap_add_child(root, node);
        return;
    }
    if (root)
        rn__heap_add_child(node, root);
    node->next = NULL;
    node->prev = node;
    heap->root = node;
}

/* Take a node that is no root away from its siblings. */
static inline void
rn__heap_unlink(struct rn__heap_node *node)
{
    struct rn__heap_node *prev = node->prev, *next = node->next;
    if (prev->child == node)
        prev->child = next;
    else
        prev->next = next;
    if (next)
        next->prev = prev;
    node->prev = NULL;
}

/* Remove a node that is in the heap. */
static inline void
rn__heap_remove(struct rn__heap *heap, struct rn__heap_node *node)
{
    if (node->child || node->prev == node)
        rn__heap_remove_slow(heap, node);
    else
        rn__heap_unlink(node);
}

/* Insert a node that has its key and order. */
void rn__heap_put(struct rn__heap *heap, struct rn__heap_node *node);

static inline bool
rn__heap_has(const struct rn__heap_node *node)
{
    return node->prev != NULL;
}

/* The node that leaves first; NULL: there is none. */
static inline struct rn__heap_node *
rn__heap_min(const struct rn__heap *heap)
{
    return heap->root;
}

/* The first max nodes with key <= limit, in the order in which they leave.
 * Returns how many. They stay, though the tree changes: O(k log n) for k found,
 * O(k) when repeated. */
size_t rn__heap_due(struct rn__heap *heap, int64_t limit,
                    struct rn__heap_node **out, size_t max);

/* Whether the structure is whole, and the number of its nodes; for tests. */
bool rn__heap_valid(const struct rn__heap *heap, size_t *count);

#endif
