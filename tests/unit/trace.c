/* Traces: written, read back, printed; damaged ones are refused. */
#include "test.h"
#include "trace/trace.h"

#include <errno.h>
#include <runnel/sim.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a run made by hand ------------------------------------------------- */

static const char *const names[] = {NULL, "main", "producer", NULL};

/* clang-format off */
static const struct rn__event deadlock[] = {
    { 0,          RN__BEGIN, 1, 0 },
    { 0,          RN__SPAWN, 1, 2 },
    { 0,          RN__SPAWN, 1, 3 },
    { 0,          RN__BEGIN, 2, 0 },
    { 0,          RN__SEND,  2, 1 },
    { 0,          RN__BLOCK, 2, 0 },
    { 0,          RN__LOCK,  3, 7 },
    { 500,        RN__RECV,  1, 1 },
    { 500,        RN__WAKE,  1, 2 },
    { 1000500000, RN__TIMEOUT, 0, 3 },
    { 1000500000, RN__END,   2, 0 },
    { 1000500000, RN__VERDICT, 0, 0 },
};
/* clang-format on */

static struct rn__trace
sample(void)
{
    return (struct rn__trace){
        .events = deadlock,
        .count = sizeof deadlock / sizeof deadlock[0],
        .task_names = names,
        .task_count = 3,
        .verdict = "deadlock",
        .token = "1:abc",
        .seed = UINT64_MAX,
        .digest = 0xfeedface,
    };
}

/* A file of its own for the test, gone with the process. */
static const char *
path(void)
{
    static char name[64];
    if (!name[0]) {
        strcpy(name, "/tmp/test-trace-XXXXXX");
        int fd = mkstemp(name);
        CHECK_GE(fd, 0);
        close(fd);
    }
    return name;
}

static void
write_sample(void)
{
    struct rn__trace t = sample();
    CHECK_EQ(rn__trace_write(&t, path()), 0);
}

/* What a printer printed, until the next call. */
static char *
print(int columns, int json)
{
    static char *text;
    static size_t size;
    free(text);
    FILE *out = open_memstream(&text, &size);
    CHECK_EQ(json ? rn_trace_print_json(path(), out, stderr)
                  : rn_trace_print(path(), columns, out, stderr),
             0);
    fclose(out);
    unlink(path());
    return text;
}

static unsigned char *
sample_bytes(size_t *size)
{
    write_sample();
    FILE *f = fopen(path(), "rb");
    CHECK(f != NULL);
    unsigned char *bytes = malloc(1 << 16);
    *size = fread(bytes, 1, 1 << 16, f);
    fclose(f);
    unlink(path());
    return bytes;
}

/* ---- what is written is read -------------------------------------------- */

TEST(trace_is_read_back_as_written)
{
    size_t size;
    unsigned char *bytes = sample_bytes(&size);
    struct rn__trace_file f;
    CHECK_EQ(rn__trace_parse(&f, bytes, size), 0);
    CHECK_STR(f.verdict, "deadlock");
    CHECK_STR(f.token, "1:abc");
    CHECK(f.seed == UINT64_MAX);
    CHECK_EQ(f.digest, 0xfeedface);
    CHECK_EQ(f.event_count, sizeof deadlock / sizeof deadlock[0]);
    CHECK_STR(rn__trace_task_name(&f, 0), "clock");
    CHECK_STR(rn__trace_task_name(&f, 2), "producer");
    CHECK_STR(rn__trace_task_name(&f, 3), "");
    CHECK_STR(rn__trace_task_name(&f, 4), "");
    for (size_t i = 0; i < f.event_count; i++) {
        struct rn__trace_event e = rn__trace_event_at(&f, i);
        CHECK_EQ(e.time, deadlock[i].time);
        CHECK_EQ(e.task, deadlock[i].task);
        CHECK_EQ(e.object, deadlock[i].object);
        CHECK_STR(e.kind, rn__kind_text(rn__event_kind(&deadlock[i])));
    }
    rn__trace_file_fini(&f);
}

TEST(trace_site_is_looked_up_once_for_all_events)
{
    /* Return addresses in two functions of this file. */
    const char *a = (const char *)(uintptr_t)sample + 8;
    const char *b = (const char *)(uintptr_t)print + 8;
    struct rn__event events[] = {
        rn__event_make(0, 1, RN__SEND, 1, a),
        rn__event_make(0, 1, RN__RECV, 1, b),
        rn__event_make(0, 1, RN__SEND, 1, a),
        rn__event_make(0, 1, RN__YIELD, 0, NULL),
    };
    struct rn__trace t = sample();
    t.events = events;
    t.count = 4;
    struct rn__trace_file f;
    CHECK_EQ(rn__trace_write(&t, path()), 0);
    CHECK_EQ(rn__trace_read(&f, path(), stderr), 0);
    unlink(path());
    CHECK_EQ(f.site_count, 2);
    CHECK(rn__trace_event_at(&f, 0).site == rn__trace_event_at(&f, 2).site);
    CHECK(rn__trace_event_at(&f, 0).site != rn__trace_event_at(&f, 1).site);
    CHECK_NE(rn__trace_event_at(&f, 0).site[0], 0);
    CHECK_STR(rn__trace_event_at(&f, 3).site, "");
    rn__trace_file_fini(&f);
}

