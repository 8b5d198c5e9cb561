/* os/stack.c - pools of stacks, carved out of large slabs.
 *
 * A slab is one memory map that holds many places of pool->stack_bytes:
 *
 *      place:  guard page | usable part, grows down | tail | colour
 *
 * Memory is counted when touched, so a slab costs nothing but addresses.
 * Places are handed out in order, guards are installed a group at a time just
 * before. A stack given back goes on a list and comes out first, while its
 * top is still in the cache. One put back cold gives its pages to the kernel;
 * what was noted on the stack itself is lost with them, so a slab keeps the
 * numbers of its cold places, in front of the first. The colour moves the top
 * by a few cache lines from place to place: else the hottest lines of all
 * stacks would share the same few sets of the cache. A place whose guard could
 * not be had, or of a pool without guards, has a canary in the guard page
 * instead.
 *
 * Everything in a pool is guarded by its lock. Descriptions of slabs are never
 * freed, only used again, so that a signal handler can walk them without one.
 * A map per stack was refused: a process may have only 65,000 of them.
 */
#include "os/os.h"

#include "os/advise.h"
#include "os/guard.h"
#include "os/san.h"
#include "os/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define STACK_MIN ((size_t)16 << 10)
#define STACK_MAX ((size_t)1 << 30)

/* A slab has as many places as the pool has made so far, within bounds. */
#define SLAB_PLACES_MIN 64
#define SLAB_BYTES_MAX ((size_t)1 << 30)
#define GROUP_MIN 16

#define LINE 64
#define COLOURS 16

#define CANARY_WORDS 8
#define CANARY UINT64_C(0x5afe57ac5afe57ac)

struct rn__slab {
    struct rn__slab *next;       /* of the pool; newest first */
    struct rn__slab *next_known; /* of all there ever were */
    _Atomic bool taken;          /* some pool's */
    _Atomic uintptr_t base;      /* the first place; 0: no memory */
    _Atomic size_t stride;       /* bytes from place to place */
    _Atomic size_t places;
    size_t ready;   /* places that may be handed out */
    size_t guarded; /* the first of these have a guard page */
    size_t used;    /* places that were handed out */
    bool watched;   /* Valgrind knows the stacks */
    uint32_t *cold; /* places put back cold, the last of them first out */
    size_t cold_count;
};

/* At the upper end of the usable part. */
struct tail {
    void *next;    /* low end of the next free stack */
    uint32_t kind; /* of guard: canary or the pool's */
    unsigned watch;
};

static _Atomic(struct rn__slab *) known_slabs;

/* Pages are given back range by range; see os/advise.h. */
static _Atomic bool no_vectors;

/* ---- the pool's lock: 0 free, 1 taken, 2 taken and somebody sleeps ------ */

static void
lock(struct rn__stackpool *pool)
{
    uint32_t was = 0;
    if (atomic_compare_exchange_strong_explicit(
            &pool->lock, &was, 1, memory_order_acquire, memory_order_relaxed))
        return;
    while (atomic_exchange_explicit(&pool->lock, 2, memory_order_acquire) != 0)
        rn__os_wait(&pool->lock, 2, RN_NEVER);
}

static void
unlock(struct rn__stackpool *pool)
{
    if (atomic_exchange_explicit(&pool->lock, 0, memory_order_release) == 2)
        rn__os_wake(&pool->lock, 1);
}

/* ---- a place ------------------------------------------------------------ */

/* Neighbours differ: the shift makes a stride a step of one or two. */
static size_t
colour_of(const void *low, size_t stride)
{
    int shift = 63 - __builtin_clzll(stride);
    return (size_t)((uintptr_t)low >> shift) % COLOURS * LINE;
}

static size_t
usable_bytes(const void *low, size_t stride)
{
    return stride - rn__guard_page() - sizeof(struct tail) -
           colour_of(low, stride);
}

static struct tail *
tail_of(const struct rn__stackpool *pool, void *low)
{
    return (struct tail *)((char *)low + usable_bytes(low, pool->stack_bytes));
}

static volatile uint64_t *
canary_of(void *low)
{
    return (volatile uint64_t *)low - CANARY_WORDS;
}

static void
set_canary(void *low)
{
    for (int i = 0; i < CANARY_WORDS; i++)
        canary_of(low)[i] = CANARY;
}

