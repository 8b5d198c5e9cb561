/* stm.c - benchmarks of software transactional memory. */
#include "ours.h"

#define CELLS 4

struct cells {
    uint64_t values[CELLS];
    rn_tvar vars[CELLS];
    uint64_t sum;
};

static void
cells_init(struct cells *c)
{
    for (int i = 0; i < CELLS; i++) {
        c->values[i] = 100;
        c->vars[i] = (rn_tvar)RN_TVAR_INIT(c->values[i]);
    }
    c->sum = 0;
}

static void
commit(rn_tx_fn *fn, void *arg)
{
    bench_check(rn_atomically(fn, arg, RN_NEVER) == 0, "rn_atomically");
}

static int
read_all(rn_tx *tx, void *arg)
{
    struct cells *c = arg;
    uint64_t sum = 0, value;
    for (int i = 0; i < CELLS; i++) {
        int e = rn_tvar_read(&c->vars[i], tx, &value);
        if (e < 0)
            return e;
        sum += value;
    }
    c->sum = sum;
    return 0;
}

uint64_t
bench_stm_read4(uint64_t n)
{
    struct cells c;
    cells_init(&c);
    for (uint64_t i = 0; i < n; i++)
        commit(read_all, &c);
    bench_check(c.sum == 100 * CELLS, "sum");
    return n;
}

static int
add(rn_tx *tx, rn_tvar *var, uint64_t n)
{
    uint64_t value;
    int e = rn_tvar_read(var, tx, &value);
    value += n;
    return e < 0 ? e : rn_tvar_write(var, tx, &value);
}

static int
move_one(rn_tx *tx, void *arg)
{
    struct cells *c = arg;
    int e = add(tx, &c->vars[0], 1);
    return e < 0 ? e : add(tx, &c->vars[1], (uint64_t)-1);
}

uint64_t
bench_stm_update2(uint64_t n)
{
    struct cells c;
    cells_init(&c);
    for (uint64_t i = 0; i < n; i++)
        commit(move_one, &c);
    bench_check(c.values[0] == 100 + n, "moved");
    return n;
}

/* ---- transfers in a bank ------------------------------------------------ */

enum { ACCOUNTS = 64, CLERKS = 4 };

struct account {
    rn_mutex lock;
    uint64_t balance;
    rn_tvar var;
};

struct clerk {
    struct account *accounts;
    uint64_t rounds, random;
    uint32_t from, to;
    int by_mutex;
};

static int
transfer(rn_tx *tx, void *arg)
{
    const struct clerk *c = arg;
    int e = add(tx, &c->accounts[c->from].var, (uint64_t)-1);
    return e < 0 ? e : add(tx, &c->accounts[c->to].var, 1);
}

static void
transfer_locked(const struct clerk *c)
{
    struct account *from = &c->accounts[c->from], *to = &c->accounts[c->to];
    struct account *first = from < to ? from : to;
    struct account *second = from < to ? to : from;
    bench_check(rn_mutex_lock(&first->lock, RN_NEVER) == 0, "rn_mutex_lock");
    bench_check(rn_mutex_lock(&second->lock, RN_NEVER) == 0, "rn_mutex_lock");
    from->balance--;
    to->balance++;
    rn_mutex_unlock(&second->lock);
    rn_mutex_unlock(&first->lock);
}

static int
clerk(void *arg)
{
    struct clerk *c = arg;
    for (uint64_t i = 0; i < c->rounds; i++) {
        c->random = c->random * 6364136223846793005u + 1442695040888963407u;
        c->from = (uint32_t)(c->random >> 33) % ACCOUNTS;
        c->to = (c->from + 1 + (uint32_t)(c->random >> 40) % (ACCOUNTS - 1)) %
                ACCOUNTS;
        if (c->by_mutex)
            transfer_locked(c);
        else
            commit(transfer, c);
        if (i % 1024 == 0)
            bench_check(rn_yield() == 0, "rn_yield");
    }
    return 0;
}

static uint64_t
bank(uint64_t n, int by_mutex)
{
    static struct account accounts[ACCOUNTS];
    struct clerk clerks[CLERKS];
    uint64_t sum = 0, share = bench_share(n, CLERKS);
    rn_scope *scope = bench_open();
    for (int i = 0; i < ACCOUNTS; i++) {
        accounts[i] = (struct account){.balance = 1000};
        accounts[i].var = (rn_tvar)RN_TVAR_INIT(accounts[i].balance);
    }
    for (int i = 0; i < CLERKS; i++) {
        clerks[i] =
            (struct clerk){accounts, share, (uint64_t)i, 0, 0, by_mutex};
        bench_go(scope, clerk, &clerks[i]);
    }
    bench_close(scope);
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].balance;
    bench_check(sum == 1000 * ACCOUNTS, "no money is lost");
    return share * CLERKS;
}

uint64_t
bench_stm_bank(uint64_t n)
{
    return bank(n, 0);
}

uint64_t
bench_stm_bank_mutex(uint64_t n)
{
    return bank(n, 1);
}

/* ---- one counter, and a wake-up ----------------------------------------- */

struct counter {
    rn_tvar var;
    uint64_t value, rounds;
};

static int
count_on(rn_tx *tx, void *arg)
{
    struct counter *c = arg;
    return add(tx, &c->var, 1);
}

static int
counting(void *arg)
{
    struct counter *c = arg;
    for (uint64_t i = 0; i < c->rounds; i++) {
        commit(count_on, c);
        if (i % 1024 == 0)
            bench_check(rn_yield() == 0, "rn_yield");
    }
    return 0;
}

uint64_t
bench_stm_counter(uint64_t n)
{
    struct counter c = {.rounds = bench_share(n, 4)};
    c.var = (rn_tvar)RN_TVAR_INIT(c.value);
    rn_scope *scope = bench_open();
    for (int i = 0; i < 4; i++)
        bench_go(scope, counting, &c);
    bench_close(scope);
    bench_check(c.value == 4 * c.rounds, "count");
    return c.value;
}

/* Two tasks in turn: each waits until the counter is odd, or even. */
struct turn {
    struct counter *counter;
    uint64_t odd;
};

static int
in_turn(rn_tx *tx, void *arg)
{
    const struct turn *t = arg;
    uint64_t value;
    int e = rn_tvar_read(&t->counter->var, tx, &value);
    if (e < 0 || (e = rn_tx_check(tx, value % 2 == t->odd)) < 0)
        return e;
    value++;
    return rn_tvar_write(&t->counter->var, tx, &value);
}

static int
other(void *arg)
{
    struct turn t = {arg, 1};
    for (uint64_t i = 0; i < t.counter->rounds; i++)
        commit(in_turn, &t);
    return 0;
}

/* Half of one operation is one wake-up. */
uint64_t
bench_stm_retry(uint64_t n)
{
    struct counter c = {.rounds = n};
    struct turn t = {&c, 0};
    c.var = (rn_tvar)RN_TVAR_INIT(c.value);
    rn_scope *scope = bench_open();
    bench_go(scope, other, &c);
    for (uint64_t i = 0; i < n; i++)
        commit(in_turn, &t);
    bench_close(scope);
    bench_check(c.value == 2 * n, "turns");
    return n;
}
