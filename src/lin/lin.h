/* lin/lin.h - the insides of the linearizability checker.
 *
 *   record   an operation as it was recorded, in the history
 *   item     an operation to be placed in an order: one that may have happened
 *   must     an item that returned, and has to be in the order
 *   may      an item whose outcome nobody knows: in the order or not
 *   part     the items that one independent part of the object is about
 *   config   a node of the search: which items are placed, and the state
 */
#ifndef RN_LIN_INSIDE_H
#define RN_LIN_INSIDE_H

#include "core/core.h"

#include <runnel/lin.h>

/* ---- histories (history.c) ---------------------------------------------- */

/* Elements that never move, in chunks of doubling size; grows from any thread.
 */
enum { RN__LIN_CHUNKS = 32, RN__LIN_CHUNK_SHIFT = 6 };

struct rn__lin_log {
    size_t bytes; /* of an element */
    /* Numbers taken. Relaxed: who reads it waits for the writers by other
     * means (rn_lin_check). */
    _Atomic uint64_t count;
    /* From NULL once, by compare-and-swap; released with its zeroes, acquired
     * by whoever finds it. */
    _Atomic(char *) chunks[RN__LIN_CHUNKS];
};

enum rn__lin_outcome {
    RN__LIN_NONE, /* memory was short */
    RN__LIN_CALLED,
    RN__LIN_RETURNED,
    RN__LIN_FAILED,
    RN__LIN_LOST
};

struct rn__lin_record {
    rn_lin_op op;
    uint64_t call, ret; /* places in the order of all calls and returns */
    /* Relaxed: call and return of one operation are ordered by the caller. */
    _Atomic uint32_t outcome;
};

struct rn__lin_text {
    size_t bytes;
    char text[];
};

struct rn_lin_history {
    struct rn__object object;
    bool simulated; /* memory is the schedule's */
    bool lines;     /* times are lines of a file */
    struct rn__lin_log records;
    struct rn__lin_log texts; /* struct rn__lin_text * each */
    /* The place of the next call or return, from 1. */
    _Atomic uint64_t clock;
    _Atomic bool incomplete; /* relaxed: as outcome; memory was short */
};

/* The element with a number below count; NULL: its chunk is missing. */
void *rn__lin_log_at(const struct rn__lin_log *log, uint64_t number);

/* As rn_lin_call and the others, with the time and the process as they are. */
int64_t rn__lin_record_call(rn_lin_history *history, const rn_lin_op *op);
void rn__lin_record_end(rn_lin_history *history, int64_t number,
                        enum rn__lin_outcome outcome, int64_t ret,
                        rn_time time);

/* Values that stand for texts lie between RN_LIN_NIL and RN_LIN_MIN. */
static inline bool
rn__lin_is_text(int64_t value)
{
    return value > RN_LIN_NIL && value < RN_LIN_MIN;
}

static inline uint32_t
rn__lin_text_number(int64_t value)
{
    return (uint32_t)(value - RN_LIN_NIL - 1);
}

static inline int64_t
rn__lin_text_value(uint32_t number)
{
    return RN_LIN_NIL + 1 + (int64_t)number;
}

/* ---- limits (limit.c) --------------------------------------------------- */

/* Why a check ends early. */
enum rn__lin_end {
    RN__LIN_GOES_ON,
    RN__LIN_NO_TIME,
    RN__LIN_NO_STEPS,
    RN__LIN_NO_BYTES,
    RN__LIN_NO_MEMORY /* malloc failed */
};

struct rn__lin_budget {
    rn_lin_options options; /* defaults filled in */
    rn_time started, told;  /* now, and when progress was */
    uint64_t steps, step_limit;
    size_t bytes, most;   /* in use, and the most there were */
    uint64_t ops, placed; /* for progress: in all, and of finished parts */
    enum rn__lin_end end;
};

/* realloc within the budget; NULL: it does not fit, and end says why. */
void *rn__lin_grow(struct rn__lin_budget *budget, void *memory, size_t bytes,
                   size_t new_bytes);
void rn__lin_release(struct rn__lin_budget *budget, void *memory, size_t bytes);
/* Look at the limits, and tell the progress; false: it is over. */
bool rn__lin_goes_on(struct rn__lin_budget *budget, uint64_t placed);

/* ---- sequences (seq.c) -------------------------------------------------- */

/* Sequences of values as nodes of one tree: a node is its parent's sequence and
 * one value more. The same sequence is always the same node; 0 is empty. */
struct rn__lin_node {
    int64_t value;
    uint32_t parent;
    uint32_t jump;  /* an ancestor far up */
    uint32_t depth; /* length */
    uint32_t next;  /* with the same hash */
};

struct rn__lin_seqs {
    struct rn__lin_budget *budget;
    struct rn__lin_node *nodes;
    uint32_t *heads; /* by hash; room many; 0: none */
    uint32_t count, room;
};

/* false: out of memory; then, as always, the budget's end says so. */
bool rn__lin_seqs_init(struct rn__lin_seqs *seqs,
                       struct rn__lin_budget *budget);
void rn__lin_seqs_fini(struct rn__lin_seqs *seqs);
/* The sequence and one value more; 0: out of memory. */
uint32_t rn__lin_seq_push(struct rn__lin_seqs *seqs, uint32_t seq,
                          int64_t value);
/* The first so many values of a sequence. */
uint32_t rn__lin_seq_head(const struct rn__lin_seqs *seqs, uint32_t seq,
                          uint32_t length);

/* ---- built-in models (model.c, print.c) --------------------------------- */

