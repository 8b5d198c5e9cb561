/* stm.c - transactions: of two commits each sees the other or is run anew; a
 * body never sees half of a commit, not even in a run that fails; a retry
 * misses no change; a variable may be freed by who has seen the commit.
 */
#include "machine.h"

#include "sync/stm_log.c"

/* Parts that may be left out. */

static bool
valid_to_read(const struct rn_tx *tx, bool committing)
{
    return model_broken("a snapshot is moved unseen") ||
           rn__tx_valid(tx, committing);
}

static bool
valid_to_commit(const struct rn_tx *tx, bool committing)
{
    return model_broken("a commit does not look again") ||
           rn__tx_valid(tx, committing);
}

static uint64_t
add_to_clock(_Atomic uint64_t *clock, uint64_t n)
{
    if (model_broken("the clock stands still"))
        return atomic_load_explicit(clock, memory_order_acquire) + n;
    return rn__add64_hard(clock, n);
}

static void
claim_all(struct rn__list *queue, int status, struct rn__list *list)
{
    if (!model_broken("nobody is woken"))
        rn__wait_claim_all(queue, status, list);
}

#undef rn__tx_valid
#define rn__tx_valid valid_to_read
#include "sync/stm_tvar.c"

#undef rn__tx_valid
#define rn__tx_valid valid_to_commit
#define rn__add64_hard add_to_clock
#undef rn__wait_claim_all
#define rn__wait_claim_all claim_all
#include "sync/stm_commit.c"

#include "sync/stm.c"

static long values[2];
static rn_tvar vars[2];

static void
setup(void)
{
    machine_setup();
    struct rn__stm *stm = make(&machine);
    model_share(stm->serials);
    /* the word of a mutex comes after its object (mutex.c) */
    model_place("serial", -1, &stm->serial.rn__opaque[2], sizeof(uint32_t));
    rn__stm_clock = 5;
    for (int i = 0; i < 2; i++) {
        values[i] = 0;
        vars[i] = (rn_tvar)RN_TVAR_INIT(values[i]);
        model_place("value", i, &values[i], sizeof values[i]);
        model_place("word", i, &rn__tvar_inner(&vars[i])->word,
                    sizeof(uint64_t));
    }
    model_place("clock", -1, &rn__stm_clock, sizeof rn__stm_clock);
}

static int
add(rn_tx *tx, int i, long n)
{
    long value;
    int e = rn_tvar_read(&vars[i], tx, &value);
    value += n;
    return e < 0 ? e : rn_tvar_write(&vars[i], tx, &value);
}

static void
commit_one(rn_tx_fn *fn, void *arg)
{
    model_check(rn_atomically(fn, arg, RN_NEVER) == 0);
}

/* Whether the variables are as they should be once all is over. */
static void
check_values(long x, long y)
{
    machine_check();
    for (int i = 0; i < 2; i++) {
        const struct rn__tvar *v = rn__tvar_inner(&vars[i]);
        model_check(!(v->word & (RN__TVAR_LOCKED | RN__TVAR_WAITERS)));
        model_check(rn__list_empty(&v->queue));
    }
    model_check(values[0] == x && values[1] == y);
}

/* ---- commit against commit ---------------------------------------------- */

static int
add_first(rn_tx *tx, void *arg)
{
    (void)arg;
    return add(tx, 0, 1);
}

static int
add_both(rn_tx *tx, void *arg)
{
    int e = add(tx, arg != NULL, 1);
    return e < 0 ? e : add(tx, arg == NULL, 1);
}

static void
adder(void)
{
    commit_one(add_first, NULL);
}

static void
upwards(void)
{
    commit_one(add_both, NULL);
}

static void
downwards(void)
{
    commit_one(add_both, &values);
}

static void
check_three(void)
{
    check_values(3, 0);
}

static void
check_two_and_two(void)
{
    check_values(2, 2);
}

#define LOCK_BREAK                                                            \
    {                                                                         \
        "a compare-and-swap is a load and a store", MODEL_SPLIT, "word", NULL \
    }

MODEL(stm_three_add, .setup = setup, .threads = {adder, adder, adder},
      .check = check_three, .breaks = {LOCK_BREAK});
MODEL(stm_two_add_to_two, .setup = setup, .threads = {upwards, downwards},
      .check = check_two_and_two, .bound = 5, .breaks = {LOCK_BREAK});

/* Each reads both and takes from its own if the other has not. */
static int
take_one(rn_tx *tx, void *arg)
{
    long mine, other;
    int i = arg != NULL;
    int e = rn_tvar_read(&vars[!i], tx, &other);
    if (e < 0 || (e = rn_tvar_read(&vars[i], tx, &mine)) < 0 || other)
        return e;
    mine = 1;
    return rn_tvar_write(&vars[i], tx, &mine);
}

