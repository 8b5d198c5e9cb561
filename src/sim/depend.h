/* sim/depend.h - one run as a partial order: acts, and what must come first.
 *
 * An act is what a task does from one choice of the schedule to the next: a
 * step, or several that nobody comes between (a block of rn_sim_atomic_begin, a
 * transaction). A timer that fires is an act of a strand of its own. An act
 * takes its place in the order of each object it is about as soon as it is
 * scheduled; if it has to wait, what it waits for comes before the next act of
 * its task. So every act can happen at any time, and two acts can be swapped
 * unless one is the other's cause or they meet in an object (conflict).
 *
 * Happens before: the order of a task, causes (spawn, end to join, unlock to
 * the next lock, the k-th send to the k-th receive and, with room for c, the
 * k-th receive to send k + c) and the order of acts in conflict. Two runs with
 * the same relation are the same trace (Mazurkiewicz, "Trace theory", 1986).
 * Vector clocks: Mattern, "Virtual time and global states of distributed
 * systems", 1989.
 */
#ifndef RN_DEPEND_H
#define RN_DEPEND_H

#include "core/core.h"

/* How an act uses an object. Two uses conflict unless the table in depend.c
 * says otherwise. */
enum rn__mode {
    RN__MODE_NONE,
    RN__MODE_QUIET, /* an end, a join: meets only WHOLE */
    RN__MODE_READ,  /* meets all but its like and QUIET */
    RN__MODE_PUT,   /* a send, an unlock: a place in that order */
    RN__MODE_TAKE,  /* a receive, a lock: the same on the other side */
    RN__MODE_WHOLE, /* meets all */
    RN__MODE_COUNT
};

struct rn__access {
    uint32_t object; /* index into depend->objects */
    uint32_t act;
    uint32_t before; /* the access to the object before it; 0: none */
    uint8_t mode;
    bool spoils;      /* places in the orders of the object are not told from
                         each other after this */
    bool gives;       /* the act gives the object up */
    uint32_t choices; /* the act had made before */
    uint8_t kind;     /* enum rn__kind of the step */
    int64_t value;    /* of an atomic word, before */
    int64_t expected; /* by a compare-and-swap */
};

struct rn__act {
    uint64_t name; /* of its thread, the same in every schedule */
    uint32_t thread;
    uint32_t index;            /* in the thread, from 1 */
    uint32_t access, accesses; /* where they begin, how many */
    uint32_t choice, choices;
    uint32_t race, races; /* earlier acts it meets directly */
    uint8_t kind;         /* enum rn__kind of its first step */
    bool cancels, heeds;  /* it cancels, or does what a cancel would change */
};

struct rn__arm_of {
    uint32_t strand, object;
};

struct rn__order {
    uint32_t *acts;
    uint32_t count, room;
};

/* What the order of acts needs to know of an object. */
struct rn__used {
    uint32_t last; /* access; 0: none */
    bool spoilt;
    size_t capacity;              /* of a channel */
    struct rn__order puts, takes; /* of a channel */
    uint32_t given, read; /* rows: what waits for it has to wait for; 0: none */
};

struct rn__strand {
    uint64_t name;
    struct rn__task *task; /* NULL: a timer */
    uint32_t last;         /* act + 1; 0: none */
    uint32_t heeded;       /* its last act that heeds; + 1 */
    uint32_t count;        /* of its acts */
    uint32_t pending;      /* row: causes of its next act */
};

struct rn__depend {
    struct rn__act *acts;
    uint32_t act_count, act_room;
    struct rn__access *accesses; /* from 1 */
    uint32_t access_count, access_room;
    uint32_t *choices, *widths; /* what was chosen, among how many */
    uint32_t choice_count, choice_room;
    uint32_t *races;
    uint32_t race_count, race_room;
    uint32_t *rows; /* clocks, a row of width each */
    uint32_t row_count, row_room, width;
    uint32_t *clocks, *causes; /* row of each act; of what came before it
                                  because it had to */
    uint32_t clock_room;
    struct rn__strand *strands;
    uint32_t strand_count, strand_room;
    uint32_t *thread_of; /* by number of task; + 1 */
    uint32_t number_room;
    struct rn__used *objects;
    uint32_t object_count, object_room;
    uint32_t *woken; /* threads, by the open act */
    uint32_t woken_count, woken_room;
    uint32_t *met; /* scratch of closing an act */
    uint32_t met_count, met_room;
    struct rn__arm_of *arms; /* of the selects and commits to come */
    uint32_t arm_count, arm_room;
    uint32_t instant;     /* row: all before this instant of time */
    uint32_t last_cancel; /* act + 1 */
    uint32_t begun;       /* acts before the search begins */
    bool open;            /* the last act goes on */
    bool in_tx;           /* it is a transaction */
    bool failed;          /* out of memory: the rest is missing */
};

