/* sim/part_read.c - read a part of a search, which may be damaged. */
#include "sim/part.h"

#include "sim/part_text.h"
#include "sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The value of a line with this key; NULL: another key. */
static char *
value_of(char *line, const char *key)
{
    size_t length = strlen(key);
    return strncmp(line, key, length) == 0 && line[length] == ' '
               ? line + length + 1
               : NULL;
}

/* Undo the writer's escapes. */
static char *
unescape(const char *from)
{
    char *text = malloc(strlen(from) + 1), *to = text;
    unsigned code;
    for (; text && *from; from++)
        if (*from == '%' && sscanf(from + 1, "%2x", &code) == 1 && from[2]) {
            *to++ = (char)code;
            from += 2;
        } else {
            *to++ = *from;
        }
    if (text)
        *to = 0;
    return text;
}

static bool
set_text(char **field, const char *value, bool null_if_empty)
{
    if (*field)
        return false;
    if (null_if_empty && !value[0])
        return true;
    *field = unescape(value);
    return *field != NULL;
}

static bool
read_counts(rn_sim_report *r, const char *value)
{
    return sscanf(value,
                  "%" SCNu64 " %" SCNu64 " %" SCNu64 " %d %d %d %" SCNu64
                  " %la %la",
                  &r->schedules, &r->failing, &r->blocked, &r->complete,
                  &r->bound, &r->preemptions, &r->within, &r->estimated,
                  &r->seconds) == 9;
}

static bool
read_verdict(struct rn__part *part, const char *value)
{
    rn_sim_report *r = &part->report;
    int verdict;
    int64_t time;
    if (sscanf(value,
               "%d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNx64 " %" SCNu64
               " %" SCNu64 " %" SCNd64,
               &verdict, &part->found, &r->seed, &r->steps, &r->digest,
               &r->waiting, &r->faults, &time) != 8)
        return false;
    if (verdict < RN_SIM_PASS || verdict > RN_SIM_STARVATION)
        return false;
    r->verdict = (rn_sim_verdict)verdict;
    r->time = time;
    return (verdict == RN_SIM_PASS) == (part->found == UINT64_MAX);
}

static bool
read_property(struct rn__part *part, const char *value)
{
    static struct rn__properties one;
    struct rn__property p = {0};
    int expected, at = 0;
    if (sscanf(value, "%" SCNu64 " %" SCNu64 " %d %n", &p.asked, &p.seen,
               &expected, &at) != 3 ||
        !at || !value[at])
        return false;
    char *name = unescape(value + at);
    bool fits = name && strlen(name) < sizeof p.name;
    if (fits)
        memcpy(p.name, name, strlen(name) + 1);
    free(name);
    p.expected = expected;
    memset(&one, 0, sizeof one);
    one.count = 1;
    one.slots[0] = p;
    rn__properties_merge(&part->properties, &one);
    return fits;
}

static bool
read_place(struct rn__part *part, const char *value)
{
    if (sscanf(value, "%u %u", &part->shard, &part->shards) != 2)
        return false;
    return part->shard-- >= 1 && part->shard < part->shards;
}

static bool
read_next(struct rn__part *part, const char *value)
{
    int finished;
    bool good = sscanf(value, "%" SCNu64 " %d", &part->next, &finished) == 2;
    part->finished = good && finished;
    return good;
}

static bool
read_line(struct rn__part *part, char *line)
{
    rn_sim_report *r = &part->report;
    uint64_t a, b;
    char *v;
    if ((v = value_of(line, "seen")))
        return sscanf(v, "%" SCNx64 " %" SCNu64, &a, &b) == 2 &&
               rn__sights_add(&part->sights, a, b);
    if ((v = value_of(line, "state")))
        return sscanf(v, "%" SCNx64, &a) == 1 && rn__words_add(&part->state, a);
    if ((v = value_of(line, "property")))
        return read_property(part, v);
    if ((v = value_of(line, "shard")))
        return read_place(part, v);
    if ((v = value_of(line, "next")))
        return read_next(part, v);
    if ((v = value_of(line, "ran")))
        return read_counts(r, v);
    if ((v = value_of(line, "verdict")))
        return read_verdict(part, v);
    if ((v = value_of(line, "by")))
        return set_text(&r->strategy, v, false);
    if ((v = value_of(line, "token")))
        return set_text(&r->token, v, true);
    return (v = value_of(line, "text")) && set_text(&r->text, v, true);
}

/* Cut off the line with the checksum if it is right. */
static const char *
check_sum(char *text, size_t length)
{
    enum { LAST = sizeof RN__PART_LAST - 1 + 16 + 1 };
    uint64_t sum;
    if (strncmp(text, RN__PART_FIRST "\n", sizeof RN__PART_FIRST) != 0)
        return "it is not a part of a search";
    if (length < LAST || strlen(text) != length)
        return "it is cut off or damaged";
    char *last = text + length - LAST;
    if (sscanf(last, RN__PART_LAST "%16" SCNx64, &sum) != 1 ||
        sum != rn__part_sum(text, (size_t)(last - text), RN__PART_SUM))
        return "it is cut off or damaged";
    *last = 0;
    return NULL;
}

const char *
rn__part_parse(struct rn__part *part, char *text, size_t length)
{
    const char *wrong = check_sum(text, length);
    if (wrong)
        return wrong;
    char *line = text + sizeof RN__PART_FIRST;
    char *command = strstr(line, "\ncommand ");
    if (!command)
        return "it does not say of what";
    part->identity = strndup(line, (size_t)(command + 1 - line));
    for (line = command + 1; *line;) {
        char *end = line + strcspn(line, "\n"), *v;
        char *next = *end ? end + 1 : end;
        *end = 0;
        bool good = (v = value_of(line, "command"))
                        ? set_text(&part->command, v, false)
                        : read_line(part, line);
        if (!good)
            return "a line makes no sense";
        line = next;
    }
    if (!part->identity || !part->command || !part->report.strategy ||
        !part->shards)
        return "lines are missing";
    return NULL;
}

int
rn__part_read(struct rn__part *part, const char *path, char **why)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    errno = 0;
    ssize_t length = f ? getdelim(&text, &room, 0, f) : -1;
    int error = !f || ferror(f) ? errno : 0;
    if (f)
        fclose(f);
    const char *wrong = NULL;
    if (error)
        *why = rn__format("cannot read %s: %s", path, strerror(error));
    else if (length < 0)
        wrong = "it is empty";
    else
        wrong = rn__part_parse(part, text, (size_t)length);
    if (wrong)
        *why = rn__format("cannot use %s: %s", path, wrong);
    free(text);
    return wrong ? -EINVAL : -error;
}
