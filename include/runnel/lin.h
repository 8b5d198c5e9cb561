/* runnel/lin.h - is what many tasks saw of an object linearizable?
 *
 * A history says when each operation on an object was called, when it returned
 * and with what. It is linearizable if the operations can be put in one order
 * that a sequential object, the model, explains, and in which no operation
 * stands before one that had returned when it was called. Record what the
 * tasks of a test do, then check:
 *
 *     int64_t id = rn_lin_call(h, &(rn_lin_op){ .f = RN_LIN_WRITE, .arg = 3 });
 *     my_register_write(r, 3);
 *     rn_lin_return(h, id, RN_LIN_NIL);
 *     ...
 *     rn_lin_report report;
 *     rn_lin_check(h, rn_lin_model_find("register"), NULL, &report);
 *     rn_sim_assert(report.verdict == RN_LIN_OK, report.text);
 *     rn_lin_report_fini(&report);
 *
 * That works for real and in the simulator, where the search makes the orders
 * in which the object goes wrong. Histories in files, of this object or of a
 * distributed one: rn_lin_read, and the command `runnel lin`.
 *
 * An operation whose outcome nobody knows (a call that timed out, or one still
 * running when the history is checked) may have taken effect at any time after
 * its call, or never. Many of those make a check take long; limits are results.
 */
#ifndef RUNNEL_LIN_H
#define RUNNEL_LIN_H

#include <runnel/base.h>
#include <stdio.h>

RN_BEGIN

/* ---- operations ---------------------------------------------------------- */

/* No value: of a register never written, of a queue found empty; and as a
 * result: nothing was told. */
#define RN_LIN_NIL INT64_MIN
/* Values are integers from here up, or made by rn_lin_text. */
#define RN_LIN_MIN (INT64_MIN / 2)

/* What the operations of the built-in models are called. A user's model may use
 * these or numbers of its own. */
typedef enum rn_lin_f {
    RN_LIN_READ = 1, /* register, kv: returns the value */
    RN_LIN_WRITE,    /* register, kv: of arg */
    RN_LIN_CAS,      /* cas-register, kv: arg2 for arg; returns 1, or 0: the
                        value was not arg */
    RN_LIN_APPEND,   /* kv: the text arg to the end of the text there */
    RN_LIN_DELETE,   /* kv: back to RN_LIN_NIL */
    RN_LIN_ENQUEUE,  /* queue: arg */
    RN_LIN_DEQUEUE,  /* queue: returns a value, or RN_LIN_NIL: it is empty */
    RN_LIN_PUSH,     /* stack: arg */
    RN_LIN_POP,      /* stack: as RN_LIN_DEQUEUE */
    RN_LIN_ADD,      /* set: arg; returns 1, or 0: it was there already */
    RN_LIN_REMOVE,   /* set: arg; returns 1, or 0: it was not there */
    RN_LIN_CONTAINS, /* set: returns whether arg is there */
    RN_LIN_USER      /* from here on: the user's own */
} rn_lin_f;

/* An operation. The fields that rn_lin_call takes stand first. */
typedef struct rn_lin_op {
    int f;           /* what is done: an rn_lin_f or a number of the user's */
    int64_t key;     /* kv: which register */
    int64_t arg;     /* as the model wants it */
    int64_t arg2;    /* the same */
    int64_t process; /* who does it, in reports; 0: the calling task */

    int known;        /* it has returned; else it may or may not have happened,
                         and ret says nothing */
    int64_t ret;      /* what it returned */
    rn_time called;   /* of the world's clock; of a file: its line */
    rn_time returned; /* the same; -1: it has not */
} rn_lin_op;

/* ---- recording ----------------------------------------------------------- */

/* What was called and what returned, in order. */
typedef struct rn_lin_history rn_lin_history;

/* Make an empty history.
 *
 * Owner: the caller ends it with rn_lin_history_free. Made by a simulated task,
 * it is gone with its schedule.
 * Returns: 0. -ENOMEM.
 */
RN_API int rn_lin_history_new(rn_lin_history **history);

