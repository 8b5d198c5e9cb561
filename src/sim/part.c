/* sim/part.c - write a part of a search. */
#include "sim/part.h"

#include "base/prng.h"
#include "sim/part_text.h"
#include "sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- digests ------------------------------------------------------------ */

static void
sight(struct rn__sights *s, uint64_t digest, uint64_t index)
{
    size_t i = digest & (s->room - 1);
    while (s->slots[i].digest && s->slots[i].digest != digest)
        i = (i + 1) & (s->room - 1);
    if (!s->slots[i].digest)
        s->slots[i].index = index, s->count++;
    s->slots[i].digest = digest;
    if (index < s->slots[i].index)
        s->slots[i].index = index;
}

bool
rn__sights_add(struct rn__sights *s, uint64_t digest, uint64_t index)
{
    if (2 * s->count >= s->room) {
        struct rn__sights old = *s;
        s->room = old.room ? 2 * old.room : 1024;
        s->count = 0;
        s->slots = calloc(s->room, sizeof *s->slots);
        if (!s->slots) {
            *s = old;
            return false;
        }
        for (size_t i = 0; i < old.room; i++)
            if (old.slots[i].digest)
                sight(s, old.slots[i].digest, old.slots[i].index);
        free(old.slots);
    }
    sight(s, digest ? digest : 1, index);
    return true;
}

uint64_t
rn__sights_count(const struct rn__sights *s, uint64_t last)
{
    uint64_t count = 0;
    for (size_t i = 0; i < s->room; i++)
        count += s->slots[i].digest && s->slots[i].index <= last;
    return count;
}

/* ---- which search ------------------------------------------------------- */

uint64_t
rn__part_sum(const void *bytes, size_t count, uint64_t sum)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

/* Another build of a program has other schedules. 0: it cannot be read. */
static uint64_t
sum_of_file(const char *path)
{
    char block[4096];
    size_t count;
    uint64_t sum = RN__PART_SUM;
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    while ((count = fread(block, 1, sizeof block, f)) > 0)
        sum = rn__part_sum(block, count, sum);
    fclose(f);
    return sum;
}

static void
put_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, "%s ", key);
    for (; text && *text; text++)
        if ((unsigned char)*text < ' ' || *text == '%')
            fprintf(out, "%%%02x", (unsigned)*text);
        else
            putc(*text, out);
    putc('\n', out);
}

char *
rn__part_identity(const rn_sim_options *o, const char *strategy,
                  char *const argv[])
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    const char *slash = strrchr(argv[0], '/');
    put_text(out, "program", slash ? slash + 1 : argv[0]);
    fprintf(out, "build %016" PRIx64 "\n", sum_of_file(argv[0]));
    for (int i = 1; argv[i]; i++)
        put_text(out, "argument", argv[i]);
    put_text(out, "strategy", strategy);
    fprintf(out, "seed %" PRIu64 "\nschedules %" PRIu64 "\n", o->seed,
            o->schedules);
    fprintf(out, "flags %u\n", o->flags & ~RN_SIM_QUIET);
    fprintf(out, "steps %" PRIu64 " %" PRIu64 "\n", o->max_steps,
            o->max_instant_steps);
    fprintf(out, "limits %" PRId64 " %zu %" PRId64 "\n", (int64_t)o->max_time,
            o->max_bytes, (int64_t)o->max_run_time);
    fprintf(out, "faults %" PRIu64 " %016" PRIx64 "\n", o->fail_alloc,
            rn__part_sum(&o->faults, sizeof o->faults, RN__PART_SUM));
    return fclose(out) == 0 ? text : NULL;
}

static size_t
line_length(const char *text)
{
    return strcspn(text, "\n");
}

bool
rn__part_same(const char *identity, const char *other, const char *path,
              char **why)
{
    const char *a = identity, *b = other;
    while (*a && *b && line_length(a) == line_length(b) &&
           memcmp(a, b, line_length(a)) == 0) {
        a += line_length(a) + (a[line_length(a)] != 0);
        b += line_length(b) + (b[line_length(b)] != 0);
    }
    if (!*a && !*b)
        return true;
    *why = rn__format("%s is of another search: there \"%.*s\", here \"%.*s\"",
                      path, (int)line_length(b), b, (int)line_length(a), a);
    return false;
}

/* ---- writing ------------------------------------------------------------ */

static void
put_report(FILE *out, const struct rn__part *part)
{
    const rn_sim_report *r = &part->report;
    fprintf(out,
            "ran %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d %d %" PRIu64
            " %a %a\n",
            r->schedules, r->failing, r->blocked, r->complete, r->bound,
            r->preemptions, r->within, r->estimated, r->seconds);
    fprintf(out,
            "verdict %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIx64
            " %" PRIu64 " %" PRIu64 " %" PRId64 "\n",
            (int)r->verdict, part->found, r->seed, r->steps, r->digest,
            r->waiting, r->faults, (int64_t)r->time);
    put_text(out, "by", r->strategy);
    put_text(out, "token", r->token);
    put_text(out, "text", r->text);
}

static void
put_lists(FILE *out, const struct rn__part *part)
{
    for (size_t i = 0; i < part->sights.room; i++)
        if (part->sights.slots[i].digest)
            fprintf(out, "seen %" PRIx64 " %" PRIu64 "\n",
                    part->sights.slots[i].digest, part->sights.slots[i].index);
    for (int i = 0; i < RN__PROPERTY_SLOTS; i++) {
        const struct rn__property *p = &part->properties.slots[i];
        if (!p->name[0])
            continue;
        fprintf(out, "property %" PRIu64 " %" PRIu64 " %d", p->asked, p->seen,
                p->expected);
        put_text(out, "", p->name);
    }
    for (size_t i = 0; i < part->state.count; i++)
        fprintf(out, "state %" PRIx64 "\n", part->state.list[i]);
}

static char *
write_text(const struct rn__part *part, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fprintf(out, RN__PART_FIRST "\n%s", part->identity);
    put_text(out, "command", part->command);
    fprintf(out, "shard %u %u\n", part->shard + 1, part->shards);
    fprintf(out, "next %" PRIu64 " %d\n", part->next, part->finished);
    put_report(out, part);
    put_lists(out, part);
    fflush(out);
    uint64_t sum = rn__part_sum(text, *size, RN__PART_SUM);
    fprintf(out, RN__PART_LAST "%016" PRIx64 "\n", sum);
    return fclose(out) == 0 ? text : NULL;
}

int
rn__part_write(const struct rn__part *part, const char *path, char **why)
{
    size_t size = 0;
    char *text = write_text(part, &size);
    char *beside = rn__format("%s.new", path);
    FILE *f = text && beside ? fopen(beside, "we") : NULL;
    bool bad = !f || fwrite(text, 1, size, f) != size;
    int error = bad ? errno : 0;
    if (f && fclose(f) != 0)
        bad = true, error = errno;
    if (!bad && rename(beside, path) < 0)
        bad = true, error = errno;
    if (bad) {
        error = error ? error : ENOMEM;
        *why = rn__format("cannot write %s: %s", path, strerror(error));
        if (f)
            unlink(beside);
    }
    free(text);
    free(beside);
    return bad ? -error : 0;
}

void
rn__part_fini(struct rn__part *part)
{
    free(part->identity);
    free(part->command);
    free(part->sights.slots);
    free(part->state.list);
    rn_sim_report_fini(&part->report);
    memset(part, 0, sizeof *part);
}
