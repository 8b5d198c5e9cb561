/* base/heap.c - see heap.h. */
#include "base/heap.h"

#include <errno.h>

enum { ARITY = 4, FIRST_ROOM = 64 };

static bool
before(const struct rn__heap_node *a, const struct rn__heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->order < b->order;
}

static void
put(struct rn__heap *heap, size_t i, struct rn__heap_node *node)
{
    heap->nodes[i] = node;
    node->place = i + 1;
}

static void
sift_up(struct rn__heap *heap, size_t i, struct rn__heap_node *node)
{
    while (i > 0) {
        size_t parent = (i - 1) / ARITY;
        if (!before(node, heap->nodes[parent]))
            break;
        put(heap, i, heap->nodes[parent]);
        i = parent;
    }
    put(heap, i, node);
}

static size_t
least_child(const struct rn__heap *heap, size_t i)
{
    size_t first = i * ARITY + 1, least = first;
    for (size_t c = first + 1; c < first + ARITY && c < heap->count; c++)
        if (before(heap->nodes[c], heap->nodes[least]))
            least = c;
    return least;
}

static void
sift_down(struct rn__heap *heap, size_t i, struct rn__heap_node *node)
{
    while (i * ARITY + 1 < heap->count) {
        size_t child = least_child(heap, i);
        if (!before(heap->nodes[child], node))
            break;
        put(heap, i, heap->nodes[child]);
        i = child;
    }
    put(heap, i, node);
}

int
rn__heap_reserve(struct rn__heap *heap, size_t count,
                 void *(*grow)(void *, size_t, size_t, void *), void *context)
{
    if (count <= heap->room)
        return 0;
    size_t room = heap->room ? heap->room * 2 : FIRST_ROOM;
    while (room < count)
        room *= 2;
    size_t size = sizeof *heap->nodes;
    void *nodes = grow(heap->nodes, heap->room * size, room * size, context);
    if (!nodes)
        return -ENOMEM;
    heap->nodes = nodes;
    heap->room = room;
    return 0;
}

void
rn__heap_insert(struct rn__heap *heap, struct rn__heap_node *node, int64_t key)
{
    node->key = key;
    node->order = heap->next_order++;
    sift_up(heap, heap->count++, node);
}

void
rn__heap_remove(struct rn__heap *heap, struct rn__heap_node *node)
{
    size_t i = node->place - 1;
    struct rn__heap_node *last = heap->nodes[--heap->count];
    node->place = 0;
    if (last == node)
        return;
    if (i > 0 && before(last, heap->nodes[(i - 1) / ARITY]))
        sift_up(heap, i, last);
    else
        sift_down(heap, i, last);
}

static void
sort_few(struct rn__heap_node **nodes, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct rn__heap_node *node = nodes[i];
        size_t j = i;
        for (; j > 0 && before(node, nodes[j - 1]); j--)
            nodes[j] = nodes[j - 1];
        nodes[j] = node;
    }
}

/* A due node has a due parent, so the output serves as the list of nodes whose
 * children are still to be looked at. */
size_t
rn__heap_due(const struct rn__heap *heap, int64_t limit,
             struct rn__heap_node **out, size_t max)
{
    size_t found = 0;
    if (max > 0 && heap->count > 0 && heap->nodes[0]->key <= limit)
        out[found++] = heap->nodes[0];
    for (size_t i = 0; i < found; i++) {
        size_t child = (out[i]->place - 1) * ARITY + 1;
        for (int k = 0; k < ARITY && child < heap->count; k++, child++)
            if (heap->nodes[child]->key <= limit && found < max)
                out[found++] = heap->nodes[child];
    }
    sort_few(out, found);
    return found;
}

bool
rn__heap_valid(const struct rn__heap *heap)
{
    for (size_t i = 0; i < heap->count; i++) {
        if (heap->nodes[i]->place != i + 1)
            return false;
        if (i > 0 && before(heap->nodes[i], heap->nodes[(i - 1) / ARITY]))
            return false;
    }
    return heap->count <= heap->room;
}
