/* os/san.h - tell sanitizers and Valgrind about stacks and switches.
 *
 * Every tool that follows the stack pointer has to be told when a program
 * changes stacks. All such knowledge is in san.h and san.c; without a
 * sanitizer the calls compile to nothing.
 */
#ifndef RN_OS_SAN_H
#define RN_OS_SAN_H

#include "os/os.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RN__ASAN 1
#elif __has_feature(thread_sanitizer)
#define RN__TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define RN__ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define RN__TSAN 1
#endif

#ifndef RN__ASAN
#define RN__ASAN 0
#endif
#ifndef RN__TSAN
#define RN__TSAN 0
#endif
#define RN__SAN (RN__ASAN || RN__TSAN)

/* For functions that run half on one stack and half on another: not even their
 * entry and exit may be noted. */
#if RN__TSAN && defined(__clang__)
#define RN__NO_SAN __attribute__((disable_sanitizer_instrumentation))
#elif RN__TSAN
#define RN__NO_SAN __attribute__((no_sanitize_thread))
#elif RN__ASAN
#define RN__NO_SAN __attribute__((no_sanitize_address))
#else
#define RN__NO_SAN
#endif

#if RN__SAN
/* ctx stands for the caller's own stack. */
void rn__san_adopt(struct rn__ctx *ctx);
/* ctx will start on a stack whose old frames are dead. */
void rn__san_make(struct rn__ctx *ctx);
/* About to leave from for to. */
void rn__san_leave(struct rn__ctx *from, struct rn__ctx *to);
/* Now on ctx, which was left before. */
void rn__san_arrive(struct rn__ctx *ctx);
/* Now on ctx for the first time. */
void rn__san_start(struct rn__ctx *ctx);
/* ctx, made and not adopted, is never entered again. */
void rn__san_fini(struct rn__ctx *ctx);
#else
#define rn__san_adopt(ctx) ((void)(ctx))
#define rn__san_make(ctx) ((void)(ctx))
#define rn__san_leave(from, to) ((void)(from), (void)(to))
#define rn__san_arrive(ctx) ((void)(ctx))
#define rn__san_start(ctx) ((void)(ctx))
#define rn__san_fini(ctx) ((void)(ctx))
#endif

/* Memory from low on serves as a stack from now on, for Valgrind. Returns a
 * number to end that with, 0 where nobody wants to know. */
unsigned rn__san_stack_open(void *low, size_t bytes);
void rn__san_stack_close(unsigned id);
/* Whether the program runs under Valgrind. */
bool rn__san_valgrind(void);

#endif
