/* tools/report.c - how check and replay say what they found.
 *
 * The repeating line has everything that decides the verdict: the token, and
 * those options that change what counts as a finding.
 */
#include "report.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A longer token goes to a file. */
#define TOKEN_LINE_MAX 1000

/* ---- the search ---------------------------------------------------------- */

static int
explain(const struct search *s, int error)
{
    const struct cli *cli = s->cli;
    const char *program = s->program;
    if (error == -ENOEXEC)
        return cli_fail(cli,
                        "%s: is not linked to runnel: it ended without "
                        "loading it; link it with -lrunnel and call "
                        "rn_run",
                        program);
    if (error == -ENODATA)
        return cli_fail(cli,
                        "%s: ended without calling rn_run; if it needs "
                        "arguments, give them after --",
                        program);
    if (s->report.text && s->report.text[0]) {
        char *text = s->report.text;
        text[strcspn(text, "\n")] = 0;
        return cli_fail(cli, "%s", text);
    }
    return cli_fail(cli, "%s: %s", program, strerror(-error));
}

/* The program may change its folder before it writes the trace. */
static char *
absolute(const char *path)
{
    char *folder = path[0] == '/' ? NULL : getcwd(NULL, 0);
    char *whole = NULL;
    if (asprintf(&whole, "%s%s%s", folder ? folder : "", folder ? "/" : "",
                 path) < 0)
        whole = NULL;
    free(folder);
    return whole;
}

/* Make sure that the trace can be written, before a long search. */
static int
check_save(const struct search *s)
{
    FILE *f = fopen(s->save, "abe");
    if (!f)
        return cli_fail(s->cli, "cannot write %s: %s", s->save,
                        strerror(errno));
    fclose(f);
    return 0;
}

int
search_run(struct search *s)
{
    s->program = cli_program(s->cli);
    if (!s->program || (s->save && check_save(s) != 0))
        return CLI_USAGE;
    if (s->faults && rn_sim_faults_parse(s->faults, &s->options.faults) < 0)
        return cli_fail(s->cli,
                        "--faults takes a list such as alloc:1,kill:2@5%%, not "
                        "\"%s\"; see `runnel help check`",
                        s->faults);
    char *path = s->save ? absolute(s->save) : NULL;
    if (s->leaks_ok)
        s->options.flags |= RN_SIM_LEAKS_OK;
    if (s->verify)
        s->options.flags |= RN_SIM_VERIFY;
    s->options.max_steps = s->options.max_instant_steps = s->max_steps;
    if (path)
        s->options.trace_path = path;
    char **argv = cli_argv(s->program, s->cli->args);
    char *command = search_command(s);
    s->options.command = command;
    int e = rn_sim_program(&s->options, argv, &s->report);
    s->options.command = NULL;
    free(command);
    free(argv);
    free(path);
    return e < 0 ? explain(s, e) : 0;
}

void
search_fini(struct search *s)
{
    rn_sim_report_fini(&s->report);
    free(s->program);
}

int
search_status(const struct search *s)
{
    return s->report.verdict == RN_SIM_PASS ? CLI_FINE : CLI_BUG;
}

/* ---- the line that repeats it -------------------------------------------- */

/* Write the token to a file of this folder. Its name, from malloc; NULL: it
 * cannot be written. */
static char *
token_file(const struct search *s)
{
    const char *base = strrchr(s->program, '/') + 1;
    char *name = NULL;
    if (asprintf(&name, "%s-%" PRIu64 ".token", base, s->report.seed) < 0)
        return NULL;
    FILE *f = fopen(name, "we");
    bool bad = !f || fprintf(f, "%s\n", s->report.token) < 0;
    if (f && fclose(f) != 0)
        bad = true;
    if (!bad)
        return name;
    fprintf(stderr, "runnel: cannot write %s: %s\n", name, strerror(errno));
    free(name);
    return NULL;
}

static void
put_token(FILE *out, const struct search *s)
{
    const char *given = s->options.token;
    char *file = NULL;
    if (given && given[0] == '@' && !s->report.shrinking) {
        cli_quote(out, given); /* it is in a file already */
        return;
    }
    if (strlen(s->report.token) > TOKEN_LINE_MAX)
        file = token_file(s);
    if (file) {
        putc('@', out);
        cli_quote(out, file);
    } else {
        cli_quote(out, s->report.token);
    }
    free(file);
}

static void
put_options(FILE *out, const struct search *s)
{
    if (s->leaks_ok)
        fputs(" --leaks-ok", out);
    if (s->verify)
        fputs(" --verify", out);
    if (s->faults) {
        fputs(" --faults ", out);
        cli_quote(out, s->faults);
    }
    if (s->max_steps)
        fprintf(out, " --steps %" PRIu64, s->max_steps);
    if (s->cli->args[0])
        fputs(" --", out);
    for (char **arg = s->cli->args; *arg; arg++) {
        putc(' ', out);
        cli_quote(out, *arg);
    }
}

