/* trace/json.c - a trace as JSON: one object, an event a line.
 *
 * Strings of a trace file are clean UTF-8 already, so only quotes and
 * backslashes need care.
 */
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <runnel/sim.h>

static void
put_string(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void
put_optional(const char *text, FILE *out)
{
    if (text[0])
        put_string(text, out);
    else
        fputs("null", out);
}

static void
put_event(const struct rn__trace_file *file, size_t index, FILE *out)
{
    struct rn__trace_event e = rn__trace_event_at(file, index);
    fprintf(out, "%s\n    {\"time\": %" PRId64 ", \"task\": %" PRIu32,
            index ? "," : "", e.time, e.task);
    fputs(", \"name\": ", out);
    put_string(rn__trace_task_name(file, e.task), out);
    fputs(", \"kind\": ", out);
    put_string(e.kind, out);
    fputs(", \"object\": ", out);
    char object[RN__TRACE_OBJECT_MAX];
    rn__trace_object(&e, object);
    put_optional(object, out);
    fputs(", \"site\": ", out);
    put_optional(e.site, out);
    putc('}', out);
}

int
rn__trace_json(const struct rn__trace_file *file, FILE *out)
{
    fputs("{\n  \"verdict\": ", out);
    put_string(file->verdict, out);
    fprintf(out, ",\n  \"seed\": %" PRIu64, file->seed);
    fprintf(out, ",\n  \"digest\": \"%016" PRIx64 "\"", file->digest);
    fputs(",\n  \"token\": ", out);
    put_string(file->token, out);
    fputs(",\n  \"tasks\": [", out);
    for (uint32_t i = 1; i <= file->task_count; i++) {
        fputs(i > 1 ? ", " : "", out);
        put_string(rn__trace_task_name(file, i), out);
    }
    fputs("],\n  \"events\": [", out);
    for (size_t i = 0; i < file->event_count; i++)
        put_event(file, i, out);
    fputs("\n  ]\n}\n", out);
    return ferror(out) ? -EIO : 0;
}

int
rn_trace_print_json(const char *path, FILE *out, FILE *err)
{
    struct rn__trace_file file;
    int e = rn__trace_read(&file, path, err);
    if (e == 0)
        e = rn__trace_json(&file, out);
    rn__trace_file_fini(&file);
    return e;
}
