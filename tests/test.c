/* test.c - runs the registered tests, one child process each, and prints TAP.
 *
 *     tests [FILTER...]        run those whose name has the text or fits the
 *                              glob; a full name means that test only
 *     tests --list [FILTER...]
 *     tests --in-place NAME    in this process, for a debugger
 *
 * A child writes into an anonymous file that is shown if the test fails. The
 * parent stays single-threaded, so that fork is always safe here.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_FAILED = 99, STATUS_SKIPPED = 77 };

#define LIMIT_SECONDS 60.0 /* of one test, before TEST_SLOW */
#define SHOWN_BYTES 20000  /* of a failed test's output */

static struct test *first;
static struct test **last = &first;
static const char *program;

void (*test_on_fail)(const char *message);

extern char **environ;

void
test_add(struct test *test)
{
    *last = test;
    last = &test->next;
}

long
test_env(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

double
test_slow(void)
{
    const char *text = getenv("TEST_SLOW");
    double factor = text ? strtod(text, NULL) : 1;
    return factor > 1 ? factor : 1;
}

long
test_count(long n)
{
    long count = (long)((double)n / test_slow());
    return count > 0 ? count : 1;
}

/* ---- checks, called in the child ---------------------------------------- */

void
test_fail(const char *file, int line, const char *format, ...)
{
    static char message[2000]; /* task stacks are small */
    va_list args;
    va_start(args, format);
    int n =
        snprintf(message, sizeof message, "%s:%d: check failed: ", file, line);
    vsnprintf(message + n, sizeof message - (size_t)n, format, args);
    va_end(args);
    dprintf(2, "%s\n", message);
    if (test_on_fail)
        test_on_fail(message);
    _exit(STATUS_FAILED);
}

void
test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    dprintf(1, "\nSKIP ");
    vdprintf(1, format, args);
    dprintf(1, "\n");
    va_end(args);
    _exit(STATUS_SKIPPED);
}

/* ---- children ------------------------------------------------------------ */

static double
seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Wait for the child, with SIGCHLD blocked; false if time is up. */
static bool
wait_until(pid_t pid, double end, int *status)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (;;) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return true;
        double left = end - seconds_now();
        if (left <= 0)
            return false;
        struct timespec t = {(time_t)left, (long)((left - (time_t)left) * 1e9)};
        sigtimedwait(&set, NULL, &t);
    }
}

static void
enter_child(int out, const sigset_t *mask)
{
    /* a group of its own, so that a time-out ends its children too */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(out, 1);
    dup2(out, 2);
    close(out);
}

static char *
read_back(int fd)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char *text = calloc((size_t)end + 1, 1);
    ssize_t got = text ? pread(fd, text, (size_t)end, 0) : 0;
    for (ssize_t i = 0; i < got; i++)
        text[i] = text[i] ? text[i] : '?';
    return text;
}

struct test_child
test_fork(void (*fn)(void *arg), void *arg, double seconds)
{
    sigset_t block, mask;
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    sigprocmask(SIG_BLOCK, &block, &mask);
    fflush(NULL);
    int out = memfd_create("test-output", MFD_CLOEXEC);
    pid_t pid = fork();
    if (out < 0 || pid < 0) {
        fprintf(stderr, "cannot start a child: %s\n", strerror(errno));
        exit(2);
    }
    if (pid == 0) {
        enter_child(out, &mask);
        fn(arg);
        exit(0); /* not _exit: leak checkers look at the end */
    }
    int status = 0;
    if (!wait_until(pid, seconds_now() + seconds * test_slow(), &status)) {
        dprintf(out, "time is up (%.0f s)\n", seconds * test_slow());
        kill(pid, SIGABRT); /* may print where it is */
        if (!wait_until(pid, seconds_now() + 2, &status)) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
        }
        status = SIGKILL;
    }
    kill(-pid, SIGKILL);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    struct test_child child = {WEXITSTATUS(status), read_back(out)};
    if (WIFSIGNALED(status))
        child.status = -WTERMSIG(status);
    close(out);
    return child;
}

static void
run_body(void *arg)
{
    const struct test *test = arg;
    if (test->world)
        test->world(test);
    else
        test->body();
}

