/* stm.c - soak work of transactions: a bank whose money stays, hand-shakes by
 * retry, long transactions beside short ones.
 */
#include "soak.h"

#include <errno.h>

/* ---- a bank ------------------------------------------------------------- */

enum { ACCOUNTS = 12, EACH = 100, TRANSFERS = 60 };

struct bank {
    int64_t money[ACCOUNTS];
    rn_tvar accounts[ACCOUNTS];
    uint64_t seed;
    _Atomic int next;
};

struct transfer {
    struct bank *bank;
    int from, to, yields;
    int64_t amount, sum;
};

static int
add_to(rn_tx *tx, rn_tvar *var, int64_t amount)
{
    int64_t money;
    int e = rn_tvar_read(var, tx, &money);
    if (e < 0)
        return e;
    money += amount;
    return money < 0 ? rn_tx_retry(tx) : rn_tvar_write(var, tx, &money);
}

static int
transfer(rn_tx *tx, void *arg)
{
    struct transfer *t = arg;
    int e = add_to(tx, &t->bank->accounts[t->from], -t->amount);
    if (e == 0 && t->yields > 0)
        rn_yield();
    if (e == 0)
        e = add_to(tx, &t->bank->accounts[t->to], t->amount);
    return e;
}

/* Reads all, and writes some: a long one. */
static int
audit(rn_tx *tx, void *arg)
{
    struct transfer *t = arg;
    t->sum = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        int64_t money;
        int e = rn_tvar_read(&t->bank->accounts[i], tx, &money);
        if (e < 0)
            return e;
        need(money >= 0);
        t->sum += money;
        if (t->yields > i)
            rn_yield();
    }
    need(t->sum == (int64_t)ACCOUNTS * EACH); /* also in a run in vain */
    return t->amount ? transfer(tx, t) : 0;
}

static int
undone(rn_tx *tx, void *arg)
{
    int e = transfer(tx, arg);
    return e < 0 ? e : -EPROTO;
}

/* A throw in a nested one undoes what that has written. */
static int
try_in_vain(rn_tx *tx, void *arg)
{
    int e = rn_atomically(undone, arg, RN_NEVER);
    (void)tx;
    return e == -EPROTO ? 0 : e;
}

static int
clerk(void *arg)
{
    struct bank *b = arg;
    uint64_t prng =
        rn__mix64(b->seed + (uint64_t)atomic_fetch_add(&b->next, 1));
    for (int i = 0; i < TRANSFERS; i++) {
        static rn_tx_fn *const fns[] = {transfer, transfer, transfer,
                                        audit,    undone,   try_in_vain};
        struct transfer t = {.bank = b, .from = below(&prng, ACCOUNTS)};
        rn_tx_fn *fn = fns[below(&prng, 6)];
        t.to = below(&prng, ACCOUNTS);
        t.amount = below(&prng, EACH / 2);
        t.yields = below(&prng, 8) ? 0 : below(&prng, ACCOUNTS);
        rn_time deadline =
            below(&prng, 3) ? RN_NOW : rn_after(below(&prng, 50) * RN_US);
        int e = rn_atomically(fn, &t, deadline);
        if (e == -ECANCELED)
            return e;
        need(e == (fn == undone ? -EPROTO : 0) || e == -EAGAIN ||
             e == -ETIMEDOUT);
        tick();
    }
    return 0;
}

int
work_bank(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    rn_scope *outside;
    need(rn_scope_open(RN_NEVER, &outside) == 0);
    for (int round = 0; round < 4; round++) {
        struct bank b = {.seed = rn__prng_next(&prng)};
        struct canceller c = {.seed = rn__prng_next(&prng)};
        bool cancels = below(&prng, 3) == 0;
        rn_task task;
        int64_t sum = 0;
        for (int i = 0; i < ACCOUNTS; i++) {
            b.money[i] = EACH;
            b.accounts[i] = (rn_tvar)RN_TVAR_INIT(b.money[i]);
        }
        need(rn_scope_open(RN_NEVER, &c.scope) == 0);
        for (int i = 1 + below(&prng, 6); i > 0; i--)
            need(rn_go(c.scope, clerk, &b) == 0);
        if (cancels)
            need(!rn_task_spawn(outside, cancel_later, &c, NULL, &task));
        rn_shield shield = rn_shield_push();
        if (cancels)
            need(rn_task_join(task, RN_NEVER, NULL) == 0);
        rn_shield_restore(shield);
        int e = rn_scope_close(c.scope);
        need(e == 0 || (cancels && e == -ECANCELED));
        for (int i = 0; i < ACCOUNTS; i++)
            sum += b.money[i];
        need(sum == (int64_t)ACCOUNTS * EACH);
    }
    return rn_scope_close(outside);
}

/* ---- hand-shakes -------------------------------------------------------- */

enum { STAGES = 3, JOBS = 120 };

/* Values go from queue to queue, and past a slot at the end. */
struct line {
    rn_tqueue *queues[STAGES];
    rn_tmvar *slot;
    _Atomic int stage;
};

struct step {
    struct line *line;
    int stage;
    int64_t value;
};

static int
put_first(rn_tx *tx, void *arg)
{
    struct step *s = arg;
    return rn_tqueue_push(s->line->queues[0], tx, &s->value);
}

