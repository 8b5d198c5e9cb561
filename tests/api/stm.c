/* stm.c - tests of runnel/stm.h: what one transaction sees and does, and what
 * several do to each other. */
#include "cell.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static void
cells_init(struct cell *cells, int count, long value)
{
    for (int i = 0; i < count; i++)
        cell_init(&cells[i], value);
}

static int
add(rn_tx *tx, struct cell *cell, long n)
{
    long value;
    int e = get(tx, cell, &value);
    return e < 0 ? e : set(tx, cell, value + n);
}

/* ---- one transaction ---------------------------------------------------- */

struct pair {
    struct cell a, b;
    int runs;
};

static void
pair_init(struct pair *p, long a, long b)
{
    cells_init(&p->a, 1, a);
    cells_init(&p->b, 1, b);
    p->runs = 0;
}

static int
write_and_read_back(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    long v = 0;
    int e = set(tx, &p->a, 5);
    if (e < 0 || (e = get(tx, &p->a, &v)) < 0)
        return e;
    CHECK_EQ(v, 5);
    CHECK_EQ(p->a.value, 1); /* not yet */
    if ((e = set(tx, &p->b, v + 1)) < 0 || (e = set(tx, &p->a, 7)) < 0 ||
        (e = get(tx, &p->a, &v)) < 0)
        return e;
    CHECK_EQ(v, 7);
    return 42;
}

API_TEST(stm_reads_what_it_wrote)
{
    struct pair p;
    pair_init(&p, 1, 2);
    CHECK_EQ(rn_atomically(write_and_read_back, &p, RN_NEVER), 42);
    CHECK_EQ(p.a.value, 7);
    CHECK_EQ(p.b.value, 6);
}

static int
write_and_throw(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    int e = set(tx, &p->a, 100);
    if (e < 0 || (e = set(tx, &p->b, 100)) < 0)
        return e;
    return -EDOM;
}

API_TEST(stm_throw_has_no_effect)
{
    struct pair p;
    pair_init(&p, 1, 2);
    CHECK_EQ(rn_atomically(write_and_throw, &p, RN_NEVER), -EDOM);
    CHECK_EQ(p.a.value, 1);
    CHECK_EQ(p.b.value, 2);
}

static int
nested_inner(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    long v;
    int e = get(tx, &p->a, &v);
    if (e < 0)
        return e;
    CHECK_EQ(v, 10); /* the outer one's */
    if ((e = set(tx, &p->a, 11)) < 0 || (e = set(tx, &p->b, 12)) < 0 ||
        (e = set(tx, &p->b, 13)) < 0 || (e = get(tx, &p->b, &v)) < 0)
        return e;
    CHECK_EQ(v, 13);
    return p->runs ? -EDOM : 3;
}

static int
nested_outer(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    long a, b;
    int e = set(tx, &p->a, 10);
    if (e < 0)
        return e;
    int inner = rn_atomically(nested_inner, p, RN_NOW);
    CHECK_EQ(inner, p->runs ? -EDOM : 3);
    if ((e = get(tx, &p->a, &a)) < 0 || (e = get(tx, &p->b, &b)) < 0)
        return e;
    CHECK_EQ(a, p->runs ? 10 : 11);
    CHECK_EQ(b, p->runs ? 2 : 13);
    return 0;
}

API_TEST(stm_nested_throw_undoes_its_writes_only)
{
    for (int throws = 0; throws < 2; throws++) {
        struct pair p;
        pair_init(&p, 1, 2);
        p.runs = throws;
        commit(nested_outer, &p);
        CHECK_EQ(p.a.value, throws ? 10 : 11);
        CHECK_EQ(p.b.value, throws ? 2 : 13);
    }
}

/* ---- random programs against a twin without transactions ----------------- */

enum { TWINS = 14 };

struct twin {
    struct cell *cells; /* shared with copies */
    long expected[TWINS];
    uint64_t random;
    int depth;
};

static uint32_t
draw(struct twin *t, uint32_t n)
{
    t->random = t->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t->random >> 33) % n;
}

static int random_body(rn_tx *tx, void *arg);

static int
random_retry(rn_tx *tx, void *arg)
{
    struct twin *t = arg;
    int e = random_body(tx, t);
    return e == -EAGAIN || e == -ENOMEM ? e : rn_tx_retry(tx);
}

