/* tools/cli.h - what the commands of `runnel` share.
 *
 * A command parses its options by a table, does its work by the library's
 * public functions and returns an exit status. What goes wrong is said in one
 * line by cli_fail: on standard error, or as a JSON object with --json.
 */
#ifndef CLI_H
#define CLI_H

#include <runnel/runnel.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    CLI_FINE = 0,
    CLI_BUG = 1,  /* the program has a bug */
    CLI_USAGE = 2 /* wrong usage, or it cannot be done here */
};

/* One call of the command. */
struct cli {
    const char *self;    /* how runnel was called */
    const char *command; /* "" before it is known */
    bool json;
    char *subject; /* PROG or FILE; NULL: none given */
    char **args;   /* what follows --, NULL at the end */
};

struct command {
    const char *name;
    const char *summary;
    const char *help;
    int (*run)(struct cli *cli, char **argv);
};

extern const struct command cmd_run;
extern const struct command cmd_check;
extern const struct command cmd_merge;
extern const struct command cmd_replay;
extern const struct command cmd_shrink;
extern const struct command cmd_trace;
extern const struct command cmd_lin;
extern const struct command cmd_doctor;

/* ---- options ------------------------------------------------------------- */

enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_NUMBER,  /* uint64_t, decimal or 0x... */
    OPTION_SECONDS, /* double, more than 0 */
    OPTION_TEXT     /* const char * */
};

/* An option; a table ends with one without a name. */
struct option {
    const char *name; /* without the -- */
    enum option_kind kind;
    void *value;
    uint64_t min, max; /* of a number */
    bool *given;       /* may be NULL */
};

/* Parse what follows the command's name: options, one subject, and arguments
 * after --. subject is its name in messages, NULL if the command has none;
 * optional ones are checked by the caller. 0 or CLI_USAGE. */
int cli_parse(struct cli *cli, char **argv, const struct option *options,
              const char *subject);

/* Say what is wrong. Returns CLI_USAGE. */
int cli_fail(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The one of count names (NULLs are passed over) that was probably meant;
 * NULL: none is like it. */
const char *cli_meant(const char *word, const char *const *names, int count);

/* ---- small things -------------------------------------------------------- */

/* Print a word so that a shell reads it as it is. */
void cli_quote(FILE *out, const char *word);

/* The width of the terminal at out; 0: it is none. */
int cli_columns(FILE *out);

/* A file in one of the folders of PATH, from malloc; NULL: there is none. */
char *cli_find_in_path(const char *name);

/* The path of the program to run, checked and with a slash in it, from malloc.
 * NULL: cannot be run, and that was said. */
char *cli_program(const struct cli *cli);

/* The program and its arguments as an argv, from malloc. Exits if out of
 * memory. */
char **cli_argv(char *program, char **args);

#endif
