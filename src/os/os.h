/* os/os.h - all that the runtime asks of the operating system.
 *
 * Everything above this folder reaches the kernel, the C library's threads and
 * the CPU through these functions only. Nothing here knows of tasks.
 */
#ifndef RN_OS_H
#define RN_OS_H

#include <runnel/base.h>
#include <runnel/run.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- clock, threads, memory ------------------------------------------- */

/* The monotonic clock, in nanoseconds. */
rn_time rn__os_now(void);

/* AddressSanitizer watches: free what could be kept, so that it sees uses
 * after that. */
extern const bool rn__os_asan;

/* CPUs this process may run on, at least 1. */
int rn__os_cpus(void);

/* Sleep while *word == expected, until woken or until the deadline (monotonic,
 * RN_NEVER for none). May wake for no reason. */
void rn__os_wait(_Atomic uint32_t *word, uint32_t expected, rn_time deadline);

/* Wake up to n threads that sleep on word. */
void rn__os_wake(_Atomic uint32_t *word, int n);

/* Give the CPU up for a moment; for a spin that has gone on too long. */
void rn__os_relax(void);

/* Whether rn__os_fence_all works here; to be asked once, before it is used. */
bool rn__os_fence_all_init(void);
/* Make every running thread of the process pass a full memory fence. */
void rn__os_fence_all(void);

struct rn__thread {
    uintptr_t handle;
    void (*fn)(void *arg);
    void *arg;
};

/* Start an OS thread with all signals as the caller has them and an alternate
 * signal stack for the fault handler. 0 or -EAGAIN / -ENOMEM. */
int rn__thread_start(struct rn__thread *thread, void (*fn)(void *), void *arg);
void rn__thread_join(struct rn__thread *thread);

/* Zeroed memory by the page, not counted as used until touched. NULL: none. */
void *rn__os_map(size_t bytes);
void rn__os_unmap(void *memory, size_t bytes);

/* A pointer that belongs to the running context's OS thread. With the thread
 * backend it travels along with a switch. The address of a thread-local must
 * never live across a switch, and compilers like to keep it: so it is read by
 * an instruction they cannot look into, or else by a call. */
void rn__os_set_self(void *self);
#if defined(__x86_64__) && defined(__linux__) && !defined(__ILP32__)
static inline void *
rn__os_self(void)
{
    void *self;
    __asm__ volatile("movq rn__os_tls@gottpoff(%%rip), %0\n\t"
                     "movq %%fs:(%0), %0"
                     : "=r"(self));
    return self;
}
#else
void *rn__os_self(void);
#endif

/* ---- contexts ---------------------------------------------------------- */

/* A point of execution that can be left and entered again. Filled in by
 * rn__ctx_make, or by rn__ctx_switch away from the thread's own context (which
 * needs rn__ctx_adopt first). */
struct rn__ctx {
    void *sp;                 /* asm: saved stack pointer */
    void *backend;            /* ucontext, thread: their own state */
    void (*entry)(void *arg); /* never returns */
    void *arg;
    void *san; /* sanitizer: fiber or fake stack */
    void *stack_low;
    size_t stack_bytes;
};

/* Choose the backend for this process; RN_BACKEND_DEFAULT takes the best.
 * -EINVAL if it is not built in, -EBUSY while contexts of another exist. (Of
 * assembly contexts only adopted ones count: the others are plain memory, but
 * must not be entered under another backend.) */
int rn__ctx_select(rn_backend_kind kind);
rn_backend_kind rn__ctx_kind(void);
/* What RN_BACKEND_DEFAULT chooses. */
rn_backend_kind rn__ctx_best(void);

/* Make ctx stand for the calling OS thread's own stack. */
int rn__ctx_adopt(struct rn__ctx *ctx);
/* Make ctx call entry(arg) on the given stack when first switched to. */
int rn__ctx_make(struct rn__ctx *ctx, void *stack_low, size_t stack_bytes,
                 void (*entry)(void *arg), void *arg);
/* Leave from, enter to. Returns when somebody switches to from. */
void rn__ctx_switch(struct rn__ctx *from, struct rn__ctx *to);
/* ctx is not running (or is an adopted one, given up by its own thread) and
 * will never be entered again. Frees backend state; must come before ctx is
 * made anew. Frames still on its stack are dropped, not unwound. */
void rn__ctx_fini(struct rn__ctx *ctx);

/* ---- stacks ------------------------------------------------------------ */

/* A pool of stacks of one size, carved out of large slabs. Thread-safe. */
struct rn__stackpool {
    _Atomic uint32_t lock;
    size_t stack_bytes;  /* usable and guard together, a multiple of 4096 */
    rn_guard_kind guard; /* the one in use */
    struct rn__slab *slabs;
    void *free;                 /* stacks given back, newest first */
    size_t cold;                /* how many were given back cold */
    _Atomic uint64_t trimmed;   /* times a stack's memory went to the kernel */
    _Atomic uint64_t made;      /* stacks handed out for the first time */
    _Atomic uint64_t unguarded; /* of these, with a canary because the
                                   pool's guard could not be had */
};