/* A nested transaction, or the right side after a left one that retries. */
static int
random_part(rn_tx *tx, struct twin *t)
{
    long before[TWINS];
    memcpy(before, t->expected, sizeof before);
    if (draw(t, 2) == 0) {
        int e = rn_atomically(random_body, t, RN_NOW);
        if (e < 0)
            memcpy(t->expected, before, sizeof before);
        return e == -EDOM ? 0 : e;
    }
    /* what the left side writes is forgotten: so must the twin's be */
    struct twin left = *t;
    left.depth = 3;
    int e = rn_tx_or_else(tx, random_retry, &left, random_body, t);
    if (e < 0)
        memcpy(t->expected, before, sizeof before);
    return e == -EDOM ? 0 : e;
}

static int
random_body(rn_tx *tx, void *arg)
{
    struct twin *t = arg;
    int e = 0;
    t->depth++;
    for (int i = 0; i < 8 && e == 0; i++) {
        uint32_t k = draw(t, TWINS), what = draw(t, 10);
        long value;
        if (what < 4) {
            t->expected[k] = (long)draw(t, 100);
            e = set(tx, &t->cells[k], t->expected[k]);
        } else if (what < 8 || t->depth > 3) {
            e = get(tx, &t->cells[k], &value);
            if (e == 0)
                CHECK_EQ(value, t->expected[k]);
        } else {
            e = random_part(tx, t);
        }
    }
    t->depth--;
    return e < 0 ? e : draw(t, 3) == 0 ? -EDOM : 0;
}

API_TEST_SCHEDULES(stm_random_programs_do_what_a_twin_does, 1000)
{
    int count = rn_sim_active() ? 2 : (int)test_count(20000);
    uint64_t seed = rn_sim_active() ? rn_sim_choose(1u << 30) : 1;
    struct cell cells[TWINS];
    struct twin t = {.cells = cells, .random = seed};
    cells_init(cells, TWINS, 0);
    for (int i = 0; i < count; i++) {
        long before[TWINS];
        memcpy(before, t.expected, sizeof before);
        int e = rn_atomically(random_body, &t, RN_NEVER);
        CHECK(e == 0 || e == -EDOM);
        if (e < 0)
            memcpy(t.expected, before, sizeof before);
        for (int k = 0; k < TWINS; k++)
            CHECK_EQ(cells[k].value, t.expected[k]);
    }
}

/* ---- sizes -------------------------------------------------------------- */

static const size_t sizes[] = {1,  2,  3,  4,  5,   7,   8,    9,
                               12, 16, 17, 64, 100, 255, 4096, RN_TVAR_MAX};

struct sized {
    rn_tvar *var;
    size_t bytes;
    unsigned char *seen, *wanted;
    int rounds;
};

static int
read_sized(rn_tx *tx, void *arg)
{
    struct sized *s = arg;
    int e = rn_tvar_read(s->var, tx, s->seen);
    for (size_t i = 0; e == 0 && i < s->bytes; i++)
        if (s->seen[i] != s->seen[0])
            FAIL("a torn value: byte %zu of %zu", i, s->bytes);
    return e;
}

static int
write_sized(rn_tx *tx, void *arg)
{
    struct sized *s = arg;
    return rn_tvar_write(s->var, tx, s->wanted);
}

static int
keep_writing(void *arg)
{
    struct sized *s = arg;
    for (int i = 1; i <= s->rounds; i++) {
        memset(s->wanted, i, s->bytes);
        commit(write_sized, s);
    }
    return 0;
}

static void
use_sized(rn_tvar *var, size_t bytes)
{
    struct sized s = {.var = var, .bytes = bytes};
    s.rounds = rn_sim_active() ? 2 : bytes > 5000 ? 20 : 500;
    s.seen = malloc(bytes);
    s.wanted = malloc(bytes);
    CHECK(s.seen && s.wanted);
    rn_task t = go_joinable(keep_writing, &s);
    for (int i = 0; i < s.rounds; i++)
        commit(read_sized, &s);
    CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    commit(read_sized, &s);
    CHECK_EQ(s.seen[bytes - 1], s.rounds % 256);
    free(s.seen);
    free(s.wanted);
}

API_TEST_SCHEDULES(stm_value_of_any_size_is_whole, 50)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        rn_tvar *var;
        CHECK_EQ(rn_tvar_new(sizes[i], NULL, &var), 0);
        use_sized(var, sizes[i]);
        rn_tvar_free(var);
    }
}

API_TEST_SCHEDULES(stm_value_may_lie_anywhere, 200)
{
    static unsigned char memory[128];
    for (size_t i = 0; sizes[i] < 100; i++)
        for (size_t at = 0; at < 9; at += 1 + at / 2) {
            memset(memory, 0, sizeof memory);
            rn_tvar var = RN_TVAR_INIT(memory[0]);
            var.rn__value = &memory[at];
            var.rn__bytes = sizes[i];
            use_sized(&var, sizes[i]);
            CHECK_EQ(memory[at + sizes[i]], 0);
        }
}