/* The arg of a built-in model during a check. */
struct rn__lin_context {
    const rn_lin_history *history;
    struct rn__lin_budget *budget;
    struct rn__lin_seqs seqs;
    uint32_t *texts; /* the sequence of bytes that each text is */
    uint64_t text_count;
    bool kv; /* the empty text is RN_LIN_NIL */
};

bool rn__lin_built_in(const rn_lin_model *model);
/* Whether a built-in model has the operation f. */
bool rn__lin_knows(const rn_lin_model *model, int f);
/* The word for an rn_lin_f; NULL: there is none. */
const char *rn__lin_word(int f);
/* false: out of memory. fini in any case. */
bool rn__lin_context_init(struct rn__lin_context *context,
                          const rn_lin_model *model);
void rn__lin_context_fini(struct rn__lin_context *context);
/* Texts become sequences, results that tell nothing become equal. */
void rn__lin_normalize(const struct rn__lin_context *context, rn_lin_op *op);
int64_t rn__lin_normal_value(const struct rn__lin_context *context,
                             int64_t value);
void rn__lin_print_value(const struct rn__lin_context *context, int64_t value,
                         FILE *out);
void rn__lin_print_op(const rn_lin_op *op, FILE *out, void *context);
/* What stands for a NULL in a user's model. */
void rn__lin_print_plain(const rn_lin_op *op, FILE *out, void *arg);

/* ---- the search (search.c) ---------------------------------------------- */

#define RN__LIN_OPEN UINT64_MAX /* as ret: it may */

struct rn__lin_item {
    rn_lin_op op; /* normalized */
    uint64_t call, ret;
    int64_t part;
    uint32_t number; /* in the history */
    uint32_t kind;   /* equal operations, equal kind */
    bool pure;
};

/* A node of the search. The state follows, then a bit for each slot: an item
 * that is placed and has not returned. */
struct rn__lin_config {
    uint64_t hash;
    uint32_t base;   /* first must that is not placed */
    uint32_t parent; /* its number; itself: it is a start */
    uint32_t item;   /* placed last */
    uint32_t placed; /* number of items */
} __attribute__((aligned(16)));

struct rn__lin_search {
    const rn_lin_model *model;
    struct rn__lin_budget *budget;
    struct rn__lin_item *items; /* musts by ret, then mays by call */
    uint32_t must, all, kinds;

    uint32_t *slot;       /* by item; two at one time have two */
    uint32_t *pending_at; /* by must and one more: its part of pending */
    uint32_t *pending;    /* musts called before it returns, by ret */
    uint32_t *may_count;  /* by must: mays called before it returns */
    size_t pending_room;

    size_t state_room, config_bytes;
    uint32_t words; /* of bits in a config */
    char **chunks;  /* of configs */
    uint32_t chunk_count;
    uint32_t count;  /* configs made */
    uint32_t *table; /* by hash: number + 1; 0: none */
    uint32_t table_room;
    uint32_t *stack; /* configs to go on from */
    uint32_t stacked, stack_room;
    uint32_t *seen; /* by kind: the last expansion that tried one */
    uint32_t expansion;
    void *state;    /* to step on */
    uint64_t *bits; /* to make a config's bits */
    uint32_t best;  /* config with the highest base */
};

/* Prepare to place items; they are sorted, and must stay. false: out of
 * memory. fini in any case. */
bool rn__lin_search_init(struct rn__lin_search *search,
                         const rn_lin_model *model,
                         struct rn__lin_budget *budget,
                         struct rn__lin_item *items, uint32_t count);
void rn__lin_search_fini(struct rn__lin_search *search);
/* Add a state to begin with; it is copied. */
bool rn__lin_search_start(struct rn__lin_search *search, const void *state);
/* Add the model's own. */
bool rn__lin_search_start_first(struct rn__lin_search *search);
/* RN_LIN_UNKNOWN: the budget's end says why. */
rn_lin_verdict rn__lin_search_run(struct rn__lin_search *search);

struct rn__lin_config *rn__lin_config_at(const struct rn__lin_search *search,
                                         uint32_t number);
static inline void *
rn__lin_config_state(const struct rn__lin_config *config)
{
    return (char *)config + sizeof *config;
}
bool rn__lin_config_has(const struct rn__lin_search *search,
                        const struct rn__lin_config *config, uint32_t item);
bool rn__lin_state_equal(const rn_lin_model *model, const void *a,
                         const void *b);
void rn__lin_state_copy(const rn_lin_model *model, void *to, const void *from);
void rn__lin_state_fini(const rn_lin_model *model, void *state);

/* ---- reports (explain.c, window.c, draw.c) ------------------------------ */

/* The items that no order explains, whatever state they begin in. */
struct rn__lin_window {
    struct rn__lin_item *items; /* from malloc */
    uint32_t count;
    uint64_t from, to; /* places in the history; to: the culprit returns */
    bool proved;       /* no order explains it; else just the end */
};

/* Find the smallest window that ends with the failure of a search. false: out
 * of memory. The items are freed by the caller. */
bool rn__lin_window_find(const struct rn__lin_search *search,
                         struct rn__lin_window *window);
/* Draw its items over time. */
void rn__lin_draw(const struct rn__lin_search *search,
                  const struct rn__lin_window *window,
                  const rn_lin_history *history, FILE *out);
/* Tell why a search has failed. */
void rn__lin_explain(const struct rn__lin_search *search,
                     const rn_lin_history *history, FILE *out);
/* Print an item and when it was, a line. */
void rn__lin_print_item(const struct rn__lin_search *search,
                        const rn_lin_history *history,
                        const struct rn__lin_item *item, FILE *out);

#endif
