/* tools/cmd_shrink.c - runnel shrink: a simpler schedule that fails alike. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>

static const char help[] =
    "NAME\n"
    "  runnel shrink - make a failing schedule of a program simpler\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel shrink PROG --token T [OPTION...] [-- ARG...]\n"
    "\n"
    "DESCRIPTION\n"
    "  Runs PROG by the token's schedule and looks for a simpler one that "
    "fails\n"
    "  alike: with the fewest faults, then preemptions, then choices that "
    "differ\n"
    "  from what the program does by default. Whatever is printed has been "
    "run.\n"
    "  `runnel check` does this to what it finds, unless told not to.\n"
    "\n"
    "OPTIONS\n"
    "  --token T    the schedule's choices; @FILE reads them from FILE\n"
    "  --save FILE  write the trace to FILE, for runnel trace\n"
    "  --steps N, --leaks-ok, --faults LIST\n"
    "               as for runnel check\n"
    "  --json       print one JSON object, as runnel check does\n"
    "\n"
    "EXIT STATUS\n"
    "  0 the schedule passes, 1 it fails, 2 PROG cannot be run so\n";

static void
print_text(const struct search *s, const char *repeat)
{
    const rn_sim_report *r = &s->report;
    printf("%s: %" PRIu64 " steps\n", rn_sim_verdict_name(r->verdict),
           r->steps);
    search_print_shrunk(r);
    if (r->text)
        printf("\n%s", r->text);
    if (r->contrast)
        printf("%s", r->contrast);
    if (repeat)
        printf("\nTo repeat it:\n%s\n", repeat);
}

static int
shrink(struct cli *cli, char **argv)
{
    struct search s = {.cli = cli};
    s.options.schedules = 1;
    s.options.jobs = 1;
    s.options.flags = RN_SIM_QUIET | RN_SIM_SHRINK;
    const struct option options[] = {
        {"token", OPTION_TEXT, &s.options.token, 0, 0, NULL},
        {"steps", OPTION_NUMBER, &s.max_steps, 1, UINT64_MAX, NULL},
        {"leaks-ok", OPTION_FLAG, &s.leaks_ok, 0, 0, NULL},
        {"faults", OPTION_TEXT, &s.faults, 0, 0, NULL},
        {"save", OPTION_TEXT, &s.save, 0, 0, NULL},
        {0},
    };
    int status = cli_parse(cli, argv, options, "PROG");
    if (status)
        return status;
    if (!s.options.token)
        return cli_fail(cli, "shrink needs --token T");
    status = search_run(&s);
    if (status == 0) {
        char *repeat = search_repeat(&s);
        if (cli->json)
            search_json(&s, repeat);
        else
            print_text(&s, repeat);
        free(repeat);
        status = search_status(&s);
    }
    search_fini(&s);
    return status;
}

const struct command cmd_shrink = {
    .name = "shrink",
    .summary = "make a failing schedule of a program simpler",
    .help = help,
    .run = shrink,
};
