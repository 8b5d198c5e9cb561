/* lin/edn.c - read values of EDN.
 *
 * Nothing is allocated: texts stay in the input, and of a collection the first
 * elements are kept, which is more than an operation has.
 */
#include "lin/edn.h"

#include <string.h>

static int read_value(struct rn__edn_reader *r, int depth);

static int
fail(struct rn__edn_reader *r, const char *error)
{
    if (!r->error)
        r->error = error;
    return -1;
}

static bool
is_space(char c)
{
    return c == ' ' || c == ',' || (c >= '\t' && c <= '\r');
}

static bool
ends_word(char c)
{
    return is_space(c) || (c && strchr("\"()[]{};", c)) || c == 0;
}

static void
skip(struct rn__edn_reader *r, int depth)
{
    while (r->at < r->end && !r->error) {
        if (is_space(*r->at)) {
            r->line += *r->at++ == '\n';
        } else if (*r->at == ';') {
            while (r->at < r->end && *r->at != '\n')
                r->at++;
        } else if (r->end - r->at > 1 && r->at[0] == '#' && r->at[1] == '_') {
            int16_t count = r->count;
            r->at += 2;
            read_value(r, depth + 1);
            r->count = count;
        } else {
            break;
        }
    }
}

void
rn__edn_skip(struct rn__edn_reader *reader)
{
    skip(reader, 0);
}

/* Keep a value. */
static int
keep(struct rn__edn_reader *r, struct rn__edn value)
{
    if (r->count < RN__EDN_VALUES)
        r->count++;
    r->values[r->count - 1] = value;
    return r->count - 1;
}

static int
read_string(struct rn__edn_reader *r)
{
    const char *from = ++r->at;
    for (; r->at < r->end && *r->at != '"'; r->at++) {
        r->line += *r->at == '\n';
        if (*r->at == '\\' && r->end - r->at > 1)
            r->at++;
    }
    if (r->at >= r->end)
        return fail(r, "a string without an end");
    return keep(r, (struct rn__edn){.kind = RN__EDN_STRING,
                                    .text = from,
                                    .bytes = (size_t)(r->at++ - from)});
}

/* Whether a word is an integer (with an N at the end if it was a big one). */
static bool
read_integer(struct rn__edn_reader *r, const char *word, size_t bytes,
             int64_t *number)
{
    size_t i = word[0] == '-' || word[0] == '+';
    bool minus = word[0] == '-';
    int64_t value = 0;
    if (bytes > i + 1 && word[bytes - 1] == 'N')
        bytes--;
    if (i == bytes)
        return false;
    for (size_t k = i; k < bytes; k++)
        if (word[k] < '0' || word[k] > '9')
            return false;
    for (; i < bytes; i++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, word[i] - '0', &value))
            fail(r, "a number that is too large");
    if (!minus && __builtin_sub_overflow(0, value, &value))
        fail(r, "a number that is too large");
    *number = value;
    return true;
}

static int
read_word(struct rn__edn_reader *r)
{
    struct rn__edn v = {.kind = RN__EDN_WORD, .text = r->at};
    if (*r->at == '\\' && r->end - r->at > 1) /* a character, maybe a bracket */
        r->at++;
    do
        r->at++;
    while (r->at < r->end && !ends_word(*r->at));
    v.bytes = (size_t)(r->at - v.text);
    if (read_integer(r, v.text, v.bytes, &v.number))
        v.kind = RN__EDN_INTEGER;
    else if (rn__edn_is(&v, "nil"))
        v.kind = RN__EDN_NIL;
    else if (rn__edn_is(&v, "true") || rn__edn_is(&v, "false"))
        v = (struct rn__edn){.kind = RN__EDN_BOOL, .number = *v.text == 't'};
    return keep(r, v);
}

static int
read_collection(struct rn__edn_reader *r, char close, int depth)
{
    struct rn__edn v = {.kind = close == '}' ? RN__EDN_OTHER : RN__EDN_VECTOR};
    int number = keep(r, v);
    r->at++;
    for (;;) {
        skip(r, depth);
        if (r->error)
            return -1;
        if (r->at >= r->end)
            return fail(r, "a bracket that is not closed");
        if (*r->at == close)
            break;
        int16_t count = r->count;
        int element = read_value(r, depth + 1);
        if (element < 0)
            return -1;
        if (v.kind == RN__EDN_VECTOR && v.count < 2)
            v.elements[v.count] = (int16_t)element;
        else
            r->count = count; /* not kept */
        v.count++;
    }
    r->at++;
    r->values[number] = v;
    return number;
}

static int
read_value(struct rn__edn_reader *r, int depth)
{
    if (depth > RN__EDN_DEPTH)
        return fail(r, "brackets that are nested too deep");
    skip(r, depth);
    if (r->error)
        return -1;
    if (r->at >= r->end)
        return fail(r, "the end, where a value should be");
    switch (*r->at) {
    case '"':
        return read_string(r);
    case '[':
        return read_collection(r, ']', depth);
    case '(':
        return read_collection(r, ')', depth);
    case '{':
        return read_collection(r, '}', depth);
    case ')':
    case ']':
    case '}':
    case 0:
        return fail(r, "a bracket that was not opened, or a zero byte");
    case '#':
        r->at++;
        if (r->at < r->end && *r->at == '{')
            return read_collection(r, '}', depth);
        while (r->at < r->end && !ends_word(*r->at)) /* a tag */
            r->at++;
        return read_value(r, depth + 1);
    default:
        return read_word(r);
    }
}

int
rn__edn_read(struct rn__edn_reader *reader)
{
    return read_value(reader, 0);
}

bool
rn__edn_is(const struct rn__edn *v, const char *word)
{
    return v->kind == RN__EDN_WORD && v->bytes == strlen(word) &&
           memcmp(v->text, word, v->bytes) == 0;
}

size_t
rn__edn_unescape(const struct rn__edn *v, char *text)
{
    static const char from[] = "ntrbf", to[] = "\n\t\r\b\f";
    size_t n = 0;
    for (size_t i = 0; i < v->bytes; i++) {
        char c = v->text[i];
        if (c == '\\' && i + 1 < v->bytes) {
            c = v->text[++i];
            const char *known = c ? strchr(from, c) : NULL;
            c = known ? to[known - from] : c;
        }
        text[n++] = c;
    }
    return n;
}
