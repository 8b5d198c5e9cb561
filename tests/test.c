/* test.c - runs the registered tests, one child process each, and prints TAP.
 *
 *     tests [FILTER...]        run those whose name has the text or fits the
 *                              glob; a full name means that test only; with !
 *                              before it: but not those
 *     tests --list [FILTER...]
 *     tests --in-place NAME    in this process, for a debugger
 *
 * A child writes into an anonymous file that is shown if the test fails.
 */
#define _GNU_SOURCE
#include "test.h"

#include <fnmatch.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_FAILED = 99, STATUS_SKIPPED = 77 };

#define LIMIT_SECONDS 60  /* of one test, before TEST_SLOW */
#define SHOWN_BYTES 20000 /* of a failed test's output */

static struct test *first, **last = &first;
static const char *program;
static sigset_t sigchld; /* the set of that signal */

void (*test_on_fail)(const char *message);

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

long
test_slow(void)
{
    return test_env("TEST_SLOW", 1);
}

long
test_count(long n)
{
    return n > test_slow() ? n / test_slow() : 1;
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
    _exit(STATUS_SKIPPED);
}

/* ---- children ----------------------------------------------------------- */

/* Wait for the child; false if time is up. The signal may go to another
 * thread, hence the slices. */
static bool
wait_for(pid_t pid, long seconds, int *status)
{
    struct timespec slice = {0, 50000000};
    for (long i = 0; waitpid(pid, status, WNOHANG) != pid; i++) {
        if (i > seconds * 20)
            return false;
        sigtimedwait(&sigchld, NULL, &slice);
    }
    return true;
}

static void
enter_child(int out, const sigset_t *mask)
{
    /* a group of its own, so that a time-out ends its children too */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
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
test_fork(void (*fn)(void *arg), void *arg, long seconds)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, &sigchld, &mask);
    fflush(NULL);
    int out = memfd_create("test-output", MFD_CLOEXEC);
    pid_t pid = fork();
    if (out < 0 || pid < 0)
        perror("cannot start a child"), exit(2);
    if (pid == 0) {
        enter_child(out, &mask);
        fn(arg);
        exit(0); /* not _exit: leak checkers look at the end */
    }
    int status = 0;
    if (!wait_for(pid, seconds * test_slow(), &status)) {
        dprintf(out, "time is up (%ld s)\n", seconds * test_slow());
        kill(pid, SIGABRT); /* may print where it is */
        if (!wait_for(pid, 2, &status)) {
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
    test->world ? test->world(test) : test->body();
}

/* ---- verdicts ----------------------------------------------------------- */

bool
test_has(const char *text, const char *parts)
{
    for (size_t n; text && *parts; parts += n + (parts[n] == '|')) {
        n = strcspn(parts, "|");
        if (!memmem(text, strlen(text), parts, n))
            return false;
    }
    return text != NULL;
}

static bool
is_right(const struct test *test, const struct test_child *child)
{
    int status = child->status;
    bool died = status && status != -SIGKILL && status != STATUS_FAILED;
    if (!test->dies)
        return status == 0;
    return died && (!test->status || status == test->status) &&
           test_has(child->text, test->dies);
}

/* As TAP comments: where, the end of what it printed, how to repeat it. */
static void
explain(const struct test *test, const struct test_child *child)
{
    const char *text = child->text ? child->text : "";
    size_t n = strlen(text);
    n -= n && text[n - 1] == '\n';
    printf("#   %s:%d\n#   ", test->file, test->line);
    for (size_t i = n > SHOWN_BYTES ? n - SHOWN_BYTES : 0; i < n; i++)
        printf(text[i] == '\n' ? "\n#   " : "%c", text[i]);
    printf("\n#   ended: %d (%s)\n", child->status,
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

/* ---- the command -------------------------------------------------------- */

static struct test *
find(const char *name)
{
    for (struct test *t = first; t; t = t->next)
        if (!strcmp(t->name, name))
            return t;
    return NULL;
}

/* Of those that it fits. */
static void
apply_filter(const char *filter)
{
    bool choose = filter[0] != '!';
    filter += !choose;
    struct test *exact = find(filter);
    for (struct test *t = first; t; t = t->next)
        if (exact ? t == exact
                  : strstr(t->name, filter) || !fnmatch(filter, t->name, 0))
            t->chosen = choose;
}

/* Who names only what it does not want wants the rest. */
static void
choose(char **filters)
{
    bool all = true;
    for (char **f = filters; *f; f++)
        all = all && **f == '!';
    for (struct test *t = first; t; t = t->next)
        t->chosen = all;
    for (int unwanted = 0; unwanted < 2; unwanted++)
        for (char **f = filters; *f; f++)
            if ((**f == '!') == unwanted)
                apply_filter(*f);
}

enum { PASSED, FAILED, SKIPPED };
/* Run one and print its lines; returns which of these it did. */
static int
run_one(const struct test *test, int number)
{
    struct test_child child = test_fork(run_body, (void *)test, LIMIT_SECONDS);
    char *reason = child.text ? strstr(child.text, "\nSKIP ") : NULL;
    int became = is_right(test, &child) ? PASSED : FAILED;
    if (child.status == STATUS_SKIPPED && reason)
        became = SKIPPED;
    printf("%sok %d - %s", became == FAILED ? "not " : "", number, test->name);
    if (became == SKIPPED)
        printf(" # SKIP %.*s", (int)strcspn(reason + 6, "\n"), reason + 6);
    putchar('\n');
    if (became == FAILED)
        explain(test, &child);
    fflush(stdout);
    free(child.text);
    return became;
}

static int
run_all(void)
{
    int counts[3] = {0}, all = 0, number = 0;
    for (struct test *t = first; t; t = t->next)
        all += t->chosen;
    printf("1..%d\n", all);
    for (struct test *t = first; t; t = t->next)
        if (t->chosen)
            counts[run_one(t, ++number)]++;
    printf("%d passed, %d failed", counts[PASSED], counts[FAILED]);
    printf(counts[SKIPPED] ? ", %d skipped\n" : "\n", counts[SKIPPED]);
    return counts[FAILED] || !all;
}

int
main(int argc, char **argv)
{
    program = argv[0];
    sigemptyset(&sigchld);
    sigaddset(&sigchld, SIGCHLD);
    bool list = argc > 1 && !strcmp(argv[1], "--list");
    choose(argv + 1 + list);
    for (struct test *t = first; t; t = t->next) {
        if (find(t->name) != t) {
            fprintf(stderr, "two tests are named %s\n", t->name);
            return 2;
        }
        if (list && t->chosen)
            puts(t->name);
    }
    if (list)
        return 0;
    if (argc == 3 && !strcmp(argv[1], "--in-place") && find(argv[2])) {
        run_body(find(argv[2]));
        return 0;
    }
    if (argc < 2 || argv[1][0] != '-')
        return run_all();
    fprintf(stderr, "usage: tests [--list] [FILTER...] | --in-place NAME\n");
    return 2;
}
