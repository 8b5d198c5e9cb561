/* os/ctx_thread.h - what signals have to do with threads that host contexts. */
#ifndef RN_OS_CTX_THREAD_H
#define RN_OS_CTX_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* Whether address lies in the guard of the calling thread's stack, which hosts
 * a context; if so, the context's stack and the size it really has. For signal
 * handlers. */
bool rn__ctx_thread_guard(const void *address, void **low, size_t *bytes);

/* Whether the calling thread hosts a context that is not running. For signal
 * handlers. */
bool rn__ctx_thread_waits(void);

/* Send a signal to all threads that host contexts. */
void rn__ctx_thread_signal(int signal);

#endif
