/* sim/due.c - the timers that are due, looked up once and not at each choice.
 *
 * They are looked up anew when time has moved, when one of them was stopped or
 * another has become due, and when not enough of them are left.
 */
#include "sim/due.h"

#include "sim/sim.h"

#include <string.h>

size_t
rn__due_look(struct rn__world *world)
{
    struct rn__due *due = &world->due;
    struct rn__timers *timers = &world->worker.timers;
    size_t count = due->end - due->first;
    if (!due->known || due->at != world->now ||
        due->changes != timers->due_changes ||
        (due->more && count < RN__SIM_CANDIDATES)) {
        count = rn__timers_due(timers, world->now, due->kept, RN__DUE_KEPT);
        due->first = 0;
        due->end = (uint32_t)count;
        due->more = count == RN__DUE_KEPT;
        due->at = world->now;
        due->changes = timers->due_changes;
        due->known = true;
    }
    return count < RN__SIM_CANDIDATES ? count : RN__SIM_CANDIDATES;
}

struct rn__heap_node *
rn__due_take(struct rn__due *due, size_t i)
{
    struct rn__heap_node **first = &due->kept[due->first++];
    struct rn__heap_node *node = first[i];
    memmove(first + 1, first, i * sizeof *first);
    return node;
}
