/* runnel/cell.h - shared words whose every access the simulator sees.
 *
 * The simulator chooses who goes on before each operation of the library; what
 * a program does to its own variables in between it cannot see. A cell is a
 * variable it does see: each access is a step of the schedule, of the trace
 * and of the search. A plain cell (rn_cell) is meant to be guarded by
 * something else, a lock or a channel: two accesses that nothing orders, one
 * of them a write, are a data race. An atomic one (rn_atomic) needs no guard,
 * is sequentially consistent and never a race.
 *
 *     static rn_atomic tickets;       // zero
 *     static rn_cell balance = RN_CELL_INIT(100);
 *
 *     int64_t mine = rn_atomic_fetch_add(&tickets, 1);
 *     rn_cell_write(&balance, rn_cell_read(&balance) - 10);
 *
 * For real a cell is a word in memory: an rn_cell is read and written as any
 * variable, an rn_atomic as one of C11 with memory_order_seq_cst. Meant for
 * tests and for models of algorithms; a call costs a few nanoseconds. All
 * calls are allowed anywhere, also outside a task. NULL panics.
 */
#ifndef RUNNEL_CELL_H
#define RUNNEL_CELL_H

#include <runnel/base.h>

RN_BEGIN

/* A plain word; its fields are the library's. All zero is a cell of 0. */
typedef struct rn_cell {
    uint64_t rn__opaque[2];
    int64_t rn__value;
} rn_cell;

/* An atomic word; its fields are the library's. All zero is one of 0. */
typedef struct rn_atomic {
    uint64_t rn__opaque[2];
    int64_t rn__value;
} rn_atomic;

/* clang-format off */
#define RN_CELL_INIT(value) { { 0, 0 }, (value) }
#define RN_ATOMIC_INIT(value) { { 0, 0 }, (value) }
/* clang-format on */

/* Read a plain cell.
 *
 * Returns: the value.
 */
RN_API int64_t rn_cell_read(rn_cell *cell);

/* Write a plain cell. */
RN_API void rn_cell_write(rn_cell *cell, int64_t value);

/* Load an atomic cell.
 *
 * Returns: the value.
 * Order: sequentially consistent, as all calls on atomic cells.
 */
RN_API int64_t rn_atomic_load(rn_atomic *atomic);

/* Store to an atomic cell. */
RN_API void rn_atomic_store(rn_atomic *atomic, int64_t value);

/* Add to an atomic cell; wraps around on overflow.
 *
 * Returns: the value before.
 */
RN_API int64_t rn_atomic_fetch_add(rn_atomic *atomic, int64_t addend);

/* Replace the value of an atomic cell.
 *
 * Returns: the value before.
 */
RN_API int64_t rn_atomic_exchange(rn_atomic *atomic, int64_t value);

/* Replace the value of an atomic cell if it is the expected one.
 *
 * Returns: 1: it was, and desired is there now. 0: it was not.
 */
RN_API int rn_atomic_cas(rn_atomic *atomic, int64_t expected, int64_t desired);

RN_END

#endif
