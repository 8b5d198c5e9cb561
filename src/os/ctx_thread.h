/* os/ctx_thread.h - what fault.c asks about threads that host contexts. */
#ifndef RN_OS_CTX_THREAD_H
#define RN_OS_CTX_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether address lies in the guard of the calling thread's stack, which hosts
 * a context; if so, the context's stack and the size it really has. For signal
 * handlers. */
bool rn__ctx_thread_guard(const void *address, void **low, size_t *bytes);

#endif
