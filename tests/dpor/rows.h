/* dpor/rows.h - programs whose traces have been counted on paper. */
#ifndef RN_ROWS_H
#define RN_ROWS_H

#include <runnel/runnel.h>

/* One program of one size. */
struct row {
    const char *name; /* with its size */
    int (*fn)(void *arg);
    int n, m; /* passed as a struct size */
    uint64_t traces;
    uint64_t failing; /* among them */
    int preemptions;  /* the fewest of a failing one; -1: unimportant */
    int bounds;       /* how many of these: traces with at most 0, 1, ... */
    uint64_t within[4];
};

struct size {
    int n, m;
};

struct rows {
    const struct row *list;
    size_t count;
};

extern const struct rows cell_rows, lock_rows, chan_rows, bug_rows;

/* Spawn n tasks that run act(1) .. act(n), and wait for all. */
void crew_run(int n, int (*act)(void *number));
/* A scope, a task in it, its end. */
rn_scope *crew_scope(void);
void crew_go(rn_scope *scope, int (*act)(void *arg), void *arg);
void crew_end(rn_scope *scope);
/* Waits that cannot fail. */
void crew_lock(rn_mutex *mutex);
void crew_send(rn_chan *chan, int value);
int crew_recv(rn_chan *chan);
/* The number such a task was given. */
int crew_number(void *number);

#endif
