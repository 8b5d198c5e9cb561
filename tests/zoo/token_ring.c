/* token_ring.c - a value that is handed on before it has come.
 *
 * T1, T2 and T3 hand a number round a ring of three words, each in one step,
 * and T4 expects all three to be equal once each has had its turn. That is so
 * only if the turns come in the order of the ring.
 *
 * Shows: assert in T4. Twin: T2 waits for the turn of T1 and T3 for that of T2.
 */
#include "zoo.h"

#define TASKS 4
#define RING 3

struct kernel {
    struct zoo zoo;
    rn_mutex lock;   /* over all that follows */
    rn_cond turn;    /* twin only: a turn is done */
    int64_t x[RING]; /* the ring */
    bool done[RING]; /* T1 .. T3 have had their turns */
};

/* Twin: wait for the turn before turn i. Called locked. */
static void
await_turn(struct kernel *k, int i)
{
    while (k->zoo.fixed && i > 0 && !k->done[i - 1])
        must(rn_cond_wait(&k->turn, &k->lock, RN_NEVER));
}

/* T1: begins. */
static int
first(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    k->x[0] = (k->x[2] + 1) % 4;
    k->done[0] = true;
    rn_cond_broadcast(&k->turn);
    rn_mutex_unlock(&k->lock);
    return 0;
}

/* Turn i hands on. */
static int
hand_on(struct kernel *k, int i)
{
    must(rn_mutex_lock(&k->lock, RN_NEVER));
    await_turn(k, i);
    k->x[i] = k->x[i - 1];
    k->done[i] = true;
    rn_cond_broadcast(&k->turn);
    rn_mutex_unlock(&k->lock);
    return 0;
}

/* T2. */
static int
second(void *arg)
{
    return hand_on(arg, 1);
}

/* T3. */
static int
third(void *arg)
{
    return hand_on(arg, 2);
}

/* T4: compares. */
static int
checker(void *arg)
{
    struct kernel *k = arg;

    must(rn_mutex_lock(&k->lock, RN_NEVER));
    if (k->done[0] && k->done[1] && k->done[2])
        rn_sim_assert(k->x[0] == k->x[1] && k->x[1] == k->x[2],
                      "the ring agrees");
    rn_mutex_unlock(&k->lock);
    return 0;
}

static int
kernel_main(void *arg)
{
    static const rn_task_options named[TASKS] = {
        {"T1"}, {"T2"}, {"T3"}, {"T4"}};
    rn_task_fn *const fns[TASKS] = {first, second, third, checker};
    struct kernel *k = arg;
    rn_task tasks[TASKS];

    *k = (struct kernel){.zoo.fixed = k->zoo.fixed, .x = {1, 2, 1}};
    for (int i = 0; i < TASKS; i++)
        must(rn_task_spawn(NULL, fns[i], k, &named[i], &tasks[i]));
    for (int i = 0; i < TASKS; i++)
        must(rn_task_join(tasks[i], RN_NEVER, NULL));
    return 0;
}

int
main(int argc, char **argv)
{
    struct kernel k;

    return zoo_main(argc, argv, kernel_main, &k.zoo);
}
