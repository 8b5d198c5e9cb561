/* tools/cmd_lin.c - runnel lin: is a recorded history linearizable? */
#include "cli.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A larger file is refused: its history would not fit into memory. */
#define FILE_BYTES_MAX ((size_t)1 << 31)

static const char help[] =
    "NAME\n"
    "  runnel lin - is a recorded history linearizable?\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel lin FILE --model MODEL [OPTION...]\n"
    "\n"
    "DESCRIPTION\n"
    "  Reads which operations were called on an object, when they returned\n"
    "  and with what, and looks for an order of them that a sequential object\n"
    "  explains. If there is none, prints the operation that cannot be "
    "placed,\n"
    "  the longest order found, and the smallest piece of the history that\n"
    "  shows the fault, drawn over time. A FILE of - is standard input.\n"
    "\n"
    "  MODEL is register (read, write), cas-register (and cas), queue\n"
    "  (enqueue, dequeue), stack (push, pop), set (add, remove, contains) or\n"
    "  kv (get, put, cas, append, delete, by key).\n"
    "\n"
    "  FILE has a map an operation, as Jepsen and Knossos write them,\n"
    "    {:process 0, :type :invoke, :f :cas, :value [1 2]}\n"
    "    {:process 0, :type :ok, :f :cas, :value [1 2]}\n"
    "  or lines of Jepsen's log:\n"
    "    INFO  jepsen.util - 0 :invoke :write 2\n"
    "  :fail means that it did not happen (of a cas in a log: that the value\n"
    "  was another), :info that nobody knows. Of kv there is a :key, or "
    ":value\n"
    "  is [key value].\n"
    "\n"
    "OPTIONS\n"
    "  --model MODEL  what the object should have been\n"
    "  --seconds S    give up after S seconds (no limit)\n"
    "  --memory MIB   give up with so much memory (1024)\n"
    "  --json         print one JSON object: file, model, verdict, "
    "operations,\n"
    "                 parts (independent keys or elements), placed (in the\n"
    "                 longest order), steps, bytes, seconds, text\n"
    "\n"
    "EXIT STATUS\n"
    "  0 linearizable, 1 not linearizable, 2 unknown: a limit was reached, or\n"
    "  FILE cannot be read\n"
    "\n"
    "EXAMPLE\n"
    "  runnel lin etcd.log --model cas-register --seconds 60\n";

/* All of a file, from malloc; NULL: errno says why. */
static char *
read_all(FILE *in, size_t *size)
{
    size_t room = 0;
    char *text = NULL;
    *size = 0;
    do {
        if (*size == room) {
            room = room ? 2 * room : 65536;
            char *grown = realloc(text, room);
            if (!grown || room > FILE_BYTES_MAX) {
                free(grown ? grown : text);
                errno = grown ? EFBIG : ENOMEM;
                return NULL;
            }
            text = grown;
        }
        *size += fread(text + *size, 1, room - *size, in);
    } while (!feof(in) && !ferror(in));
    if (!ferror(in))
        return text;
    int error = errno;
    free(text);
    errno = error;
    return NULL;
}

/* Fill the history from the file; 0, or CLI_USAGE after having said why. */
static int
load(const struct cli *cli, rn_lin_history *history, const rn_lin_model *model)
{
    bool standard = !strcmp(cli->subject, "-");
    FILE *in = standard ? stdin : fopen(cli->subject, "r");
    size_t size, message_size;
    char *text = in ? read_all(in, &size) : NULL, *message = NULL;
    int error = errno;
    if (in && !standard)
        fclose(in);
    if (!text)
        return cli_fail(cli, "%s: %s", cli->subject, strerror(error));
    FILE *err = open_memstream(&message, &message_size);
    int e = err ? rn_lin_read(history, model, text, size, err) : -ENOMEM;
    if (err)
        fclose(err);
    free(text);
    if (e == -EINVAL) {
        message[strcspn(message, "\n")] = 0;
        cli_fail(cli, "%s:%s", cli->subject, message);
    } else if (e < 0) {
        cli_fail(cli, "%s: %s", cli->subject, strerror(-e));
    }
    free(message);
    return e < 0 ? CLI_USAGE : 0;
}

