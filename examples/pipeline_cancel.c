/* pipeline_cancel.c - count -> halve -> add: an error in one stage ends all of
 * them, and the report says which it was and why. */
#include <errno.h>
#include <runnel/runnel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"count", "halve", "add"};
static rn_chan *numbers, *halves; /* of int */

static int
clean_up(void *stage, int outcome)
{
    return printf("  %s: %s\n", (char *)stage, strerror(-outcome)) < 0;
}

static int
count(void *stage) /* would go on for ever */
{
    int e = rn_defer(clean_up, stage);
    for (int i = 2; e == 0; i = i < 6 ? i + 2 : 7)
        e = rn_chan_send(numbers, &i, RN_NEVER);
    return e;
}

static int
halve(void *stage)
{
    int i, e = rn_defer(clean_up, stage);
    while (e == 0 && (e = rn_chan_recv(numbers, &i, RN_NEVER)) == 0) {
        if (i % 2)
            return rn_fail(-EDOM, strdup("an odd number"), free);
        i /= 2;
        e = rn_chan_send(halves, &i, RN_NEVER);
    }
    return e;
}

static int
add(void *stage)
{
    int i, sum = 0, e = rn_defer(clean_up, stage);
    while (e == 0 && (e = rn_chan_recv(halves, &i, RN_NEVER)) == 0)
        sum += i;
    return e < 0 ? e : sum;
}

static int
app(void *arg)
{
    rn_task_fn *const stages[] = {count, halve, add};
    rn_report report = RN_REPORT_INIT;
    rn_scope *s;
    int e = rn_scope_open_with(&(rn_scope_options){.report = &report}, &s);
    if (e < 0)
        return e;
    e = rn_chan_new(sizeof(int), 4, &numbers);
    e = e ? e : rn_chan_new(sizeof(int), 4, &halves);
    for (int i = 0; i < 3 && e == 0; i++)
        e = rn_go(s, stages[i], (void *)names[i]);
    e = rn_scope_close_with(s, e);
    for (size_t i = 0; i < report.count; i++)
        printf("%s failed: %s\n", names[report.failures[i].index],
               (char *)report.failures[i].payload);
    rn_sim_assert(e == -EDOM && report.count == 1, "the first error is told");
    rn_sim_assert(report.trigger == RN_REASON_SIBLING, "it ended the others");
    rn_sim_assert(report.cancelled > 0, "others were cancelled");
    rn_report_fini(&report);
    rn_chan_unref(numbers);
    rn_chan_unref(halves);
    return arg ? e : 0;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}
