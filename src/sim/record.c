/* sim/record.c - room for the events of a schedule. */
#include "sim/record.h"

#include <string.h>

/* How many events may be in memory; no more in all than there is room for,
 * however many of them are kept. */
static void
limit_events(struct rn__world *world)
{
    size_t left = world->event_room - world->events_dropped;
    world->event_limit =
        world->keep_events || left < RN__SIM_EVENTS ? left : RN__SIM_EVENTS;
}

bool
rn__record_room(struct rn__world *world)
{
    size_t half = world->event_count / 2;
    if (world->events_dropped + world->event_count == world->event_room) {
        world->full = true; /* the next step ends the schedule */
        world->calm = false;
        return false;
    }
    memmove(world->events, world->events + half,
            (world->event_count - half) * sizeof *world->events);
    world->event_count -= half;
    world->events_dropped += half;
    limit_events(world);
    return true;
}

void
rn__record_begin(struct rn__world *world)
{
    world->code = rn__os_code();
    world->event_count = 0;
    world->events_dropped = 0;
    limit_events(world);
    world->full = false;
    world->digest = 0;
}
