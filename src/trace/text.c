/* trace/text.c - a trace as text: a column a task, a line an event.
 *
 * A line has one entry only, so an entry that is wider than its column may
 * run on over the columns to its right, up to the call site: columns can be
 * narrow without anything being cut. With too many tasks even for that, one
 * column has the task's name and the next one the entry.
 */
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <runnel/sim.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_DEFAULT = 100,
    COLUMNS_MIN = 60,
    COLUMNS_MAX = 100000,
    COLUMN_MIN = 12, /* of a task, the gap included */
    GAP = 2,
    SITE_SHARE = 3, /* call sites get a third of the line at most, */
    SITE_MIN = 20,  /* or so much */
    ENTRY_MAX = 320
};

/* One task that occurs in the trace. */
struct lane {
    uint32_t task;
    int need; /* widest entry */
    int at;   /* where the column starts */
};

/* Where things stand on a line. */
struct page {
    const struct rn__trace_file *file;
    struct lane *lanes; /* by task number; the clock is first if it occurs */
    size_t lane_count;
    uint32_t *lane_of; /* [task]: 1 + index of the lane; 0: none */
    bool listed;       /* names in a column in place of lanes */
    int time_width;
    int name_width; /* listed only */
    int entry_at;   /* listed only */
    int site_at;
    int columns;
    FILE *out;
};

/* ---- words --------------------------------------------------------------- */

/* Characters of a text. */
static int
width_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

/* A time in seconds, exactly: as many groups of three decimals as it takes. */
static void
time_text(rn_time time, char text[32])
{
    rn_time fraction = time % RN_SEC;
    int n =
        snprintf(text, 32, "%" PRId64 ".%09" PRId64, time / RN_SEC, fraction);
    while (fraction % 1000 == 0 && text[n - 4] != '.') {
        fraction /= 1000;
        n -= 3;
    }
    n -= fraction == 0 ? 4 : 0;
    memcpy(text + n, "s", 2);
}

/* A text that was cut must not end inside a character. */
static void
trim(char text[ENTRY_MAX])
{
    size_t n = strlen(text);
    if (n < ENTRY_MAX - 1)
        return;
    while (n > 0 && (text[n - 1] & 0xc0) == 0x80)
        n--;
    if (n > 0 && (text[n - 1] & 0x80))
        n--;
    text[n] = 0;
}

static void
entry_text(const struct rn__trace_file *file, const struct rn__trace_event *e,
           char text[ENTRY_MAX])
{
    char object[RN__TRACE_OBJECT_MAX];
    rn__trace_object(e, object);
    const char *name = "";
    if (object[0] && !strcmp(e->object_kind, "task"))
        name = rn__trace_task_name(file, e->object);
    snprintf(text, ENTRY_MAX, "%s%s%s%s%s", e->kind,
             object[0] && e->kind[0] ? " " : "", object, name[0] ? " " : "",
             name);
    trim(text);
}

static void
head_text(const struct page *page, uint32_t task, char text[ENTRY_MAX])
{
    const char *name = rn__trace_task_name(page->file, task);
    if (task == 0)
        snprintf(text, ENTRY_MAX, "%s", name);
    else
        snprintf(text, ENTRY_MAX, "#%" PRIu32 "%s%s", task, name[0] ? " " : "",
                 name);
    trim(text);
}

/* ---- lines --------------------------------------------------------------- */

/* A line that is being printed, and how far it is. */
struct line {
    FILE *out;
    int at;
};

/* Print text at a column, cut where it would reach the end. */
static void
put_at(struct line *line, int at, int end, const char *text)
{
    if (!text[0] || end <= at)
        return;
    bool cut = width_of(text) > end - at;
    int left = end - at - (cut ? 1 : 0);
    for (; line->at < at; line->at++)
        putc(' ', line->out);
    for (; *text; text++) {
        bool starts = (*text & 0xc0) != 0x80;
        if (starts && left-- == 0)
            break;
        line->at += starts;
        putc(*text, line->out);
    }
    if (cut) {
        putc('~', line->out);
        line->at++;
    }
}

/* The end of a call site is the line number: cut at the start. */
static void
put_site(struct line *line, const struct page *page, const char *site)
{
    int room = page->columns - page->site_at;
    int skip = width_of(site) - room;
    if (skip <= 0) {
        put_at(line, page->site_at, page->columns, site);
        return;
    }
    put_at(line, page->site_at, page->columns, "~");
    for (skip++; skip > 0; skip--)
        do
            site++;
        while ((*site & 0xc0) == 0x80);
    put_at(line, page->site_at + 1, page->columns, site);
}

static void
put_event(const struct page *page, const struct rn__trace_event *e,
          const char *time)
{
    struct line line = {page->out, 0};
    char text[ENTRY_MAX];
    put_at(&line, 0, page->columns, time);
    int at = page->entry_at;
    if (page->listed) {
        head_text(page, e->task, text);
        put_at(&line, page->time_width + GAP, at - GAP, text);
    } else {
        at = page->lanes[page->lane_of[e->task] - 1].at;
    }
    entry_text(page->file, e, text);
    put_at(&line, at, page->site_at - GAP, text);
    put_site(&line, page, e->site);
    putc('\n', page->out);
}

static void
put_events(const struct page *page)
{
    rn_time last = -1;
    for (size_t i = 0; i < page->file->event_count; i++) {
        struct rn__trace_event e = rn__trace_event_at(page->file, i);
        char time[32] = "";
        if (e.time != last)
            time_text(e.time, time);
        last = e.time;
        put_event(page, &e, time);
    }
}