/* Forget the last run. */
void rn__depend_reset(struct rn__depend *d);
void rn__depend_fini(struct rn__depend *d);

/* A step that is about to be done. */
struct rn__doing {
    struct rn__task *task;
    uint64_t name; /* of the task */
    enum rn__kind kind;
    uint32_t object;     /* number; 0: none */
    const void *address; /* of it */
    int64_t expected;    /* by a compare-and-swap */
    bool at_once; /* it does not wait; an add to a group adds; an end is a
                        failure's */
    bool timed;   /* it has a deadline */
    bool goes_on; /* nobody could come before it */
};
void rn__depend_step(struct rn__depend *d, const struct rn__doing *doing);
/* Whether the running act is a transaction of the task of this number. */
bool rn__depend_in_tx(const struct rn__depend *d, uint32_t number);
/* Said by the running task: what is no step (an arm, a failed swap). */
void rn__depend_note(struct rn__depend *d, const struct rn__task *task,
                     enum rn__kind kind, uint32_t object);
/* The running act has chosen. */
void rn__depend_choice(struct rn__depend *d, uint32_t width, uint32_t choice);
/* Task by (0: a timer) makes task ready, or has spawned it. */
void rn__depend_wake(struct rn__depend *d, uint32_t by, uint32_t task);
/* A timer fires. */
void rn__depend_fire(struct rn__depend *d, const struct rn__timer *timer);
/* What its act will be called. */
uint64_t rn__depend_timer_name(const struct rn__depend *d,
                               const struct rn__timer *timer);
/* Time moves: all so far comes before all after. */
void rn__depend_tick(struct rn__depend *d);
/* The last act is over; to be called before the acts are looked at. */
void rn__depend_close(struct rn__depend *d);

/* ---- the parts of the above (depend.c, depend_step.c) ------------------- */

/* Room for count elements in a list, the new part zeroed; false: no memory. */
bool rn__depend_grow(struct rn__depend *d, void *list, uint32_t *room,
                     uint32_t count, size_t bytes);
/* The strand of a task by its number; NULL: out of memory. */
struct rn__strand *rn__depend_strand(struct rn__depend *d, uint32_t number);
struct rn__strand *rn__depend_new_strand(struct rn__depend *d,
                                         struct rn__task *task, uint64_t name);
/* The index of an object, or of a task, by its number. */
uint32_t rn__depend_object(struct rn__depend *d, uint32_t number, bool of_task);
/* Open an act of a strand; false: out of memory. */
bool rn__depend_open(struct rn__depend *d, struct rn__strand *thread,
                     enum rn__kind kind);
struct rn__act *rn__depend_last(struct rn__depend *d);
/* It uses an object. */
void rn__depend_use(struct rn__depend *d, uint32_t object, uint8_t mode,
                    bool spoils);
/* An object is given up within an act, or after a wait of which it is the end.
 */
void rn__depend_give_up(struct rn__depend *d, struct rn__strand *strand,
                        uint32_t object);
/* Join into a row what has happened in a strand; another row. */
void rn__depend_join(struct rn__depend *d, uint32_t to,
                     const struct rn__strand *thread);
void rn__depend_join_row(struct rn__depend *d, uint32_t to, uint32_t from);
/* Whether what was given to its object is a cause of what follows a step. */
bool rn__depend_takes(uint8_t kind);

/* ---- looking at acts ---------------------------------------------------- */

/* Whether act a is before act b, or is b. */
static inline bool
rn__act_before(const struct rn__depend *d, uint32_t a, uint32_t b)
{
    const uint32_t *row = &d->rows[(size_t)d->clocks[b] * d->width];
    return row[d->acts[a].thread] >= d->acts[a].index;
}

/* The same for what b had to wait for: without the order of conflicts that b
 * itself is in. */
static inline bool
rn__act_causes(const struct rn__depend *d, uint32_t a, uint32_t b)
{
    const uint32_t *row = &d->rows[(size_t)d->causes[b] * d->width];
    return row[d->acts[a].thread] >= d->acts[a].index;
}

/* Of the accesses of act a, the first that meets one of act b: its place, from
 * 0; its count of accesses: a cancel is what they meet in; -1: none. */
int rn__act_meets(const struct rn__depend *d, uint32_t a, uint32_t b);

#endif