char *
search_command(const struct search *s)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    cli_quote(out, s->program);
    fprintf(out, "\n%" PRIu64 "\n", s->options.seed);
    put_options(out, s);
    return fclose(out) == 0 ? text : NULL;
}

char *
search_repeat(const struct search *s)
{
    char *line = NULL;
    size_t size = 0;
    FILE *out = s->report.token ? open_memstream(&line, &size) : NULL;
    if (!out)
        return NULL;
    cli_quote(out, s->cli->self);
    fputs(" replay ", out);
    cli_quote(out, s->program);
    fputs(" --token ", out);
    put_token(out, s);
    put_options(out, s);
    return fclose(out) == 0 ? line : NULL;
}

/* ---- text ---------------------------------------------------------------- */

void
search_print_shrunk(const rn_sim_report *r)
{
    if (!r->shrinking)
        return;
    if (r->preemptions == 0)
        printf("It takes no preemption");
    else
        printf("It takes %d preemption%s%s", r->preemptions,
               r->preemptions == 1 ? "" : "s",
               r->fewest ? ", no fewer will do" : ", as far as was looked");
    printf(" (%d choice%s off the default).\n", r->deviations,
           r->deviations == 1 ? "" : "s");
}

/* What more is known than that nothing was found. */
static void
print_extent(const rn_sim_report *r)
{
    if (r->complete)
        printf("These are all schedules there are.\n");
    else if (r->bound >= 0)
        printf("All schedules within bound %d were run.\n", r->bound);
    if (!r->complete && r->estimated > 0)
        printf("There are about %.3g schedules.\n", r->estimated);
}

void
search_print(const struct search *s, const char *repeat)
{
    const rn_sim_report *r = &s->report;
    if (r->verdict == RN_SIM_PASS)
        printf("pass: no bug in %" PRIu64 " schedules, %" PRIu64
               " of them distinct (seed %" PRIu64 ", %.1f s)\n",
               r->schedules, r->distinct, s->options.seed, r->seconds);
    else
        printf("%s: in schedule%s %" PRIu64 " (seed %" PRIu64 ", %.1f s)\n",
               rn_sim_verdict_name(r->verdict),
               r->verdict == RN_SIM_UNSEEN ? "s 1 to" : "", r->schedules,
               s->options.seed, r->seconds);
    if (r->stopped)
        printf("It was stopped before its end.\n");
    if (r->verdict == RN_SIM_PASS)
        print_extent(r);
    search_print_shrunk(r);
    if (r->text && r->text[0]) {
        bool ended = r->text[strlen(r->text) - 1] == '\n';
        printf("\n%s%s", r->text, ended ? "" : "\n");
    }
    if (r->contrast)
        printf("%s", r->contrast);
    if (r->verdict != RN_SIM_PASS && repeat)
        printf("\nTo repeat it:\n%s\n", repeat);
    if (s->save)
        printf("The trace is in %s.\n", s->save);
}

/* ---- JSON ---------------------------------------------------------------- */

void
search_json(const struct search *s, const char *repeat)
{
    const rn_sim_report *r = &s->report;
    struct json json = {.out = stdout};
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, r->digest);
    json_open(&json, NULL, '{');
    json_text(&json, "program", s->program);
    json_text(&json, "verdict", rn_sim_verdict_name(r->verdict));
    json_unsigned(&json, "schedules", r->schedules);
    json_unsigned(&json, "distinct", r->distinct);
    json_unsigned(&json, "blocked", r->blocked);
    json_bool(&json, "complete", r->complete);
    json_unsigned(&json, "failing", r->failing);
    if (r->preemptions < 0)
        json_text(&json, "preemptions", NULL);
    else
        json_signed(&json, "preemptions", r->preemptions);
    json_unsigned(&json, "within", r->within);
    if (r->bound < 0)
        json_text(&json, "bound", NULL);
    else
        json_signed(&json, "bound", r->bound);
    json_real(&json, "estimated", r->estimated);
    json_text(&json, "strategy", r->strategy);
    json_unsigned(&json, "steps", r->steps);
    json_unsigned(&json, "waiting", r->waiting);
    json_unsigned(&json, "faults", r->faults);
    if (r->deviations < 0)
        json_text(&json, "deviations", NULL);
    else
        json_signed(&json, "deviations", r->deviations);
    json_bool(&json, "fewest", r->fewest);
    json_unsigned(&json, "shrinking", r->shrinking);
    json_unsigned(&json, "seed", r->seed);
    json_text(&json, "digest", digest);
    json_signed(&json, "time_ns", r->time);
    json_real(&json, "seconds", r->seconds);
    json_text(&json, "token", r->token);
    json_text(&json, "repeat", repeat);
    json_text(&json, "text", r->text);
    json_text(&json, "contrast", r->contrast);
    if (s->trace_json)
        json_raw(&json, "trace", s->trace_json);
    json_close(&json, '{');
}
