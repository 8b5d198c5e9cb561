/* sim/token.c - a list of choices as a short text, and back.
 *
 * "1-", then in base64url without padding (RFC 4648, section 5): a choice as a
 * varint; 0 is followed by a varint that counts further zeros; at the end four
 * bytes of checksum (FNV-1a, 32 bits), so that a mistyped token is refused.
 *
 * Or "s-" and a number in hexadecimal: the schedule of that seed, for a run
 * that did not live to tell its choices.
 */
#include "sim/sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "abcdefghijklmnopqrstuvwxyz0123456789-_";
static const char version[] = "1-";

enum { CHECK = 4, LIST_MAX = 16 << 20, FILE_MAX = 64 << 20 };

/* ---- lists and bytes ---------------------------------------------------- */

bool
rn__choices_add(struct rn__choices *choices, uint32_t choice)
{
    if (choices->count == choices->room) {
        size_t room = choices->room ? 2 * choices->room : 256;
        uint32_t *list = realloc(choices->list, room * sizeof *list);
        if (!list)
            return false;
        choices->list = list;
        choices->room = room;
    }
    choices->list[choices->count++] = choice;
    return true;
}

char *
rn__format(const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

static uint32_t
checksum(const unsigned char *bytes, size_t count)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static size_t
put_varint(unsigned char *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 128; value >>= 7)
        to[n++] = (unsigned char)(value | 128);
    to[n++] = (unsigned char)value;
    return n;
}

/* Returns false at the end of the bytes or for more than 64 bits. */
static bool
get_varint(const unsigned char **at, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < end && shift < 63; shift += 7) {
        unsigned char byte = *(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

static size_t
pack(const struct rn__choices *choices, unsigned char *to)
{
    size_t count = choices->count, n = 0;
    while (count > 0 && choices->list[count - 1] == 0)
        count--;
    for (size_t i = 0; i < count; i++) {
        n += put_varint(to + n, choices->list[i]);
        if (choices->list[i] != 0)
            continue;
        size_t more = 0;
        for (; choices->list[i + 1] == 0; i++)
            more++;
        n += put_varint(to + n, more);
    }
    uint32_t sum = checksum(to, n);
    for (int i = 0; i < CHECK; i++)
        to[n++] = (unsigned char)(sum >> (8 * i));
    return n;
}

char *
rn__token_write(const struct rn__choices *choices)
{
    unsigned char *bytes = malloc(choices->count * 10 + 16);
    char *text = malloc((choices->count * 10 + 16) * 4 / 3 + 8);
    if (!bytes || !text) {
        free(bytes);
        free(text);
        return NULL;
    }
    size_t count = pack(choices, bytes), n = strlen(version);
    memcpy(text, version, n);
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < count; i++) {
        bits = (bits << 8 | bytes[i]) & 0xffff;
        for (have += 8; have >= 6; have -= 6)
            text[n++] = digits[bits >> (have - 6) & 63];
    }
    if (have > 0)
        text[n++] = digits[bits << (6 - have) & 63];
    text[n] = 0;
    free(bytes);
    return text;
}

/* ---- reading ------------------------------------------------------------ */

static int
unpack(const unsigned char *bytes, size_t count, struct rn__choices *choices)
{
    const unsigned char *at = bytes, *end = bytes + count;
    uint64_t value, more;
    while (at < end) {
        if (!get_varint(&at, end, &value) || value > UINT32_MAX)
            return -EINVAL;
        more = 0;
        if (value == 0 && !get_varint(&at, end, &more))
            return -EINVAL;
        if (more >= LIST_MAX - choices->count)
            return -EINVAL;
        for (uint64_t i = 0; i <= more; i++)
            if (!rn__choices_add(choices, (uint32_t)value))
                return -ENOMEM;
    }
    return 0;
}

static int
decode(const char *text, unsigned char *bytes, size_t *count)
{
    uint32_t bits = 0;
    int have = 0;
    *count = 0;
    for (; *text && !strchr(" \t\r\n", *text); text++) {
        const char *digit = strchr(digits, *text);
        if (!digit)
            return -EINVAL;
        bits = (bits << 6 | (uint32_t)(digit - digits)) & 0xffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            bytes[(*count)++] = (unsigned char)(bits >> have);
        }
    }
    /* what the last digit has too much is zero, and no digit is needless */
    if (have >= 6 || bits & ((1u << have) - 1))
        return -EINVAL;
    return text[strspn(text, " \t\r\n")] ? -EINVAL : 0;
}

static bool
checked(const unsigned char *bytes, size_t count)
{
    if (count < CHECK)
        return false;
    uint32_t sum = checksum(bytes, count - CHECK);
    for (int i = 0; i < CHECK; i++)
        if (bytes[count - CHECK + i] != (unsigned char)(sum >> (8 * i)))
            return false;
    return true;
}

static int
read_text(const char *text, struct rn__choices *choices, char **why)
{
    size_t skip = strlen(version), count;
    if (strncmp(text, version, skip) != 0) {
        *why =
            rn__format("not a token: it does not start with \"%s\"", version);
        return -EINVAL;
    }
    unsigned char *bytes = malloc(strlen(text) + 1);
    if (!bytes)
        return -ENOMEM;
    int error = decode(text + skip, bytes, &count);
    if (error)
        *why = rn__format("not a token: it holds a character that is none of "
                          "A-Z a-z 0-9 - _");
    else if (!checked(bytes, count)) {
        error = -EINVAL;
        *why = rn__format("the token is damaged: its checksum is wrong; was "
                          "it copied whole?");
    } else {
        error = unpack(bytes, count - CHECK, choices);
        if (error == -EINVAL)
            *why = rn__format("the token is damaged: it holds no choices");
    }
    free(bytes);
    return error;
}

char *
rn__token_of_seed(uint64_t seed)
{
    return rn__format("s-%llx", (unsigned long long)seed);
}

static int
read_any(const char *text, struct rn__choices *choices, bool *seeded,
         uint64_t *seed, char **why)
{
    *seeded = strncmp(text, "s-", 2) == 0;
    if (!*seeded)
        return read_text(text, choices, why);
    size_t count = strspn(text + 2, "0123456789abcdefABCDEF");
    const char *end = text + 2 + count;
    *seed = strtoull(text + 2, NULL, 16);
    if (count >= 1 && count <= 16 && !end[strspn(end, " \t\r\n")])
        return 0;
    *why = rn__format("not a token: after \"s-\" comes a hexadecimal number");
    return -EINVAL;
}

/* The first line of a file, from malloc. */
static char *
read_file(const char *path, char **why)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        *why = rn__format("cannot read the token file %s: %s", path,
                          strerror(errno));
        return NULL;
    }
    char *text = calloc(1, FILE_MAX + 1);
    size_t length = text ? fread(text, 1, FILE_MAX + 1, file) : 0;
    if (length == 0 || length > FILE_MAX) {
        *why = rn__format("the token file %s %s", path,
                          ferror(file) ? "cannot be read"
                          : length     ? "is too long"
                                       : "is empty");
        free(text);
        text = NULL;
    } else {
        text[strcspn(text, "\n")] = 0;
    }
    fclose(file);
    return text;
}

int
rn__token_read(const char *token, struct rn__choices *choices, bool *seeded,
               uint64_t *seed, char **why)
{
    if (token[0] != '@')
        return read_any(token, choices, seeded, seed, why);
    char *text = read_file(token + 1, why);
    if (!text)
        return -EINVAL;
    int error = read_any(text, choices, seeded, seed, why);
    free(text);
    return error;
}
