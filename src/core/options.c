/* core/options.c - options: their defaults, their environment variables, their
 * names, and what is wrong with them.
 */
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 1024 };

static const char *const contexts[] = {"default", "asm", "ucontext", "thread"};
static const char *const guards[] = {"default", "madvise", "mprotect",
                                     "canary"};

static int
environment_number(const char *name, int fallback)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !*text)
        return fallback;
    long value = strtol(text, &end, 10);
    if (*end || value < 1 || value > WORKERS_MAX) {
        fprintf(stderr, "runnel: %s=%s is not a number from 1 to %d\n", name,
                text, WORKERS_MAX);
        return -EINVAL;
    }
    return (int)value;
}

static int
environment_word(const char *name, const char *const *words, int count)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return 0;
    for (int i = 1; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    fprintf(stderr, "runnel: %s=%s is not one of", name, text);
    for (int i = 1; i < count; i++)
        fprintf(stderr, " %s", words[i]);
    fputc('\n', stderr);
    return -EINVAL;
}

int
rn__options_resolve(rn_options *o)
{
    int value;
    if (o->workers < 0 || o->workers > WORKERS_MAX) {
        fprintf(stderr,
                "runnel: rn_options.workers is %d; 0 to %d are "
                "allowed\n",
                o->workers, WORKERS_MAX);
        return -EINVAL;
    }
    if ((unsigned)o->context > RN_CONTEXT_THREAD ||
        (unsigned)o->guard > RN_GUARD_CANARY ||
        (unsigned)o->deadlock > RN_DEADLOCK_CALL) {
        fprintf(stderr,
                "runnel: rn_options: context %d, guard %d or deadlock "
                "%d is none of the kinds there are\n",
                (int)o->context, (int)o->guard, (int)o->deadlock);
        return -EINVAL;
    }
    if (o->workers == 0) {
        value = environment_number("RUNNEL_WORKERS", rn__os_cpus());
        if (value < 0)
            return value;
        o->workers = value;
    }
    if (o->context == RN_CONTEXT_DEFAULT) {
        value = environment_word("RUNNEL_CONTEXT", contexts, 4);
        if (value < 0)
            return value;
        o->context = (rn_context_kind)value;
    }
    if (o->guard == RN_GUARD_DEFAULT) {
        value = environment_word("RUNNEL_GUARD", guards, 4);
        if (value < 0)
            return value;
        o->guard = (rn_guard_kind)value;
    }
    if (o->stack_bytes == 0)
        o->stack_bytes = 64 * 1024;
    return 0;
}

int
rn__options_apply(const rn_options *o, struct rn__stackpool *pool)
{
    int error = rn__ctx_select(o->context);
    if (error) {
        fprintf(stderr, "runnel: context switch \"%s\" cannot be used: %s\n",
                contexts[o->context], strerror(-error));
        return error;
    }
    error = rn__stackpool_init(pool, o->stack_bytes, o->guard);
    if (error)
        fprintf(stderr,
                "runnel: stacks of %zu bytes with guard \"%s\" "
                "cannot be had: %s\n",
                o->stack_bytes, guards[o->guard], strerror(-error));
    return error;
}

/* ---- public names ------------------------------------------------------- */

rn_context_kind
rn_context_best(void)
{
    return rn__ctx_best();
}

rn_guard_kind
rn_guard_best(void)
{
    return rn__guard_best();
}

const char *
rn_context_name(rn_context_kind kind)
{
    return (unsigned)kind < 4 ? contexts[kind] : "unknown";
}

const char *
rn_guard_name(rn_guard_kind kind)
{
    return (unsigned)kind < 4 ? guards[kind] : "unknown";
}

#ifndef RN_VERSION
#define RN_VERSION "0.0.0-unbuilt"
#endif

const char *
rn_version(void)
{
    return RN_VERSION;
}
