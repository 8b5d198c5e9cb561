/* par/pace.c - how many items to take at once, and when to call others.
 *
 * The clock is read between blocks only. A block begins small and grows as long
 * as it takes less than GROW, so that of small items many are run without a
 * look at anything shared, and of large ones each can go to another worker. It
 * is never more than a fair share of a part of what is left, or the last ones
 * would keep one worker busy while others wait.
 *
 * To call another worker costs 5 to 30 us if it sleeps, so it is done when
 * there is more left than that. How long an item takes is not known before the
 * first has ended. For a few items that is too late if they are long: then
 * others are called at once, unless the function was a short one the last time
 * (the table below, a guess like a branch predictor's).
 *
 * In the simulator nothing depends on the clock: blocks are small, others are
 * called at once.
 */
#include "par/par.h"

enum {
    TARGET = 20000,   /* ns a block may take */
    GROW = 10000,     /* it grows if it took less */
    ALONE = 100000,   /* ns of the first one, if there is nobody else */
    GROW_FAST = 1000, /* it grows faster */
    LITTLE = 5000,    /* ns left are run by one worker */
    WORTH = 30000,    /* ns left are worth a call */
    FIRST = 16,       /* items, where there is nobody to share with */
    SHARES = 4,       /* pieces of what is left, for each worker */
    SIM_MOST = 4,     /* items of a block, in the simulator */
    FEW = 4,          /* items for each worker, of unknown length */
    YIELD = 1000000,  /* ns, then others are let run */
    GUESSES = 64      /* functions remembered */
};

/* ---- the table ---------------------------------------------------------- */

/* By function: a part of its address << 32 | ns an item took. */
static _Atomic uint64_t guesses[GUESSES];

static _Atomic uint64_t *
guess_of(const struct rn__par *op, uint32_t *tag)
{
    uint64_t hash = (uint64_t)op->function * 0x9e3779b97f4a7c15u;
    *tag = (uint32_t)hash | 1;
    return &guesses[hash >> 58];
}

/* ns; -1: never seen. */
static rn_time
guess(const struct rn__par *op)
{
    uint32_t tag;
    /* relaxed: one word that stands for itself */
    uint64_t word =
        atomic_load_explicit(guess_of(op, &tag), memory_order_relaxed);
    return word >> 32 == tag ? (rn_time)(uint32_t)word : -1;
}

static void
remember(const struct rn__par *op, rn_time item)
{
    uint32_t tag;
    _Atomic uint64_t *at = guess_of(op, &tag);
    uint64_t word =
        (uint64_t)tag << 32 | (uint32_t)(item < UINT32_MAX ? item : UINT32_MAX);
    if (atomic_load_explicit(at, memory_order_relaxed) != word)
        atomic_store_explicit(at, word, memory_order_relaxed);
}

/* ---- blocks ------------------------------------------------------------- */

static size_t
next_size(const struct rn__pace *pace, rn_time took)
{
    if (took < GROW_FAST)
        return pace->size * 8;
    if (took < GROW)
        return pace->size * 2;
    if (took > TARGET && pace->size > 1)
        return pace->size / 2;
    return pace->size;
}

/* The last block has been run, and there is more to do. */
static void
look(struct rn__carry *carry)
{
    struct rn__pace *pace = &carry->pace;
    rn_time now = rn__os_now(), took = now - pace->clock;
    if (pace->clock && !carry->base.suspended) {
        pace->item = took / (rn_time)pace->size;
        pace->size = next_size(pace, took);
    }
    pace->clock = now;
    if (pace->yielded == 0)
        pace->yielded = now;
}

void
rn__pace_yield(struct rn__carry *carry)
{
    struct rn__pace *pace = &carry->pace;
    if (pace->clock - pace->yielded <= YIELD)
        return;
    rn__sched_yield(carry->task);
    pace->clock = pace->yielded = 0;
}

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* For the first block. */
static void
begin(struct rn__carry *carry)
{
    const struct rn__par *op = carry->op;
    bool shares = op->width > 1;
    size_t first = shares ? 1 : FIRST;
    rn_time item = guess(op), most = shares ? GROW : ALONE;
    if (item > 0 && (size_t)(most / item) > first)
        first = (size_t)(most / item);
    carry->pace.size = first;
}

/* Whether so many items are too little to share. */
static bool
is_little(const struct rn__carry *carry, size_t left)
{
    rn_time item = carry->pace.item;
    if (item < 0)
        item = guess(carry->op);
    return item >= 0 && (rn_time)least(left, LITTLE) * (item + 1) < LITTLE;
}

static size_t
block(struct rn__carry *carry, size_t left)
{
    const struct rn__par *op = carry->op;
    size_t size = carry->pace.size, share = left / (SHARES * op->width);
    if (op->width > 1 && is_little(carry, left))
        return left;
    if (op->width > 1 && size > share)
        size = share;
    if (size < op->options->chunk)
        size = op->options->chunk;
    return least(size ? size : 1, left);
}

size_t
rn__pace_block(struct rn__carry *carry, size_t left)
{
    struct rn__pace *pace = &carry->pace;
    size_t share = left / (SHARES * carry->op->width);
    if (left == 1 && pace->size == 0) /* the only one */
        return 1;
    if (carry->task->rt->env)
        return share == 0 ? 1 : least(share, SIM_MOST);
    if (pace->size > 0)
        look(carry);
    else
        begin(carry);
    return pace->size = block(carry, left);
}

bool
rn__pace_calls(const struct rn__carry *carry, size_t left)
{
    struct rn__rt *rt = carry->task->rt;
    const struct rn__pace *pace = &carry->pace;
    if (rt->env)
        return true;
    /* relaxed: a guess; whoever is called late is called at the next block */
    if (atomic_load_explicit(&rt->asleep, memory_order_relaxed) == 0 &&
        atomic_load_explicit(&rt->searching, memory_order_relaxed) == 0)
        return false;
    if (carry->op->kind->pull)
        return true; /* who knows */
    rn_time item = pace->item >= 0 ? pace->item : guess(carry->op);
    if (item < 0)
        return left < FEW * carry->op->width;
    return (rn_time)least(left, WORTH) * item >= WORTH;
}

bool
rn__pace_shares(const struct rn__carry *carry, size_t left)
{
    const struct rn__pace *pace = &carry->pace;
    size_t done = carry->next - carry->block.lo;
    if (carry->task->rt->env || pace->clock == 0)
        return true;
    rn_time took = rn__os_now() - pace->clock;
    return took / (rn_time)done * (rn_time)least(left, WORTH) >= WORTH;
}

void
rn__pace_learn(const struct rn__carry *carry)
{
    if (carry->pace.item >= 0 && !carry->task->rt->env)
        remember(carry->op, carry->pace.item);
}
