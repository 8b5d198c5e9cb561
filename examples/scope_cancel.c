/* scope_cancel.c - nothing outlives its scope: errors, cancels, deadlines. */
#include <errno.h>
#include <runnel/runnel.h>
#include <stdio.h>
#include <string.h>

/* Runs when the task has ended, however it ended. */
static int
report(void *arg, int outcome)
{
    printf("  %s: %s\n", (const char *)arg,
           outcome < 0 ? strerror(-outcome) : "success");
    return 0;
}

/* Works until it is cancelled. */
static int
patient(void *arg)
{
    int e = rn_defer(report, "patient");

    (void)arg;
    while (e == 0)
        e = rn_sleep(RN_SEC);
    return e;
}

/* Fails soon, which cancels the scope it runs in. */
static int
hasty(void *arg)
{
    int e = rn_defer(report, "hasty");

    (void)arg;
    e = e < 0 ? e : rn_sleep(RN_MS);
    return e < 0 ? e : -EIO;
}

/* Cancels the scope it runs in. */
static int
quitter(void *scope)
{
    rn_scope_cancel(scope);
    return rn_defer(report, "quitter");
}

/* Run a patient task and another in a scope of their own; say how it ended. */
static int
run_both(const char *title, rn_task_fn *other, rn_time deadline, int expected)
{
    rn_scope *s;
    int closed, e = rn_scope_open(deadline, &s);

    if (e < 0)
        return e;
    puts(title);
    e = rn_go(s, patient, NULL);
    e = e < 0 ? e : rn_go(s, other, s);
    e = e == -ECANCELED ? 0 : e; /* the deadline was there before */
    closed = rn_scope_close(s);
    printf("  the scope: %s\n", strerror(-closed));
    rn_sim_assert(e < 0 || closed == expected, "the scope tells why");
    return e;
}

static int
app(void *arg)
{
    int e = run_both("A task fails:", hasty, RN_NEVER, -EIO);

    (void)arg;
    e = e ? e : run_both("One cancels:", quitter, RN_NEVER, -ECANCELED);
    return e ? e : run_both("Late:", patient, rn_after(RN_MS), -ETIMEDOUT);
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}
