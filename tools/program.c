/* tools/program.c - finds the program a command is about, and says what is
 * wrong with it before anything is started. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

char *
cli_find_in_path(const char *name)
{
    const char *folders = getenv("PATH");
    for (const char *f = folders ? folders : "/usr/bin:/bin"; *f;) {
        int n = (int)strcspn(f, ":");
        char *path = NULL;
        if (asprintf(&path, "%.*s/%s", n ? n : 1, n ? f : ".", name) < 0)
            return NULL;
        if (is_file(path) && access(path, X_OK) == 0)
            return path;
        free(path);
        f += n + (f[n] == ':');
    }
    return NULL;
}

/* As a debugger does: a name without a slash is a file of this folder, else
 * one of PATH. */
static char *
find(const char *name)
{
    char *path = NULL;
    if (strchr(name, '/'))
        return strdup(name);
    if (!is_file(name) && (path = cli_find_in_path(name)) != NULL)
        return path;
    return asprintf(&path, "./%s", name) < 0 ? NULL : path;
}

char *
cli_program(const struct cli *cli)
{
    char *path = find(cli->subject);
    struct stat s;
    if (!path)
        cli_fail(cli, "out of memory");
    else if (stat(path, &s) != 0 && errno == ENOENT)
        cli_fail(cli, "%s: there is no such program; is it built?", path);
    else if (stat(path, &s) != 0)
        cli_fail(cli, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(s.st_mode))
        cli_fail(cli, "%s: is a directory; name the program in it", path);
    else if (!S_ISREG(s.st_mode))
        cli_fail(cli, "%s: is not a file; name a program", path);
    else if (access(path, X_OK) != 0)
        cli_fail(cli,
                 "%s: is not executable; name the built program, or "
                 "chmod +x it",
                 path);
    else
        return path;
    free(path);
    return NULL;
}

char **
cli_argv(char *program, char **args)
{
    size_t n = 0;
    while (args[n])
        n++;
    char **argv = calloc(n + 2, sizeof *argv);
    if (!argv)
        abort();
    argv[0] = program;
    memcpy(argv + 1, args, n * sizeof *argv);
    return argv;
}
