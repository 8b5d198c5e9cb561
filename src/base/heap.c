/* base/heap.c - see heap.h. */
#include "base/heap.h"

static bool
before(const struct rn__heap_node *a, const struct rn__heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->order < b->order;
}

/* Make one tree of two; returns its root. */
static struct rn__heap_node *
meld(struct rn__heap_node *a, struct rn__heap_node *b)
{
    if (before(b, a)) {
        rn__heap_add_child(b, a);
        return b;
    }
    rn__heap_add_child(a, b);
    return a;
}

/* Link siblings in pairs from the first to the last; returns the roots, last
 * first, by next. */
static struct rn__heap_node *
link_pairs(struct rn__heap_node *first)
{
    struct rn__heap_node *roots = NULL;
    while (first) {
        struct rn__heap_node *second = first->next, *rest = NULL;
        if (second) {
            rest = second->next;
            first = meld(first, second);
        }
        first->next = roots;
        roots = first;
        first = rest;
    }
    return roots;
}

/* Make one tree of siblings; returns its root. Both passes are loops, for a
 * node may have as many children as the heap has nodes. */
static struct rn__heap_node *
link_all(struct rn__heap_node *first)
{
    struct rn__heap_node *roots = link_pairs(first);
    struct rn__heap_node *tree = roots;
    roots = roots->next;
    while (roots) {
        struct rn__heap_node *next = roots->next;
        tree = meld(tree, roots);
        roots = next;
    }
    return tree;
}

static void
set_root(struct rn__heap *heap, struct rn__heap_node *root)
{
    heap->root = root;
    if (!root)
        return;
    root->next = NULL;
    root->prev = root;
}

void
rn__heap_put(struct rn__heap *heap, struct rn__heap_node *node)
{
    node->child = NULL;
    set_root(heap, heap->root ? meld(heap->root, node) : node);
}

void
rn__heap_remove_slow(struct rn__heap *heap, struct rn__heap_node *node)
{
    struct rn__heap_node *orphans = node->child;
    node->child = NULL;
    if (heap->root != node)
        rn__heap_unlink(node);
    else
        heap->root = node->prev = NULL;
    if (!orphans)
        return;
    orphans = link_all(orphans);
    set_root(heap, heap->root ? meld(heap->root, orphans) : orphans);
}

/* The due at the top of the heap, if nothing else can be due: they are a chain,
 * as below, or the only one. */
static size_t
due_chain(const struct rn__heap *heap, int64_t limit,
          struct rn__heap_node **out, size_t max)
{
    size_t found = 0;
    struct rn__heap_node *node = heap->root;
    while (found < max && node && node->key <= limit) {
        out[found++] = node;
        node = node->child;
        if (node && node->next)
            return 0;
    }
    return found;
}

/* Taken out and put back they are a chain on top of the rest, which the next
 * call takes apart in one step a node. */
size_t
rn__heap_due(struct rn__heap *heap, int64_t limit, struct rn__heap_node **out,
             size_t max)
{
    size_t found = due_chain(heap, limit, out, max);
    if (found)
        return found;
    while (found < max && heap->root && heap->root->key <= limit) {
        out[found++] = heap->root;
        rn__heap_remove_slow(heap, heap->root);
    }
    for (size_t i = found; i-- > 0;) {
        if (heap->root)
            rn__heap_add_child(out[i], heap->root);
        set_root(heap, out[i]);
    }
    return found;
}

/* The node after this one in a walk that sees a parent before its children. */
static const struct rn__heap_node *
walk(const struct rn__heap_node *node)
{
    if (node->child)
        return node->child;
    while (!node->next && node->prev != node) {
        while (node->prev->child != node)
            node = node->prev;
        node = node->prev;
    }
    return node->next;
}

bool
rn__heap_valid(const struct rn__heap *heap, size_t *count)
{
    const struct rn__heap_node *node = heap->root;
    *count = 0;
    if (node && (node->next || node->prev != node))
        return false;
    for (; node; node = walk(node)) {
        *count += 1;
        if (node->next && node->next->prev != node)
            return false;
        if (node->child && node->child->prev != node)
            return false;
        for (struct rn__heap_node *c = node->child; c; c = c->next)
            if (!before(node, c))
                return false;
    }
    return true;
}
