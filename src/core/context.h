/* core/context.h - a context, and what cancels and scopes know of it.
 *
 * Part of core.h, which includes it once scopes are known.
 */
#ifndef RN_CONTEXT_H
#define RN_CONTEXT_H

#include "core/core.h"

/* How something follows a context: a scope or a context below it, beside the
 * one that it is right inside; or a call that it will begin. */
struct rn__edge {
    struct rn__list link;    /* in from->followers; from->node.lock */
    struct rn_context *from; /* a reference; NULL: the background */
    struct rn_scope *target; /* to be cancelled; NULL: the edge is a call's */
};

struct rn_context {
    struct rn_scope node; /* in the tree of scopes, without tasks; first, so
                                  that an arm of a select may be on either */
    struct rn__list followers; /* edges; node.lock */
    _Atomic uint32_t refs;
    uint32_t edge_count;             /* of edges */
    struct rn_context *parent;       /* a reference; NULL: the background */
    const struct rn_context *values; /* the nearest with one, from here up */
    rn_time deadline;                /* the earliest, for the user */
    rn_time sure;                    /* that of a timer that cancels it */
    bool of_scope;                   /* it is that of a scope, */
    struct rn_scope *scope;          /* this one, while it is open; node.lock */
    const void *key;                 /* NULL: it has no value */
    void *value;
    void (*drop)(void *value);
    struct rn__edge edges[]; /* of a merge: all but parent */
};

_Static_assert(offsetof(struct rn_context, node) == 0, "an arm is on either");

/* Whether the tree ends at a context that is marked; then its timer is stopped,
 * and what is put below it later will see the mark. */
bool rn__context_is_leaf(struct rn_scope *node);
/* It is marked: stop its timer, begin its calls. */
void rn__context_wake(struct rn_scope *node);

/* Under its lock, once it is marked: take the tasks of all its calls, by next.
 */
struct rn__task *rn__context_take_calls(struct rn_context *context);
/* Start them. */
void rn__context_begin(struct rn__task *tasks);

/* A scope that nobody knows yet will be under a context. False: no memory. */
bool rn__scope_under(struct rn_scope *scope, struct rn_context *context);
/* Now it is. */
void rn__scope_follow(struct rn_scope *scope);
/* It has no tasks any more: no cancel goes between it and contexts. */
void rn__scope_leave_contexts(struct rn_scope *scope);
/* Then, once no cancel is at it: end its own context; give back both. */
void rn__scope_drop_contexts(struct rn_scope *scope);

/* Free what the workers keep, and the context of the root scope. */
void rn__contexts_fini(struct rn__rt *rt);

#endif
