/* future.c - the future: who waits has the value, and whoever sees that it is
 * completed may free both names while the other side is still at it.
 */
#include "machine.h"

/* What the library frees is only marked here. */
static void future_freed(void *memory);
#define BREAK "the last unref does not wait for the lock"
#undef rn__free
#define rn__free(rt, memory) future_freed(memory)

#define rn__lock_settle(lock) \
    (model_broken(BREAK) ? (void)0 : rn__lock_settle(lock))

#include "sync/future.c"

/* With room for its value, an int. */
static _Alignas(struct rn_future) char memory_of_one[sizeof(struct rn_future) +
                                                     sizeof(int)];
#define one (*(struct rn_future *)(void *)memory_of_one)

static _Atomic int freed; /* relaxed: nobody goes by it */

static void
future_freed(void *memory)
{
    model_check(memory == &one);
    model_check(atomic_load_explicit(&freed, memory_order_relaxed) == 0);
    atomic_store_explicit(&freed, 1, memory_order_relaxed);
    model_free(&one.lock.held);
    model_free(&one.done);
    model_free(&one.refs);
}

static rn_promise *
promise(void)
{
    return (rn_promise *)(void *)&one;
}

static void
setup(void)
{
    machine_setup();
    memset(memory_of_one, 0, sizeof memory_of_one);
    one.refs = 2;
    one.bytes = sizeof(int);
    rn__list_init(&one.queue);
    freed = 0;
    model_place("lock", -1, &one.lock.held, sizeof one.lock.held);
    model_place("done", -1, &one.done, sizeof one.done);
    model_place("refs", -1, &one.refs, sizeof one.refs);
    model_share(freed);
}

static void
completer(void)
{
    int seven = 7;
    model_check(rn_promise_set(promise(), &seven) == 0);
}

static void
get(void)
{
    int value = 0;
    model_check(rn_future_wait(&one, &value, RN_NEVER) == 0);
    model_check(value == 7);
}

/* All of it is up to who waits. */
static void
free_both(void)
{
    get();
    rn_promise_free(promise());
    rn_future_unref(&one);
}

/* Each side gives up its own. */
static void
complete_and_free(void)
{
    completer();
    rn_promise_free(promise());
}

static void
wait_and_unref(void)
{
    get();
    rn_future_unref(&one);
}

static void
check(void)
{
    machine_check();
    model_check(freed == 1);
}

MODEL(future_waiter_frees_both, .setup = setup,
      .threads = {completer, free_both}, .check = check,
      .breaks = {{BREAK, MODEL_OTHER, NULL, NULL}});
MODEL(future_each_frees_its_own, .setup = setup,
      .threads = {complete_and_free, wait_and_unref}, .check = check);
