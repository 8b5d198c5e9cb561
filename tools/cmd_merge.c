/* tools/cmd_merge.c - runnel merge: one report from the shards of a search. */
#include "json.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "NAME\n"
    "  runnel merge - put the shards of a search together\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel merge FILE...\n"
    "\n"
    "DESCRIPTION\n"
    "  Reads what `runnel check --shard i/n --out FILE` has written for each "
    "i,\n"
    "  perhaps on other machines, and reports as if one search had run it "
    "all:\n"
    "  the failing schedule that comes first, with the line that repeats it.\n"
    "  All files must be of the same program, options, seed and number of\n"
    "  schedules, each shard once.\n"
    "\n"
    "OPTIONS\n"
    "  --json  print one JSON object, as runnel check does\n"
    "\n"
    "EXIT STATUS\n"
    "  0 no bug was found, 1 a bug was found, 2 the files cannot be merged\n"
    "\n"
    "EXAMPLE\n"
    "  for i in 1 2; do runnel check ./server --shard $i/2 --out $i.part; "
    "done\n"
    "  runnel merge 1.part 2.part\n";

/* What the command of a part holds, a line each: the program and the rest of
 * the repeating line. */
static char *
repeat_line(const struct cli *cli, struct search *s, char *command)
{
    char *line = NULL;
    char *rest = command ? strchr(command, '\n') : NULL;
    if (!rest)
        return NULL;
    *rest++ = 0;
    s->options.seed = strtoull(rest, &rest, 10);
    rest += *rest == '\n';
    s->program = strdup(command);
    if (!s->report.token || !s->program)
        return NULL;
    if (asprintf(&line, "%s replay %s --token %s%s", cli->self, command,
                 s->report.token, rest) < 0)
        return NULL;
    return line;
}

static int
merge(struct cli *cli, char **argv)
{
    struct search s = {.cli = cli};
    char *command = NULL;
    int count = 0;
    for (int i = 0; argv[i]; i++) {
        if (!strcmp(argv[i], "--json"))
            continue;
        if (argv[i][0] == '-')
            return cli_fail(cli,
                            "merge has no option %s; see `runnel help "
                            "merge`",
                            argv[i]);
        argv[count++] = argv[i];
    }
    argv[count] = NULL;
    if (!count)
        return cli_fail(cli, "merge needs FILE...; see `runnel help merge`");
    int error = rn_sim_merge(argv, &command, &s.report);
    int status = CLI_USAGE;
    if (error) {
        cli_fail(cli, "%s", s.report.text ? s.report.text : strerror(-error));
    } else {
        char *repeat = repeat_line(cli, &s, command);
        if (cli->json)
            search_json(&s, repeat);
        else
            search_print(&s, repeat);
        free(repeat);
        status = search_status(&s);
    }
    free(command);
    search_fini(&s);
    return status;
}

const struct command cmd_merge = {
    .name = "merge",
    .summary = "put the shards of a search together",
    .help = help,
    .run = merge,
};
