/* base/list.h - doubly linked circular lists whose nodes live in their owners.
 *
 * A node that is in no list is linked to itself (or zeroed, before its first
 * use), so removing it twice is harmless.
 */
#ifndef RN_LIST_H
#define RN_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct rn__list {
    struct rn__list *next; /* of a head: stored and, by rn__list_seems_empty,
                              read atomically */
    struct rn__list *prev;
};

#define rn__container_of(ptr, type, member) \
    ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Walk a list; the body must not remove the current node. */
#define rn__list_each(node, head)                              \
    for (struct rn__list *node = (head)->next; node != (head); \
         node = node->next)

static inline void
rn__list_init(struct rn__list *head)
{
    head->next = head->prev = head;
}

/* A zeroed head counts as empty. */
static inline bool
rn__list_empty(const struct rn__list *head)
{
    return head->next == head || head->next == NULL;
}

/* The same without the lock that guards the list: it was so a moment ago. */
static inline bool
rn__list_seems_empty(const struct rn__list *head)
{
    /* acquire: what is looked at next is at least as new */
    const struct rn__list *first =
        __atomic_load_n(&head->next, __ATOMIC_ACQUIRE);
    return first == head || first == NULL;
}

static inline void
rn__list_link(struct rn__list *from, struct rn__list *to)
{
    /* relaxed: partners with rn__list_seems_empty, which is but a hint */
    __atomic_store_n(&from->next, to, __ATOMIC_RELAXED);
    to->prev = from;
}

/* Append to a head that is no zeroed one. */
static inline void
rn__list_insert(struct rn__list *head, struct rn__list *node)
{
    rn__list_link(head->prev, node);
    rn__list_link(node, head);
}

/* Append; makes a zeroed head usable first. */
static inline void
rn__list_append(struct rn__list *head, struct rn__list *node)
{
    if (head->next == NULL)
        rn__list_init(head);
    rn__list_insert(head, node);
}

/* Take out a node that is in a list, and leave it as it is. */
static inline void
rn__list_unlink(struct rn__list *node)
{
    rn__list_link(node->prev, node->next);
}

static inline void
rn__list_remove(struct rn__list *node)
{
    if (node->next == NULL)
        return;
    rn__list_unlink(node);
    rn__list_init(node);
}

/* Take the first node out; NULL if there is none. */
static inline struct rn__list *
rn__list_pop(struct rn__list *head)
{
    struct rn__list *node = head->next;
    if (node == head || node == NULL)
        return NULL;
    rn__list_link(head, node->next);
    rn__list_init(node);
    return node;
}

#endif
