/* sync_stm.c - tests of what transactions of several runtimes share. */
#include "../test.h"
#include "sync/stm.h"

#include <pthread.h>
#include <runnel/run.h>
#include <stdatomic.h>

enum { COMMITS = 1000000 };

/* Runtimes that are to run at once, and do not yet. */
static atomic_int missing = 2;

static int
add_one(rn_tx *tx, void *arg)
{
    long value;
    int e = rn_tvar_read(arg, tx, &value);
    value++;
    return e < 0 ? e : rn_tvar_write(arg, tx, &value);
}

static int
commits(void *arg)
{
    long value = 0;
    rn_tvar var = RN_TVAR_INIT(value);
    (void)arg;
    atomic_fetch_sub(&missing, 1);
    while (atomic_load(&missing) > 0)
        CHECK_EQ(rn_yield(), 0);
    for (int i = 0; i < COMMITS; i++)
        CHECK_EQ(rn_atomically(add_one, &var, RN_NEVER), 0);
    CHECK_EQ(value, COMMITS);
    return 0;
}

static void *
runtime(void *arg)
{
    rn_options options = {.workers = 1};
    (void)arg;
    CHECK_EQ(rn_run(&options, commits, NULL), 0);
    return NULL;
}

/* Each of them has one worker only, which is alone (base/atomic.h). */
TEST(stm_clock_counts_commits_of_all_runtimes)
{
    pthread_t other;
    uint64_t before = atomic_load(&rn__stm_clock);
    CHECK_EQ(pthread_create(&other, NULL, runtime, NULL), 0);
    runtime(NULL);
    CHECK_EQ(pthread_join(other, NULL), 0);
    CHECK_EQ(atomic_load(&rn__stm_clock) - before, 2 * COMMITS);
}
