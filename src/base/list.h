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
    struct rn__list *next;
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

/* Append; makes a zeroed head usable first. */
static inline void
rn__list_append(struct rn__list *head, struct rn__list *node)
{
    if (head->next == NULL)
        rn__list_init(head);
    node->next = head;
    node->prev = head->prev;
    head->prev->next = node;
    head->prev = node;
}

static inline void
rn__list_remove(struct rn__list *node)
{
    if (node->next == NULL)
        return;
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->next = node->prev = node;
}

/* Take the first node out; NULL if there is none. */
static inline struct rn__list *
rn__list_pop(struct rn__list *head)
{
    if (rn__list_empty(head))
        return NULL;
    struct rn__list *node = head->next;
    rn__list_remove(node);
    return node;
}

#endif
