/* tools/cmd_run.c - runnel run: a program for real, with statistics.
 *
 * The program is started in place of this process, so signals, the terminal
 * and the exit status are its own. The library prints the statistics.
 */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "NAME\n"
    "  runnel run - run a program for real and print its statistics\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel run PROG [--workers N] [--json] [-- ARG...]\n"
    "\n"
    "DESCRIPTION\n"
    "  Starts PROG with RUNNEL_STATS set: when its rn_run ends, the library\n"
    "  prints to standard error how many tasks, switches, wakes and so on "
    "there\n"
    "  were. Standard output is PROG's alone. A task that does not yield for "
    "a\n"
    "  second is reported there, too.\n"
    "\n"
    "OPTIONS\n"
    "  --workers N  OS threads that run tasks (one a core)\n"
    "  --json       the statistics as one JSON object\n"
    "\n"
    "ENVIRONMENT\n"
    "  Read by rn_run in every program, for what its options leave open:\n"
    "  RUNNEL_WORKERS           OS threads that run tasks, 1 to 1024\n"
    "  RUNNEL_BLOCKING_THREADS  most OS threads for rn_blocking, 1 to 1024 "
    "(64)\n"
    "  RUNNEL_BACKEND           how tasks switch: asm, ucontext, thread\n"
    "  RUNNEL_GUARD             how stacks end: madvise, mprotect, canary\n"
    "  RUNNEL_WATCHDOG          milliseconds a task may go without a yield "
    "before\n"
    "                           it is reported, 0 for ever (1000)\n"
    "  RUNNEL_STATS             statistics at the end: text, json\n"
    "  RUNNEL_DELAYS            if set, random delays, for tests\n"
    "\n"
    "EXIT STATUS\n"
    "  that of PROG; 3 if all its tasks wait for ever; 2 if PROG cannot be\n"
    "  started\n";

/* ---- is it linked to runnel? --------------------------------------------- */

static bool
is_system_library(const char *name, size_t n)
{
    static const char *const names[] = {
        "libc.",    "libm.",      "libpthread.", "libdl.",   "librt.",
        "libgcc_s", "libstdc++.", "libresolv.",  "libutil.", "libasan.",
        "libubsan", "libtsan.",   "liblsan.",    "libnss_",  "libselinux.",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t m = strlen(names[i]);
        if (n >= m && !memcmp(name, names[i], m))
            return true;
    }
    return false;
}

/* Whether the bytes name a library that could bring runnel along. */
static bool
has_other_library(const char *bytes, size_t size)
{
    static const char start[] = "\0lib";
    const char *end = bytes + size, *p = bytes;
    while ((p = memmem(p, (size_t)(end - p), start, 4)) != NULL) {
        const char *name = ++p;
        size_t n = strnlen(name, (size_t)(end - name));
        if (memmem(name, n, ".so", 3) && !is_system_library(name, n))
            return true;
    }
    return false;
}

/* False only if it is certain: an ELF file without a word of runnel's that
 * needs no library but the system's. Scripts and the like may start anything.
 */
static bool
may_use_runnel(const char *path)
{
    struct stat s;
    bool may = true;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) != 0 || s.st_size < 4)
        goto out;
    size_t size = (size_t)s.st_size;
    char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        goto out;
    if (!memcmp(bytes, "\177ELF", 4))
        may = memmem(bytes, size, "RUNNEL_WORKERS", 14) ||
              memmem(bytes, size, "librunnel", 9) ||
              has_other_library(bytes, size);
    munmap(bytes, size);
out:
    if (fd >= 0)
        close(fd);
    return may;
}

/* ---- the command --------------------------------------------------------- */

static int
start(struct cli *cli, char *program)
{
    if (!may_use_runnel(program))
        return cli_fail(cli,
                        "%s: is not linked to runnel, or never calls rn_run; "
                        "link it with -lrunnel, or start it without `%s run`",
                        program, cli->self);
    setenv("RUNNEL_STATS", cli->json ? "json" : "text", 1);
    char **argv = cli_argv(program, cli->args);
    execv(program, argv);
    int e = errno;
    free(argv);
    unsetenv("RUNNEL_STATS"); /* it was meant for the program */
    if (e == ENOEXEC)
        return cli_fail(cli, "%s: is not a program for this machine", program);
    if (e == ENOENT)
        return cli_fail(cli, "%s: the interpreter it asks for is not there",
                        program);
    return cli_fail(cli, "%s: cannot be started: %s", program, strerror(e));
}

static int
run(struct cli *cli, char **argv)
{
    uint64_t workers = 0;
    const struct option options[] = {
        {"workers", OPTION_NUMBER, &workers, 1, 1024, NULL},
        {0},
    };
    int status = cli_parse(cli, argv, options, "PROG");
    char *program = status ? NULL : cli_program(cli);
    if (!program)
        return CLI_USAGE;
    if (workers) {
        char text[24];
        snprintf(text, sizeof text, "%" PRIu64, workers);
        setenv("RUNNEL_WORKERS", text, 1);
    }
    status = start(cli, program);
    free(program);
    return status;
}

const struct command cmd_run = {
    .name = "run",
    .summary = "run a program for real and print its statistics",
    .help = help,
    .run = run,
};
