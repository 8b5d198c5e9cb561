/* os/altstack.c - an alternate signal stack for an OS thread.
 *
 * A handler for a stack overflow cannot run on the stack that overflowed. The
 * size leaves room for a backtrace and for running addr2line.
 */
#include "os/altstack.h"

#include "os/os.h"

#include <sys/auxv.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* On top of what the kernel itself stores for a signal. */
#define ROOM ((size_t)256 << 10)

void
rn__altstack_open(struct rn__altstack *alt)
{
    size_t frame = (size_t)getauxval(AT_MINSIGSTKSZ);
    alt->bytes = ROOM + ((frame + 4095) & ~(size_t)4095);
    alt->memory = rn__os_map(alt->bytes);
    if (alt->memory == NULL)
        return;
    stack_t stack = {.ss_sp = alt->memory, .ss_size = alt->bytes};
    if (sigaltstack(&stack, &alt->old) != 0) {
        rn__os_unmap(alt->memory, alt->bytes);
        alt->memory = NULL;
    }
}

void
rn__altstack_close(struct rn__altstack *alt)
{
    if (alt->memory == NULL)
        return;
    stack_t now;
    if (sigaltstack(NULL, &now) != 0)
        return;
    if (now.ss_sp == alt->memory && sigaltstack(&alt->old, NULL) != 0)
        return;
    rn__os_unmap(alt->memory, alt->bytes);
    alt->memory = NULL;
}