TEST(trace_of_nothing_is_a_trace)
{
    struct rn__trace t = {0};
    CHECK_EQ(rn__trace_write(&t, path()), 0);
    CHECK_STR(print(0, 0), "time  site\n"
                           "verdict: none (seed 0, digest 0000000000000000)\n");
}

TEST(trace_write_says_why_not)
{
    struct rn__trace t = sample();
    CHECK_EQ(rn__trace_write(&t, "/nowhere/trace"), -ENOENT);
    CHECK_EQ(rn__trace_write(&t, "/"), -EISDIR);
    if (access("/dev/full", W_OK) == 0)
        CHECK_EQ(rn__trace_write(&t, "/dev/full"), -ENOSPC);
}

/* ---- text --------------------------------------------------------------- */

TEST(trace_text_has_a_column_a_task)
{
    write_sample();
    /* clang-format off */
    CHECK_STR(print(100, 0),
"time          clock               #1 main              "
    "  #2 producer  #3            site\n"
"0s                                begin\n"
"                                  spawn task#2 producer\n"
"                                  spawn task#3\n"
"                                                         begin\n"
"                                                         send chan#1\n"
"                                                         blocked\n"
"                                                                   "
    "   lock mutex#7\n"
"0.000000500s                      recv chan#1\n"
"                                  wakes task#2 producer\n"
"1.000500s     timer wakes task#3\n"
"                                                         end\n"
"              verdict\n"
"verdict: deadlock (seed 18446744073709551615, digest 00000000feedface)\n");
    /* clang-format on */
}

TEST(trace_text_is_never_wider_than_asked)
{
    for (int columns = 60; columns < 140; columns++) {
        write_sample();
        char *text = print(columns, 0);
        char *end = strrchr(text, '\n');
        end[0] = 0;
        *strrchr(text, '\n') = 0; /* the verdict's line is as it is */
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
            CHECK_LE(strlen(line), columns);
    }
}

/* n tasks, each begins once. */
static void
write_crowd(uint32_t n)
{
    struct rn__event *events = calloc(n, sizeof *events);
    const char **crowd = calloc(n + 1, sizeof *crowd);
    for (uint32_t i = 0; i < n; i++) {
        events[i].task = i + 1;
        events[i].site_kind = RN__CLOSE;
        events[i].object = 4000000000u;
        crowd[i + 1] = "a-task-with-a-name";
    }
    struct rn__trace t = sample();
    t.events = events;
    t.count = n;
    t.task_names = crowd;
    t.task_count = n;
    CHECK_EQ(rn__trace_write(&t, path()), 0);
    free(events);
    free(crowd);
}

TEST(trace_text_narrows_columns_and_lets_entries_run_on)
{
    write_crowd(4);
    /* clang-format off */
    CHECK_STR(print(78, 0),
"time  #1 a-task-wi~  #2 a-task-wi~  #3 a-task-wi~"
    "  #4 a-task-with-a-name  site\n"
"0s    close chan#4000000000\n"
"                     close chan#4000000000\n"
"                                    close chan#4000000000\n"
"                                                   close chan#4000000000\n"
"verdict: deadlock (seed 18446744073709551615, digest 00000000feedface)\n");
    /* clang-format on */
}

TEST(trace_text_of_many_tasks_names_them_in_one_column)
{
    write_crowd(500);
    char *text = print(80, 0);
    CHECK_HAS(text,
              "time  task                                            site\n");
    CHECK_HAS(text, "\n      #500 a-task-with-a-name  close chan#4000000000\n");
}

TEST(trace_text_cuts_a_site_at_its_start)
{
    struct rn__event e = rn__event_make(0, 1, RN__SEND, 1, (void *)8);
    struct rn__trace t = sample();
    t.events = &e;
    t.count = 1;
    CHECK_EQ(rn__trace_write(&t, path()), 0);
    /* Lengthen the site in the file: it is just before the events. */
    FILE *f = fopen(path(), "r+b");
    CHECK(f != NULL);
    static unsigned char bytes[1 << 16];
    size_t n = fread(bytes, 1, sizeof bytes, f) - 8 - RN__TRACE_EVENT_BYTES;
    unsigned char tail[8 + RN__TRACE_EVENT_BYTES];
    memcpy(tail, bytes + n, sizeof tail);
    struct rn__trace_file parsed;
    CHECK_EQ(rn__trace_read(&parsed, path(), stderr), 0);
    size_t length = strlen(rn__trace_event_at(&parsed, 0).site);
    rn__trace_file_fini(&parsed);
    const char *site = "a_function_with_a_long_name long_file_name.c:1234";
    bytes[n - length - 4] = (unsigned char)strlen(site);
    fseek(f, 0, SEEK_SET);
    fwrite(bytes, 1, n - length, f);
    fputs(site, f);
    fwrite(tail, 1, sizeof tail, f);
    fclose(f);
    CHECK_HAS(print(60, 0), "send chan#1  ~n_with_a_long_name "
                            "long_file_name.c:1234\n");
}

