/* trace/write.c - a run in memory becomes a file.
 *
 * Call sites are looked up here, by the process that ran: nobody else knows
 * where its code was loaded. Each distinct one is looked up once, all of them
 * in one go, because the look-up may start another program.
 */
#include "trace/trace.h"

#include "os/os.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The distinct call sites of a run. */
struct sites {
    uintptr_t *address; /* sorted; 0 is not among them */
    size_t count;
    char (*text)[RN__SYMBOL_MAX];
};

static int
compare(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return x < y ? -1 : x > y;
}

static int
sites_init(struct sites *sites, const struct rn__trace *trace)
{
    size_t n = 0;
    sites->address = calloc(trace->count + 1, sizeof *sites->address);
    if (!sites->address)
        return -ENOMEM;
    for (size_t i = 0; i < trace->count; i++) {
        uintptr_t a = (uintptr_t)rn__event_site(&trace->events[i]);
        if (a && !(n && sites->address[n - 1] == a))
            sites->address[n++] = a;
    }
    qsort(sites->address, n, sizeof *sites->address, compare);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sites->address[i] != sites->address[i - 1])
            sites->address[sites->count++] = sites->address[i];
    sites->text = calloc(sites->count + 1, sizeof *sites->text);
    void **code = calloc(sites->count + 1, sizeof *code);
    if (sites->text && code) {
        for (size_t i = 0; i < sites->count; i++)
            code[i] = (void *)sites->address[i];
        rn__os_symbols(code, (int)sites->count, sites->text);
    }
    bool done = sites->text && code;
    free(code);
    return done ? 0 : -ENOMEM;
}

static void
sites_fini(struct sites *sites)
{
    free(sites->address);
    free(sites->text);
}

/* The number of a call site in the file. */
static uint32_t
sites_find(const struct sites *sites, const void *site)
{
    uintptr_t a = (uintptr_t)site;
    uintptr_t *found = NULL;
    if (a)
        found = bsearch(&a, sites->address, sites->count,
                        sizeof *sites->address, compare);
    return found ? (uint32_t)(found - sites->address) + 1 : 0;
}

/* ---- the parts of the file ----------------------------------------------- */

static unsigned char *
put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *to++ = (unsigned char)(value >> 8 * i);
    return to;
}

static void
write_int(FILE *f, uint64_t value, int bytes)
{
    unsigned char b[8];
    put(b, value, bytes);
    fwrite(b, 1, (size_t)bytes, f);
}

static void
write_string(FILE *f, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    write_int(f, n, 4);
    if (n)
        fwrite(text, 1, n, f);
}

static void
write_head(FILE *f, const struct rn__trace *trace)
{
    fputs(RN__TRACE_MAGIC, f);
    write_int(f, trace->seed, 8);
    write_int(f, trace->digest, 8);
    write_string(f, trace->verdict);
    write_string(f, trace->token);
    write_int(f, RN__KIND_COUNT, 4);
    for (int k = 0; k < RN__KIND_COUNT; k++) {
        write_string(f, rn__kind_text((enum rn__kind)k));
        write_string(f, rn__kind_object((enum rn__kind)k));
    }
    write_int(f, trace->task_count, 4);
    for (uint32_t i = 1; i <= trace->task_count; i++)
        write_string(f, trace->task_names ? trace->task_names[i] : NULL);
}

static void
write_event(FILE *f, const struct rn__event *e, const struct sites *sites)
{
    unsigned char b[RN__TRACE_EVENT_BYTES], *p = b;
    p = put(p, (uint64_t)e->time, 8);
    p = put(p, e->task, 4);
    p = put(p, e->object, 4);
    p = put(p, sites_find(sites, rn__event_site(e)), 4);
    put(p, rn__event_kind(e), 4);
    fwrite(b, 1, sizeof b, f);
}

static void
write_all(FILE *f, const struct rn__trace *trace, const struct sites *sites)
{
    write_head(f, trace);
    write_int(f, sites->count, 4);
    for (size_t i = 0; i < sites->count; i++)
        write_string(f, sites->text[i]);
    write_int(f, trace->count, 8);
    for (size_t i = 0; i < trace->count; i++)
        write_event(f, &trace->events[i], sites);
}

int
rn__trace_write(const struct rn__trace *trace, const char *path)
{
    FILE *f = fopen(path, "wbe");
    if (!f)
        return -errno;
    struct sites sites = {0};
    int e = sites_init(&sites, trace);
    errno = 0;
    if (e == 0)
        write_all(f, trace, &sites);
    sites_fini(&sites);
    bool failed = ferror(f);
    if ((fclose(f) != 0 || failed) && e == 0)
        e = errno ? -errno : -EIO;
    return e;
}
