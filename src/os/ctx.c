/* os/ctx.c - points of execution: which backend, and the way to it.
 *
 * The backend is chosen once, before the first context. Assembly is meant
 * when no table is set, so that its switch costs one test of a global and a
 * jump. A backend per context would put an indirect call there instead.
 */
#include "os/os.h"

#include "os/ctx.h"
#include "os/san.h"

#include <errno.h>
#include <string.h>

#if RN__CTX_HAS_ASM
#define BEST NULL
#else
#define BEST &rn__ctx_ucontext_ops
#endif

/* NULL: assembly. Changes only while no contexts exist. */
static const struct rn__ctx_ops *ctx_ops = BEST;

/* Contexts alive that stop a change of backend: adopted ones, and made ones
 * of a backend that keeps state. (An assembly context that was only made is
 * plain memory; not to count it saves an atomic operation a task.) */
static _Atomic uint64_t ctx_count;

/* Marks an assembly context as adopted, in its field backend. */
static char adopted_mark;

int
rn__ctx_select(rn_backend_kind kind)
{
    const struct rn__ctx_ops *ops = BEST;
    switch (kind) {
    case RN_BACKEND_DEFAULT:
        break;
    case RN_BACKEND_ASM:
        if (!RN__CTX_HAS_ASM)
            return -EINVAL;
        break;
    case RN_BACKEND_UCONTEXT:
        ops = &rn__ctx_ucontext_ops;
        break;
    case RN_BACKEND_THREAD:
        ops = &rn__ctx_thread_ops;
        break;
    default:
        return -EINVAL;
    }
    if (ops == ctx_ops)
        return 0;
    if (atomic_load_explicit(&ctx_count, memory_order_relaxed) != 0)
        return -EBUSY;
    ctx_ops = ops;
    return 0;
}

rn_backend_kind
rn__ctx_best(void)
{
    return RN__CTX_HAS_ASM ? RN_BACKEND_ASM : RN_BACKEND_UCONTEXT;
}

rn_backend_kind
rn__ctx_kind(void)
{
    return ctx_ops == NULL ? RN_BACKEND_ASM : ctx_ops->kind;
}

const char *
rn__ctx_name(rn_backend_kind kind)
{
    switch (kind) {
    case RN_BACKEND_ASM:
        return "asm";
    case RN_BACKEND_UCONTEXT:
        return "ucontext";
    case RN_BACKEND_THREAD:
        return "thread";
    default:
        return "default";
    }
}

int
rn__ctx_adopt(struct rn__ctx *ctx)
{
    memset(ctx, 0, sizeof *ctx);
    if (ctx_ops == NULL) {
        ctx->backend = &adopted_mark;
        rn__san_adopt(ctx);
    } else {
        int err = ctx_ops->adopt(ctx);
        if (err < 0)
            return err;
    }
    atomic_fetch_add_explicit(&ctx_count, 1, memory_order_relaxed);
    return 0;
}

#if RN__SAN && RN__CTX_HAS_ASM
RN__NO_SAN static void
start(void *arg)
{
    struct rn__ctx *ctx = arg;
    rn__san_start(ctx);
    ctx->entry(ctx->arg);
    __builtin_trap();
}
#endif

static void
make_asm(struct rn__ctx *ctx)
{
#if RN__CTX_HAS_ASM
    char *top = (char *)ctx->stack_low + ctx->stack_bytes;
#if RN__SAN
    rn__san_make(ctx);
    ctx->sp = rn__ctx_asm_make(top, start, ctx);
#else
    ctx->sp = rn__ctx_asm_make(top, ctx->entry, ctx->arg);
#endif
#else
    (void)ctx;
#endif
}

int
rn__ctx_make(struct rn__ctx *ctx, void *stack_low, size_t stack_bytes,
             void (*entry)(void *arg), void *arg)
{
    *ctx = (struct rn__ctx){.entry = entry,
                            .arg = arg,
                            .stack_low = stack_low,
                            .stack_bytes = stack_bytes};
    if (__builtin_expect(ctx_ops == NULL, 1)) {
        make_asm(ctx);
        return 0;
    }
    int err = ctx_ops->make(ctx);
    if (err < 0)
        return err;
    atomic_fetch_add_explicit(&ctx_count, 1, memory_order_relaxed);
    return 0;
}

RN__NO_SAN void
rn__ctx_switch(struct rn__ctx *from, struct rn__ctx *to)
{
#if RN__CTX_HAS_ASM
    if (__builtin_expect(ctx_ops == NULL, 1)) {
        rn__san_leave(from, to);
        rn__ctx_asm_switch(&from->sp, to->sp);
        rn__san_arrive(from);
        return;
    }
#endif
    ctx_ops->enter(from, to);
}

void
rn__ctx_fini(struct rn__ctx *ctx)
{
    if (__builtin_expect(ctx_ops == NULL, 1)) {
        if (ctx->backend != &adopted_mark) {
            rn__san_fini(ctx);
            return;
        }
    } else {
        ctx_ops->fini(ctx);
    }
    ctx->backend = NULL;
    atomic_fetch_sub_explicit(&ctx_count, 1, memory_order_relaxed);
}
