/* core/watchdog.c - reports of tasks that do not yield, and of slow finalizers.
 *
 * The monitor has seen that a worker stays with one task. It interrupts the
 * worker's OS thread by a signal; the handler sees whether that is still so,
 * and notes what only this thread may read: the task, and where it is. Names
 * of addresses are looked up by the monitor, at leisure.
 */
#include "core/monitor.h"

#include "core/core.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES = 48, NAME = 80, REPORTS_MAX = 20 };

struct report {
    uint64_t progress; /* of the worker, as the monitor saw it */
    bool valid;        /* it was still the same */
    char name[NAME];
    uint32_t number;
    void *spawn_site;
    void *frames[FRAMES];
    int count;
};

/* On the worker's thread, in a signal handler. */
static void
note(void *arg, void *const *frames, int count)
{
    struct report *r = arg;
    struct rn__worker *worker = rn__worker_self();
    struct rn__task *task = rn__current(worker);
    if (!task || rn__worker_progress(worker) != r->progress)
        return;
    r->valid = true;
    strncpy(r->name, rn__task_name(task), NAME - 1);
    r->number = rn__task_number(task);
    r->spawn_site = (void *)(uintptr_t)task->spawn_site;
    r->count = count < FRAMES ? count : FRAMES;
    memcpy(r->frames, frames, (size_t)r->count * sizeof *frames);
}

static void
print(const struct report *r, rn_time ns, FILE *out)
{
    char site[1][RN__SYMBOL_MAX];
    rn__os_symbols(&r->spawn_site, 1, site);
    fprintf(out,
            "runnel: task \"%s\" (#%u, spawned at %s) has not yielded for "
            "%.*f s; it is at:\n",
            r->name, r->number, site[0], ns < RN_SEC ? 2 : 1,
            (double)ns / (double)RN_SEC);
    rn__print_frames(r->frames, r->count, NULL, out);
    fprintf(out, "runnel: its worker runs no other task meanwhile; let it call "
                 "rn_yield, or raise rn_options.watchdog\n");
}

static void
print_silent(const struct rn__worker *worker, rn_time ns, FILE *out)
{
    fprintf(out,
            "runnel: the task of worker %d has not yielded for %.*f s; which "
            "it is cannot be told: it blocks signals, or none was free\n",
            worker->index, ns < RN_SEC ? 2 : 1, (double)ns / (double)RN_SEC);
}

/* Whether one more may be printed, and whether it is the last. */
static bool
may_print(struct rn__rt *rt, bool *last)
{
    /* relaxed: only a count */
    uint32_t before = atomic_fetch_add_explicit(&rt->monitor.reports, 1,
                                                memory_order_relaxed);
    *last = before == REPORTS_MAX - 1;
    return before < REPORTS_MAX;
}

static void
print_last(bool last, FILE *out)
{
    if (last)
        fprintf(out, "runnel: %d such reports; no more are printed\n",
                REPORTS_MAX);
}

/* In one piece, so that it stays together. */
static void
tell(struct rn__worker *worker, const struct report *r, rn_time ns)
{
    char *text = NULL;
    size_t length = 0;
    bool last;
    if (!may_print(worker->rt, &last))
        return;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    if (r->valid)
        print(r, ns, out);
    else
        print_silent(worker, ns, out);
    print_last(last, out);
    if (fclose(out) == 0)
        fputs(text, stderr);
    free(text);
}

bool
rn__watchdog_report(struct rn__worker *worker, uint64_t progress, rn_time ns)
{
    struct rn__rt *rt = worker->rt;
    struct report r = {.progress = progress};
    uintptr_t thread = atomic_load(&worker->os_thread);
    bool answered = rn__os_interrupt(thread, worker, note, &r, &rt->stop);
    if (answered ? !r.valid : atomic_load(&rt->stop))
        return false;
    tell(worker, &r, ns);
    if (rt->options.on_slow)
        rt->options.on_slow(r.name, rt->options.on_slow_arg);
    return true;
}

void
rn__watchdog_slow_finalizer(const struct rn__task *task, const void *site,
                            rn_time ns)
{
    bool last;
    char name[1][RN__SYMBOL_MAX];
    void *at = (void *)(uintptr_t)site;
    if (task->rt->env || !may_print(task->rt, &last))
        return;
    rn__os_symbols(&at, 1, name);
    fprintf(stderr,
            "runnel: a finalizer of task \"%s\" (#%u), deferred at %s, took "
            "%.*f s\n",
            rn__task_name(task), rn__task_number(task), name[0],
            ns < RN_SEC ? 2 : 1, (double)ns / (double)RN_SEC);
    print_last(last, stderr);
}
