/* os/ctx_ucontext.c - contexts by the C library's swapcontext.
 *
 * For machines without an assembly switch, and to tell faults of the switch
 * from faults of its users. Slow: the C library saves the signal mask with
 * each switch, which is a system call.
 */
#include "os/ctx.h"

#include "os/san.h"

#include <errno.h>
#include <stdlib.h>
#include <ucontext.h>

/* Heap state of a context. */
struct state {
    ucontext_t uc;
    bool adopted;
};

static int
adopt(struct rn__ctx *ctx)
{
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return -ENOMEM;
    state->adopted = true;
    ctx->backend = state;
    rn__san_adopt(ctx);
    return 0;
}

/* makecontext passes ints only, so a pointer comes in two halves. */
RN__NO_SAN static void
start(unsigned high, unsigned low)
{
    uintptr_t bits = ((uintptr_t)high << 16 << 16) | low;
    struct rn__ctx *ctx = (struct rn__ctx *)bits;
    rn__san_start(ctx);
    ctx->entry(ctx->arg);
    __builtin_trap();
}

static int
make(struct rn__ctx *ctx)
{
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return -ENOMEM;
    if (getcontext(&state->uc) != 0) {
        free(state);
        return -ENOMEM;
    }
    uintptr_t bits = (uintptr_t)ctx;
    state->uc.uc_stack.ss_sp = ctx->stack_low;
    state->uc.uc_stack.ss_size = ctx->stack_bytes;
    state->uc.uc_link = NULL;
    makecontext(&state->uc, (void (*)(void))start, 2,
                (unsigned)(bits >> 16 >> 16), (unsigned)bits);
    ctx->backend = state;
    rn__san_make(ctx);
    return 0;
}

RN__NO_SAN static void
enter(struct rn__ctx *from, struct rn__ctx *to)
{
    struct state *out = from->backend;
    struct state *in = to->backend;
    rn__san_leave(from, to);
    swapcontext(&out->uc, &in->uc);
    rn__san_arrive(from);
}

static void
fini(struct rn__ctx *ctx)
{
    struct state *state = ctx->backend;
    if (!state->adopted)
        rn__san_fini(ctx);
    free(state);
}

const struct rn__ctx_ops rn__ctx_ucontext_ops = {.kind = RN_BACKEND_UCONTEXT,
                                                 .adopt = adopt,
                                                 .make = make,
                                                 .enter = enter,
                                                 .fini = fini};
