/* base/atomic.h - atomic operations that cost less than they seem to.
 *
 * Alone: while no runtime of the process has more than one worker awake,
 * whatever a runtime shares is touched by one OS thread at a time, and a
 * read-modify-write is a load and a store. They stand in a window: the thread
 * says that it is inside, passes a light fence, and looks whether it is alone.
 * A worker that begins or wakes up says that nobody is alone any more, passes
 * a heavy fence, and waits until nobody is inside (end_solitude in
 * core/worker.c): a window is a few instructions long. So one of the two sees
 * the other (Dekker's argument), and what has been stored in a window is there
 * for the one who has woken up.
 * Whoever is not counted among the awake (OS threads that are no workers, a
 * worker falling asleep) must use true atomic operations, and no lock but by
 * rn__lock_hard. (Should a second runtime with more workers start meanwhile:
 * what belongs to the first is still touched by its one thread only.)
 *
 * Without windows (RN__WINDOWS 0, or no membarrier) a runtime with several
 * workers is never alone.
 *
 * Lopsided fences: where one side of a store-then-load race is hot and the
 * other rare, the hot side only keeps the compiler from reordering
 * (rn__fence_light) and the rare side makes every running thread of the
 * process pass a full fence (rn__fence_heavy; membarrier, Linux 4.14). Where
 * the kernel has no membarrier both are full fences. (Dice, Huang and Yang,
 * "Asymmetric Dekker synchronization", 2001.)
 */
#ifndef RN_ATOMIC_H
#define RN_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define rn__likely(x) __builtin_expect(!!(x), 1)
#define rn__unlikely(x) __builtin_expect(!!(x), 0)

/* Runtimes with more than one worker awake. */
extern _Atomic uint32_t rn__parallel;
/* The kernel has no membarrier: light fences must be full ones. */
extern _Atomic bool rn__full_fences;

static inline void
rn__fence_light(void)
{
    if (rn__unlikely(
            atomic_load_explicit(&rn__full_fences, memory_order_relaxed)))
        __sync_synchronize();
    atomic_signal_fence(memory_order_seq_cst);
}

/* ---- windows ------------------------------------------------------------ */

/* What an OS thread is inside of. A section is a longer window, which others
 * may lie in. */
struct rn__inside {
    _Atomic uint32_t window, section;
};

/* That of the calling thread. */
struct rn__inside *rn__inside_self(void);

#if defined(__SANITIZE_THREAD__)
#define RN__NO_WINDOWS /* TSan does not see the stores below */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RN__NO_WINDOWS
#endif
#endif

#if defined(RN__INSIDE_SET) /* tests/model/ has its own */
#define RN__WINDOWS 1
#elif defined(__x86_64__) && defined(__linux__) && !defined(__ILP32__) && \
    !defined(RN__NO_WINDOWS)
#define RN__WINDOWS 1
/* As in os.h, the address of a thread-local must live across no switch: these
 * are stores relative to the thread's segment, which no compiler looks into.
 * The empty clobber makes them light fences. */
#define RN__INSIDE_SET(offset, value)                              \
    do {                                                           \
        uintptr_t at;                                              \
        __asm__("movq rn__inside@gottpoff(%%rip), %0" : "=r"(at)); \
        __asm__ volatile("movl %1, %%fs:" #offset "(%0)"           \
                         :                                         \
                         : "r"(at), "i"(value)                     \
                         : "memory");                              \
    } while (0)
#else
#define RN__WINDOWS 0
#define RN__INSIDE_SET(offset, value) atomic_signal_fence(memory_order_seq_cst)
#endif

static inline bool
rn__alone(void)
{
    /* acquire: what those who sleep now have done */
    return rn__likely(
        atomic_load_explicit(&rn__parallel, memory_order_acquire) == 0);
}

/* How often somebody has joined those who were alone. */
extern _Atomic uint32_t rn__joined;

/* Whether it was alone, and since when. */
struct rn__solitude {
    bool alone;
    uint32_t joined;
};

static inline struct rn__solitude
rn__solitude_now(void)
{
    /* acquire: in this order; partners with end_solitude (worker.c) */
    struct rn__solitude now;
    now.joined = atomic_load_explicit(&rn__joined, memory_order_acquire);
    now.alone = rn__alone();
    return now;
}