/* ---- JSON --------------------------------------------------------------- */

TEST(trace_json_has_an_object_an_event)
{
    write_sample();
    char *text = print(0, 1);
    CHECK_HAS(text, "\"verdict\": \"deadlock\"");
    CHECK_HAS(text, "\"seed\": 18446744073709551615");
    CHECK_HAS(text, "\"tasks\": [\"main\", \"producer\", \"\"]");
    CHECK_HAS(text, "{\"time\": 500, \"task\": 1, \"name\": \"main\", "
                    "\"kind\": \"recv\", \"object\": \"chan#1\", "
                    "\"site\": null}");
}

TEST(trace_names_cannot_break_out)
{
    const char *odd[] = {NULL,
                         "a\"\\b\n\x1b[31m\xff\xc3\xa9\xc2\x9b\xed\xa0\x80"};
    struct rn__trace t = sample();
    t.task_names = odd;
    t.task_count = 1;
    t.count = 1;
    CHECK_EQ(rn__trace_write(&t, path()), 0);
    CHECK_HAS(print(0, 1), "[\"a\\\"\\\\b??[31m?\xc3\xa9?????\"]");
    CHECK_EQ(rn__trace_write(&t, path()), 0);
    CHECK_HAS(print(0, 0), "#1 a\"\\b??[31m?\xc3\xa9?????");
}

/* ---- damage ------------------------------------------------------------- */

/* Parse a copy of bytes; the message in *error. */
static int
parse(const unsigned char *bytes, size_t size, const char **error)
{
    unsigned char *copy = malloc(size + 1);
    if (size)
        memcpy(copy, bytes, size);
    struct rn__trace_file f;
    int e = rn__trace_parse(&f, copy, size);
    if (error)
        *error = f.error;
    if (e == 0) {
        FILE *out = fopen("/dev/null", "w");
        CHECK_EQ(rn__trace_text(&f, 0, out), 0);
        CHECK_EQ(rn__trace_json(&f, out), 0);
        fclose(out);
    } else {
        CHECK_EQ(e, -EINVAL);
        CHECK(f.error != NULL);
        CHECK_LE(f.error_at, size);
    }
    rn__trace_file_fini(&f);
    return e;
}

TEST(trace_that_ends_early_is_refused)
{
    size_t size;
    unsigned char *bytes = sample_bytes(&size);
    for (size_t n = 0; n < size; n++)
        CHECK_EQ(parse(bytes, n, NULL), -EINVAL);
    CHECK_EQ(parse(bytes, size, NULL), 0);
    free(bytes);
}

TEST(trace_with_a_changed_byte_is_read_or_refused)
{
    size_t size;
    unsigned char *bytes = sample_bytes(&size);
    int refused = 0;
    for (size_t i = 0; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1 << bit);
            refused += parse(bytes, size, NULL) != 0;
            bytes[i] ^= (unsigned char)(1 << bit);
        }
    }
    CHECK_GT(refused, 8 * 8);
    free(bytes);
}

TEST(trace_damage_is_named)
{
    size_t size;
    const char *error;
    unsigned char *bytes = sample_bytes(&size);
    unsigned char *last = bytes + size - RN__TRACE_EVENT_BYTES;
    CHECK_EQ(parse(bytes, size + 1, &error), -EINVAL);
    CHECK_STR(error, "goes on after its end");
    last[20] = 0xee;
    parse(bytes, size, &error);
    CHECK_STR(error, "an event has a kind that is not there");
    last[16] = 1;
    parse(bytes, size, &error);
    CHECK_STR(error, "an event has a call site that is not there");
    last[8] = 4;
    parse(bytes, size, &error);
    CHECK_STR(error, "an event has a task that is not there");
    last[7] = 0x80;
    parse(bytes, size, &error);
    CHECK_STR(error, "an event has a negative time");
    bytes[7] = '2';
    parse(bytes, size, &error);
    CHECK_STR(error, "a version of the format that is not known here");
    bytes[0] = 'r';
    parse(bytes, size, &error);
    CHECK_STR(error, "not a trace of runnel");
    free(bytes);
}

TEST(trace_print_says_what_is_wrong_and_where)
{
    char *text = NULL;
    size_t size = 0;
    FILE *err = open_memstream(&text, &size);
    CHECK_EQ(rn_trace_print("/nowhere/trace", 0, stdout, err), -ENOENT);
    CHECK_EQ(rn_trace_print("/", 0, stdout, err), -EISDIR);
    CHECK_EQ(rn_trace_print("/dev/null", 0, stdout, err), -EINVAL);
    CHECK_EQ(rn_trace_print_json("/dev/null", stdout, err), -EINVAL);
    CHECK_EQ(rn_trace_print("/dev/null", 0, stdout, NULL), -EINVAL);
    fclose(err);
    CHECK_STR(text, "/nowhere/trace: No such file or directory\n"
                    "/: Is a directory\n"
                    "/dev/null: byte 0: not a trace of runnel\n"
                    "/dev/null: byte 0: not a trace of runnel\n");
    free(text);
}
