/* The lock under threads: one holder at a time, and nothing is lost. */
#include "base/lock.h"
#include "test.h"

#include <pthread.h>

enum { THREADS = 4 };

static struct {
    struct rn__lock lock;
    long rounds;
    long counted; /* guarded by lock, as is the next */
    int holders;
} shared;

static void
inside(void)
{
    CHECK_EQ(shared.holders, 0);
    shared.holders++;
    shared.counted++;
    shared.holders--;
}

static void *
hammer(void *arg)
{
    bool tries = *(bool *)arg;
    for (long i = 0; i < shared.rounds; i++) {
        if (!tries)
            rn__lock(&shared.lock);
        else
            while (!rn__trylock(&shared.lock))
                rn__cpu_pause();
        inside();
        rn__unlock(&shared.lock);
    }
    return NULL;
}

TEST(lock_lets_one_in)
{
    pthread_t threads[THREADS];
    bool tries[THREADS] = {false, false, false, true};
    atomic_store(&rn__parallel, 1); /* as with several workers */
    shared.rounds = test_count(300000);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, hammer, &tries[i]), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(shared.counted, THREADS * shared.rounds);
}

TEST(lock_trylock_fails_while_it_is_held)
{
    struct rn__lock lock = {0};
    CHECK(rn__trylock(&lock));
    CHECK(!rn__trylock(&lock));
    rn__unlock(&lock);
    rn__lock(&lock);
    CHECK(!rn__trylock(&lock));
    rn__unlock(&lock);
    CHECK(rn__trylock(&lock));
}
