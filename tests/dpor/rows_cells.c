/* dpor/rows_cells.c - shared words. */
#include "rows.h"

static rn_atomic cells[128];
static rn_atomic one;
static int size, rounds;

static void
begin(const struct size *s)
{
    size = s->n;
    rounds = s->m;
    static const rn_atomic zero;
    one = zero;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        cells[i] = zero;
}

/* 1 writer, n readers. */
static int
read_or_write(void *number)
{
    if (crew_number(number) == 1)
        rn_atomic_store(&one, 1);
    else
        rn_atomic_load(&one);
    return 0;
}

static int
readers(void *arg)
{
    begin(arg);
    crew_run(size + 1, read_or_write);
    return 0;
}

/* Task 1 looks for the last zero; task j + 1 makes cell j one more than the
 * cell before. */
static int
last_zero(void *number)
{
    int j = crew_number(number) - 1;
    if (j > 0) {
        rn_atomic_store(&cells[j], rn_atomic_load(&cells[j - 1]) + 1);
        return 0;
    }
    for (j = size; rn_atomic_load(&cells[j]) != 0;)
        j--;
    return 0;
}

static int
lastzero(void *arg)
{
    begin(arg);
    crew_run(size + 1, last_zero);
    return 0;
}

static int
insert_four(void *number)
{
    int tid = crew_number(number) - 1;
    for (int m = 0; m < 4; m++) {
        int64_t w = m * 11 + tid + 1;
        int64_t h = (w * 7) % 128;
        while (!rn_atomic_cas(&cells[h], 0, w))
            h = (h + 1) % 128;
    }
    return 0;
}

static int
indexer(void *arg)
{
    begin(arg);
    crew_run(size, insert_four);
    return 0;
}

static int
add_one(void *number)
{
    (void)number;
    rn_atomic_fetch_add(&one, 1);
    return 0;
}

static int
ainc(void *arg)
{
    begin(arg);
    crew_run(size, add_one);
    return 0;
}

static int
load_store(void *number)
{
    (void)number;
    for (int i = 0; i < rounds; i++)
        rn_atomic_store(&one, rn_atomic_load(&one) + 1);
    return 0;
}

static int
inc(void *arg)
{
    begin(arg);
    crew_run(size, load_store);
    return 0;
}

static int
rotate(void *number)
{
    int k = crew_number(number);
    rn_atomic_cas(&one, k - 1, k);
    return 0;
}

static int
casrot(void *arg)
{
    begin(arg);
    crew_run(size, rotate);
    return 0;
}

static int
store_or_swap(void *number)
{
    if (crew_number(number) == 1)
        rn_atomic_store(&one, 2);
    else
        rn_atomic_cas(&one, 2, 3);
    return 0;
}

static int
wcas(void *arg)
{
    begin(arg);
    crew_run(size + 1, store_or_swap);
    return 0;
}

static int
store_own(void *number)
{
    int k = crew_number(number);
    if (k > size)
        rn_atomic_load(&one);
    else
        rn_atomic_store(&one, k);
    return 0;
}

static int
stores_read(void *arg)
{
    begin(arg);
    crew_run(size + 1, store_own);
    return 0;
}

static int
stores_main(void *arg)
{
    begin(arg);
    crew_run(size, store_own);
    rn_atomic_load(&one);
    return 0;
}

static int
flag(void *number)
{
    (void)number;
    rn_atomic_store(&cells[rn_atomic_load(&one)], 1);
    return 0;
}

static int
sigma(void *arg)
{
    begin(arg);
    rn_scope *scope = crew_scope();
    for (int i = 1; i <= size; i++) {
        rn_atomic_store(&one, i);
        crew_go(scope, flag, NULL);
    }
    crew_end(scope);
    return 0;
}

/* ---- work of one's own adds no trace ------------------------------------ */

static int
own_work(void *number)
{
    int k = crew_number(number);
    if (k <= 3)
        load_store(number);
    for (int i = 0; i < size; i++) {
        rn_mutex mine = RN_MUTEX_INIT;
        crew_lock(&mine);
        rn_atomic_fetch_add(&cells[k], 1);
        rn_mutex_unlock(&mine);
        rn_yield();
    }
    return 0;
}

/* inc of three, each with so much to do for itself, and more who have only
 * that. */
static int
busy(void *arg)
{
    const struct size *s = arg;
    begin(s);
    rounds = 1;
    crew_run(3 + s->m, own_work);
    return 0;
}