static void
show_progress(const rn_lin_progress *p, void *arg)
{
    (void)arg;
    fprintf(stderr,
            "\r\33[K%" PRIu64 " of %" PRIu64 " operations placed, %" PRIu64
            " steps, %" PRIu64 " MiB, %.0f s",
            p->placed, p->ops, p->steps, p->bytes >> 20, p->seconds);
    if (p->seconds_limit > 0)
        fprintf(stderr, " of %.0f", p->seconds_limit);
    fflush(stderr);
}

static void
print_json(const struct cli *cli, const char *model, const rn_lin_report *r)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_text(&json, "file", cli->subject);
    json_text(&json, "model", model);
    json_text(&json, "verdict", rn_lin_verdict_name(r->verdict));
    json_unsigned(&json, "operations", r->ops);
    json_unsigned(&json, "parts", r->parts);
    json_unsigned(&json, "placed", r->placed);
    json_unsigned(&json, "steps", r->steps);
    json_unsigned(&json, "bytes", r->bytes);
    json_real(&json, "seconds", r->seconds);
    json_text(&json, "text", r->text ? r->text : "");
    json_close(&json, '{');
}

static void
print_text(const rn_lin_report *r)
{
    if (r->verdict == RN_LIN_OK)
        printf("linearizable: %" PRIu64 " operations, %" PRIu64
               " part%s, %" PRIu64 " steps (%.1f s)\n",
               r->ops, r->parts, r->parts == 1 ? "" : "s", r->steps,
               r->seconds);
    else
        printf("%s%s", r->text, r->verdict == RN_LIN_BAD ? "" : "\n");
}

static int
check(const struct cli *cli, const rn_lin_history *history,
      const rn_lin_model *model, rn_lin_options *options)
{
    static const int status[] = {
        [RN_LIN_OK] = CLI_FINE,
        [RN_LIN_BAD] = CLI_BUG,
        [RN_LIN_UNKNOWN] = CLI_USAGE,
    };
    rn_lin_report report;
    bool progress = !cli->json && isatty(2);
    options->progress = progress ? show_progress : NULL;
    int e = rn_lin_check(history, model, options, &report);
    if (progress)
        fputs("\r\33[K", stderr);
    if (e < 0)
        cli_fail(cli, "%s", report.text ? report.text : strerror(-e));
    else if (cli->json)
        print_json(cli, model->name, &report);
    else
        print_text(&report);
    rn_lin_report_fini(&report);
    return e < 0 ? CLI_USAGE : status[report.verdict];
}

static int
lin(struct cli *cli, char **argv)
{
    const char *name = NULL;
    uint64_t mib = 0;
    rn_lin_options o = {0};
    const struct option options[] = {
        {"model", OPTION_TEXT, &name, 0, 0, NULL},
        {"seconds", OPTION_SECONDS, &o.seconds, 0, 0, NULL},
        {"memory", OPTION_NUMBER, &mib, 1, SIZE_MAX >> 21, NULL},
        {0},
    };
    static const char *const names[] = {"register", "cas-register", "queue",
                                        "stack",    "set",          "kv"};
    rn_lin_history *history;
    int status = cli_parse(cli, argv, options, "FILE");
    if (status)
        return status;
    if (!name)
        return cli_fail(cli, "lin needs --model; see `runnel help lin`");
    const rn_lin_model *model = rn_lin_model_find(name);
    const char *meant = model ? NULL : cli_meant(name, names, 6);
    if (meant)
        return cli_fail(cli, "there is no model %s; did you mean %s?", name,
                        meant);
    if (!model)
        return cli_fail(cli, "there is no model %s; see `runnel help lin`",
                        name);
    o.max_bytes = (size_t)mib << 20;
    if (rn_lin_history_new(&history) < 0)
        return cli_fail(cli, "out of memory");
    status = load(cli, history, model);
    if (status == 0)
        status = check(cli, history, model, &o);
    rn_lin_history_free(history);
    return status;
}

const struct command cmd_lin = {
    .name = "lin",
    .summary = "judge a history of operations: is it linearizable?",
    .help = help,
    .run = lin,
};
