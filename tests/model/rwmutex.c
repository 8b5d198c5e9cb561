/* rwmutex.c - the read-write mutex: readers together, a writer alone, each sees
 * what the last writer did, none is forgotten in a queue, and the change that
 * gives it up is the last touch.
 */
#include "machine.h"

#include "sync/rwmutex.c"

static rn_rwmutex mutex;
static _Atomic int data; /* relaxed: that it is seen is up to the lock */
static int readers, writing, written;
static int users; /* that have not given up */

static void
setup(void)
{
    machine_setup();
    mutex = (rn_rwmutex){{0}};
    data = 0;
    readers = writing = written = 0;
    users = 3;
    model_place("word", -1, &inner(&mutex)->word, sizeof inner(&mutex)->word);
    model_share(data);
}

static void
write_and(void (*fn)(rn_rwmutex *))
{
    model_check(!writing++ && !readers);
    int old = atomic_load_explicit(&data, memory_order_relaxed);
    model_check(old == written);
    atomic_store_explicit(&data, old + 1, memory_order_relaxed);
    written++;
    model_check(writing-- == 1 && !readers);
    bool last = --users == 0;
    fn(&mutex);
    if (last) /* the others have had it, and it was ours alone */
        model_free(&inner(&mutex)->word);
}

static void
read_and_unlock(void)
{
    readers++;
    model_check(!writing);
    model_check(atomic_load_explicit(&data, memory_order_relaxed) == written);
    readers--;
    users--;
    rn_rwmutex_read_unlock(&mutex);
}

static void
writer(void)
{
    model_check(rn_rwmutex_lock(&mutex, RN_NEVER) == 0);
    write_and(rn_rwmutex_unlock);
}

static void
reader(void)
{
    model_check(rn_rwmutex_read_lock(&mutex, RN_NEVER) == 0);
    read_and_unlock();
}

static void
downgrader(void)
{
    model_check(rn_rwmutex_lock(&mutex, RN_NEVER) == 0);
    users++;
    write_and(rn_rwmutex_downgrade);
    read_and_unlock();
}

static void
check(void)
{
    machine_check();
    model_check(users == 0 && data == written);
    model_check(inner(&mutex)->word == 0);
}

#define BREAKS                                                               \
    .breaks = {                                                              \
        {"changes of the word are relaxed", MODEL_RELAX, "word", "rn__cas"}, \
        {"the hand-over is relaxed", MODEL_RELAX, "word", "unlock_queue"},   \
        {"a compare-and-swap is a load and a store", MODEL_SPLIT, "word",    \
         NULL},                                                              \
    }

MODEL(rwmutex_two_readers, .setup = setup, .threads = {reader, writer, reader},
      .check = check, .bound = 2, BREAKS);
MODEL(rwmutex_two_writers, .setup = setup, .threads = {writer, reader, writer},
      .check = check, .bound = 2, BREAKS);
MODEL(rwmutex_downgrade, .setup = setup,
      .threads = {downgrader, reader, writer}, .check = check, .bound = 2,
      BREAKS);

/* ---- a writer that gives up --------------------------------------------- */

static void
impatient(void)
{
    int result = rn_rwmutex_lock(&mutex, RN_NEVER);
    model_check(result == 0 || result == -ECANCELED);
    if (!result)
        write_and(rn_rwmutex_unlock);
    else
        users--;
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

/* No one frees it: who gives up comes back to the queue after the others. */
static void
setup_cancel(void)
{
    setup();
    users = 100;
}

MODEL(rwmutex_cancel, .setup = setup_cancel,
      .threads = {reader, impatient, reader, canceller}, .check = check_free,
      .bound = 2,
      .breaks = {
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
          {"a compare-and-swap is a load and a store", MODEL_SPLIT, "word",
           NULL},
      });
