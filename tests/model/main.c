/* main.c - explore all models, and see that each way to break one is found.
 *
 *     test_model [--full] [WORD...]     all models, or those named so
 *     test_model --repeat TOKEN MODEL[/BREAK]
 *     test_model --list
 *
 * --full: a million schedules at random a model as well.
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct model *the_model;
const struct model_break *the_break;

static struct model *first, **end = &first;
static bool full;
static int passed, failed;

enum {
    MOST = 20000000, /* schedules of a search through all */
    SOME = 1000000,  /* of a full run's search at random */
};

void
model_add(struct model *model)
{
    *end = model;
    end = &model->next;
}

static const char *
grouped(uint64_t n)
{
    static char text[2][32];
    static int turn;
    char digits[32], *out = text[turn ^= 1];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    for (int i = 0; i < length; i++) {
        *out++ = digits[i];
        if (i < length - 1 && (length - 1 - i) % 3 == 0)
            *out++ = ',';
    }
    *out = 0;
    return text[turn];
}

static void
print_name(void)
{
    printf("%s", the_model->name);
    if (the_break)
        printf("/%s", the_break->name);
}

/* How it was searched, as "12,345 schedules, 99 states, all, 0.1 s". */
static void
print_search(const struct result *r, const char *how)
{
    printf("%s schedules, ", grouped(r->schedules));
    if (r->states)
        printf("%s states, ", grouped(r->states));
    printf("%s, %.1f s", how, r->seconds);
}

/* Whether the search came out as it should; one line on it, more if not. */
static bool
report(const struct result *r, const char *how, bool complete)
{
    bool good = the_break ? r->found : !r->found && complete;
    printf("%s - ", good ? "ok" : "not ok");
    print_name();
    printf(": ");
    print_search(r, how);
    printf(", %s\n", r->found ? "found" : complete ? "clean" : "not all seen");
    if (!good && r->found) {
        bool long_one = strlen(r->token) > 2000;
        printf("# %s\n# to repeat it: test_model --repeat %s '", r->what,
               long_one ? "TOKEN (too long to print)" : r->token);
        print_name();
        printf("'\n");
    }
    return good;
}

static bool
search_at_random(uint64_t schedules)
{
    struct result result;
    search_some(1, schedules, &result);
    return report(&result, "at random", true);
}

static bool
search(void)
{
    struct result result;
    char how[64] = "all";
    int bound = the_model->bound;
    if (the_model->some && (!full || the_break))
        return search_at_random(the_model->some);
    if (the_model->some)
        return search_at_random(SOME);
    if (bound)
        snprintf(how, sizeof how, "all with %d switches", bound);
    search_all(bound, MOST, &result);
    bool good = report(&result, how, result.exhausted);
    return good && full && !the_break ? search_at_random(SOME) : good;
}

/* In a process of its own, because what is broken may crash. */
static void
search_apart(void)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        bool good = search();
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("not ok - ");
        print_name();
        printf(": signal %d\n", WTERMSIG(status));
    }
    if (status == 0)
        passed++;
    else
        failed++;
}

static void
run_model(const struct model *model)
{
    the_model = model;
    the_break = NULL;
    search_apart();
    for (int i = 0; i < MODEL_BREAKS && model->breaks[i].name; i++) {
        the_break = &model->breaks[i];
        search_apart();
    }
}

static bool
chosen(const struct model *model, char **words)
{
    if (!*words)
        return true;
    for (; *words; words++)
        if (strstr(model->name, *words))
            return true;
    return false;
}

static int
run_chosen(char **words)
{
    for (struct model *m = first; m; m = m->next)
        if (chosen(m, words))
            run_model(m);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}

/* Whether the name is that of the model, or of it and a break. */
static bool
is_named(const struct model *model, const char *name)
{
    size_t length = strlen(model->name);
    if (strncmp(name, model->name, length) != 0)
        return false;
    the_model = model;
    the_break = NULL;
    if (!name[length])
        return true;
    for (int i = 0; i < MODEL_BREAKS && model->breaks[i].name; i++)
        if (strcmp(name + length, "/") > 0 &&
            strcmp(name + length + 1, model->breaks[i].name) == 0) {
            the_break = &model->breaks[i];
            return true;
        }
    return false;
}

static int
repeat(const char *token, const char *name)
{
    struct model *m = first;
    struct result result;
    while (m && !is_named(m, name))
        m = m->next;
    if (!m) {
        fprintf(stderr, "test_model: no model is named '%s'\n", name);
        return 2;
    }
    telling = true;
    if (search_again(token, &result) < 0) {
        fprintf(stderr, "test_model: not a token: %s\n", token);
        return 2;
    }
    printf("# %s\n", result.found ? result.what : "nothing found");
    return result.found;
}

int
main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--repeat") == 0)
        return repeat(argv[2], argv[3]);
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (struct model *m = first; m; m = m->next)
            puts(m->name);
        return 0;
    }
    full = argc > 1 && strcmp(argv[1], "--full") == 0;
    if (argc > 1 && argv[1][0] == '-' && !full) {
        fprintf(stderr, "usage: test_model [--full] [WORD...]\n"
                        "       test_model --repeat TOKEN MODEL[/BREAK]\n"
                        "       test_model --list\n");
        return 2;
    }
    return run_chosen(argv + 1 + full);
}
