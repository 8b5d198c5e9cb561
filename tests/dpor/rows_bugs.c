/* dpor/rows_bugs.c - programs that fail in some of their traces. Shapes of
 * SCTBench (Thomson, Donaldson, Betts, 2016).
 */
#include "rows.h"

#include <stdbool.h>

static rn_mutex m, l;
static rn_atomic a, b, c, flag[4];
static int size, more;

static void
begin(const struct size *s)
{
    static const rn_mutex free_mutex;
    static const rn_atomic zero;
    m = l = free_mutex;
    a = b = c = zero;
    for (int i = 0; i < 4; i++)
        flag[i] = zero;
    size = s->n;
    more = s->m;
}

static void
add(rn_atomic *to, int64_t n)
{
    rn_atomic_store(to, rn_atomic_load(to) + n);
}

static int
lazy(void *number)
{
    int k = crew_number(number);
    crew_lock(&m);
    if (k == 3)
        rn_sim_assert(rn_atomic_load(&a) < 3, "data is under 3");
    else
        add(&a, k);
    rn_mutex_unlock(&m);
    return 0;
}

static int
lazy01(void *arg)
{
    begin(arg);
    crew_run(3, lazy);
    return 0;
}

static int
customer(void *number)
{
    int k = crew_number(number);
    crew_lock(&m);
    if (k == 1) {
        add(&a, 2);
        rn_atomic_store(&flag[0], 1);
    } else if (k == 3) {
        add(&a, -4);
        rn_atomic_store(&flag[1], 1);
    } else if (rn_atomic_load(&flag[0]) && rn_atomic_load(&flag[1])) {
        rn_sim_assert(rn_atomic_load(&a) == 1 - 2 - 4, "the balance");
    }
    rn_mutex_unlock(&m);
    return 0;
}

static int
account(void *arg)
{
    begin(arg);
    rn_atomic_store(&a, 1);
    crew_run(3, customer);
    return 0;
}

static int
crossed(void *number)
{
    rn_mutex *first = crew_number(number) == 1 ? &m : &l;
    rn_mutex *second = first == &m ? &l : &m;
    crew_lock(first);
    crew_lock(second);
    add(&a, 1);
    rn_mutex_unlock(second);
    rn_mutex_unlock(first);
    return 0;
}

static int
deadlock01(void *arg)
{
    begin(arg);
    crew_run(2, crossed);
    return 0;
}

/* ---- bluetooth_driver: a pending, b stopping, c event, flag 0 stopped --- */

static void
leave(void)
{
    if (rn_atomic_fetch_add(&a, -1) == 1)
        rn_atomic_store(&c, 1);
}

static int
stop_or_enter(void *number)
{
    if (crew_number(number) == 2) {
        if (!rn_atomic_load(&b)) {
            rn_atomic_fetch_add(&a, 1);
            rn_sim_assert(!rn_atomic_load(&flag[0]), "it is not stopped");
        }
        leave();
        return 0;
    }
    rn_atomic_store(&b, 1);
    leave();
    if (rn_atomic_load(&c))
        rn_atomic_store(&flag[0], 1);
    return 0;
}

static int
bluetooth_driver(void *arg)
{
    begin(arg);
    rn_atomic_store(&a, 1);
    crew_run(2, stop_or_enter);
    return 0;
}

static int
two_locks(void *number)
{
    rn_atomic *count = crew_number(number) == 1 ? &a : &b;
    crew_lock(&m);
    add(count, 1);
    if (rn_atomic_load(count) == 1)
        crew_lock(&l);
    rn_mutex_unlock(&m);
    crew_lock(&m);
    add(count, -1);
    if (rn_atomic_load(count) == 0)
        rn_mutex_unlock(&l);
    rn_mutex_unlock(&m);
    return 0;
}

static int
carter01(void *arg)
{
    begin(arg);
    crew_run(2, two_locks);
    return 0;
}

static int
twice(void *number)
{
    (void)number;
    crew_lock(&m);
    rn_mutex_unlock(&m);
    crew_lock(&m);
    return 0;
}

static int
phase01(void *arg)
{
    begin(arg);
    crew_run(2, twice);
    return 0;
}

static void
check_ring(void)
{
    int64_t done = 0;
    for (int k = 1; k < 4; k++)
        done += rn_atomic_load(&flag[k]);
    if (done == 3)
        rn_sim_assert(rn_atomic_load(&a) == rn_atomic_load(&b) &&
                          rn_atomic_load(&b) == rn_atomic_load(&c),
                      "all are the same");
}

