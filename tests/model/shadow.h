/* shadow.h - to be included before the library's sources: atomic operations,
 * fences and pauses become calls of the model's memory (model.h).
 */
#ifndef MODEL_SHADOW_H
#define MODEL_SHADOW_H

#include "model.h"

#include <sched.h>
#include <stdatomic.h>

/* ---- atomic operations -------------------------------------------------- */

/* The type of *at without qualifiers. */
#define MODEL_TYPE(at) __typeof__((void)0, *(at))
#define MODEL_SITE(order) ((struct model_site){__func__, (order), __LINE__})

#undef atomic_load_explicit
#undef atomic_load
#define atomic_load_explicit(object, order)                                \
    __extension__({                                                        \
        __auto_type model_at = (object);                                   \
        MODEL_TYPE(model_at) model_v;                                      \
        model_load(model_at, &model_v, sizeof model_v, MODEL_SITE(order)); \
        model_v;                                                           \
    })
#define atomic_load(object) atomic_load_explicit((object), memory_order_seq_cst)

#undef atomic_store_explicit
#undef atomic_store
#define atomic_store_explicit(object, value, order)                         \
    __extension__({                                                         \
        __auto_type model_at = (object);                                    \
        MODEL_TYPE(model_at) model_v = (value);                             \
        model_store(model_at, &model_v, sizeof model_v, MODEL_SITE(order)); \
    })
#define atomic_store(object, value) \
    atomic_store_explicit((object), (value), memory_order_seq_cst)

#define MODEL_FETCH(op, object, value, order)                 \
    __extension__({                                           \
        __auto_type model_at = (object);                      \
        MODEL_TYPE(model_at) model_v = (value);               \
        model_fetch(model_at, (op), &model_v, sizeof model_v, \
                    MODEL_SITE(order));                       \
        model_v;                                              \
    })
#undef atomic_exchange_explicit
#undef atomic_exchange
#undef atomic_fetch_add_explicit
#undef atomic_fetch_add
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_or_explicit
#undef atomic_fetch_or
#undef atomic_fetch_and_explicit
#undef atomic_fetch_and
#define atomic_exchange_explicit(object, value, order) \
    MODEL_FETCH(MODEL_SWAP, object, value, order)
#define atomic_exchange(object, value) \
    MODEL_FETCH(MODEL_SWAP, object, value, memory_order_seq_cst)
#define atomic_fetch_add_explicit(object, value, order) \
    MODEL_FETCH(MODEL_ADD, object, value, order)
#define atomic_fetch_add(object, value) \
    MODEL_FETCH(MODEL_ADD, object, value, memory_order_seq_cst)
#define atomic_fetch_sub_explicit(object, value, order) \
    MODEL_FETCH(MODEL_SUB, object, value, order)
#define atomic_fetch_sub(object, value) \
    MODEL_FETCH(MODEL_SUB, object, value, memory_order_seq_cst)
#define atomic_fetch_or_explicit(object, value, order) \
    MODEL_FETCH(MODEL_OR, object, value, order)
#define atomic_fetch_or(object, value) \
    MODEL_FETCH(MODEL_OR, object, value, memory_order_seq_cst)
#define atomic_fetch_and_explicit(object, value, order) \
    MODEL_FETCH(MODEL_AND, object, value, order)
#define atomic_fetch_and(object, value) \
    MODEL_FETCH(MODEL_AND, object, value, memory_order_seq_cst)

#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_weak
#define atomic_compare_exchange_strong_explicit(object, old, value, order, \
                                                failed)                    \
    __extension__({                                                        \
        __auto_type model_at = (object);                                   \
        MODEL_TYPE(model_at) *model_old = (old);                           \
        MODEL_TYPE(model_at) model_v = (value);                            \
        model_cas(model_at, model_old, &model_v, sizeof model_v,           \
                  MODEL_SITE(order));                                      \
    })
#define atomic_compare_exchange_strong(object, old, value) \
    atomic_compare_exchange_strong_explicit(               \
        (object), (old), (value), memory_order_seq_cst, memory_order_seq_cst)
#define atomic_compare_exchange_weak_explicit \
    atomic_compare_exchange_strong_explicit
#define atomic_compare_exchange_weak atomic_compare_exchange_strong

#undef atomic_thread_fence
#define atomic_thread_fence(order) model_fence_full()
#define __sync_synchronize() model_fence_full()

/* ---- the library's names ------------------------------------------------ */

/* The simulator that explores a model is linked from the same library. */
#include "names.h"

/* What a thread is inside of, word by word. Release, because windows are for
 * x86-64 only, where each store is. */
#define RN__INSIDE_SET(offset, value) model_inside_set((offset), (value))
static void model_inside_set(size_t offset, uint32_t value);
#include "base/atomic.h"

__attribute__((unused)) static void
model_inside_set(size_t offset, uint32_t value)
{
    struct rn__inside *inside = rn__inside_self();
    atomic_store_explicit(offset ? &inside->section : &inside->window, value,
                          memory_order_release);
}

/* Patience becomes a wait for news. */
#define rn__cpu_pause model_pause
#define sched_yield() model_pause()

#include "os/os.h"
#define rn__os_relax model_pause
#define rn__os_fence_all model_fence_heavy
#define rn__os_wait(word, expected, deadline) \
    ((void)(deadline), model_sleep((word), (expected)))
#define rn__os_wake(word, n) model_wake(word)
/* The worker of the calling thread (machine.h). */
void *model_os_self(void);
#define rn__os_self model_os_self

#endif
