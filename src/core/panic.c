/* core/panic.c - reports of bugs: panics, faults, overflown stacks.
 *
 * For real: a report on standard error, then abort. In a world with an env the
 * env gets the text and ends the run.
 */
#include "core/core.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 48, TEXT = 1024 };

/* Leave out what lies below the task's function. */
static int
user_end(char (*names)[RN__SYMBOL_MAX], int count)
{
    for (int i = 0; i < count; i++)
        if (strncmp(names[i], "rn__task_run", 12) == 0)
            return i;
    return count;
}

void
rn__print_frames(void *const *frames, int count, const void *from, FILE *out)
{
    char(*names)[RN__SYMBOL_MAX];
    int first = 0;
    names = malloc((size_t)count * sizeof *names + 1);
    if (!names)
        return;
    rn__os_symbols(frames, count, names);
    for (int i = 0; from && i < count; i++)
        if (frames[i] == from)
            first = i;
    count = user_end(names, count);
    for (int i = first; i < count; i++)
        fprintf(out, "      %s\n", names[i]);
    free(names);
}

static void
print_here(const struct rn__task *task)
{
    if (task)
        fprintf(stderr, "  in task %u \"%s\"\n", rn__task_number(task),
                rn__task_name(task));
    else
        fprintf(stderr, "  outside any task\n");
}

_Noreturn static void
die(const void *site, const char *text)
{
    struct rn__task *task = rn__self();
    void *frames[FRAMES];
    fprintf(stderr, "runnel: panic: %s\n", text);
    print_here(task);
    if (site) {
        char name[1][RN__SYMBOL_MAX];
        void *address = (void *)(uintptr_t)site;
        rn__os_symbols(&address, 1, name);
        fprintf(stderr, "  at %s\n", name[0]);
    }
    rn__print_frames(frames, rn__os_backtrace(frames, FRAMES), site, stderr);
    fflush(stderr);
    signal(SIGABRT, SIG_DFL);
    abort();
}

_Noreturn static void
vpanic(const void *site, const char *format, va_list args)
{
    char text[TEXT];
    vsnprintf(text, sizeof text, format, args);
    struct rn__rt *rt = rn__rt_self();
    if (rt && rt->env && rn__self_or_lender())
        rt->env->fail(rt, text, site);
    die(site, text);
}

void
rn_panic(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vpanic(rn__site(), format, args);
}

void
rn__panic_at(const void *site, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vpanic(site, format, args);
}

static void
tell_overflow(struct rn__rt *rt, struct rn__task *task,
              const struct rn__fault *fault, FILE *out)
{
    (void)rt;
    fprintf(out,
            "stack overflow in task %u \"%s\": its stack of %zu bytes is "
            "used up\n  raise rn_options.stack_bytes, or put large objects "
            "on the heap\n",
            rn__task_number(task), rn__task_name(task), fault->stack_bytes);
}

/* Runs on the signal stack of a thread whose task will not go on. */
bool
rn__report_fault(const struct rn__fault *fault)
{
    struct rn__task *task = rn__self_or_lender();
    struct rn__rt *rt = rn__rt_self();
    if (!task || (!fault->overflow && !rt->env))
        return false;
    char *text = NULL;
    size_t length = 0;
    FILE *out = rt->env ? open_memstream(&text, &length) : stderr;
    if (!out)
        return false;
    if (rt->env && !fault->overflow && fault->signal == SIGABRT)
        fprintf(out, "aborted\n");
    else if (rt->env && !fault->overflow)
        fprintf(out, "%s at address %p\n", strsignal(fault->signal),
                fault->address);
    if (fault->overflow)
        tell_overflow(rt, task, fault, out);
    if (!rt->env)
        fprintf(out, "runnel: it was running:\n");
    rn__print_frames(fault->frames, fault->frame_count, NULL, out);
    fflush(out);
    if (rt->env)
        rt->env->crash(rt, fault->signal, text);
    return true;
}
