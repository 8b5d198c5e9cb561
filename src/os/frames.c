/* os/frames.c - backtraces of what a signal interrupted. */
#include "os/frames.h"

#include "os/san.h"

#include <execinfo.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

/* Where the calling thread goes on if the stack it walks is too broken. */
static __thread sigjmp_buf *escape __attribute__((tls_model("initial-exec")));

static void *
interrupted(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (void *)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)context->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

void
rn__frames_failed(void)
{
    if (escape != NULL)
        siglongjmp(*escape, 1);
}

int
rn__frames_at(const void *ucontext, void **frames, int max)
{
    sigjmp_buf here;
    volatile int count = 0;
    void *pc = interrupted(ucontext);
    int first = 0;
    if (sigsetjmp(here, 1) == 0) {
        escape = &here;
        count = backtrace(frames, max);
    }
    escape = NULL;
    while (pc != NULL && first < count && frames[first] != pc)
        first++;
    /* ThreadSanitizer keeps a signal until a moment that suits it. */
    if (first == count && RN__TSAN && count > 0)
        return count;
    if (first == count) {
        frames[0] = (char *)pc + 1;
        return pc != NULL ? 1 : 0;
    }
    memmove(frames, frames + first, (size_t)(count - first) * sizeof *frames);
    if (pc != NULL)
        frames[0] = (char *)pc + 1;
    return count - first;
}
