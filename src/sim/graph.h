/* sim/graph.h - the graph of waiting tasks, for reports. */
#ifndef RN_GRAPH_H
#define RN_GRAPH_H

#include "core/core.h"

enum { RN__GRAPH_MAX = 512 };

/* Zero it before rn__graph_make. */
struct rn__graph {
    struct rn__task *tasks[RN__GRAPH_MAX]; /* the waiting ones, at most MAX */
    size_t count;
    size_t left_out;                         /* waiting ones beyond MAX */
    bool edge[RN__GRAPH_MAX][RN__GRAPH_MAX]; /* [a][b]: b could wake a */
    bool exact; /* which tasks are being collected */
    bool seen[RN__GRAPH_MAX];
    size_t path[RN__GRAPH_MAX];
    const size_t *cycle; /* indices into tasks; NULL: there is none */
    size_t cycle_length;
    struct rn__rt *rt;
    const struct rn__event *events;
    size_t event_count;
};

/* The tasks of rt wait and nothing runs: find who waits for whom, and one
 * cycle if there is any. */
void rn__graph_make(struct rn__graph *graph, struct rn__rt *rt,
                    const struct rn__event *events, size_t event_count);

#endif