static void
put_head(const struct page *page)
{
    struct line line = {page->out, 0};
    char text[ENTRY_MAX];
    put_at(&line, 0, page->columns, "time");
    if (page->listed)
        put_at(&line, page->time_width + GAP, page->columns, "task");
    for (size_t i = 0; i < page->lane_count && !page->listed; i++) {
        bool last = i + 1 == page->lane_count;
        int end = last ? page->site_at : page->lanes[i + 1].at;
        head_text(page, page->lanes[i].task, text);
        put_at(&line, page->lanes[i].at, end - GAP, text);
    }
    put_at(&line, page->site_at, page->columns, "site");
    putc('\n', page->out);
}

/* ---- layout -------------------------------------------------------------- */

static int
larger(int a, int b)
{
    return a > b ? a : b;
}

static int
smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Find the tasks that occur. */
static int
find_lanes(struct page *page)
{
    const struct rn__trace_file *file = page->file;
    page->lane_of = calloc((size_t)file->task_count + 1, sizeof(uint32_t));
    if (!page->lane_of)
        return -ENOMEM;
    for (size_t i = 0; i < file->event_count; i++) {
        uint32_t task = rn__trace_event_at(file, i).task;
        page->lane_count += page->lane_of[task] == 0;
        page->lane_of[task] = 1;
    }
    page->lanes = calloc(page->lane_count + 1, sizeof *page->lanes);
    if (!page->lanes)
        return -ENOMEM;
    size_t n = 0;
    for (size_t t = 0; t <= file->task_count; t++) {
        if (!page->lane_of[t])
            continue;
        page->lanes[n].task = (uint32_t)t;
        page->lane_of[t] = (uint32_t)++n;
    }
    return 0;
}

/* How wide everything would like to be. Returns the widest call site. */
static int
measure(struct page *page)
{
    char text[ENTRY_MAX], time[32];
    int site = 4, entry = 5;
    page->time_width = 4;
    page->name_width = 4;
    for (size_t i = 0; i < page->lane_count; i++) {
        head_text(page, page->lanes[i].task, text);
        page->lanes[i].need = width_of(text);
        page->name_width = larger(page->name_width, width_of(text));
    }
    for (size_t i = 0; i < page->file->event_count; i++) {
        struct rn__trace_event e = rn__trace_event_at(page->file, i);
        struct lane *lane = &page->lanes[page->lane_of[e.task] - 1];
        entry_text(page->file, &e, text);
        time_text(e.time, time);
        entry = larger(entry, width_of(text));
        lane->need = larger(lane->need, width_of(text));
        site = larger(site, width_of(e.site));
        page->time_width = larger(page->time_width, width_of(time));
    }
    page->entry_at = entry; /* for now */
    return site;
}

/* How wide a column is if none may be wider than widest. Entries of the last
 * one have nowhere to run on to: it may take up to half the room. */
static int
lane_width(const struct page *page, size_t lane, int widest, int room)
{
    bool last = lane + 1 == page->lane_count;
    int most = last ? larger(widest, room / 2) : widest;
    return smaller(page->lanes[lane].need + GAP, most);
}

static long
sum_of_lanes(const struct page *page, int widest, int room)
{
    long sum = 0;
    for (size_t i = 0; i < page->lane_count; i++)
        sum += lane_width(page, i, widest, room);
    return sum;
}

/* The widest limit under which all columns fit; 0: they do not. */
static int
fit_lanes(const struct page *page, int room)
{
    int low = COLUMN_MIN, high = room;
    if (sum_of_lanes(page, low, room) > room)
        return 0;
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        if (sum_of_lanes(page, middle, room) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static void
lay_out(struct page *page)
{
    int site = measure(page);
    int start = page->time_width + GAP;
    int share = larger(page->columns / SITE_SHARE, SITE_MIN);
    int room = page->columns - start - smaller(site, share);
    int widest = fit_lanes(page, room);
    page->listed = widest == 0;
    if (page->listed) {
        int name = smaller(page->name_width, larger(room / 3, 6));
        int entry = page->entry_at;
        page->entry_at = start + name + GAP;
        page->site_at = smaller(page->entry_at + entry + GAP, start + room);
        return;
    }
    int at = start;
    for (size_t i = 0; i < page->lane_count; i++) {
        page->lanes[i].at = at;
        at += lane_width(page, i, widest, room);
    }
    page->site_at = larger(at, start);
}

/* ---- the whole ----------------------------------------------------------- */

int
rn__trace_text(const struct rn__trace_file *file, int columns, FILE *out)
{
    struct page page = {.file = file, .out = out};
    page.columns = columns > 0 ? columns : COLUMNS_DEFAULT;
    page.columns = larger(page.columns, COLUMNS_MIN);
    page.columns = smaller(page.columns, COLUMNS_MAX);
    int e = find_lanes(&page);
    if (e == 0) {
        lay_out(&page);
        put_head(&page);
        put_events(&page);
        fprintf(out, "verdict: %s (seed %" PRIu64 ", digest %016" PRIx64 ")\n",
                file->verdict[0] ? file->verdict : "none", file->seed,
                file->digest);
    }
    free(page.lanes);
    free(page.lane_of);
    return e == 0 && ferror(out) ? -EIO : e;
}

int
rn_trace_print(const char *path, int columns, FILE *out, FILE *err)
{
    struct rn__trace_file file;
    int e = rn__trace_read(&file, path, err);
    if (e == 0)
        e = rn__trace_text(&file, columns, out);
    rn__trace_file_fini(&file);
    return e;
}
