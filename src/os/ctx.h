/* os/ctx.h - what the backends of contexts offer to ctx.c. */
#ifndef RN_OS_CTX_H
#define RN_OS_CTX_H

#include "os/os.h"

#if (defined(__x86_64__) && !defined(__ILP32__)) || defined(__aarch64__)
#define RN__CTX_HAS_ASM 1
#else
#define RN__CTX_HAS_ASM 0
#endif

/* A backend other than assembly. Each function does what the function of
 * os.h with that name says; ctx.c has filled in the plain fields before. */
struct rn__ctx_ops {
    rn_backend_kind kind;
    int (*adopt)(struct rn__ctx *ctx);
    int (*make)(struct rn__ctx *ctx);
    void (*enter)(struct rn__ctx *from, struct rn__ctx *to);
    void (*fini)(struct rn__ctx *ctx);
};

extern const struct rn__ctx_ops rn__ctx_ucontext_ops;
extern const struct rn__ctx_ops rn__ctx_thread_ops;

/* ctx_<machine>.S: store the stack pointer in *save and go on at enter. */
void rn__ctx_asm_switch(void **save, void *enter);
/* Lay out a context below top that calls fn(arg); its stack pointer. */
void *rn__ctx_asm_make(void *top, void (*fn)(void *), void *arg);

#endif
