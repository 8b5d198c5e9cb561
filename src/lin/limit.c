/* lin/limit.c - time, steps and memory of a check, and its progress. */
#include "lin/lin.h"

#include <stdlib.h>

#define TELL_EVERY (100 * RN_MS)

void *
rn__lin_grow(struct rn__lin_budget *b, void *memory, size_t bytes,
             size_t new_bytes)
{
    size_t more = new_bytes - bytes;
    if (b->bytes > b->options.max_bytes ||
        more > b->options.max_bytes - b->bytes) {
        b->end = RN__LIN_NO_BYTES;
        return NULL;
    }
    void *grown = realloc(memory, new_bytes ? new_bytes : 1);
    if (!grown) {
        b->end = RN__LIN_NO_MEMORY;
        return NULL;
    }
    b->bytes += more;
    if (b->bytes > b->most)
        b->most = b->bytes;
    return grown;
}

void
rn__lin_release(struct rn__lin_budget *b, void *memory, size_t bytes)
{
    if (memory)
        b->bytes -= bytes;
    free(memory);
}

bool
rn__lin_goes_on(struct rn__lin_budget *b, uint64_t placed)
{
    rn_time now = rn__os_now();
    double seconds = (double)(now - b->started) / (double)RN_SEC;
    if (b->options.progress && now - b->told >= TELL_EVERY) {
        rn_lin_progress p = {.ops = b->ops,
                             .placed = b->placed + placed,
                             .steps = b->steps,
                             .bytes = b->bytes,
                             .seconds = seconds,
                             .seconds_limit = b->options.seconds};
        b->told = now;
        b->options.progress(&p, b->options.progress_arg);
    }
    if (b->options.seconds > 0 && seconds >= b->options.seconds)
        b->end = RN__LIN_NO_TIME;
    return b->end == RN__LIN_GOES_ON;
}