API_TEST(stm_new_keeps_its_limits)
{
    rn_tvar *var = NULL;
    long start = 77;
    CHECK_EQ(rn_tvar_new(0, NULL, &var), -EINVAL);
    CHECK_EQ(rn_tvar_new(RN_TVAR_MAX + 1, NULL, &var), -EINVAL);
    CHECK(var == NULL);
    CHECK_EQ(rn_tvar_new(sizeof start, &start, &var), 0);
    long seen = 0;
    struct sized s = {.var = var, .bytes = 1, .seen = (void *)&seen};
    commit(read_sized, &s);
    CHECK_EQ(seen, 77);
    rn_tvar_free(var);
    rn_tvar_free(NULL);
}

/* ---- atomicity ---------------------------------------------------------- */

enum { ACCOUNTS = 4 };

struct bank {
    struct cell accounts[ACCOUNTS];
    int rounds;
    uint32_t turn;
};

struct transfer {
    struct bank *bank;
    uint32_t from, to;
};

static int
transfer(rn_tx *tx, void *arg)
{
    const struct transfer *t = arg;
    int e = add(tx, &t->bank->accounts[t->from], -1);
    return e < 0 ? e : add(tx, &t->bank->accounts[t->to], 1);
}

static int
clerk(void *arg)
{
    struct bank *b = arg;
    for (int i = 0; i < b->rounds; i++) {
        uint32_t from = rn_sim_choose(ACCOUNTS);
        struct transfer t = {b, from, (from + 1 + (uint32_t)i % 3) % ACCOUNTS};
        commit(transfer, &t);
    }
    return 0;
}

/* Also in a run that fails the sum is right. */
static int
audit(rn_tx *tx, void *arg)
{
    struct bank *b = arg;
    long sum = 0, value;
    for (int i = 0; i < ACCOUNTS; i++) {
        int e = get(tx, &b->accounts[i], &value);
        if (e < 0)
            return e;
        sum += value;
    }
    CHECK_EQ(sum, 100 * ACCOUNTS);
    return 0;
}

static int
auditor(void *arg)
{
    struct bank *b = arg;
    for (int i = 0; i < b->rounds; i++)
        commit(audit, b);
    return 0;
}

API_TEST_SCHEDULES(stm_bank_keeps_its_money, 1500)
{
    struct bank b = {.rounds = rn_sim_active() ? 2 : (int)test_count(20000)};
    cells_init(b.accounts, ACCOUNTS, 100);
    rn_scope *s = open_scope(RN_NEVER);
    go(clerk, &b);
    go(clerk, &b);
    go(auditor, &b);
    go(clerk, &b);
    CHECK_EQ(rn_scope_close(s), 0);
    commit(audit, &b);
}

/* x == y always; each reader looks at them in another order. */
static int
read_equal(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    long x, y, again;
    int e = get(tx, &p->a, &x);
    if (e < 0 || (e = get(tx, &p->b, &y)) < 0 ||
        (e = get(tx, &p->a, &again)) < 0)
        return e;
    CHECK_EQ(x, y);
    CHECK_EQ(x, again);
    return 0;
}

static int
write_equal(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    long x, y;
    int e = get(tx, &p->b, &y);
    if (e < 0 || (e = get(tx, &p->a, &x)) < 0)
        return e;
    CHECK_EQ(x, y);
    if ((e = set(tx, &p->a, x + 1)) < 0)
        return e;
    return set(tx, &p->b, y + 1);
}

static int
equal_reader(void *arg)
{
    struct pair *p = arg;
    for (int i = 0; i < p->runs; i++)
        commit(read_equal, p);
    return 0;
}

static int
equal_writer(void *arg)
{
    struct pair *p = arg;
    for (int i = 0; i < p->runs; i++)
        commit(write_equal, p);
    return 0;
}

API_TEST_SCHEDULES(stm_no_run_sees_an_inconsistent_state, 1500)
{
    struct pair p;
    pair_init(&p, 0, 0);
    p.runs = rn_sim_active() ? 3 : (int)test_count(30000);
    rn_scope *s = open_scope(RN_NEVER);
    go(equal_writer, &p);
    go(equal_reader, &p);
    go(equal_writer, &p);
    go(equal_reader, &p);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(p.a.value, 2 * p.runs);
    CHECK_EQ(p.b.value, 2 * p.runs);
}

/* Write skew: each may take from its own only while both have 1 in all. */
static int
take_mine(rn_tx *tx, void *arg)
{
    struct cell **cells = arg;
    long mine, other;
    int e = get(tx, cells[0], &mine);
    if (e < 0 || (e = get(tx, cells[1], &other)) < 0)
        return e;
    return mine + other >= 2 ? set(tx, cells[0], mine - 2) : 0;
}

