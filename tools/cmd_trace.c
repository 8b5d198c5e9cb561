/* tools/cmd_trace.c - runnel trace: print a trace file. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "NAME\n"
    "  runnel trace - print a trace file\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel trace FILE [--columns N] [--json]\n"
    "\n"
    "DESCRIPTION\n"
    "  Prints what happened in a run that `runnel check --save FILE` or "
    "`runnel\n"
    "  replay --save FILE` wrote down: a line an event, a column a task. On "
    "the\n"
    "  left is the virtual time in seconds, where it has changed; on the "
    "right\n"
    "  the place in the program. The last line is the verdict. A FILE of - is\n"
    "  standard input.\n"
    "\n"
    "OPTIONS\n"
    "  --columns N  width of a line, 60 to 100000 (the terminal's, else 100)\n"
    "  --json       print one JSON object: verdict, seed, digest, token, "
    "tasks\n"
    "               (their names) and events, each with time (ns), task (its\n"
    "               number; 0 is the clock), name, kind, object and site\n"
    "\n"
    "EXIT STATUS\n"
    "  0 printed, 2 the file cannot be read or is no trace\n";

/* Print into memory first: with --json an error must be all there is. */
static int
print(struct cli *cli, const char *path, int columns, FILE *err)
{
    char *text = NULL;
    size_t size = 0;
    if (!cli->json)
        return rn_trace_print(path, columns, stdout, err);
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return -1;
    int e = rn_trace_print_json(path, out, err);
    fclose(out);
    if (e == 0)
        fwrite(text, 1, size, stdout);
    free(text);
    return e;
}

static int
trace(struct cli *cli, char **argv)
{
    uint64_t columns = 0;
    const struct option options[] = {
        {"columns", OPTION_NUMBER, &columns, 60, 100000, NULL},
        {0},
    };
    int status = cli_parse(cli, argv, options, "FILE");
    if (status)
        return status;
    if (!columns)
        columns = (uint64_t)cli_columns(stdout);
    const char *path = cli->subject;
    if (!strcmp(path, "-"))
        path = "/dev/stdin";
    char *message = NULL;
    size_t size = 0;
    FILE *err = open_memstream(&message, &size);
    if (!err)
        return cli_fail(cli, "out of memory");
    int e = print(cli, path, (int)columns, err);
    fclose(err);
    message[strcspn(message, "\n")] = 0;
    status = e < 0 ? cli_fail(cli, "%s", message[0] ? message : strerror(-e))
                   : CLI_FINE;
    free(message);
    return status;
}

const struct command cmd_trace = {
    .name = "trace",
    .summary = "print a trace file",
    .help = help,
    .run = trace,
};
