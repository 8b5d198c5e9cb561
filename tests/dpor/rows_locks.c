/* dpor/rows_locks.c - mutexes. */
#include "rows.h"

#include <stdbool.h>

enum { INODES = 32, BLOCKS = 26, RING = 8 };

static rn_mutex locks[INODES], blocks[BLOCKS];
static rn_cell inodes[INODES], busy[BLOCKS];
static rn_cell first, last, ring[RING];
static int size;

static void
begin(const struct size *s)
{
    static const rn_mutex free_mutex;
    static const rn_cell zero;
    size = s->n;
    for (int i = 0; i < INODES; i++) {
        locks[i] = free_mutex;
        inodes[i] = zero;
    }
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = free_mutex;
        busy[i] = zero;
    }
    first = last = zero;
    for (int i = 0; i < RING; i++)
        ring[i] = zero;
}

static int
make_file(void *number)
{
    int tid = crew_number(number) - 1, i = tid % INODES;
    crew_lock(&locks[i]);
    if (rn_cell_read(&inodes[i]) == 0) {
        int b = i * 2 % BLOCKS;
        for (;;) {
            crew_lock(&blocks[b]);
            if (!rn_cell_read(&busy[b])) {
                rn_cell_write(&busy[b], 1);
                rn_cell_write(&inodes[i], b + 1);
                rn_mutex_unlock(&blocks[b]);
                break;
            }
            rn_mutex_unlock(&blocks[b]);
            b = (b + 1) % BLOCKS;
        }
    }
    rn_mutex_unlock(&locks[i]);
    return 0;
}

static int
filesystem(void *arg)
{
    begin(arg);
    crew_run(size, make_file);
    return 0;
}

/* Task 1 fills, task 2 empties. */
static int
fill_or_empty(void *number)
{
    bool fills = crew_number(number) == 1;
    for (int i = 0; i < size; i++) {
        crew_lock(&locks[0]);
        int64_t f = rn_cell_read(&first), l = rn_cell_read(&last);
        if (fills && l - f < RING) {
            rn_cell_write(&ring[l % RING], i);
            rn_cell_write(&last, l + 1);
        } else if (!fills && l > f) {
            rn_cell_read(&ring[f % RING]);
            rn_cell_write(&first, f + 1);
        }
        rn_mutex_unlock(&locks[0]);
    }
    return 0;
}

static int
circular_buffer(void *arg)
{
    begin(arg);
    crew_run(2, fill_or_empty);
    return 0;
}

static int
lock_inc(void *number)
{
    (void)number;
    crew_lock(&locks[0]);
    rn_cell_write(&first, rn_cell_read(&first) + 1);
    rn_mutex_unlock(&locks[0]);
    return 0;
}

static int
locked(void *arg)
{
    begin(arg);
    crew_run(size, lock_inc);
    return 0;
}

static int
eat(void *number)
{
    int i = crew_number(number) - 1;
    crew_lock(&locks[i]);
    crew_lock(&locks[(i + 1) % size]);
    rn_mutex_unlock(&locks[(i + 1) % size]);
    rn_mutex_unlock(&locks[i]);
    return 0;
}

static int
philosophers(void *arg)
{
    begin(arg);
    crew_run(size, eat);
    return 0;
}

static const struct row rows[] = {
    {"filesystem", filesystem, 2, 0, 1, 0, 0, 0, {0}},
    {"filesystem", filesystem, 13, 0, 1, 0, 0, 0, {0}},
    {"filesystem", filesystem, 14, 0, 2, 0, 0, 0, {0}},
    {"filesystem", filesystem, 16, 0, 8, 0, 0, 0, {0}},
    {"filesystem", filesystem, 20, 0, 128, 0, 0, 0, {0}},
    {"circular_buffer", circular_buffer, 1, 0, 2, 0, 0, 0, {0}},
    {"circular_buffer", circular_buffer, 2, 0, 6, 0, 0, 0, {0}},
    {"circular_buffer", circular_buffer, 3, 0, 20, 0, 0, 0, {0}},
    {"circular_buffer", circular_buffer, 6, 0, 924, 0, 0, 0, {0}},
    {"lock, load, store, unlock", locked, 2, 0, 2, 0, 0, 0, {0}},
    {"lock, load, store, unlock", locked, 4, 0, 24, 0, 0, 0, {0}},
    {"lock, load, store, unlock", locked, 6, 0, 720, 0, 0, 0, {0}},
    {"philosophers", philosophers, 2, 0, 3, 1, 1, 0, {0}},
    {"philosophers", philosophers, 3, 0, 7, 1, 1, 0, {0}},
    {"philosophers", philosophers, 5, 0, 31, 1, 1, 0, {0}},
    {"philosophers", philosophers, 8, 0, 255, 1, 1, 0, {0}},
};

const struct rows lock_rows = {rows, sizeof rows / sizeof *rows};