/* guard DEFAULT: the best that works here. -EINVAL: that guard does not work
 * here or the size is out of range (16 KiB .. 1 GiB). */
int rn__stackpool_init(struct rn__stackpool *pool, size_t stack_bytes,
                       rn_guard_kind guard);
void rn__stackpool_fini(struct rn__stackpool *pool);
/* The low end of a stack's usable part, and its usable size: without the guard
 * and without up to 1 KiB at the top by which neighbours differ (so that the
 * tops do not share cache sets). NULL: out of memory. */
void *rn__stack_get(struct rn__stackpool *pool, size_t *usable_bytes);
void rn__stack_put(struct rn__stackpool *pool, void *low);
/* Most stacks one call of rn__stack_put_cold takes. */
enum { RN__COLD_GROUP = 64 };
/* Put stacks back that will not be needed soon: their memory goes back to the
 * kernel, with all that was on them. They come out again after those that were
 * put, before new ones. Returns how many had their memory taken. A system call
 * or two, and as slow for each stack as a thousand switches. */
size_t rn__stack_put_cold(struct rn__stackpool *pool, void *const *lows,
                          size_t count);
/* Whether the canary at the low end is whole. Always true for stacks with
 * another guard; cheap unless pool->guard is RN_GUARD_CANARY or some of the
 * pool's stacks are unguarded. */
bool rn__stack_intact(struct rn__stackpool *pool, void *low);

/* Whether some stack of the pool has a canary. */
static inline bool
rn__stack_watched(const struct rn__stackpool *pool)
{
    return pool->guard == RN_GUARD_CANARY ||
           atomic_load_explicit(&pool->unguarded, memory_order_relaxed) != 0;
}
/* Which guard would be chosen for RN_GUARD_DEFAULT on this kernel. */
rn_guard_kind rn__guard_best(void);
const char *rn__guard_name(rn_guard_kind kind);
const char *rn__ctx_name(rn_backend_kind kind);

/* ---- faults ------------------------------------------------------------ */

/* What the runtime wants to say when a fault hits. Called on the alternate
 * signal stack. info.overflow: the address lies in a guard of a live stack
 * pool. Return true if the program is to die quietly now (everything was said
 * and abort follows), false to let the earlier handler or the default act. */
struct rn__fault {
    int signal;
    void *address;
    bool overflow;
    void *stack_low; /* of the overflown stack, if overflow */
    size_t stack_bytes;
    void *const *frames; /* backtrace at the fault, the first frame is the
                            faulting instruction itself, plus one */
    int frame_count;
};
typedef bool rn__fault_fn(const struct rn__fault *fault);

/* Install (counted) handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT that
 * call fn, and give the calling thread an alternate stack. */
int rn__fault_install(rn__fault_fn *fn);
void rn__fault_remove(void);
/* In the child of a fork: another thread may have been installing. */
void rn__fault_forget(void);

/* ---- another thread ---------------------------------------------------- */

/* The calling OS thread, for rn__os_interrupt. */
uintptr_t rn__os_thread(void);
/* From now on the calling OS thread takes no signals but its own faults. */
void rn__os_shun_signals(void);

/* Called in a signal handler; frames: what was interrupted, as in a fault. */
typedef void rn__interrupt_fn(void *arg, void *const *frames, int count);

/* Install (counted) a handler of a signal that nobody uses. System calls that
 * it interrupts go on, but for those that signal(7) says never do. */
void rn__os_interrupt_install(void);
void rn__os_interrupt_remove(void);
/* Let fn(arg) run on the OS thread whose rn__os_self is self; thread: the one
 * where self was set (which another may stand for, with the thread backend).
 * Returns whether it ran. It has not if the thread blocks all signals, if none
 * was free, or if *cancel became true meanwhile. */
bool rn__os_interrupt(uintptr_t thread, const void *self, rn__interrupt_fn *fn,
                      void *arg, const _Atomic bool *cancel);

/* ---- backtraces and symbols ------------------------------------------- */

/* Return addresses of the calling context, innermost first; the first lies in
 * the caller. At most 126. */
int rn__os_backtrace(void **frames, int max);

/* Describe code addresses (return addresses: the call before is meant), each
 * as "function file.c:line" or, without debug information, "function+0x12
 * (module)". Runs the addr2line command once for all that it has not told yet,
 * if it is there. out[i] holds RN__SYMBOL_MAX bytes. Never fails; not fast. */
#define RN__SYMBOL_MAX 160
void rn__os_symbols(void *const *addresses, int count,
                    char (*out)[RN__SYMBOL_MAX]);

/* Where the main program lies. */
struct rn__code {
    uintptr_t low, bytes;
    uintptr_t bias; /* what it was moved by when it was loaded */
};
struct rn__code rn__os_code(void);

/* The address as an offset from the start of the main program if it lies in
 * it, else unchanged: the same from run to run. */
static inline uintptr_t
rn__code_offset(const struct rn__code *code, const void *address)
{
    uintptr_t at = (uintptr_t)address;
    return at - code->low < code->bytes ? at - code->bias : at;
}

#endif