static int
taker(void *arg)
{
    commit(take_mine, arg);
    return 0;
}

API_TEST_SCHEDULES(stm_has_no_write_skew, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(2000)); i++) {
        struct pair p;
        pair_init(&p, 1, 1);
        struct cell *one[] = {&p.a, &p.b}, *two[] = {&p.b, &p.a};
        rn_scope *s = open_scope(RN_NEVER);
        go(taker, one);
        go(taker, two);
        CHECK_EQ(rn_scope_close(s), 0);
        CHECK_EQ(p.a.value + p.b.value, 0);
    }
}

/* What was done before a commit is visible to who has read it. */
struct handed {
    struct cell ready;
    int plain;
};

static int
wait_ready(rn_tx *tx, void *arg)
{
    struct handed *h = arg;
    long ready;
    int e = get(tx, &h->ready, &ready);
    return e < 0 ? e : rn_tx_check(tx, ready != 0);
}

static int
hand_over(void *arg)
{
    struct handed *h = arg;
    h->plain = 5;
    commit(add_one, &h->ready);
    return 0;
}

API_TEST(stm_commit_publishes_plain_memory)
{
    for (int i = 0; i < (rn_sim_active() ? 1 : (int)test_count(2000)); i++) {
        struct handed h = {.plain = 0};
        cells_init(&h.ready, 1, 0);
        rn_task t = go_joinable(hand_over, &h);
        commit(wait_ready, &h);
        CHECK_EQ(h.plain, 5);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    }
}

/* ---- or else ------------------------------------------------------------ */

static int
left_writes_and_retries(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    int e = set(tx, &p->a, 50);
    if (e < 0 || (e = set(tx, &p->b, 51)) < 0)
        return e;
    return rn_tx_retry(tx);
}

static int
right_reads(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    long a, b;
    int e = get(tx, &p->a, &a);
    if (e < 0 || (e = get(tx, &p->b, &b)) < 0)
        return e;
    CHECK_EQ(a, 9); /* by or_else_body, not 50 */
    CHECK_EQ(b, 2);
    return set(tx, &p->b, 60);
}

static int
or_else_body(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    int e = set(tx, &p->a, 9);
    return e < 0
               ? e
               : rn_tx_or_else(tx, left_writes_and_retries, p, right_reads, p);
}

API_TEST(stm_or_else_forgets_the_left_side_that_retries)
{
    struct pair p;
    pair_init(&p, 1, 2);
    commit(or_else_body, &p);
    CHECK_EQ(p.a.value, 9);
    CHECK_EQ(p.b.value, 60);
}

static int
left_throws(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    int e = set(tx, &p->b, 51);
    return e < 0 ? e : -EDOM;
}

static int
never_called(rn_tx *tx, void *arg)
{
    (void)tx;
    (void)arg;
    FAIL("the right side of one that did not retry");
}

static int
catch_left(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    int e = set(tx, &p->a, 9);
    if (e < 0)
        return e;
    e = rn_tx_or_else(tx, left_throws, p, never_called, p);
    return e == -EDOM ? 0 : e;
}

API_TEST(stm_or_else_passes_a_throw_on)
{
    struct pair p;
    pair_init(&p, 1, 2);
    commit(catch_left, &p);
    CHECK_EQ(p.a.value, 9);
    CHECK_EQ(p.b.value, 2);
}

static int
take_from(rn_tx *tx, void *arg)
{
    struct cell *cell = arg;
    long value;
    int e = get(tx, cell, &value);
    if (e < 0 || (e = rn_tx_check(tx, value > 0)) < 0 ||
        (e = set(tx, cell, value - 1)) < 0)
        return e;
    return 0;
}

static int
take_from_either(rn_tx *tx, void *arg)
{
    struct pair *p = arg;
    p->runs++;
    return rn_tx_or_else(tx, take_from, &p->a, take_from, &p->b);
}

static int
add_to(void *arg)
{
    commit(add_one, arg);
    return 0;
}

/* Both sides are waited for. */
API_TEST_SCHEDULES(stm_or_else_waits_for_both_sides, 1000)
{
    for (int i = 0; i < (rn_sim_active() ? 2 : (int)test_count(2000)); i++) {
        struct pair p;
        pair_init(&p, 0, 0);
        rn_task t = go_joinable(add_to, i % 2 ? &p.a : &p.b);
        commit(take_from_either, &p);
        CHECK_EQ(p.a.value, 0);
        CHECK_EQ(p.b.value, 0);
        CHECK_LE(p.runs, 2);
        CHECK_EQ(rn_task_join(t, RN_NEVER, NULL), 0);
    }
}