/* ---- slabs -------------------------------------------------------------- */

static struct rn__slab *
take_description(void)
{
    struct rn__slab *slab;
    slab = atomic_load_explicit(&known_slabs, memory_order_acquire);
    for (; slab != NULL; slab = slab->next_known) {
        bool taken = false;
        if (atomic_compare_exchange_strong(&slab->taken, &taken, true))
            return slab;
    }
    slab = calloc(1, sizeof *slab);
    if (slab == NULL)
        return NULL;
    atomic_init(&slab->taken, true);
    slab->next_known = atomic_load_explicit(&known_slabs, memory_order_relaxed);
    /* Pairs with the acquiring loads of those who walk the list. */
    while (!atomic_compare_exchange_weak_explicit(
        &known_slabs, &slab->next_known, slab, memory_order_release,
        memory_order_relaxed)) {
    }
    return slab;
}

static size_t
places_wanted(const struct rn__stackpool *pool)
{
    size_t most = SLAB_BYTES_MAX / pool->stack_bytes;
    size_t places = pool->made;
    if (places < SLAB_PLACES_MIN)
        places = SLAB_PLACES_MIN;
    return places < most ? places : most;
}

/* What lies in front of the first place: the numbers of cold places. */
static size_t
head_bytes(size_t places)
{
    size_t page = rn__guard_page();
    return (places * sizeof(uint32_t) + page - 1) & ~(page - 1);
}

/* Under a limit on addresses a small slab may still be had. Below the lowest
 * place lies a page without access: what runs over all the places below it
 * ends there, also where stacks have nothing but a canary. */
