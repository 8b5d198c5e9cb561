/* mutex.c - the mutex: one at a time, each sees what the last one did, none is
 * forgotten in the queue, and the store that frees it is the last touch.
 */
#include "machine.h"

#include "sync/mutex.c"

static rn_mutex mutex;
static _Atomic int data; /* relaxed: that it is seen is up to the mutex */
static int users;        /* that have not given up */

static void
setup(void)
{
    machine_setup();
    mutex = (rn_mutex){{0}};
    data = 0;
    users = 3;
    model_place("word", -1, &inner(&mutex)->word, sizeof inner(&mutex)->word);
    model_share(data);
}

static void
setup_two(void)
{
    setup();
    users = 2;
}

static void
use_and_unlock(void)
{
    int old = atomic_load_explicit(&data, memory_order_relaxed);
    atomic_store_explicit(&data, old + 1, memory_order_relaxed);
    bool last = old + 1 == users;
    rn_mutex_unlock(&mutex);
    if (last)
        model_free(&inner(&mutex)->word);
}

static void
user(void)
{
    model_check(rn_mutex_lock(&mutex, RN_NEVER) == 0);
    use_and_unlock();
}

static void
user_twice(void)
{
    model_check(rn_mutex_lock(&mutex, RN_NEVER) == 0);
    users++;
    use_and_unlock();
    user();
}

static void
check(void)
{
    machine_check();
    model_check(data == users);
    model_check(inner(&mutex)->word == 0);
}

#define BREAKS                                                               \
    .breaks = {                                                              \
        {"changes of the word are relaxed", MODEL_RELAX, "word", "rn__cas"}, \
        {"the hand-over is relaxed", MODEL_RELAX, "word", "unlock_queue"},   \
        {"a compare-and-swap is a load and a store", MODEL_SPLIT, "word",    \
         NULL},                                                              \
    }

MODEL(mutex_two_tasks, .setup = setup_two, .threads = {user_twice, user},
      .check = check, BREAKS);
MODEL(mutex_three_tasks, .setup = setup, .threads = {user, user, user},
      .check = check, .bound = 3, BREAKS);

/* ---- one that gives up -------------------------------------------------- */

static _Atomic int canceller_done;

static void
setup_cancel(void)
{
    setup_two();
    canceller_done = 0;
    model_share(canceller_done);
}

static void
patient(void)
{
    model_check(rn_mutex_lock(&mutex, RN_NEVER) == 0);
    rn_mutex_unlock(&mutex);
}

static void
impatient(void)
{
    int result = rn_mutex_lock(&mutex, RN_NEVER);
    model_check(result == 0 || result == -ECANCELED);
    if (!result)
        rn_mutex_unlock(&mutex);
}

static void
canceller(void)
{
    if (rn__wait_claim(&machine_tasks[1], -ECANCELED, true))
        rn__fire(&machine_tasks[1]);
}

static void
check_free(void)
{
    machine_check();
    model_check(inner(&mutex)->word == 0);
}

MODEL(mutex_cancel, .setup = setup_cancel,
      .threads = {patient, impatient, canceller}, .check = check_free,
      .breaks = {
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
          {"a compare-and-swap is a load and a store", MODEL_SPLIT, "word",
           NULL},
      });
