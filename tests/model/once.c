/* once.c - the once: the function runs once, all return after it has run, none
 * is forgotten in the queue, and the store that says done is the last touch.
 */
#include "machine.h"

#include "sync/once.c"

static rn_once once;
/* Relaxed: that they are seen is up to the once. */
static _Atomic int data, runner;

static struct once *
insides(void)
{
    return (struct once *)(void *)once.rn__opaque;
}

static void
setup(void)
{
    machine_setup();
    once = (rn_once){{0}};
    data = runner = 0;
    model_place("word", -1, &insides()->word, sizeof insides()->word);
    model_share(data);
    model_share(runner);
}

static void
add_one(void *arg)
{
    (void)arg;
    int old = atomic_load_explicit(&data, memory_order_relaxed);
    atomic_store_explicit(&data, old + 1, memory_order_relaxed);
    atomic_store_explicit(&runner, model_self(), memory_order_relaxed);
}

static void
caller(void)
{
    model_check(rn_once_do(&once, add_one, NULL, RN_NEVER) == 0);
    model_check(atomic_load_explicit(&data, memory_order_relaxed) == 1);
}

/* One of two callers: the other has run the function, so whoever did not may
 * free the once.
 */
static void
one_of_two(void)
{
    caller();
    if (atomic_load_explicit(&runner, memory_order_relaxed) != model_self())
        model_free(&insides()->word);
}

static void
canceller(void)
{
    if (rn__wait_claim(&machine_tasks[1], -ECANCELED, true))
        rn__fire(&machine_tasks[1]);
}

static void
impatient(void)
{
    int result = rn_once_do(&once, add_one, NULL, RN_NEVER);
    model_check(result == 0 || result == -ECANCELED);
}

static void
check(void)
{
    machine_check();
    model_check(data == 1);
    model_check(insides()->word == QUIET);
    model_check(rn__list_empty(&insides()->queue));
}

#define BREAKS                                                         \
    .breaks = {                                                        \
        {"done is stored relaxed", MODEL_RELAX, "word", "leave"},      \
        {"entering is a load and a store", MODEL_SPLIT, "word", NULL}, \
    }

MODEL(once_two_tasks, .setup = setup, .threads = {one_of_two, one_of_two},
      .check = check, BREAKS);
MODEL(once_three_tasks, .setup = setup, .threads = {caller, caller, caller},
      .check = check, .bound = 2, BREAKS);
MODEL(once_cancel, .setup = setup, .threads = {caller, impatient, canceller},
      .check = check, BREAKS);