/* In a section, entered alone: whether it has been alone since then. */
static inline bool
rn__alone_since(struct rn__solitude then)
{
    /* relaxed: who joins waits for our section, and has counted before */
    return then.alone && then.joined == atomic_load_explicit(
                                            &rn__joined, memory_order_relaxed);
}

/* Whether the caller is alone until it leaves. */
static inline bool
rn__window_enter(void)
{
    RN__INSIDE_SET(0, 1);
    if (rn__alone())
        return true;
    RN__INSIDE_SET(0, 0);
    return false;
}

static inline void
rn__window_leave(void)
{
    RN__INSIDE_SET(0, 0);
}

static inline bool
rn__section_enter(void)
{
    RN__INSIDE_SET(4, 1);
    if (rn__alone())
        return true;
    RN__INSIDE_SET(4, 0);
    return false;
}

static inline void
rn__section_leave(void)
{
    RN__INSIDE_SET(4, 0);
}

/* ---- read, modify, write ------------------------------------------------ */

/* Put value in place of what was there, which is returned. Acquire, release. */
static inline uint32_t
rn__swap(_Atomic uint32_t *at, uint32_t value)
{
    if (rn__unlikely(!rn__window_enter()))
        return atomic_exchange_explicit(at, value, memory_order_acq_rel);
    uint32_t old = atomic_load_explicit(at, memory_order_acquire);
    atomic_store_explicit(at, value, memory_order_release);
    rn__window_leave();
    return old;
}

/* Compare and swap; on failure *expected is what was there. Acquire, release;
 * on failure acquire. */
static inline bool
rn__cas(_Atomic uint32_t *at, uint32_t *expected, uint32_t value)
{
    if (rn__unlikely(!rn__window_enter()))
        return atomic_compare_exchange_strong_explicit(
            at, expected, value, memory_order_acq_rel, memory_order_acquire);
    uint32_t old = atomic_load_explicit(at, memory_order_acquire);
    bool same = old == *expected;
    if (same)
        atomic_store_explicit(at, value, memory_order_release);
    else
        *expected = old;
    rn__window_leave();
    return same;
}

/* Add, wrapping; returns the new value. Acquire, release. */
static inline uint32_t
rn__add(_Atomic uint32_t *at, uint32_t value)
{
    if (rn__unlikely(!rn__window_enter()))
        return atomic_fetch_add_explicit(at, value, memory_order_acq_rel) +
               value;
    uint32_t sum = atomic_load_explicit(at, memory_order_acquire) + value;
    atomic_store_explicit(at, sum, memory_order_release);
    rn__window_leave();
    return sum;
}

/* Add, wrapping, unless the sum has one of these bits; returns whether it was
 * added. Acquire, release; if not, nothing. */
static inline bool
rn__add_unless(_Atomic uint32_t *at, uint32_t value, uint32_t bits)
{
    uint32_t old;
    if (rn__unlikely(!rn__window_enter())) {
        old = atomic_load_explicit(at, memory_order_relaxed);
        do
            if ((old + value) & bits)
                return false;
        while (!atomic_compare_exchange_weak_explicit(
            at, &old, old + value, memory_order_acq_rel, memory_order_relaxed));
        return true;
    }
    old = atomic_load_explicit(at, memory_order_acquire);
    bool added = !((old + value) & bits);
    if (added)
        atomic_store_explicit(at, old + value, memory_order_release);
    rn__window_leave();
    return added;
}

/* As rn__cas, for 64 bits. */
static inline bool
rn__cas64(_Atomic uint64_t *at, uint64_t *expected, uint64_t value)
{
    if (rn__unlikely(!rn__window_enter()))
        return atomic_compare_exchange_strong_explicit(
            at, expected, value, memory_order_acq_rel, memory_order_acquire);
    uint64_t old = atomic_load_explicit(at, memory_order_acquire);
    bool same = old == *expected;
    if (same)
        atomic_store_explicit(at, value, memory_order_release);
    else
        *expected = old;
    rn__window_leave();
    return same;
}

/* Add to what all runtimes of the process share, so that nobody is ever alone
 * with it; returns the new value. Acquire, release. */
static inline uint64_t
rn__add64_hard(_Atomic uint64_t *at, uint64_t value)
{
    return atomic_fetch_add_explicit(at, value, memory_order_acq_rel) + value;
}

/* This memory will be read soon. */
static inline void
rn__prefetch(const void *memory)
{
    __builtin_prefetch(memory);
}

static inline void
rn__cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
