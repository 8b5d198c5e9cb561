/* trace/file.c - a trace file is read and checked, whatever its bytes are.
 *
 * All checks happen here, once: nothing that reads an rn__trace_file afterwards
 * can leave its bounds. Strings are moved over their length in place and get
 * their terminating 0 that way, so a file costs its size and an offset a
 * string.
 */
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is left to read. After a failure nothing more is read. */
struct reader {
    struct rn__trace_file *file;
    unsigned char *data;
    size_t at;
    size_t size;
    int error;
};

static void
fail(struct reader *r, size_t at, const char *what)
{
    if (r->error)
        return;
    r->error = -EINVAL;
    r->file->error = what;
    r->file->error_at = at;
}

static uint64_t
get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static uint64_t
read_int(struct reader *r, int bytes, const char *missing)
{
    if (!r->error && r->size - r->at < (size_t)bytes)
        fail(r, r->size, missing);
    if (r->error)
        return 0;
    r->at += (size_t)bytes;
    return get(r->data + r->at - bytes, bytes);
}

/* ---- strings ------------------------------------------------------------- */

/* Bytes of the character at s, 0 if it is not one that may be printed. */
static size_t
char_bytes(const unsigned char *s, size_t left)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n == 1)
        return s[0] >= 0x20 && s[0] != 0x7f;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > left)
        return 0;
    uint32_t c = s[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    if (c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
        return 0;
    return n;
}

static void
clean(unsigned char *s, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t n = char_bytes(s + i, size - i);
        if (n == 0)
            s[i] = '?';
        i += n ? n : 1;
    }
}

/* The offset of the next string. */
static uint32_t
read_string(struct reader *r, const char *missing)
{
    size_t at = r->at;
    uint64_t n = read_int(r, 4, missing);
    if (!r->error && n > r->size - r->at)
        fail(r, at, "a string goes beyond the end of the file");
    if (r->error)
        return 0;
    memmove(r->data + at, r->data + r->at, n);
    r->data[at + n] = 0;
    clean(r->data + at, n);
    r->at += n;
    return (uint32_t)at;
}

/* A table of strings; each entry has several. NULL on failure. */
static uint32_t *
read_table(struct reader *r, size_t each, uint32_t *count, const char *missing)
{
    size_t at = r->at;
    uint64_t n = read_int(r, 4, missing);
    /* A string takes at least its length. */
    if (!r->error && n > (r->size - r->at) / (4 * each))
        fail(r, at, "a table is larger than the file");
    if (r->error)
        return NULL;
    uint32_t *table = calloc(n * each + 1, sizeof *table);
    if (!table) {
        r->error = -ENOMEM;
        return NULL;
    }
    for (size_t i = 0; i < n * each && !r->error; i++)
        table[i] = read_string(r, missing);
    *count = (uint32_t)n;
    return table;
}

/* ---- the file ------------------------------------------------------------ */

static void
check_event(struct reader *r, size_t at)
{
    const unsigned char *e = r->data + at;
    if (get(e, 8) >> 63)
        fail(r, at, "an event has a negative time");
    else if (get(e + 8, 4) > r->file->task_count)
        fail(r, at + 8, "an event has a task that is not there");
    else if (get(e + 16, 4) > r->file->site_count)
        fail(r, at + 16, "an event has a call site that is not there");
    else if (get(e + 20, 4) >= r->file->kind_count)
        fail(r, at + 20, "an event has a kind that is not there");
}

static void
read_events(struct reader *r)
{
    size_t at = r->at;
    uint64_t n = read_int(r, 8, "ends before the events");
    if (r->error)
        return;
    size_t left = r->size - r->at;
    if (n > left / RN__TRACE_EVENT_BYTES)
        fail(r, at, "has fewer events than it says");
    else if (left != n * RN__TRACE_EVENT_BYTES)
        fail(r, r->at + n * RN__TRACE_EVENT_BYTES, "goes on after its end");
    for (size_t i = 0; i < n && !r->error; i++)
        check_event(r, r->at + i * RN__TRACE_EVENT_BYTES);
    r->file->events = r->data + r->at;
    r->file->event_count = n;
}

static void
read_magic(struct reader *r)
{
    size_t n = strlen(RN__TRACE_MAGIC);
    if (r->size < n || memcmp(r->data, RN__TRACE_MAGIC, n - 1) != 0)
        fail(r, 0, "not a trace of runnel");
    else if (r->data[n - 1] != (unsigned char)RN__TRACE_MAGIC[n - 1])
        fail(r, n - 1, "a version of the format that is not known here");
    r->at = n;
}

