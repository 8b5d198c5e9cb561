/* lock.c - the spin lock: one at a time, each sees what the last one did, and
 * the store that gives it up is the last touch.
 */
#include "shadow.h"

#include "base/lock.c"

static struct rn__lock lock;
static _Atomic int data;
static int users;

static void
setup(void)
{
    lock.held = 0;
    data = 0;
    users = 3;
    model_place("held", -1, &lock.held, sizeof lock.held);
    model_share(data);
}

static void
setup_two(void)
{
    setup();
    users = 2;
}

/* Under the lock; returns what it was. */
static int
add_one(void)
{
    int old = atomic_load_explicit(&data, memory_order_relaxed);
    atomic_store_explicit(&data, old + 1, memory_order_relaxed);
    return old;
}

static void
use(void)
{
    rn__lock(&lock);
    bool last = add_one() + 1 == users;
    rn__unlock(&lock);
    if (last) /* nobody comes any more */
        model_free(&lock.held);
}

static void
use_twice(void)
{
    rn__lock(&lock);
    users++;
    add_one();
    rn__unlock(&lock);
    use();
}

static void
try_to_use(void)
{
    if (!rn__trylock(&lock)) {
        rn__lock(&lock);
        model_check(atomic_load_explicit(&data, memory_order_relaxed) >= 0);
    }
    bool last = add_one() + 1 == users;
    rn__unlock(&lock);
    if (last)
        model_free(&lock.held);
}

static void
check(void)
{
    model_check(data == users);
}

#define BREAKS                                                         \
    .breaks = {                                                        \
        {"unlock is relaxed", MODEL_RELAX, "held", "rn__unlock"},      \
        {"the swap is a load and a store", MODEL_SPLIT, "held", NULL}, \
    }

MODEL(lock_two_threads, .setup = setup_two, .threads = {use_twice, use},
      .check = check, BREAKS);
MODEL(lock_three_threads, .setup = setup, .threads = {use, try_to_use, use},
      .check = check, BREAKS);
