/* sync/tqueue.c - a bounded queue: a ring of places for one value.
 *
 * Whether a place is free is said by the place, not by the other end's counter:
 * so one end reads what the other writes only in a full or an empty queue.
 */
#include <runnel/tqueue.h>

#include "sync/tmvar.h"

struct rn_tqueue {
    size_t capacity;
    rn_tvar pushed, popped; /* of the counters below */
    uint64_t push_count, pop_count;
    rn_tmvar slots[]; /* then their values */
};

int
rn_tqueue_new(size_t bytes, size_t capacity, rn_tqueue **queue)
{
    rn__need(queue, "rn_tqueue_new", rn__site());
    if (bytes == 0 || bytes > RN_TVAR_MAX || capacity == 0)
        return -EINVAL;
    size_t each = (bytes + 7) & ~(size_t)7, total;
    if (__builtin_mul_overflow(capacity, each + sizeof(rn_tmvar), &total) ||
        total > PTRDIFF_MAX - sizeof(rn_tqueue))
        return -EINVAL;
    rn_tqueue *q = rn__alloc(NULL, sizeof *q + total);
    if (!q)
        return -ENOMEM;
    q->capacity = capacity;
    q->pushed = (rn_tvar)RN_TVAR_INIT(q->push_count);
    q->popped = (rn_tvar)RN_TVAR_INIT(q->pop_count);
    char *values = (char *)&q->slots[capacity];
    for (size_t i = 0; i < capacity; i++)
        rn__tmvar_init(&q->slots[i], values + i * each, bytes);
    *queue = q;
    return 0;
}

void
rn_tqueue_free(rn_tqueue *queue)
{
    const void *site = rn__site();
    if (!queue)
        return;
    rn__tvar_check_idle(&queue->pushed, "rn_tqueue_free", site);
    rn__tvar_check_idle(&queue->popped, "rn_tqueue_free", site);
    for (size_t i = 0; i < queue->capacity; i++)
        rn__tvar_check_idle(&queue->slots[i].full, "rn_tqueue_free", site);
    rn__free(NULL, queue);
}

/* Move a counter on by one. */
static int
count_on(rn_tvar *counter, rn_tx *tx, uint64_t at)
{
    at++;
    return rn_tvar_write(counter, tx, &at);
}

int
rn_tqueue_push(rn_tqueue *queue, rn_tx *tx, const void *value)
{
    uint64_t at;
    rn__need(queue, "rn_tqueue_push", rn__site());
    int e = rn_tvar_read(&queue->pushed, tx, &at);
    if (e == 0)
        e = rn_tmvar_put(&queue->slots[at % queue->capacity], tx, value);
    return e < 0 ? e : count_on(&queue->pushed, tx, at);
}

int
rn_tqueue_pop(rn_tqueue *queue, rn_tx *tx, void *value)
{
    uint64_t at;
    rn__need(queue, "rn_tqueue_pop", rn__site());
    int e = rn_tvar_read(&queue->popped, tx, &at);
    if (e == 0)
        e = rn_tmvar_take(&queue->slots[at % queue->capacity], tx, value);
    return e < 0 ? e : count_on(&queue->popped, tx, at);
}

int
rn_tqueue_peek(rn_tqueue *queue, rn_tx *tx, void *value)
{
    uint64_t at;
    rn__need(queue, "rn_tqueue_peek", rn__site());
    int e = rn_tvar_read(&queue->popped, tx, &at);
    if (e < 0)
        return e;
    return rn_tmvar_read(&queue->slots[at % queue->capacity], tx, value);
}

int64_t
rn_tqueue_len(rn_tqueue *queue, rn_tx *tx)
{
    uint64_t pushed = 0, popped = 0;
    rn__need(queue, "rn_tqueue_len", rn__site());
    int e = rn_tvar_read(&queue->pushed, tx, &pushed);
    if (e == 0)
        e = rn_tvar_read(&queue->popped, tx, &popped);
    return e < 0 ? e : (int64_t)(pushed - popped);
}
