/* core/options.c - options: their defaults, their environment variables, their
 * names, and what is wrong with them.
 */
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

enum {
    THREADS_MAX = 1024,
    BLOCKING_DEFAULT = 64,
    WATCHDOG_MAX_MS = 24 * 60 * 60 * 1000
};
#define WATCHDOG_DEFAULT RN_SEC

/* Digits and nothing else, of a number from least to most; else -1. */
static long
parse_number(const char *text, long least, long most)
{
    char *end;
    if (*text < '0' || *text > '9') /* strtol takes blanks and signs */
        return -1;
    long value = strtol(text, &end, 10);
    return *end || value < least || value > most ? -1 : value;
}

static int
environment_number(const char *name, int fallback)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return fallback;
    long value = parse_number(text, 1, THREADS_MAX);
    if (value < 0) {
        fprintf(stderr, "runnel: %s=%s is not a number from 1 to %d\n", name,
                text, THREADS_MAX);
        return -EINVAL;
    }
    return (int)value;
}

/* A number of OS threads: the option, the variable, the fallback. */
static int
resolve_threads(int *option, const char *name, const char *variable,
                int fallback)
{
    if (*option < 0 || *option > THREADS_MAX) {
        fprintf(stderr,
                "runnel: rn_options.%s is %d; 0 to %d are "
                "allowed\n",
                name, *option, THREADS_MAX);
        return -EINVAL;
    }
    int value = *option ? *option : environment_number(variable, fallback);
    if (value < 0)
        return value;
    *option = value;
    return 0;
}

/* The watchdog's limit from its variable, in milliseconds, 0 for none. */
static rn_time
environment_watchdog(void)
{
    const char *text = getenv("RUNNEL_WATCHDOG");
    if (!text || !*text)
        return WATCHDOG_DEFAULT;
    long value = parse_number(text, 0, WATCHDOG_MAX_MS);
    if (value < 0) {
        fprintf(stderr,
                "runnel: RUNNEL_WATCHDOG=%s is not a number of milliseconds "
                "from 0 (off) to %d\n",
                text, WATCHDOG_MAX_MS);
        return -EINVAL;
    }
    return value ? value * RN_MS : RN_NEVER;
}

/* The kind (1 to 3) whose name the variable holds; 0: none is asked for. */
static int
environment_kind(const char *variable, const char *(*name)(int kind))
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return 0;
    for (int kind = 1; kind <= 3; kind++)
        if (strcmp(text, name(kind)) == 0)
            return kind;
    fprintf(stderr, "runnel: %s=%s is not one of %s, %s, %s\n", variable, text,
            name(1), name(2), name(3));
    return -EINVAL;
}

const char *
rn__options_stats(void)
{
    const char *text = getenv("RUNNEL_STATS");
    return text && *text ? text : NULL;
}

static int
check_stats(void)
{
    const char *text = rn__options_stats();
    if (!text || strcmp(text, "text") == 0 || strcmp(text, "json") == 0)
        return 0;
    fprintf(stderr, "runnel: RUNNEL_STATS=%s is not one of text, json\n", text);
    return -EINVAL;
}

static const char *
backend_name(int kind)
{
    return rn__ctx_name((rn_backend_kind)kind);
}

static const char *
guard_name(int kind)
{
    return rn__guard_name((rn_guard_kind)kind);
}

int
rn__options_resolve(rn_options *o)
{
    int value;
    if ((value = resolve_threads(&o->workers, "workers", "RUNNEL_WORKERS",
                                 rn__os_cpus())) < 0 ||
        (value = resolve_threads(&o->blocking_threads, "blocking_threads",
                                 "RUNNEL_BLOCKING_THREADS", BLOCKING_DEFAULT)) <
            0 ||
        (value = check_stats()) < 0)
        return value;
    if ((unsigned)o->backend > RN_BACKEND_THREAD ||
        (unsigned)o->guard > RN_GUARD_CANARY ||
        (unsigned)o->deadlock > RN_DEADLOCK_CALL) {
        fprintf(stderr,
                "runnel: rn_options: backend %d, guard %d or deadlock "
                "%d is none of the kinds there are\n",
                (int)o->backend, (int)o->guard, (int)o->deadlock);
        return -EINVAL;
    }
    if (o->watchdog < 0) {
        fprintf(stderr,
                "runnel: rn_options.watchdog is %lld; a span, 0 or RN_NEVER "
                "is allowed\n",
                (long long)o->watchdog);
        return -EINVAL;
    }
    if (o->backend == RN_BACKEND_DEFAULT) {
        value = environment_kind("RUNNEL_BACKEND", backend_name);
        if (value < 0)
            return value;
        o->backend = (rn_backend_kind)value;
    }
    if (o->guard == RN_GUARD_DEFAULT) {
        value = environment_kind("RUNNEL_GUARD", guard_name);
        if (value < 0)
            return value;
        o->guard = (rn_guard_kind)value;
    }
    if (o->watchdog == 0) {
        o->watchdog = environment_watchdog();
        if (o->watchdog < 0)
            return (int)o->watchdog;
    }
    if (o->stack_bytes == 0)
        o->stack_bytes = 64 * 1024;
    return 0;
}

int
rn__options_apply(const rn_options *o, struct rn__stackpool *pool)
{
    int error = rn__ctx_select(o->backend);
    if (error) {
        fprintf(stderr, "runnel: context switch \"%s\" cannot be used: %s\n",
                rn__ctx_name(o->backend), strerror(-error));
        return error;
    }
    error = rn__stackpool_init(pool, o->stack_bytes, o->guard);
    if (error)
        fprintf(stderr,
                "runnel: stacks of %zu bytes with guard \"%s\" "
                "cannot be had: %s\n",
                o->stack_bytes, rn__guard_name(o->guard), strerror(-error));
    return error;
}

/* ---- public names ------------------------------------------------------- */

rn_backend_kind
rn_backend_best(void)
{
    return rn__ctx_best();
}

rn_guard_kind
rn_guard_best(void)
{
    return rn__guard_best();
}

const char *
rn_backend_name(rn_backend_kind kind)
{
    return rn__ctx_name(kind);
}

const char *
rn_guard_name(rn_guard_kind kind)
{
    return rn__guard_name(kind);
}

#ifndef RN_VERSION
#define RN_VERSION "0.0.0-unbuilt"
#endif

const char *
rn_version(void)
{
    return RN_VERSION;
}
