/* trace/trace.h - a recorded run, written to a file and read back.
 *
 * The file, all integers little-endian, every string a u32 length and that
 * many bytes of text without a terminator:
 *
 *   8 bytes  "RNTRACE1"; the digit is the version of the format
 *   u64      seed
 *   u64      digest
 *   string   verdict, as rn_sim_verdict_name; empty for none
 *   string   token that repeats the run; empty for none
 *   u32      number of kinds, then two strings for each: the operation and
 *            the word for its object. Kind numbers may change between
 *            versions of the library; files stay readable because of this
 *   u32      number of tasks, then the name of each, task 1 first
 *   u32      number of call sites, then each as text (function, file, line)
 *   u64      number of events, then 24 bytes for each, to the end of the file:
 *            i64 time (ns), u32 task (0: the clock), u32 object (0: none),
 *            u32 call site (1 is the first; 0: none), u32 kind
 */
#ifndef RN_TRACE_H
#define RN_TRACE_H

#include "core/event.h"

#include <stdio.h>

/* A run in memory. Nothing is owned. */
struct rn__trace {
    const struct rn__event *events;
    size_t count;
    const char *const *task_names; /* [number], 1 is main; 0 unused */
    uint32_t task_count;           /* highest number */
    const char *verdict;           /* as rn_sim_verdict_name */
    const char *token;             /* repeats it; "" for none */
    uint64_t seed;
    uint64_t digest;
};

/* Write a trace to a file, call sites looked up. 0 or a negative errno. */
int rn__trace_write(const struct rn__trace *trace, const char *path);

/* ---- reading ------------------------------------------------------------ */

/* The largest file that is read. */
#define RN__TRACE_FILE_MAX ((size_t)1 << 30)
#define RN__TRACE_MAGIC "RNTRACE1"
#define RN__TRACE_EVENT_BYTES 24

/* A file that was read and found right. The strings it yields are valid UTF-8
 * without control characters: what was not is a '?'. */
struct rn__trace_file {
    unsigned char *data; /* the file, from malloc; strings end with a 0 */
    const char *verdict;
    const char *token;
    uint64_t seed;
    uint64_t digest;
    uint32_t *kinds; /* [2 * kind]: operation, object; offsets in data */
    uint32_t *names; /* [task - 1]: offset in data */
    uint32_t *sites; /* [site - 1]: offset in data */
    uint32_t kind_count;
    uint32_t task_count;
    uint32_t site_count;
    const unsigned char *events;
    size_t event_count;
    size_t error_at;   /* after a failure: byte of the file */
    const char *error; /* after a failure: what is wrong there */
};

/* One event of a file. */
struct rn__trace_event {
    rn_time time;
    uint32_t task; /* 0: the clock */
    uint32_t object;
    const char *kind;
    const char *object_kind; /* "" for none */
    const char *site;        /* "" for none */
};

/* Take over data (from malloc) and check all of it. 0, -EINVAL with error and
 * error_at set, or -ENOMEM. Ended by rn__trace_file_fini, also on failure. */
int rn__trace_parse(struct rn__trace_file *file, unsigned char *data,
                    size_t size);

/* Read and parse a file. As rn__trace_parse, or why it cannot be read. What is
 * wrong is printed to err (may be NULL). */
int rn__trace_read(struct rn__trace_file *file, const char *path, FILE *err);
void rn__trace_file_fini(struct rn__trace_file *file);

/* The event with this index; it must exist. */
struct rn__trace_event rn__trace_event_at(const struct rn__trace_file *file,
                                          size_t index);

/* The name of a task; "clock" for 0, "" if there is none. */
const char *rn__trace_task_name(const struct rn__trace_file *file,
                                uint32_t task);

/* What an event is about, as "chan#2"; "" for nothing. A very long word is
 * cut. */
#define RN__TRACE_OBJECT_MAX 64
void rn__trace_object(const struct rn__trace_event *event,
                      char text[RN__TRACE_OBJECT_MAX]);

/* ---- the views ---------------------------------------------------------- */

/* As rn_trace_print and rn_trace_print_json. 0, -ENOMEM, -EIO. */
int rn__trace_text(const struct rn__trace_file *file, int columns, FILE *out);
int rn__trace_json(const struct rn__trace_file *file, FILE *out);

#endif
