/* os/altstack.h - an alternate signal stack for an OS thread. */
#ifndef RN_OS_ALTSTACK_H
#define RN_OS_ALTSTACK_H

#include <signal.h>
#include <stddef.h>

/* Lives as long as the thread uses the stack. */
struct rn__altstack {
    void *memory; /* NULL: none was set */
    size_t bytes;
    stack_t old; /* what the thread had before */
};

/* Give the calling thread an alternate signal stack. Without memory it gets
 * none: an overflow then ends the program without a report. */
void rn__altstack_open(struct rn__altstack *alt);
/* Put back what the calling thread had before. */
void rn__altstack_close(struct rn__altstack *alt);

#endif
