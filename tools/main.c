/* tools/main.c - the command `runnel`: finds the command and runs it. */
#include "cli.h"
#include "json.h"

#include <string.h>

static const struct command *const commands[] = {
    &cmd_run,    &cmd_check, &cmd_merge, &cmd_replay,
    &cmd_shrink, &cmd_trace, &cmd_lin,   &cmd_doctor,
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void
print_usage(FILE *out)
{
    fputs("usage: runnel COMMAND [OPTION...] [PROG|FILE] [-- ARG...]\n\n", out);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
    fputs(
        "  help     explain a command: runnel help COMMAND\n"
        "\n"
        "PROG is a program that calls rn_run; its own arguments follow --.\n"
        "--json, with any command, prints one JSON object in place of text.\n"
        "--version prints the version.\n"
        "Exit status: 0 fine, 1 a bug was found, 2 wrong usage, or it cannot\n"
        "be done.\n",
        out);
}

static const struct command *
find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static int
unknown_command(const struct cli *cli, const char *name)
{
    const char *names[COMMANDS + 1] = {"help"};
    for (int i = 0; i < COMMANDS; i++)
        names[i + 1] = commands[i]->name;
    const char *meant = cli_meant(name, names, COMMANDS + 1);
    if (meant)
        return cli_fail(cli, "there is no command %s; did you mean %s?", name,
                        meant);
    return cli_fail(cli, "there is no command %s; see `runnel help`", name);
}

/* Show one text, as it is or as JSON. */
static int
show(const struct cli *cli, const char *key, const char *text)
{
    if (cli->json) {
        struct json json = {.out = stdout};
        json_open(&json, NULL, '{');
        json_text(&json, key, text);
        json_close(&json, '{');
    } else {
        printf("%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
    }
    return CLI_FINE;
}

static int
help(const struct cli *cli, const char *name)
{
    const struct command *command = name ? find_command(name) : NULL;
    if (command)
        return show(cli, "help", command->help);
    if (name)
        return unknown_command(cli, name);
    char text[2000];
    FILE *out = fmemopen(text, sizeof text, "w");
    if (!out)
        return cli_fail(cli, "out of memory");
    print_usage(out);
    fclose(out);
    return show(cli, "help", text);
}

/* Whether a word stands before the program's arguments. */
static bool
has_word(char **argv, const char *word)
{
    for (; *argv && strcmp(*argv, "--") != 0; argv++)
        if (!strcmp(*argv, word))
            return true;
    return false;
}

static char *
first_word(char **argv)
{
    while (*argv && !strcmp(*argv, "--json"))
        argv++;
    return *argv;
}

static int
version(const struct cli *cli)
{
    if (cli->json)
        return show(cli, "version", rn_version());
    printf("runnel %s\n", rn_version());
    return CLI_FINE;
}

static int
dispatch(struct cli *cli, char **argv)
{
    cli->json = has_word(argv, "--json");
    while (*argv && !strcmp(*argv, "--json"))
        argv++;
    const char *name = *argv;
    if (!name && cli->json)
        return cli_fail(cli, "no command given; see `runnel help`");
    if (!name) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    argv++;
    if (!strcmp(name, "--version") || !strcmp(name, "-V"))
        return version(cli);
    if (!strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h"))
        return help(cli, first_word(argv));
    const struct command *command = find_command(name);
    if (!command && name[0] == '-')
        return cli_fail(cli, "there is no option %s; see `runnel help`", name);
    if (!command)
        return unknown_command(cli, name);
    if (has_word(argv, "--help") || has_word(argv, "-h"))
        return help(cli, name);
    cli->command = name;
    return command->run(cli, argv);
}

int
main(int argc, char **argv)
{
    struct cli cli = {.self = argc > 0 ? argv[0] : "runnel", .command = ""};
    int status = dispatch(&cli, argv + (argc > 0));
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("runnel: cannot write to standard output\n", stderr);
        return CLI_USAGE;
    }
    return status;
}
