/* base/atomic.h - atomic operations that cost less than they seem to.
 *
 * Alone: while no runtime of the process has more than one worker, whatever a
 * runtime shares is touched by one OS thread at a time, and a
 * read-modify-write is a load and a store. The test is a load of a flag and a
 * branch that is always predicted. (Should a second runtime with more workers
 * start meanwhile: what belongs to the first is still touched by its one
 * thread only.)
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

/* Runtimes with more than one worker. */
extern _Atomic uint32_t rn__parallel;
/* The kernel has no membarrier: light fences must be full ones. */
extern _Atomic bool rn__full_fences;

static inline bool
rn__alone(void)
{
    /* relaxed: raised before the second worker exists */
    return rn__likely(
        atomic_load_explicit(&rn__parallel, memory_order_relaxed) == 0);
}

/* Put value in place of what was there, which is returned. Acquire, release. */
static inline uint32_t
rn__swap(_Atomic uint32_t *at, uint32_t value)
{
    if (!rn__alone())
        return atomic_exchange_explicit(at, value, memory_order_acq_rel);
    uint32_t old = atomic_load_explicit(at, memory_order_relaxed);
    atomic_store_explicit(at, value, memory_order_relaxed);
    return old;
}

/* Compare and swap; on failure *expected is what was there. Acquire, release;
 * on failure acquire. */
static inline bool
rn__cas(_Atomic uint32_t *at, uint32_t *expected, uint32_t value)
{
    if (!rn__alone())
        return atomic_compare_exchange_strong_explicit(
            at, expected, value, memory_order_acq_rel, memory_order_acquire);
    uint32_t old = atomic_load_explicit(at, memory_order_relaxed);
    if (old != *expected) {
        *expected = old;
        return false;
    }
    atomic_store_explicit(at, value, memory_order_relaxed);
    return true;
}

static inline void
rn__fence_light(void)
{
    if (rn__unlikely(
            atomic_load_explicit(&rn__full_fences, memory_order_relaxed)))
        __sync_synchronize();
    atomic_signal_fence(memory_order_seq_cst);
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
