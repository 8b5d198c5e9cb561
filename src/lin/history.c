/* lin/history.c - histories: what many tasks did, in one order.
 *
 * The order is a counter: a call or return takes the next number, with an
 * atomic operation that nothing of the recorded operation can pass (a call
 * takes it before, a return after). So if one operation had returned before
 * another was called their numbers say so; if the numbers say so it need not
 * be, but then the other order is as good. Records never move: chunks of
 * doubling size, each made once by whoever needs it first.
 *
 * A lock was refused: a thread that loses its CPU while it holds it would stop
 * all others, and being let through a lock one by one they would no longer meet
 * inside of the object that is tested.
 *
 * Who may call at once: rn_lin_call, rn_lin_return, _fail, _lose, rn_lin_text:
 * anybody. Checks: any number, but none of those. new, free, clear: alone.
 */
#include "lin/lin.h"

#include <runnel/time.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------- */

static void *
take(const rn_lin_history *h, size_t bytes)
{
    return h->simulated ? rn__alloc(NULL, bytes) : calloc(1, bytes);
}

static void
give_back(const rn_lin_history *h, void *memory)
{
    if (h->simulated && memory)
        rn__free(NULL, memory);
    else if (!h->simulated)
        free(memory);
}

/* ---- logs --------------------------------------------------------------- */

/* The chunk that has an element, and where in it. */
static unsigned
place(uint64_t number, uint64_t *offset)
{
    uint64_t n = number + (1u << RN__LIN_CHUNK_SHIFT);
    unsigned top = 63 - (unsigned)__builtin_clzll(n);
    *offset = n - ((uint64_t)1 << top);
    return top - RN__LIN_CHUNK_SHIFT;
}

void *
rn__lin_log_at(const struct rn__lin_log *log, uint64_t number)
{
    uint64_t offset;
    unsigned chunk = place(number, &offset);
    /* acquire: partners with the release in make_chunk */
    char *memory =
        chunk < RN__LIN_CHUNKS
            ? atomic_load_explicit(&log->chunks[chunk], memory_order_acquire)
            : NULL;
    return memory ? memory + offset * log->bytes : NULL;
}

static bool
make_chunk(const rn_lin_history *h, struct rn__lin_log *log, unsigned chunk)
{
    char *none = NULL, *memory = NULL;
    if (chunk < RN__LIN_CHUNKS)
        memory = take(h, log->bytes << (RN__LIN_CHUNK_SHIFT + chunk));
    if (!memory)
        return false;
    /* release: its zeroes are there for whoever finds it in rn__lin_log_at */
    if (!atomic_compare_exchange_strong_explicit(&log->chunks[chunk], &none,
                                                 memory, memory_order_release,
                                                 memory_order_relaxed))
        give_back(h, memory);
    return true;
}

/* A new element; NULL: out of memory. */
static void *
add(rn_lin_history *h, struct rn__lin_log *log, uint64_t *number)
{
    uint64_t offset;
    *number = atomic_fetch_add_explicit(&log->count, 1, memory_order_relaxed);
    void *element = rn__lin_log_at(log, *number);
    if (!element && make_chunk(h, log, place(*number, &offset)))
        element = rn__lin_log_at(log, *number);
    if (!element)
        atomic_store_explicit(&h->incomplete, true, memory_order_relaxed);
    return element;
}

/* ---- a history ---------------------------------------------------------- */

int
rn_lin_history_new(rn_lin_history **history)
{
    struct rn__rt *rt = rn__rt_self();
    rn__need(history, "rn_lin_history_new", rn__site());
    rn_lin_history *h = rn__alloc(NULL, sizeof *h);
    if (!h)
        return -ENOMEM;
    memset(h, 0, sizeof *h);
    h->simulated = rt && rt->env;
    h->records.bytes = sizeof(struct rn__lin_record);
    h->texts.bytes = sizeof(struct rn__lin_text *);
    *history = h;
    return 0;
}

void
rn_lin_history_clear(rn_lin_history *history)
{
    rn__need(history, "rn_lin_history_clear", rn__site());
    uint64_t texts = atomic_load(&history->texts.count);
    for (uint64_t i = 0; i < texts; i++) {
        struct rn__lin_text **t = rn__lin_log_at(&history->texts, i);
        if (t)
            give_back(history, *t);
    }
    for (int i = 0; i < RN__LIN_CHUNKS; i++) {
        give_back(history, atomic_load(&history->records.chunks[i]));
        give_back(history, atomic_load(&history->texts.chunks[i]));
        atomic_store(&history->records.chunks[i], NULL);
        atomic_store(&history->texts.chunks[i], NULL);
    }
    atomic_store(&history->records.count, 0);
    atomic_store(&history->texts.count, 0);
    atomic_store(&history->clock, 0);
    atomic_store(&history->incomplete, false);
    history->lines = false;
}