static void
take_left(void)
{
    commit_one(take_one, NULL);
}

static void
take_right(void)
{
    commit_one(take_one, &values);
}

static void
check_skew(void)
{
    check_values(values[0], !values[0]);
}

MODEL(stm_write_skew, .setup = setup, .threads = {take_left, take_right},
      .check = check_skew,
      .breaks = {
          {"a commit does not look again", MODEL_OTHER, NULL, NULL},
          {"the clock stands still", MODEL_OTHER, NULL, NULL},
      });

/* ---- read against commit ------------------------------------------------ */

static int
read_both(rn_tx *tx, void *arg)
{
    long x, y;
    int e = rn_tvar_read(&vars[0], tx, &x);
    (void)arg;
    if (e < 0 || (e = rn_tvar_read(&vars[1], tx, &y)) < 0)
        return e;
    model_check(x == y);
    return 0;
}

static void
reader(void)
{
    commit_one(read_both, NULL);
}

static void
check_one_and_one(void)
{
    check_values(1, 1);
}

#define READ_BREAKS                                               \
    .breaks = {                                                   \
        {"a snapshot is moved unseen", MODEL_OTHER, NULL, NULL},  \
        {"unlocking is relaxed", MODEL_RELAX, "word", "publish"}, \
    }

MODEL(stm_read_against_commit, .setup = setup, .threads = {reader, upwards},
      .check = check_one_and_one, READ_BREAKS);

MODEL(stm_read_against_two_commits, .setup = setup,
      .threads = {reader, upwards, downwards}, .check = check_two_and_two,
      .bound = 1);

/* ---- retry against commit ----------------------------------------------- */

static int
until_both(rn_tx *tx, void *arg)
{
    long x, y;
    int e = rn_tvar_read(&vars[0], tx, &x);
    (void)arg;
    if (e < 0 || (e = rn_tvar_read(&vars[1], tx, &y)) < 0)
        return e;
    return rn_tx_check(tx, x && y);
}

static void
waiter(void)
{
    commit_one(until_both, NULL);
}

static int
add_second(rn_tx *tx, void *arg)
{
    (void)arg;
    return add(tx, 1, 1);
}

static void
second_adder(void)
{
    commit_one(add_second, NULL);
}

MODEL(stm_retry_against_commit, .setup = setup, .threads = {waiter, upwards},
      .check = check_one_and_one,
      .breaks = {
          {"nobody is woken", MODEL_OTHER, NULL, NULL},
          {"a compare-and-swap is a load and a store", MODEL_SPLIT, "word",
           NULL},
      });
MODEL(stm_retry_against_two_commits, .setup = setup,
      .threads = {waiter, adder, second_adder}, .check = check_one_and_one,
      .bound = 2,
      .breaks = {
          {"nobody is woken", MODEL_OTHER, NULL, NULL},
      });

/* Only a cancel ends it. */
static int
until_never(rn_tx *tx, void *arg)
{
    long x;
    int e = rn_tvar_read(&vars[0], tx, &x);
    (void)arg;
    return e < 0 ? e : rn_tx_check(tx, x < 0);
}

static _Atomic int over;

static void
setup_cancel(void)
{
    setup();
    over = 0;
    model_share(over);
}

static void
impatient(void)
{
    int result = rn_atomically(until_never, NULL, RN_NEVER);
    model_check(result == -ECANCELED);
    atomic_store(&over, 1);
}

/* Until it has ended a wait that way. */
static void
canceller(void)
{
    while (!atomic_load(&over)) {
        if (rn__wait_claim(&machine_tasks[0], -ECANCELED, true))
            rn__fire(&machine_tasks[0]);
        else
            model_pause();
    }
}

static void
check_one(void)
{
    check_values(1, 0);
}

MODEL(stm_retry_cancelled, .setup = setup_cancel,
      .threads = {impatient, canceller, adder}, .check = check_one, .bound = 3,
      .breaks = {
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
      });

/* ---- the last touch ----------------------------------------------------- */

static int
until_first(rn_tx *tx, void *arg)
{
    long x;
    int e = rn_tvar_read(&vars[0], tx, &x);
    (void)arg;
    return e < 0 ? e : rn_tx_check(tx, x != 0);
}

static void
waiter_that_frees(void)
{
    commit_one(until_first, NULL);
    model_free(&rn__tvar_inner(&vars[0])->word);
    model_free(&values[0]);
}

static void
check_freed(void)
{
    machine_check();
    model_check(values[0] == 1);
}

MODEL(stm_freed_by_who_saw_it, .setup = setup,
      .threads = {waiter_that_frees, adder}, .check = check_freed,
      .breaks = {
          {"unlocking is relaxed", MODEL_RELAX, "word", "publish"},
      });