int
rn__trace_parse(struct rn__trace_file *file, unsigned char *data, size_t size)
{
    *file = (struct rn__trace_file){.data = data};
    struct reader r = {.file = file, .data = data, .size = size};
    const char *missing = "ends in its head";
    if (size > RN__TRACE_FILE_MAX)
        fail(&r, RN__TRACE_FILE_MAX, "too large");
    read_magic(&r);
    file->seed = read_int(&r, 8, missing);
    file->digest = read_int(&r, 8, missing);
    uint32_t verdict = read_string(&r, missing);
    uint32_t token = read_string(&r, missing);
    file->kinds = read_table(&r, 2, &file->kind_count, "ends in its kinds");
    file->names = read_table(&r, 1, &file->task_count, "ends in its tasks");
    file->sites = read_table(&r, 1, &file->site_count, "ends in its sites");
    read_events(&r);
    file->verdict = (const char *)data + verdict;
    file->token = (const char *)data + token;
    return r.error;
}

void
rn__trace_file_fini(struct rn__trace_file *file)
{
    free(file->data);
    free(file->kinds);
    free(file->names);
    free(file->sites);
    *file = (struct rn__trace_file){0};
}

/* All of a file, of any kind. */
static int
read_all(FILE *f, unsigned char **data, size_t *size)
{
    size_t room = 1 << 16, got = 0;
    unsigned char *bytes = malloc(room);
    while (bytes && got <= RN__TRACE_FILE_MAX) {
        got += fread(bytes + got, 1, room - got, f);
        if (got < room)
            break;
        unsigned char *more = realloc(bytes, room * 2);
        if (!more)
            free(bytes);
        bytes = more;
        room *= 2;
    }
    int e = errno;
    if (!bytes)
        return -ENOMEM;
    if (ferror(f)) {
        free(bytes);
        return e ? -e : -EIO;
    }
    *data = bytes;
    *size = got;
    return 0;
}

int
rn__trace_read(struct rn__trace_file *file, const char *path, FILE *err)
{
    unsigned char *data = NULL;
    size_t size = 0;
    *file = (struct rn__trace_file){0};
    FILE *f = fopen(path, "rbe");
    int e = f ? read_all(f, &data, &size) : -errno;
    if (f)
        fclose(f);
    if (e == 0)
        e = rn__trace_parse(file, data, size);
    if (e < 0 && err && file->error)
        fprintf(err, "%s: byte %zu: %s\n", path, file->error_at, file->error);
    else if (e < 0 && err)
        fprintf(err, "%s: %s\n", path, strerror(-e));
    return e;
}

/* ---- what it holds ------------------------------------------------------- */

static const char *
string_at(const struct rn__trace_file *file, uint32_t offset)
{
    return (const char *)file->data + offset;
}

struct rn__trace_event
rn__trace_event_at(const struct rn__trace_file *file, size_t index)
{
    const unsigned char *e = file->events + index * RN__TRACE_EVENT_BYTES;
    uint32_t site = (uint32_t)get(e + 16, 4);
    uint32_t kind = (uint32_t)get(e + 20, 4);
    return (struct rn__trace_event){
        .time = (rn_time)get(e, 8),
        .task = (uint32_t)get(e + 8, 4),
        .object = (uint32_t)get(e + 12, 4),
        .kind = string_at(file, file->kinds[2 * kind]),
        .object_kind = string_at(file, file->kinds[2 * kind + 1]),
        .site = site ? string_at(file, file->sites[site - 1]) : "",
    };
}

const char *
rn__trace_task_name(const struct rn__trace_file *file, uint32_t task)
{
    if (task == 0)
        return "clock";
    if (task > file->task_count)
        return "";
    return string_at(file, file->names[task - 1]);
}

void
rn__trace_object(const struct rn__trace_event *event,
                 char text[RN__TRACE_OBJECT_MAX])
{
    text[0] = 0;
    if (!event->object || !event->object_kind[0])
        return;
    int room = RN__TRACE_OBJECT_MAX - 12; /* # and ten digits */
    int n = (int)strnlen(event->object_kind, (size_t)room);
    while (n > 0 && n == room && (event->object_kind[n] & 0xc0) == 0x80)
        n--; /* not inside a character */
    snprintf(text, RN__TRACE_OBJECT_MAX, "%.*s#%" PRIu32, n, event->object_kind,
             event->object);
}
