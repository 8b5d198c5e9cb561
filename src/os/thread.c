/* os/thread.c - OS threads, and the pointer each of them carries. */
#include "os/os.h"

#include "os/altstack.h"

#include <pthread.h>

_Static_assert(sizeof(pthread_t) <= sizeof(uintptr_t), "a handle fits");

/* Initial-exec: one load to reach, and safe in a signal handler. Not static,
 * because the assembly in os.h names it. */
extern __thread void *rn__os_tls;
__thread void *rn__os_tls
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static void *
run(void *arg)
{
    struct rn__thread *thread = arg;
    struct rn__altstack alt;
    rn__altstack_open(&alt);
    thread->fn(thread->arg);
    rn__altstack_close(&alt);
    return NULL;
}

int
rn__thread_start(struct rn__thread *thread, void (*fn)(void *), void *arg)
{
    pthread_t handle;
    thread->fn = fn;
    thread->arg = arg;
    int err = pthread_create(&handle, NULL, run, thread);
    if (err != 0)
        return -err;
    thread->handle = (uintptr_t)handle;
    return 0;
}

void
rn__thread_join(struct rn__thread *thread)
{
    pthread_join((pthread_t)thread->handle, NULL);
}

/* The empty assembly keeps a compiler that sees the whole program from taking
 * these for functions without side effects. */
__attribute__((noinline)) void
rn__os_set_self(void *value)
{
    __asm__ volatile("" ::: "memory");
    rn__os_tls = value;
}

#if !defined(__x86_64__) || !defined(__linux__) || defined(__ILP32__)
__attribute__((noinline)) void *
rn__os_self(void)
{
    __asm__ volatile("" ::: "memory");
    return rn__os_tls;
}
#endif