static int
pass_on(void *number)
{
    int k = crew_number(number);
    rn_sim_atomic_begin();
    if (k == 1)
        rn_atomic_store(&a, (rn_atomic_load(&c) + 1) % 4);
    else if (k == 2)
        rn_atomic_store(&b, rn_atomic_load(&a));
    else if (k == 3)
        rn_atomic_store(&c, rn_atomic_load(&b));
    if (k < 4)
        rn_atomic_store(&flag[k], 1);
    else
        check_ring();
    rn_sim_atomic_end();
    return 0;
}

static int
token_ring(void *arg)
{
    begin(arg);
    rn_atomic_store(&a, 1);
    rn_atomic_store(&b, 2);
    rn_atomic_store(&c, 1);
    crew_run(4, pass_on);
    return 0;
}

static int
set_or_check(void *number)
{
    if (crew_number(number) <= size) {
        rn_atomic_store(&a, 1);
        rn_atomic_store(&b, -1);
        return 0;
    }
    bool good = rn_atomic_load(&a) == 0 && rn_atomic_load(&b) == 0;
    if (!good)
        good = rn_atomic_load(&a) == 1 && rn_atomic_load(&b) == -1;
    rn_sim_assert(good, "both or none");
    return 0;
}

static int
reorder(void *arg)
{
    begin(arg);
    crew_run(size + 1, set_or_check);
    return 0;
}

static int
stage(void *number)
{
    if (crew_number(number) <= size) {
        crew_lock(&m);
        rn_atomic_store(&a, 1);
        rn_mutex_unlock(&m);
        crew_lock(&l);
        rn_atomic_store(&b, rn_atomic_load(&a) + 1);
        rn_mutex_unlock(&l);
        return 0;
    }
    crew_lock(&m);
    int64_t x = rn_atomic_load(&a);
    rn_mutex_unlock(&m);
    if (x == 0)
        return 0;
    crew_lock(&l);
    int64_t y = rn_atomic_load(&b);
    rn_mutex_unlock(&l);
    rn_sim_assert(y == x + 1, "the second stage follows the first");
    return 0;
}

static int
twostage(void *arg)
{
    begin(arg);
    crew_run(size + more, stage);
    return 0;
}

static int
lock_one(void *number)
{
    bool right = crew_number(number) <= size;
    rn_mutex *mine = right ? &m : &l;
    crew_lock(mine);
    int64_t x = rn_atomic_fetch_add(&a, 1);
    if (right)
        rn_sim_assert(rn_atomic_load(&a) == x + 1, "nobody came between");
    rn_mutex_unlock(mine);
    return 0;
}

static int
wronglock(void *arg)
{
    begin(arg);
    crew_run(size + more, lock_one);
    return 0;
}

static const struct row rows[] = {
    {"lazy01", lazy01, 0, 0, 6, 2, 0, 0, {0}},
    {"account", account, 0, 0, 6, 2, 0, 0, {0}},
    {"deadlock01", deadlock01, 0, 0, 3, 1, 1, 0, {0}},
    {"bluetooth_driver", bluetooth_driver, 0, 0, 10, 1, 1, 3, {2, 5, 10}},
    {"carter01", carter01, 0, 0, 4, 2, 1, 0, {0}},
    {"phase01", phase01, 0, 0, 6, 6, 0, 0, {0}},
    {"token_ring", token_ring, 0, 0, 24, 4, 0, 0, {0}},
    {"reorder, 1 setter", reorder, 1, 0, 4, 1, 1, 0, {0}},
    {"reorder, 2 setters", reorder, 2, 0, 56, 12, 1, 4, {6, 26, 50, 56}},
    {"reorder, 3 setters", reorder, 3, 0, 1248, 216, 1, 0, {0}},
    {"twostage, 1 + 1", twostage, 1, 1, 3, 1, 1, 0, {0}},
    {"twostage, 2 + 1", twostage, 2, 1, 40, 10, 1, 0, {0}},
    {"wronglock, 1 + 1", wronglock, 1, 1, 3, 1, 1, 0, {0}},
    {"wronglock, 1 + 2", wronglock, 1, 2, 12, 6, 1, 0, {0}},
    {"wronglock, 1 + 3", wronglock, 1, 3, 60, 36, 1, 0, {0}},
};

const struct rows bug_rows = {rows, sizeof rows / sizeof *rows};