/* ---- verdicts ------------------------------------------------------------ */

bool
test_has(const char *text, const char *parts)
{
    char part[200];
    while (*parts) {
        size_t n = strcspn(parts, "|");
        snprintf(part, sizeof part, "%.*s", (int)n, parts);
        if (!text || !strstr(text, part))
            return false;
        parts += n + (parts[n] == '|');
    }
    return true;
}

static bool
is_right(const struct test *test, const struct test_child *child)
{
    if (!test->dies)
        return child->status == 0;
    bool way = test->status ? child->status == test->status
                            : child->status != 0 && child->status != -SIGKILL;
    return way && child->status != STATUS_FAILED &&
           test_has(child->text, test->dies);
}

/* The text as TAP comments; of a long one the end. */
static void
show(const char *text)
{
    size_t n = text ? strlen(text) : 0;
    for (size_t i = n > SHOWN_BYTES ? n - SHOWN_BYTES : 0; i < n; i++)
        printf(i == 0 || text[i - 1] == '\n' ? "#   %c" : "%c", text[i]);
    if (n && text[n - 1] != '\n')
        putchar('\n');
}

static void
explain(const struct test *test, const struct test_child *child)
{
    printf("#   %s:%d\n", test->file, test->line);
    show(child->text);
    printf("#   ended: %d (%s)\n", child->status,
           child->status < 0 ? strsignal(-child->status) : "status");
    if (test->dies)
        printf("#   wanted: to die (%d), having printed \"%s\"\n", test->status,
               test->dies);
    printf("#   repeat:");
    for (char **e = environ; *e; e++)
        if (!strncmp(*e, "RUNNEL_", 7) || !strncmp(*e, "TEST_", 5))
            printf(" %s", *e);
    printf(" %s %s\n", program, test->name);
}

/* ---- the command --------------------------------------------------------- */

static struct test *
find(const char *name)
{
    for (struct test *t = first; t; t = t->next)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}

static bool
is_chosen(const struct test *test, char **filters)
{
    for (char **f = filters; *f; f++) {
        if (find(*f) ? !strcmp(test->name, *f)
                     : strstr(test->name, *f) || !fnmatch(*f, test->name, 0))
            return true;
    }
    return !*filters;
}

static int
run_all(char **filters)
{
    int count = 0, failed = 0, skipped = 0, number = 0;
    for (struct test *t = first; t; t = t->next)
        count += is_chosen(t, filters);
    printf("1..%d\n", count);
    for (struct test *t = first; t; t = t->next) {
        if (!is_chosen(t, filters))
            continue;
        struct test_child child = test_fork(run_body, t, LIMIT_SECONDS);
        char *reason = child.text ? strstr(child.text, "\nSKIP ") : NULL;
        bool skip = child.status == STATUS_SKIPPED && reason;
        bool good = skip || is_right(t, &child);
        printf("%sok %d - %s", good ? "" : "not ", ++number, t->name);
        if (skip)
            printf(" # SKIP %.*s", (int)strcspn(reason + 6, "\n"), reason + 6);
        putchar('\n');
        if (!good)
            explain(t, &child);
        skipped += skip;
        failed += !good;
        free(child.text);
        fflush(stdout);
    }
    printf("%d passed, %d failed", count - failed - skipped, failed);
    printf(skipped ? ", %d skipped\n" : "\n", skipped);
    return failed || !count;
}

int
main(int argc, char **argv)
{
    program = argv[0];
    for (struct test *t = first; t; t = t->next) {
        if (find(t->name) != t) {
            fprintf(stderr, "two tests are named %s\n", t->name);
            return 2;
        }
    }
    if (argc > 1 && !strcmp(argv[1], "--list")) {
        for (struct test *t = first; t; t = t->next)
            if (is_chosen(t, argv + 2))
                puts(t->name);
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "--in-place") && find(argv[2])) {
        run_body(find(argv[2]));
        return 0;
    }
    if (argc > 1 && argv[1][0] == '-') {
        fprintf(stderr, "usage: %s [--list] [FILTER...] | --in-place NAME\n",
                program);
        return 2;
    }
    return run_all(argv + 1);
}
