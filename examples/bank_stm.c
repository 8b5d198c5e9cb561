/* bank_stm.c - transfers between accounts as transactions: no locks, so no
 * order of locks. The audit retries until the clerks are done. */
#include <runnel/runnel.h>
#include <stdio.h>

enum { ACCOUNTS = 3, CLERKS = 3, TRANSFERS = 4, START = 100 };

static long balances[ACCOUNTS] = {START, START, START}, clerks = CLERKS;
static rn_tvar accounts[ACCOUNTS], at_work = RN_TVAR_INIT(clerks);

static int
add(rn_tx *tx, rn_tvar *number, long n)
{
    long value = 0;
    int e = rn_tvar_read(number, tx, &value);
    value += n;
    return e < 0 ? e : rn_tvar_write(number, tx, &value);
}

static int
transfer(rn_tx *tx, void *arg)
{
    rn_tvar **pair = arg;
    int e = add(tx, pair[0], -30);
    return e < 0 ? e : add(tx, pair[1], 30);
}

static int
leave(rn_tx *tx, void *arg)
{
    return add(tx, arg, -1);
}

static int
clerk(void *arg)
{
    int e = 0;
    for (int i = 0; i < TRANSFERS && e == 0; i++) {
        uint32_t from = rn_sim_choose(ACCOUNTS);
        uint32_t to = (from + 1 + rn_sim_choose(ACCOUNTS - 1)) % ACCOUNTS;
        rn_tvar *pair[] = {&accounts[from], &accounts[to]};
        e = rn_atomically(transfer, pair, RN_NEVER);
    }
    return e < 0 ? e : rn_atomically(leave, arg, RN_NEVER);
}

static int
audit(rn_tx *tx, void *sum)
{
    long left, balance, total = 0;
    int e = rn_tvar_read(&at_work, tx, &left);
    if (e < 0 || (e = rn_tx_check(tx, left == 0)) < 0)
        return e;
    for (int i = 0; i < ACCOUNTS; i++, total += balance)
        if ((e = rn_tvar_read(&accounts[i], tx, &balance)) < 0)
            return e;
    rn_sim_assert(total == ACCOUNTS * START, "no money is lost");
    *(long *)sum = total;
    return 0;
}

static int
app(void *sum)
{
    int e = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        accounts[i] = (rn_tvar)RN_TVAR_INIT(balances[i]);
    for (int i = 0; i < CLERKS && e == 0; i++)
        e = rn_go(NULL, clerk, &at_work);
    return e < 0 ? e : rn_atomically(audit, sum, RN_NEVER);
}

int
main(void)
{
    long sum = 0;
    return rn_run(NULL, app, &sum) < 0 ||
           printf("%ld in the bank, as before\n", sum) < 0;
}
