/* tools/json.c - writes JSON, one member a line.
 *
 * Strings may hold any bytes: what is not UTF-8 becomes U+FFFD.
 */
#include "json.h"

#include <inttypes.h>
#include <string.h>

/* Bytes of the UTF-8 character at s; 0: it is none. */
static int
char_bytes(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n == 1)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    uint32_t c = s[0] & (0x7fu >> n);
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) /* the terminating 0 too */
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    bool wrong = c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff;
    return wrong ? 0 : n;
}

static void
put_string(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    putc('"', out);
    while (*s) {
        int n = char_bytes(s);
        if (n == 0)
            fputs("\\ufffd", out);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s == '\n')
            fputs("\\n", out);
        else if (*s == '\t')
            fputs("\\t", out);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(out, "\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n ? n : 1;
    }
    putc('"', out);
}

/* A new line, the comma before it and the key. */
static void
begin(struct json *json, const char *key)
{
    if (json->depth > 0)
        fprintf(json->out, "%s\n%*s", json->follows ? "," : "", 2 * json->depth,
                "");
    json->follows = true;
    if (!key)
        return;
    put_string(json->out, key);
    fputs(": ", json->out);
}

void
json_open(struct json *json, const char *key, char bracket)
{
    begin(json, key);
    putc(bracket, json->out);
    json->depth++;
    json->follows = false;
}

void
json_close(struct json *json, char bracket)
{
    json->depth--;
    if (json->follows)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    putc(bracket == '{' ? '}' : ']', json->out);
    if (json->depth == 0)
        putc('\n', json->out);
    json->follows = true;
}

void
json_text(struct json *json, const char *key, const char *text)
{
    begin(json, key);
    if (text)
        put_string(json->out, text);
    else
        fputs("null", json->out);
}

void
json_bool(struct json *json, const char *key, bool value)
{
    begin(json, key);
    fputs(value ? "true" : "false", json->out);
}

void
json_unsigned(struct json *json, const char *key, uint64_t value)
{
    begin(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void
json_signed(struct json *json, const char *key, int64_t value)
{
    begin(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void
json_real(struct json *json, const char *key, double value)
{
    begin(json, key);
    fprintf(json->out, "%.3f", value);
}

void
json_raw(struct json *json, const char *key, const char *text)
{
    begin(json, key);
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    fwrite(text, 1, n, json->out);
}
