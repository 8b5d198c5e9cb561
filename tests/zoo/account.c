/* account.c - a check that expects the wrong sum.
 *
 * One task D pays 2 into an account that holds 1, another, W, takes out 4, a
 * third, C, checks the balance if it finds both done. All of them hold the
 * account's lock, but C expects 1 - 2 - 4: whoever wrote it has never seen
 * it come last.
 *
 * Shows: assert in C, whenever C is the last. Twin: C expects 1 + 2 - 4.
 */
#include "zoo.h"

#define OPENED 1
#define DEPOSIT 2
#define WITHDRAWAL 4

struct kernel {
    struct zoo zoo;
    rn_mutex lock;      /* over all that follows */
    rn_atomic balance;  /* what the account holds */
    rn_atomic paid_in;  /* D is done */
    rn_atomic paid_out; /* W is done */
};

/* D: pays in. */
static int
depositor(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    rn_atomic_store(&k->balance, rn_atomic_load(&k->balance) + DEPOSIT);
    rn_atomic_store(&k->paid_in, 1);
    rn_mutex_unlock(&k->lock);
    return 0;
}

/* W: takes out. */
static int
withdrawer(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    rn_atomic_store(&k->balance, rn_atomic_load(&k->balance) - WITHDRAWAL);
    rn_atomic_store(&k->paid_out, 1);
    rn_mutex_unlock(&k->lock);
    return 0;
}

/* C: checks the balance. */
static int
checker(void *arg)
{
    struct kernel *k = arg;
    int64_t deposit = k->zoo.fixed ? DEPOSIT : -DEPOSIT;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (rn_atomic_load(&k->paid_in) && rn_atomic_load(&k->paid_out))
        rn_sim_assert(rn_atomic_load(&k->balance) ==
                          OPENED + deposit - WITHDRAWAL,
                      "the balance is right");
    rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    struct kernel *k = arg;
    rn_task tasks[3];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed};
    k->balance = (rn_atomic)RN_ATOMIC_INIT(OPENED);
    must(rn_task_spawn(NULL, checker, k, &(rn_task_options){"C"}, &tasks[0]));
    must(rn_task_spawn(NULL, depositor, k, &(rn_task_options){"D"}, &tasks[1]));
    must(
        rn_task_spawn(NULL, withdrawer, k, &(rn_task_options){"W"}, &tasks[2]));
    for (int i = 0; i < 3; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