/* End a history. NULL is allowed. */
RN_API void rn_lin_history_free(rn_lin_history *history);

/* Forget all that was recorded. Nobody may use the history meanwhile. */
RN_API void rn_lin_history_clear(rn_lin_history *history);

/* The number of operations called. */
RN_API uint64_t rn_lin_history_count(const rn_lin_history *history);

/* Record that an operation is called, directly before it is. By any number of
 * tasks and OS threads at once; in the simulator others may run before it is
 * recorded.
 *
 * Returns: the number of the operation, from 0. -ENOMEM: it is not recorded,
 * and every check of this history says so.
 * Order: all calls and returns of a history are in one order, and this one
 * stands in it before anything the operation does.
 */
RN_API int64_t rn_lin_call(rn_lin_history *history, const rn_lin_op *op);

/* Record that an operation has returned, directly after it has. Of a negative
 * number nothing is recorded.
 *
 * Order: this stands after all that the operation did.
 * Panics: if there is no such operation, or it has ended.
 */
RN_API void rn_lin_return(rn_lin_history *history, int64_t number, int64_t ret);

/* Record that an operation has failed: it has not happened, and will not.
 *
 * Panics: as rn_lin_return.
 */
RN_API void rn_lin_fail(rn_lin_history *history, int64_t number);

/* Record that nobody will know what became of an operation. The same as if it
 * never returned, but for the time in reports.
 *
 * Panics: as rn_lin_return.
 */
RN_API void rn_lin_lose(rn_lin_history *history, int64_t number);

/* A value that stands for a text, for keys and values of the built-in models.
 *
 * Returns: the value, equal in meaning for equal texts. RN_LIN_NIL: out of
 * memory, and every check of this history says so.
 */
RN_API int64_t rn_lin_text(rn_lin_history *history, const char *text,
                           size_t bytes);

/* ---- models -------------------------------------------------------------- */

/* A sequential object. A state is state_bytes of memory, aligned as malloc's;
 * a model without arg, equal, hash, copy, fini works on the plain bytes, so it
 * must leave none of them unset. */
typedef struct rn_lin_model {
    const char *name;
    size_t state_bytes;
    void *arg; /* given to all of these */

    /* Make the state at the beginning. */
    void (*init)(void *state, void *arg);
    /* Do op to the state, if the object could have done it with that result.
     * Must depend on nothing but the state, f, key, arg, arg2, known, ret; if
     * known is 0 any result will do.
     * Returns: 1; 0: it could not, and the state is only good for fini. */
    int (*step)(void *state, const rn_lin_op *op, void *arg);
    /* Whether two states are the same. NULL: their bytes are. */
    int (*equal)(const void *a, const void *b, void *arg);
    /* Equal states, equal hash. NULL: that of the bytes. */
    uint64_t (*hash)(const void *state, void *arg);
    /* Make a copy. NULL: of the bytes. */
    void (*copy)(void *to, const void *from, void *arg);
    /* End a state that init or copy made. NULL: nothing to do. */
    void (*fini)(void *state, void *arg);
    /* The part of the object that op is about: a history is linearizable if
     * those of all parts are (P-compositionality), and they are much quicker
     * to check. NULL: all is one part. */
    int64_t (*partition)(const rn_lin_op *op, void *arg);
    /* Whether op, as it returned, changes nothing whatever the state: a read.
     * Saves most of the search. NULL: never known. */
    int (*pure)(const rn_lin_op *op, void *arg);
    /* Print op with its result, without a line's end. NULL: as numbers. */
    void (*print)(const rn_lin_op *op, FILE *out, void *arg);
    /* Print a state, without a line's end. NULL: not printed. */
    void (*print_state)(const void *state, FILE *out, void *arg);
} rn_lin_model;

/* A built-in model: "register" (read, write), "cas-register" (and cas),
 * "queue" (first in, first out), "stack", "set" (add, remove, contains; an
 * element is a part), "kv" (registers by key, with texts to append to; a key is
 * a part; of one never written RN_LIN_NIL or the empty text is read).
 *
 * Returns: the model. NULL: there is none of that name.
 */
