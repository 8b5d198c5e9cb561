/* sync.c - what tasks share and how they wait for each other: a table behind a
 * read-write mutex, a budget, a barrier between rounds, a value to come. */
#include <runnel/runnel.h>
#include <stdio.h>

enum { TASKS = 4, ROUNDS = 3, BUDGET = 100 };
static rn_rwmutex lock = RN_RWMUTEX_INIT;
static long table[TASKS]; /* guarded by lock */
static rn_sema budget = RN_SEMA_INIT(BUDGET);
static rn_barrier round_ends = RN_BARRIER_INIT(TASKS);
static _Atomic int next_number, spent;

static long
total(void)
{
    long sum = 0;
    if (rn_rwmutex_read_lock(&lock, RN_NEVER) < 0)
        return -1;
    for (int i = 0; i < TASKS; i++)
        sum += table[i];
    rn_rwmutex_read_unlock(&lock);
    return sum;
}

static int
spend(int cost) /* something that needs a part of what there is */
{
    int e = rn_sema_acquire(&budget, cost, RN_NEVER);
    if (e < 0)
        return e;
    spent += cost;
    rn_sim_assert(spent <= BUDGET, "no more than there is");
    e = rn_yield();
    spent -= cost;
    rn_sema_release(&budget, cost);
    return e;
}

static int
player(void *result)
{
    int e = 0, i = next_number++;
    for (int round = 1; round <= ROUNDS && e >= 0; round++) {
        if ((e = rn_rwmutex_lock(&lock, RN_NEVER)) < 0)
            return e;
        table[i]++;
        rn_rwmutex_unlock(&lock);
        e = spend(30 * (i + 1) % BUDGET);
        e = e < 0 ? e : rn_barrier_wait(&round_ends, RN_NEVER);
        rn_sim_assert(e < 0 || total() >= round * TASKS, "all have played");
    }
    if (e == 1) { /* who came last to the last barrier */
        long sum = total();
        rn_promise_set(result, &sum);
    }
    return e;
}

static int
app(void *sum)
{
    rn_promise *promise;
    rn_future *result;
    int e = rn_future_new(sizeof(long), &promise, &result);
    for (int i = 0; i < TASKS && e == 0; i++)
        e = rn_go(NULL, player, promise);
    e = e ? e : rn_future_wait(result, sum, RN_NEVER);
    if (e < 0)
        return e;
    rn_promise_free(promise);
    rn_future_unref(result);
    return printf("%ld changes\n", *(long *)sum) < 0;
}

int
main(void)
{
    long sum = 0;
    return rn_run(NULL, app, &sum) < 0 || sum != ROUNDS * TASKS;
}