static char *
map_places(size_t stride, size_t *places)
{
    size_t fence = rn__guard_page();
    for (; *places > 0; *places /= 2) {
        size_t head = head_bytes(*places);
        char *memory = mmap(
            NULL, head + fence + *places * stride, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (memory == MAP_FAILED)
            continue;
        mprotect(memory + head, fence, PROT_NONE);
        /* A huge page would make dozens of stacks resident at once. */
        madvise(memory + head + fence, *places * stride, MADV_NOHUGEPAGE);
        return memory + head + fence;
    }
    return NULL;
}

static struct rn__slab *
open_slab(struct rn__stackpool *pool)
{
    size_t places = places_wanted(pool);
    struct rn__slab *slab = take_description();
    if (slab == NULL)
        return NULL;
    char *memory = map_places(pool->stack_bytes, &places);
    if (memory == NULL) {
        atomic_store(&slab->taken, false);
        return NULL;
    }
    slab->ready = slab->guarded = slab->used = slab->cold_count = 0;
    slab->cold = (uint32_t *)(memory - rn__guard_page() - head_bytes(places));
    slab->watched = false;
    atomic_store(&slab->stride, pool->stack_bytes);
    atomic_store(&slab->places, places);
    /* The base makes it valid: handlers look at it first and last. */
    atomic_store(&slab->base, (uintptr_t)memory);
    slab->next = pool->slabs;
    pool->slabs = slab;
    return slab;
}

static void
close_watch(struct rn__stackpool *pool, struct rn__slab *slab)
{
    char *low = (char *)slab->base + rn__guard_page();
    for (size_t i = 0; i < slab->used; i++, low += pool->stack_bytes)
        rn__san_stack_close(tail_of(pool, low)->watch);
}

static void
close_slab(struct rn__stackpool *pool, struct rn__slab *slab)
{
    size_t places = atomic_load(&slab->places);
    size_t bytes =
        head_bytes(places) + rn__guard_page() + places * pool->stack_bytes;
    if (slab->watched)
        close_watch(pool, slab);
    atomic_store(&slab->base, 0);
    rn__os_unmap(slab->cold, bytes);
    rn__guard_forget(pool->guard, slab->guarded);
    atomic_store(&slab->taken, false);
}

/* Make a few more places ready. Once a guard cannot be had, the rest of the
 * slab goes without. */
static void
guard_group(struct rn__stackpool *pool, struct rn__slab *slab)
{
    size_t left = atomic_load(&slab->places) - slab->ready;
    size_t count = pool->made < GROUP_MIN ? GROUP_MIN : pool->made;
    char *first = (char *)atomic_load(&slab->base);
    first += slab->ready * pool->stack_bytes;
    if (count > RN__GUARD_GROUP)
        count = RN__GUARD_GROUP;
    if (count > left)
        count = left;
    if (slab->guarded == slab->ready)
        slab->guarded +=
            rn__guard_install(pool->guard, first, pool->stack_bytes, count);
    slab->ready += count;
}

static rn_guard_kind
kind_of(const struct rn__stackpool *pool, const struct rn__slab *slab,
        size_t place)
{
    return place < slab->guarded ? pool->guard : RN_GUARD_CANARY;
}

static void *
low_of(const struct rn__stackpool *pool, const struct rn__slab *slab,
       size_t place)
{
    return (char *)atomic_load(&slab->base) + place * pool->stack_bytes +
           rn__guard_page();
}

/* A stack that nobody has had, or NULL. */
static void *
carve(struct rn__stackpool *pool, rn_guard_kind *kind, struct rn__slab **from)
{
    struct rn__slab *slab = pool->slabs;
    if (slab == NULL || slab->used == atomic_load(&slab->places))
        slab = open_slab(pool);
    if (slab == NULL)
        return NULL;
    if (slab->used == slab->ready)
        guard_group(pool, slab);
    size_t place = slab->used++;
    pool->made++;
    *kind = kind_of(pool, slab, place);
    if (*kind != pool->guard)
        atomic_fetch_add_explicit(&pool->unguarded, 1, memory_order_relaxed);
    *from = slab;
    return low_of(pool, slab, place);
}

/* ---- the pool ----------------------------------------------------------- */

int
rn__stackpool_init(struct rn__stackpool *pool, size_t stack_bytes,
                   rn_guard_kind guard)
{
    if (stack_bytes < STACK_MIN || stack_bytes > STACK_MAX)
        return -EINVAL;
    if (guard == RN_GUARD_DEFAULT)
        guard = rn__guard_best();
    if (!rn__guard_works(guard))
        return -EINVAL;
    size_t page = rn__guard_page();
    if (stack_bytes < page + STACK_MIN - 4096) /* pages larger than 4 KiB */
        stack_bytes = page + STACK_MIN - 4096;
    *pool = (struct rn__stackpool){
        .stack_bytes = (stack_bytes + page - 1) & ~(page - 1), .guard = guard};
    return 0;
}

void
rn__stackpool_fini(struct rn__stackpool *pool)
{
    while (pool->slabs != NULL) {
        struct rn__slab *slab = pool->slabs;
        pool->slabs = slab->next;
        close_slab(pool, slab);
    }
    pool->free = NULL;
    pool->cold = 0;
}

/* A stack that was put back cold; there is one. */
static void *
take_cold(struct rn__stackpool *pool, rn_guard_kind *kind)
{
    struct rn__slab *slab = pool->slabs;
    while (slab->cold_count == 0)
        slab = slab->next;
    size_t place = slab->cold[--slab->cold_count];
    pool->cold--;
    *kind = kind_of(pool, slab, place);
    return low_of(pool, slab, place);
}

/* What lies on a stack without memory: it is zero, and a page that need not be
 * touched is not. */
static size_t
furnish(struct rn__stackpool *pool, void *low, rn_guard_kind kind,
        unsigned watch)
{
    struct tail *tail = tail_of(pool, low);
    if (kind == RN_GUARD_CANARY) {
        tail->kind = kind;
        set_canary(low);
    }
    if (watch != 0)
        tail->watch = watch;
    return (size_t)((char *)tail - (char *)low);
}

/* The first touch of a new stack is a page fault, so it is made after the
 * lock is given up. */
static void *
get_new(struct rn__stackpool *pool, size_t *usable_out)
{
    rn_guard_kind kind;
    struct rn__slab *slab;
    void *low = carve(pool, &kind, &slab);
    if (low == NULL) {
        unlock(pool);
        return NULL;
    }
    size_t usable = usable_bytes(low, pool->stack_bytes);
    unsigned watch = rn__san_stack_open(low, usable);
    if (watch != 0)
        slab->watched = true;
    unlock(pool);
    *usable_out = furnish(pool, low, kind, watch);
    return low;
}

static void *
get_cold(struct rn__stackpool *pool, size_t *usable_out)
{
    rn_guard_kind kind;
    void *low = take_cold(pool, &kind);
    unlock(pool);
    *usable_out = furnish(pool, low, kind, 0);
    return low;
}

void *
rn__stack_get(struct rn__stackpool *pool, size_t *usable_out)
{
    lock(pool);
    void *low = pool->free;
    if (low == NULL)
        return pool->cold != 0 ? get_cold(pool, usable_out)
                               : get_new(pool, usable_out);
    struct tail *tail = tail_of(pool, low);
    pool->free = tail->next;
    unlock(pool);
    *usable_out = (size_t)((char *)tail - (char *)low);
    return low;
}

void
rn__stack_put(struct rn__stackpool *pool, void *low)
{
    struct tail *tail = tail_of(pool, low);
    lock(pool);
    tail->next = pool->free;
    pool->free = low;
    unlock(pool);
}

/* All of a place but a guard page, which has nothing to give. */
static struct iovec
pages_of(const struct rn__stackpool *pool, void *low)
{
    size_t page = rn__guard_page();
    struct iovec pages = {low, pool->stack_bytes - page};
    if (tail_of(pool, low)->kind == RN_GUARD_CANARY)
        pages = (struct iovec){(char *)low - page, pool->stack_bytes};
    return pages;
}

static void
note_cold(struct rn__stackpool *pool, void *low)
{
    uintptr_t at = (uintptr_t)low;
    struct rn__slab *slab = pool->slabs;
    while (at - atomic_load(&slab->base) >=
           atomic_load(&slab->places) * pool->stack_bytes)
        slab = slab->next;
    slab->cold[slab->cold_count++] =
        (uint32_t)((at - atomic_load(&slab->base)) / pool->stack_bytes);
    pool->cold++;
}

/* Where the kernel does not take the pages (they are locked in memory) the
 * stacks are as good as cold. */
size_t
rn__stack_put_cold(struct rn__stackpool *pool, void *const *lows, size_t count)
{
    struct iovec pages[RN__COLD_GROUP];
    if (rn__san_valgrind()) { /* its numbers of the stacks lie on them */
        for (size_t i = 0; i < count; i++)
            rn__stack_put(pool, lows[i]);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        pages[i] = pages_of(pool, lows[i]);
    size_t done = rn__advise(pages, count, MADV_DONTNEED, &no_vectors);
    lock(pool);
    for (size_t i = 0; i < count; i++)
        note_cold(pool, lows[i]);
    unlock(pool);
    atomic_fetch_add_explicit(&pool->trimmed, done, memory_order_relaxed);
    return done;
}

bool
rn__stack_intact(struct rn__stackpool *pool, void *low)
{
    if (pool->guard != RN_GUARD_CANARY) {
        if (atomic_load_explicit(&pool->unguarded, memory_order_relaxed) == 0)
            return true;
        if (tail_of(pool, low)->kind != RN_GUARD_CANARY)
            return true;
    }
    for (int i = 0; i < CANARY_WORDS; i++)
        if (canary_of(low)[i] != CANARY)
            return false;
    return true;
}

/* ---- for signal handlers ------------------------------------------------ */

static bool
in_guard(const struct rn__slab *slab, uintptr_t address, void **low,
         size_t *bytes)
{
    uintptr_t base = atomic_load(&slab->base);
    size_t stride = atomic_load(&slab->stride);
    size_t places = atomic_load(&slab->places);
    if (base == 0 || atomic_load(&slab->base) != base)
        return false;
    if (address < base - rn__guard_page() ||
        (address >= base && address - base >= stride * places))
        return false;
    uintptr_t place = base;
    if (address >= base) {
        if ((address - base) % stride >= rn__guard_page())
            return false;
        place = address - (address - base) % stride;
    }
    *low = (char *)place + rn__guard_page();
    *bytes = usable_bytes(*low, stride);
    return true;
}

bool
rn__stack_guard(const void *address, void **low, size_t *bytes)
{
    const struct rn__slab *slab;
    slab = atomic_load_explicit(&known_slabs, memory_order_acquire);
    for (; slab != NULL; slab = slab->next_known)
        if (in_guard(slab, (uintptr_t)address, low, bytes))
            return true;
    return false;
}
