/* lin/edn.h - values of EDN, the notation of Clojure, as far as histories in
 * that notation need it.
 */
#ifndef RN_LIN_EDN_H
#define RN_LIN_EDN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rn__edn_kind {
    RN__EDN_NIL,
    RN__EDN_BOOL,
    RN__EDN_INTEGER,
    RN__EDN_WORD,   /* a keyword with its colon, a symbol, any other atom */
    RN__EDN_STRING, /* between its quotes, as written */
    RN__EDN_VECTOR, /* or a list */
    RN__EDN_OTHER   /* a map or a set */
};

struct rn__edn {
    enum rn__edn_kind kind;
    int64_t number;      /* BOOL, INTEGER */
    const char *text;    /* WORD, STRING: in the input */
    size_t bytes;        /* of text */
    size_t count;        /* VECTOR: its elements */
    int16_t elements[2]; /* VECTOR: the first of them, in values */
};

/* Values of one operation that are kept; more are passed over. */
enum { RN__EDN_VALUES = 16, RN__EDN_DEPTH = 64 };

struct rn__edn_reader {
    const char *at, *end;
    int64_t line;
    const char *error; /* the first; NULL: none */
    struct rn__edn values[RN__EDN_VALUES];
    int16_t count;
};

/* Pass over space, commas, comments and discarded values. */
void rn__edn_skip(struct rn__edn_reader *reader);
/* Read a value. Its number, or -1 with error set; if there are too many, the
 * last number is used again. */
int rn__edn_read(struct rn__edn_reader *reader);
/* Whether a value is this word. */
bool rn__edn_is(const struct rn__edn *value, const char *word);
/* The bytes that a string means, into text, which has room for its bytes. */
size_t rn__edn_unescape(const struct rn__edn *value, char *text);

#endif
