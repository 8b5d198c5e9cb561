/* sim/freed.c - uses of objects after they were freed.
 *
 * A block that is freed is filled with a pattern and kept back for a while, so
 * an object in it is known by its number, which is the pattern. The blocks are
 * given out again in the order they were freed, so addresses still depend on
 * nothing but the order of calls.
 */
#include "sim/freed.h"

#include "sim/sim.h"

#include <string.h>

enum { PATTERN = 0xde, FILLED = 512 };

void
rn__freed_keep(struct rn__world *world, void *memory)
{
    struct rn__freed *freed = &world->freed;
    struct rn__freed_block *block = &freed->blocks[freed->count % RN__FREED];
    struct rn__task *self = rn__current(&world->worker);
    if (freed->count++ >= RN__FREED)
        rn__arena_free(&world->arena, block->memory);
    block->memory = memory;
    block->bytes = rn__arena_bytes(memory);
    block->event = world->events_dropped + world->event_count;
    block->task = self ? rn__task_number(self) : 0;
    memset(memory, PATTERN, block->bytes < FILLED ? block->bytes : FILLED);
}

void
rn__freed_find(struct rn__world *world, const struct rn__object *object)
{
    struct rn__freed *freed = &world->freed;
    uint64_t kept = freed->count < RN__FREED ? freed->count : RN__FREED;
    for (uint64_t i = 0; i < kept; i++) {
        const struct rn__freed_block *block = &freed->blocks[i];
        const char *at = (const char *)object;
        if (at >= block->memory && at < block->memory + block->bytes)
            freed->used = block;
    }
}

void
rn__freed_use(struct rn__world *world, enum rn__kind kind,
              const struct rn__object *object, const void *site)
{
    rn__freed_find(world, object);
    rn__world_fail(world, RN_SIM_PANIC, site, "%s: the %s has been freed",
                   rn__kind_text(kind), rn__kind_object(kind));
}

void
rn__freed_tell(struct rn__world *world, FILE *out)
{
    const struct rn__freed_block *block = world->freed.used;
    if (!block)
        return;
    fprintf(out, "freed by task %u \"%s\"", block->task,
            rn__world_task_name(world, block->task));
    size_t i = block->event > world->events_dropped
                   ? block->event - world->events_dropped
                   : 0;
    while (i-- > 0) {
        const struct rn__event *event = &world->events[i];
        if (event->task != block->task)
            continue;
        fprintf(out, ", here:\n");
        rn__print_event(world, event, out);
        return;
    }
    fputc('\n', out);
}
