/* tools/cmd_replay.c - runnel replay: repeat one schedule of a program. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "NAME\n"
    "  runnel replay - repeat one schedule of a program\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel replay PROG --token T [OPTION...] [-- ARG...]\n"
    "  runnel replay PROG --seed X [OPTION...] [-- ARG...]\n"
    "\n"
    "DESCRIPTION\n"
    "  Runs PROG once in the simulator, by the schedule that a token or a "
    "seed\n"
    "  stands for. `runnel check` prints the whole line when it finds a bug.\n"
    "\n"
    "OPTIONS\n"
    "  --token T    the schedule's choices; @FILE reads them from FILE\n"
    "  --seed X     the schedule's own seed, as reported (\"seed\" in JSON), "
    "not\n"
    "               the seed of the search; only of a random walk (--strategy\n"
    "               random): what others found is repeated by its token\n"
    "  --trace      print all that happened, a column a task\n"
    "  --save FILE  write the trace to FILE, for runnel trace\n"
    "  --steps N, --leaks-ok, --verify, --faults LIST\n"
    "               as for runnel check\n"
    "  --json       print one JSON object, as runnel check does; with --trace\n"
    "               the trace is its member \"trace\"\n"
    "\n"
    "EXIT STATUS\n"
    "  0 the schedule passes, 1 it fails, 2 PROG cannot be run so\n";

/* What is asked for beyond a search of one schedule. */
struct replay {
    struct search search;
    bool trace;
    char trace_file[4096];
};

static int
make_trace_file(struct replay *r)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/')
        folder = "/tmp";
    int n = snprintf(r->trace_file, sizeof r->trace_file,
                     "%s/runnel-trace-XXXXXX", folder);
    int fd = n < (int)sizeof r->trace_file ? mkstemp(r->trace_file) : -1;
    if (fd < 0) {
        int e = errno;
        r->trace_file[0] = 0;
        return cli_fail(r->search.cli, "cannot make a file in %s: %s", folder,
                        strerror(e));
    }
    close(fd);
    r->search.options.trace_path = r->trace_file;
    return 0;
}

static void
print_text(struct replay *r, const char *trace)
{
    const struct search *s = &r->search;
    const rn_sim_report *report = &s->report;
    int e = r->trace
                ? rn_trace_print(trace, cli_columns(stdout), stdout, stderr)
                : 0;
    if (r->trace && e == 0)
        putchar('\n');
    printf("%s: %" PRIu64 " steps (seed %" PRIu64 ", digest %016" PRIx64 ")\n",
           rn_sim_verdict_name(report->verdict), report->steps, report->seed,
           report->digest);
    if (report->text && report->text[0]) {
        bool ended = report->text[strlen(report->text) - 1] == '\n';
        printf("\n%s%s", report->text, ended ? "" : "\n");
    }
    if (report->diverged)
        printf("\nThe token does not fit: %" PRIu64 " of its choices were not "
               "there to be made.\nIs this the program it was made with?\n",
               report->diverged);
    if (s->save)
        printf("The trace is in %s.\n", s->save);
}

static void
print_json(struct replay *r, const char *trace)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = r->trace ? open_memstream(&text, &size) : NULL;
    int e = out ? rn_trace_print_json(trace, out, stderr) : 0;
    if (out)
        fclose(out);
    if (out && e == 0)
        r->search.trace_json = text;
    char *repeat = search_repeat(&r->search);
    search_json(&r->search, repeat);
    free(repeat);
    free(text);
}

static int
run(struct replay *r)
{
    struct search *s = &r->search;
    int status = 0;
    if (r->trace && !s->save)
        status = make_trace_file(r);
    if (status == 0)
        status = search_run(s);
    if (status == 0) {
        const char *trace = s->save ? s->save : r->trace_file;
        if (s->cli->json)
            print_json(r, trace);
        else
            print_text(r, trace);
        status = search_status(s);
    }
    if (r->trace_file[0])
        unlink(r->trace_file);
    return status;
}

static int
replay(struct cli *cli, char **argv)
{
    struct replay r = {.search = {.cli = cli}};
    struct search *s = &r.search;
    bool seed_given = false, token_given = false;
    s->options.schedules = 1;
    s->options.jobs = 1;
    const struct option options[] = {
        {"token", OPTION_TEXT, &s->options.token, 0, 0, &token_given},
        {"seed", OPTION_NUMBER, &s->options.seed, 0, UINT64_MAX, &seed_given},
        {"trace", OPTION_FLAG, &r.trace, 0, 0, NULL},
        {"steps", OPTION_NUMBER, &s->max_steps, 1, UINT64_MAX, NULL},
        {"leaks-ok", OPTION_FLAG, &s->leaks_ok, 0, 0, NULL},
        {"faults", OPTION_TEXT, &s->faults, 0, 0, NULL},
        {"verify", OPTION_FLAG, &s->verify, 0, 0, NULL},
        {"save", OPTION_TEXT, &s->save, 0, 0, NULL},
        {0},
    };
    int status = cli_parse(cli, argv, options, "PROG");
    if (status)
        return status;
    if (seed_given == token_given)
        return cli_fail(cli, "replay needs --token T or --seed X%s",
                        seed_given ? ", and not both" : "");
    if (cli->json)
        s->options.flags |= RN_SIM_QUIET; /* the object stands alone */
    status = run(&r);
    search_fini(s);
    return status;
}

const struct command cmd_replay = {
    .name = "replay",
    .summary = "repeat one schedule of a program",
    .help = help,
    .run = replay,
};