RN_API const rn_lin_model *rn_lin_model_find(const char *name);

/* ---- checking ------------------------------------------------------------ */

/* What a check has done so far, for a progress line. */
typedef struct rn_lin_progress {
    uint64_t ops;         /* operations to place */
    uint64_t placed;      /* most that were in the part being checked, plus
                             those of parts that are done */
    uint64_t steps;       /* steps of the model taken */
    uint64_t bytes;       /* memory in use */
    double seconds;       /* since the start */
    double seconds_limit; /* 0: no limit */
} rn_lin_progress;

/* Options. All zero is the default for each. */
typedef struct rn_lin_options {
    int64_t initial;    /* the register's first value, if has_initial */
    int has_initial;    /* 0: it is RN_LIN_NIL */
    double seconds;     /* give up after so long; 0: no limit */
    uint64_t max_steps; /* give up after so many; 0: no limit */
    size_t max_bytes;   /* give up with so much memory; 0: 1 GiB */
    void (*progress)(const rn_lin_progress *progress, void *arg);
    void *progress_arg; /* called about ten times a second */
} rn_lin_options;

typedef enum rn_lin_verdict {
    RN_LIN_OK = 0,
    RN_LIN_BAD,    /* not linearizable */
    RN_LIN_UNKNOWN /* a limit was reached first */
} rn_lin_verdict;

/* What a check found. */
typedef struct rn_lin_report {
    rn_lin_verdict verdict;
    uint64_t ops;    /* operations that may have happened */
    uint64_t parts;  /* the model saw in them */
    uint64_t placed; /* in the longest order found: all parts, or only the
                        reported one if it is not linearizable */
    uint64_t steps;  /* of the model */
    uint64_t bytes;  /* of memory, at most */
    double seconds;
    int64_t culprit; /* number of the first operation to return that is in no
                        order; -1: there is none */
    char *text;      /* for a person: why not, or which limit; else NULL */
} rn_lin_report;

/* Check a history against a model, NULL options for the defaults. Nobody may
 * record meanwhile.
 *
 * It may compute for long; a task that minds its worker calls it by
 * rn_blocking, or after rn_run. A report made by a simulated task is gone with
 * its schedule.
 * Returns: 0, with the report filled in. -EINVAL: the model does not know an
 * operation, or an option is wrong; report->text says which. -ENOMEM: memory
 * was short here, or when the history was recorded.
 * Owner: the caller ends the report with rn_lin_report_fini, also on failure.
 */
RN_API int rn_lin_check(const rn_lin_history *history,
                        const rn_lin_model *model,
                        const rn_lin_options *options, rn_lin_report *report);

/* Free what a report holds. */
RN_API void rn_lin_report_fini(rn_lin_report *report);

/* The name of a verdict: "linearizable", "not linearizable", "unknown". */
RN_API const char *rn_lin_verdict_name(rn_lin_verdict verdict);

/* ---- histories as text --------------------------------------------------- */

/* Add the history in a text, for a built-in model. The forms, which may be
 * mixed:
 *
 *     {:process 0, :type :invoke, :f :cas, :value [1 2]}
 *     {:process 0, :type :ok, :f :get, :key "x", :value "y"}
 *     INFO  jepsen.util - 0 :invoke :write 2
 *
 * the maps of Jepsen and Knossos (other keys are passed over; the maps may
 * stand in a vector), and the lines of Jepsen's log. :fail means that it did
 * not happen, also of a cas (which then says nothing about the value), :info
 * that nobody knows. Of kv, :value may be [key value]. The times in reports are
 * line numbers.
 *
 * Returns: 0. -EINVAL: it is not a history for this model; the line number and
 * what is wrong are printed to err (may be NULL) as "LINE: MESSAGE". -ENOMEM.
 * What stands before the mistake has been added.
 * Panics: if the model is not built in.
 */
RN_API int rn_lin_read(rn_lin_history *history, const rn_lin_model *model,
                       const char *text, size_t bytes, FILE *err);

RN_END

#endif