void
rn_lin_history_free(rn_lin_history *history)
{
    if (!history)
        return;
    rn_lin_history_clear(history);
    give_back(history, history);
}

uint64_t
rn_lin_history_count(const rn_lin_history *history)
{
    rn__need(history, "rn_lin_history_count", rn__site());
    return atomic_load_explicit(&history->records.count, memory_order_relaxed);
}

/* ---- recording ---------------------------------------------------------- */

/* The next place in the order. seq_cst, partners with itself: nothing passes
 * it in either direction, and it is one order for all threads. */
static uint64_t
tick(rn_lin_history *h)
{
    return 1 + atomic_fetch_add_explicit(&h->clock, 1, memory_order_seq_cst);
}

int64_t
rn__lin_record_call(rn_lin_history *h, const rn_lin_op *op)
{
    uint64_t number;
    struct rn__lin_record *r = add(h, &h->records, &number);
    if (!r)
        return -ENOMEM;
    r->op = *op;
    r->op.known = 0;
    r->op.ret = RN_LIN_NIL;
    r->op.returned = -1;
    atomic_store_explicit(&r->outcome, RN__LIN_CALLED, memory_order_relaxed);
    r->call = tick(h);
    return (int64_t)number;
}

void
rn__lin_record_end(rn_lin_history *h, int64_t number,
                   enum rn__lin_outcome outcome, int64_t ret, rn_time time)
{
    uint64_t at = tick(h);
    struct rn__lin_record *r = rn__lin_log_at(&h->records, (uint64_t)number);
    r->ret = at;
    r->op.returned = time;
    if (outcome == RN__LIN_RETURNED) {
        r->op.known = 1;
        r->op.ret = ret;
    }
    atomic_store_explicit(&r->outcome, outcome, memory_order_relaxed);
}

int64_t
rn_lin_call(rn_lin_history *history, const rn_lin_op *op)
{
    rn__need(history, "rn_lin_call", rn__site());
    rn__need(op, "rn_lin_call", rn__site());
    rn__step(RN__LIN_CALL, &history->object, rn__site());
    rn_lin_op mine = *op;
    struct rn__task *self = rn__self();
    if (mine.process == 0 && self)
        mine.process = rn__task_number(self);
    mine.called = rn_now();
    return rn__lin_record_call(history, &mine);
}

static void
end(rn_lin_history *history, int64_t number, enum rn__lin_outcome outcome,
    int64_t ret, const void *site)
{
    if (number < 0)
        return;
    rn__step(RN__LIN_END, &history->object, site);
    uint64_t count =
        atomic_load_explicit(&history->records.count, memory_order_relaxed);
    struct rn__lin_record *r =
        (uint64_t)number < count
            ? rn__lin_log_at(&history->records, (uint64_t)number)
            : NULL;
    uint32_t was =
        r ? atomic_load_explicit(&r->outcome, memory_order_relaxed) : 0;
    if (was == RN__LIN_NONE)
        rn__panic_at(site, "a history has no operation %lld",
                     (long long)number);
    if (was != RN__LIN_CALLED)
        rn__panic_at(site, "operation %lld of a history has ended already",
                     (long long)number);
    rn__lin_record_end(history, number, outcome, ret, rn_now());
}

void
rn_lin_return(rn_lin_history *history, int64_t number, int64_t ret)
{
    rn__need(history, "rn_lin_return", rn__site());
    end(history, number, RN__LIN_RETURNED, ret, rn__site());
}

void
rn_lin_fail(rn_lin_history *history, int64_t number)
{
    rn__need(history, "rn_lin_fail", rn__site());
    end(history, number, RN__LIN_FAILED, 0, rn__site());
}

void
rn_lin_lose(rn_lin_history *history, int64_t number)
{
    rn__need(history, "rn_lin_lose", rn__site());
    end(history, number, RN__LIN_LOST, 0, rn__site());
}

int64_t
rn_lin_text(rn_lin_history *history, const char *text, size_t bytes)
{
    uint64_t number;
    rn__need(history, "rn_lin_text", rn__site());
    struct rn__lin_text **slot = add(history, &history->texts, &number);
    struct rn__lin_text *t =
        slot && number < UINT32_MAX ? take(history, sizeof *t + bytes) : NULL;
    if (!t) {
        atomic_store_explicit(&history->incomplete, true, memory_order_relaxed);
        return RN_LIN_NIL;
    }
    t->bytes = bytes;
    if (bytes)
        memcpy(t->text, text, bytes);
    *slot = t;
    return rn__lin_text_value((uint32_t)number);
}
