/* os/san.c - tell sanitizers and Valgrind about stacks and switches.
 *
 * AddressSanitizer keeps the bounds of the current stack and, on demand, a
 * fake stack for each real one; both change hands in two steps around a
 * switch. ThreadSanitizer has fibers. Valgrind takes a jump of the stack
 * pointer for a switch if both stacks are registered.
 *
 * ctx->san is the fake stack (address) or the fiber (thread).
 */
#include "os/san.h"

#if RN__ASAN
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif RN__TSAN
#include <sanitizer/tsan_interface.h>
#endif

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define HAVE_VALGRIND 1
#endif
#endif

const bool rn__os_asan = RN__ASAN;

#if RN__ASAN

void
rn__san_adopt(struct rn__ctx *ctx)
{
    pthread_attr_t attr;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    pthread_attr_getstack(&attr, &ctx->stack_low, &ctx->stack_bytes);
    pthread_attr_destroy(&attr);
}

/* The frames of whoever used the stack last were left, not returned from, so
 * their red zones are still marked. */
void
rn__san_make(struct rn__ctx *ctx)
{
    __asan_unpoison_memory_region(ctx->stack_low, ctx->stack_bytes);
}

RN__NO_SAN void
rn__san_leave(struct rn__ctx *from, struct rn__ctx *to)
{
    __sanitizer_start_switch_fiber(&from->san, to->stack_low, to->stack_bytes);
}

RN__NO_SAN void
rn__san_arrive(struct rn__ctx *ctx)
{
    __sanitizer_finish_switch_fiber(ctx->san, NULL, NULL);
    ctx->san = NULL;
}

RN__NO_SAN void
rn__san_start(struct rn__ctx *ctx)
{
    (void)ctx;
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
}

/* The fake stack can only be freed by its owner on the way out, and nobody
 * knew then that it was the last time. So be its owner for a moment. */
RN__NO_SAN void
rn__san_fini(struct rn__ctx *ctx)
{
    const void *low;
    size_t bytes;
    void *mine;
    if (ctx->san == NULL)
        return;
    __sanitizer_start_switch_fiber(&mine, ctx->stack_low, ctx->stack_bytes);
    __sanitizer_finish_switch_fiber(ctx->san, &low, &bytes);
    __sanitizer_start_switch_fiber(NULL, low, bytes);
    __sanitizer_finish_switch_fiber(mine, NULL, NULL);
    ctx->san = NULL;
}

#elif RN__TSAN

void
rn__san_adopt(struct rn__ctx *ctx)
{
    ctx->san = __tsan_get_current_fiber();
}

void
rn__san_make(struct rn__ctx *ctx)
{
    ctx->san = __tsan_create_fiber(0);
}

/* A switch counts as an order between the two (flag 0): the runtime's own
 * state of a worker passes from context to context without atomics. */
RN__NO_SAN void
rn__san_leave(struct rn__ctx *from, struct rn__ctx *to)
{
    (void)from;
    __tsan_switch_to_fiber(to->san, 0);
}

RN__NO_SAN void
rn__san_arrive(struct rn__ctx *ctx)
{
    (void)ctx;
}

RN__NO_SAN void
rn__san_start(struct rn__ctx *ctx)
{
    (void)ctx;
}

void
rn__san_fini(struct rn__ctx *ctx)
{
    if (ctx->san != NULL)
        __tsan_destroy_fiber(ctx->san);
    ctx->san = NULL;
}

#endif

unsigned
rn__san_stack_open(void *low, size_t bytes)
{
#ifdef HAVE_VALGRIND
    if (RUNNING_ON_VALGRIND)
        return VALGRIND_STACK_REGISTER(low, (char *)low + bytes - 1) + 1;
#endif
    (void)low;
    (void)bytes;
    return 0;
}

void
rn__san_stack_close(unsigned id)
{
#ifdef HAVE_VALGRIND
    if (id != 0)
        VALGRIND_STACK_DEREGISTER(id - 1);
#endif
    (void)id;
}

bool
rn__san_valgrind(void)
{
#ifdef HAVE_VALGRIND
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}