static const struct row rows[] = {
    {"readers", readers, 1, 0, 2, 0, 0, 0, {0}},
    {"readers", readers, 3, 0, 8, 0, 0, 0, {0}},
    {"readers", readers, 10, 0, 1024, 0, 0, 0, {0}},
    {"lastzero", lastzero, 1, 0, 2, 0, 0, 0, {0}},
    {"lastzero", lastzero, 2, 0, 5, 0, 0, 0, {0}},
    {"lastzero", lastzero, 3, 0, 12, 0, 0, 0, {0}},
    {"lastzero", lastzero, 5, 0, 64, 0, 0, 0, {0}},
    {"lastzero", lastzero, 10, 0, 3328, 0, 0, 0, {0}},
    {"indexer", indexer, 2, 0, 1, 0, 0, 0, {0}},
    {"indexer", indexer, 11, 0, 1, 0, 0, 0, {0}},
    {"indexer", indexer, 12, 0, 8, 0, 0, 0, {0}},
    {"indexer", indexer, 13, 0, 64, 0, 0, 0, {0}},
    {"indexer", indexer, 14, 0, 512, 0, 0, 0, {0}},
    {"ainc", ainc, 3, 0, 6, 0, 0, 0, {0}},
    {"ainc", ainc, 6, 0, 720, 0, 0, 0, {0}},
    {"inc", inc, 2, 1, 4, 0, 0, 2, {2, 4}},
    {"inc", inc, 3, 1, 36, 0, 0, 3, {6, 24, 36}},
    {"inc", inc, 4, 1, 576, 0, 0, 4, {24, 168, 432, 576}},
    {"inc", inc, 5, 1, 14400, 0, 0, 0, {0}},
    {"inc, 2 rounds", inc, 2, 2, 34, 0, 0, 0, {0}},
    {"inc, 3 rounds", inc, 2, 3, 328, 0, 0, 0, {0}},
    {"inc, 4 rounds", inc, 2, 4, 3334, 0, 0, 0, {0}},
    {"inc, 2 rounds", inc, 3, 2, 7134, 0, 0, 0, {0}},
    {"inc of 3, no work of their own", busy, 0, 0, 36, 0, 0, 0, {0}},
    {"inc of 3, a round of own work", busy, 1, 0, 36, 0, 0, 0, {0}},
    {"inc of 3, own work", busy, 3, 0, 36, 0, 0, 0, {0}},
    {"inc of 3, another task", busy, 1, 1, 36, 0, 0, 0, {0}},
    {"inc of 3, four other tasks", busy, 2, 4, 36, 0, 0, 0, {0}},
    {"casrot", casrot, 2, 0, 2, 0, 0, 0, {0}},
    {"casrot", casrot, 3, 0, 5, 0, 0, 0, {0}},
    {"casrot", casrot, 4, 0, 14, 0, 0, 0, {0}},
    {"casrot", casrot, 5, 0, 43, 0, 0, 0, {0}},
    {"casrot", casrot, 6, 0, 144, 0, 0, 0, {0}},
    {"casrot", casrot, 7, 0, 523, 0, 0, 0, {0}},
    {"casrot", casrot, 8, 0, 2048, 0, 0, 0, {0}},
    {"casrot", casrot, 9, 0, 8597, 0, 0, 0, {0}},
    {"wcas", wcas, 2, 0, 5, 0, 0, 0, {0}},
    {"wcas", wcas, 3, 0, 13, 0, 0, 0, {0}},
    {"wcas", wcas, 6, 0, 193, 0, 0, 0, {0}},
    {"wcas", wcas, 10, 0, 5121, 0, 0, 0, {0}},
    {"stores, a read", stores_read, 3, 0, 24, 0, 0, 0, {0}},
    {"stores, a read", stores_read, 6, 0, 5040, 0, 0, 0, {0}},
    {"stores, then a read", stores_main, 4, 0, 24, 0, 0, 0, {0}},
    {"stores, then a read", stores_main, 6, 0, 720, 0, 0, 0, {0}},
    {"sigma", sigma, 2, 0, 3, 0, 0, 0, {0}},
    {"sigma", sigma, 4, 0, 105, 0, 0, 0, {0}},
    {"sigma", sigma, 6, 0, 10395, 0, 0, 0, {0}},
};

const struct rows cell_rows = {rows, sizeof rows / sizeof *rows};
