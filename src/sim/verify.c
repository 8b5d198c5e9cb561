/* sim/verify.c - the same choices must give the same run.
 *
 * What makes them differ is outside the schedule: a static that keeps its
 * value, an address used as a number, real time, another thread.
 */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

static void
describe(struct rn__world *world, const struct rn__event *event,
         const char *which, FILE *out)
{
    void *site = (void *)(uintptr_t)rn__event_site(event);
    char where[1][RN__SYMBOL_MAX] = {""};
    enum rn__kind kind = rn__event_kind(event);
    if (site)
        rn__os_symbols(&site, 1, where);
    fprintf(out, "  %s: task %u \"%s\" %s %s", which, event->task,
            rn__world_task_name(world, event->task), rn__kind_text(kind),
            rn__kind_object(kind));
    if (event->object)
        fprintf(out, "#%u", event->object);
    fprintf(out, "  %s\n", where[0]);
}

static void
report_difference(struct rn__world *world, const struct rn__event *first,
                  size_t first_count)
{
    size_t i = 0, length;
    char *text = NULL;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    while (i < first_count && i < world->event_count &&
           memcmp(&first[i], &world->events[i], sizeof *first) == 0)
        i++;
    fprintf(out, "nondeterminism: the same choices gave another run\n");
    fprintf(out, "the first difference is event %zu:\n", i + 1);
    if (i < first_count)
        describe(world, &first[i], "first run ", out);
    else
        fprintf(out, "  first run : had ended\n");
    if (i < world->event_count)
        describe(world, &world->events[i], "second run", out);
    else
        fprintf(out, "  second run: had ended\n");
    fprintf(out, "look for statics, uninitialised memory, real time, random "
                 "numbers, other threads\n");
    if (fclose(out) == 0)
        world->text = text;
}

void
rn__verify(struct rn__world *world, const struct rn__event *events,
           size_t count, uint64_t digest)
{
    if (world->digest == digest)
        return;
    world->verdict = RN_SIM_NONDETERMINISM;
    free(world->text);
    world->text = NULL;
    report_difference(world, events, count);
}