static int
pass_on(rn_tx *tx, void *arg)
{
    struct step *s = arg;
    int e = rn_tqueue_pop(s->line->queues[s->stage - 1], tx, &s->value);
    if (e < 0)
        return e;
    if (s->stage == STAGES)
        return rn_tmvar_put(s->line->slot, tx, &s->value);
    return rn_tqueue_push(s->line->queues[s->stage], tx, &s->value);
}

static int
take_slot(rn_tx *tx, void *arg)
{
    struct step *s = arg;
    return rn_tmvar_take(s->line->slot, tx, &s->value);
}

static int
nothing_yet(rn_tx *tx, void *arg)
{
    (void)tx;
    (void)arg;
    return 7;
}

static int
take_or_not(rn_tx *tx, void *arg)
{
    return rn_tx_or_else(tx, take_slot, arg, nothing_yet, NULL);
}

/* With time-outs that a user could set. */
static void
do_step(rn_tx_fn *fn, struct step *s, uint64_t *prng)
{
    int e = -ETIMEDOUT;
    if (below(prng, 3) == 0)
        e = rn_atomically(fn, s, rn_after(below(prng, 50) * RN_US));
    if (e == -ETIMEDOUT)
        e = rn_atomically(fn, s, RN_NEVER);
    need(e == 0);
    tick();
}

static int
worker(void *arg)
{
    struct line *line = arg;
    struct step s = {.line = line, .stage = atomic_fetch_add(&line->stage, 1)};
    uint64_t prng = (uint64_t)s.stage * 7919;
    for (int64_t i = 0; i < JOBS; i++) {
        s.value = i;
        do_step(s.stage == 0 ? put_first : pass_on, &s, &prng);
        need(s.value == i); /* first in, first out */
    }
    return 0;
}

int
work_stm_line(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    struct line line = {.stage = 0};
    struct step s = {.line = &line};
    rn_scope *scope;
    need(rn_tmvar_new(sizeof(int64_t), NULL, &line.slot) == 0);
    for (int i = 0; i < STAGES; i++)
        need(rn_tqueue_new(sizeof(int64_t), 1 + (size_t)below(&prng, 4),
                           &line.queues[i]) == 0);
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    rn_task_options options = {.name = "stage"};
    for (int i = 0; i <= STAGES; i++)
        need(!rn_task_spawn(scope, worker, &line, &options, NULL));
    for (int64_t i = 0; i < JOBS; i++) {
        if (below(&prng, 4) == 0) {
            int e = rn_atomically(take_or_not, &s, RN_NEVER);
            need(e == 0 || e == 7);
            if (e == 7)
                do_step(take_slot, &s, &prng);
        } else {
            do_step(take_slot, &s, &prng);
        }
        need(s.value == i);
    }
    need(rn_scope_close(scope) == 0);
    rn_tmvar_free(line.slot);
    for (int i = 0; i < STAGES; i++)
        rn_tqueue_free(line.queues[i]);
    return 0;
}

/* ---- long ones beside short ones ---------------------------------------- */

enum { CELLS = 40 };

struct cells {
    int64_t values[CELLS];
    rn_tvar vars[CELLS];
    uint64_t seed;
    _Atomic int stop, longs, shorts;
};

struct bump {
    struct cells *cells;
    int cell, yields;
};

static int
bump_one(rn_tx *tx, void *arg)
{
    struct bump *b = arg;
    return add_to(tx, &b->cells->vars[b->cell], 1);
}

static int
bump_all(rn_tx *tx, void *arg)
{
    struct bump *b = arg;
    for (int i = 0; i < CELLS; i++) {
        int e = add_to(tx, &b->cells->vars[i], 1);
        if (e < 0)
            return e;
        if (i < b->yields)
            rn_yield();
    }
    return 0;
}

static int
short_ones(void *arg)
{
    struct cells *c = arg;
    uint64_t prng = c->seed;
    for (int i = 0; i < 3000 && !atomic_load(&c->stop); i++) {
        struct bump b = {.cells = c, .cell = below(&prng, CELLS)};
        need(rn_atomically(bump_one, &b, RN_NEVER) == 0);
        atomic_fetch_add(&c->shorts, 1);
        if (i % 16 == 0)
            need(rn_yield() == 0);
    }
    return 0;
}

static int
long_ones(void *arg)
{
    struct cells *c = arg;
    uint64_t prng = ~c->seed;
    for (int i = 0; i < 6; i++) {
        struct bump b = {.cells = c, .yields = below(&prng, CELLS)};
        need(rn_atomically(bump_all, &b, RN_NEVER) == 0);
        atomic_fetch_add(&c->longs, 1);
        tick();
    }
    atomic_store(&c->stop, 1);
    return 0;
}

int
work_stm_long(void *arg)
{
    uint64_t prng = *(uint64_t *)arg;
    struct cells c = {.seed = rn__prng_next(&prng)};
    rn_scope *scope;
    int64_t sum = 0;
    for (int i = 0; i < CELLS; i++)
        c.vars[i] = (rn_tvar)RN_TVAR_INIT(c.values[i]);
    need(rn_scope_open(RN_NEVER, &scope) == 0);
    for (int i = 1 + below(&prng, 3); i > 0; i--)
        need(rn_go(scope, short_ones, &c) == 0);
    for (int i = 1 + below(&prng, 2); i > 0; i--)
        need(rn_go(scope, long_ones, &c) == 0);
    need(rn_scope_close(scope) == 0);
    for (int i = 0; i < CELLS; i++)
        sum += c.values[i];
    need(sum ==
         (int64_t)CELLS * atomic_load(&c.longs) + atomic_load(&c.shorts));
    return 0;
}
