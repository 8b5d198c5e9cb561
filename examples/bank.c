/* bank.c - transfers between accounts, all locking in address order, so that
 * two of them never hold what the other wants. Lock `from` first instead, and
 * `runnel check` finds the deadlock at once. */
#include <runnel/runnel.h>
#include <stdio.h>

enum { ACCOUNTS = 3, CLERKS = 3, TRANSFERS = 4, START = 100 };

struct account {
    rn_mutex lock;
    long balance; /* guarded by lock */
};

/* Move an amount, or what is left. */
static int
transfer(struct account *from, struct account *to, long amount)
{
    struct account *first = from < to ? from : to;
    struct account *second = from < to ? to : from;
    int e = rn_mutex_lock(&first->lock, RN_NEVER);

    if (e < 0)
        return e;
    e = rn_mutex_lock(&second->lock, RN_NEVER);
    if (e == 0) {
        amount = amount < from->balance ? amount : from->balance;
        from->balance -= amount;
        to->balance += amount;
        rn_mutex_unlock(&second->lock);
    }
    rn_mutex_unlock(&first->lock);
    return e;
}

/* Moves money to and from any two accounts. */
static int
clerk(void *arg)
{
    struct account *accounts = arg;
    int e = 0;

    for (int i = 0; i < TRANSFERS && e == 0; i++) {
        uint32_t from = rn_sim_choose(ACCOUNTS);
        uint32_t to = (from + 1 + rn_sim_choose(ACCOUNTS - 1)) % ACCOUNTS;

        e = transfer(&accounts[from], &accounts[to], 30);
    }
    return e;
}

static int
app(void *arg)
{
    struct account accounts[ACCOUNTS] = {0};
    long sum = 0;
    rn_scope *s;
    int e = rn_scope_open(RN_NEVER, &s);

    (void)arg;
    if (e < 0)
        return e;
    for (int i = 0; i < ACCOUNTS; i++)
        accounts[i].balance = START;
    for (int i = 0; i < CLERKS && e == 0; i++)
        e = rn_go(s, clerk, accounts);
    if ((e = rn_scope_close(s)) < 0)
        return e;
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].balance;
    rn_sim_assert(sum == ACCOUNTS * START, "no money is lost");
    printf("%ld in the bank, as before\n", sum);
    return 0;
}

int
main(void)
{
    return rn_run(NULL, app, NULL) < 0;
}
