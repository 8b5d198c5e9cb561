/* tools/cli.c - options and messages of the commands.
 *
 * Not getopt_long: it would move PROG's arguments about, and its messages
 * neither say what was meant nor come as JSON.
 */
#include "cli.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WORD_MAX = 64 };

int
cli_fail(const struct cli *cli, const char *format, ...)
{
    char text[2000];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (cli->json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_text(&json, "error", text);
        json_close(&json, '{');
    } else {
        fprintf(stderr, "runnel: %s\n", text);
    }
    return CLI_USAGE;
}

/* ---- did you mean -------------------------------------------------------- */

/* How many letters must be added, left out or changed. */
static int
distance(const char *a, const char *b)
{
    size_t n = strlen(b);
    int row[WORD_MAX + 1];
    if (strlen(a) > WORD_MAX || n > WORD_MAX)
        return WORD_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 1; j <= n; j++) {
            int changed = diagonal + (a[i] != b[j - 1]);
            diagonal = row[j];
            int other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = changed < other ? changed : other;
        }
    }
    return row[n];
}

const char *
cli_meant(const char *word, const char *const *names, int count)
{
    const char *best = NULL;
    int least = 1 + (int)strlen(word) / 3;
    for (int i = 0; i < count; i++) {
        int d = names[i] ? distance(word, names[i]) : WORD_MAX;
        if (names[i] && strlen(word) >= 3 &&
            !strncmp(word, names[i], strlen(word)))
            d = 0;
        if (d <= least && !(best && d == least))
            best = names[i], least = d;
    }
    return best;
}

/* ---- options ------------------------------------------------------------- */

static int
unknown_option(const struct cli *cli, const char *word,
               const struct option *options)
{
    const char *names[32] = {"json", "help"};
    int n = 2;
    for (const struct option *o = options; o->name && n < 32; o++)
        names[n++] = o->name;
    char name[WORD_MAX + 1];
    snprintf(name, sizeof name, "%s", word + strspn(word, "-"));
    name[strcspn(name, "=")] = 0;
    const char *meant = cli_meant(name, names, n);
    if (meant)
        return cli_fail(cli, "%s has no option %s; did you mean --%s?",
                        cli->command, word, meant);
    return cli_fail(cli, "%s has no option %s; see `runnel help %s`",
                    cli->command, word, cli->command);
}

static bool
parse_number(const char *text, uint64_t *value)
{
    int base = text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10;
    char *end;
    if (text[0] < '0' || text[0] > '9') /* no sign, no space */
        return false;
    errno = 0;
    *value = strtoull(text, &end, base);
    return *end == 0 && errno == 0;
}

static bool
parse_seconds(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*value) && *value > 0;
}

static int
set_option(const struct cli *cli, const struct option *o, const char *text)
{
    uint64_t number;
    double seconds;
    if (o->given)
        *o->given = true;
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)o->value = true;
        return 0;
    case OPTION_NUMBER:
        if (!parse_number(text, &number) || number < o->min || number > o->max)
            return cli_fail(cli,
                            "--%s takes a number from %" PRIu64 " to %" PRIu64
                            ", not \"%s\"",
                            o->name, o->min, o->max, text);
        *(uint64_t *)o->value = number;
        return 0;
    case OPTION_SECONDS:
        if (!parse_seconds(text, &seconds))
            return cli_fail(cli, "--%s takes a number of seconds, not \"%s\"",
                            o->name, text);
        *(double *)o->value = seconds;
        return 0;
    case OPTION_TEXT:
        if (!text[0])
            return cli_fail(cli, "--%s takes a word that is not empty",
                            o->name);
        *(const char **)o->value = text;
        return 0;
    }
    return CLI_USAGE;
}

/* Parse the option at **argv, and leave *argv at the last word of it. */
static int
parse_option(struct cli *cli, char ***argv, const struct option *options)
{
    const char *word = **argv;
    const char *name = word + 2;
    size_t n = strcspn(name, "=");
    if (!strcmp(word, "--json"))
        return 0; /* seen before */
    for (const struct option *o = options; o->name; o++) {
        if (word[1] != '-' || strlen(o->name) != n || strncmp(name, o->name, n))
            continue;
        const char *text = name[n] ? name + n + 1 : NULL;
        if (o->kind == OPTION_FLAG && text)
            return cli_fail(cli, "--%s takes no value", o->name);
        if (o->kind != OPTION_FLAG && !text) {
            if (!(*argv)[1])
                return cli_fail(cli, "--%s needs a value", o->name);
            text = *++*argv;
        }
        return set_option(cli, o, text);
    }
    return unknown_option(cli, word, options);
}

int
cli_parse(struct cli *cli, char **argv, const struct option *options,
          const char *subject)
{
    for (; *argv && strcmp(*argv, "--") != 0; argv++) {
        if ((*argv)[0] == '-' && (*argv)[1]) {
            int e = parse_option(cli, &argv, options);
            if (e)
                return e;
        } else if (!subject) {
            return cli_fail(cli, "%s takes no argument: \"%s\"", cli->command,
                            *argv);
        } else if (cli->subject) {
            return cli_fail(cli,
                            "%s takes one %s, and \"%s\" is one more; "
                            "arguments of a program go after --",
                            cli->command, subject, *argv);
        } else {
            cli->subject = *argv;
        }
    }
    if (*argv)
        argv++;
    if (subject && !cli->subject && *argv)
        cli->subject = *argv++;
    cli->args = argv;
    if (subject && !cli->subject)
        return cli_fail(cli, "%s needs a %s; see `runnel help %s`",
                        cli->command, subject, cli->command);
    return 0;
}

/* ---- small things -------------------------------------------------------- */

void
cli_quote(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_@%+=:,./-";
    if (*word && !word[strspn(word, plain)]) {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            putc(*word, out);
    }
    putc('\'', out);
}

int
cli_columns(FILE *out)
{
    struct winsize size = {0};
    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}
