/* alone.c - locks that are a load and a store while one worker is awake: who
 * wakes up waits until that one is out of its window, and is seen from then on.
 * (base/atomic.h; worker.c.)
 */
#include "machine.h"

static struct rn__lock data_lock;
static _Atomic int data;

static void
add_one(void)
{
    rn__lock(&data_lock);
    int old = atomic_load_explicit(&data, memory_order_relaxed);
    atomic_store_explicit(&data, old + 1, memory_order_relaxed);
    rn__unlock(&data_lock);
}

static void
setup_alone(void)
{
    machine_setup();
    machine.worker_count = 3;
    rn__parallel = 0;
    machine.windows = true;
    data_lock.held = 0;
    data = 0;
    model_place("parallel", -1, &rn__parallel, sizeof rn__parallel);
    model_place("idle_lock", -1, &machine.idle_lock.held,
                sizeof machine.idle_lock.held);
    model_place("held", -1, &data_lock.held, sizeof data_lock.held);
    model_share(data);
    for (int i = 0; i < 3; i++)
        model_share_inside(i);
}

static void
comes_and_goes(void)
{
    rn__worker_begin(&machine_workers[model_self()]);
    add_one();
    add_one();
    rn__worker_end(&machine_workers[model_self()]);
}

static void
comes_for_one(void)
{
    rn__worker_begin(&machine_workers[model_self()]);
    add_one();
    rn__worker_end(&machine_workers[model_self()]);
}

static void
check_alone(void)
{
    model_check(data == 3 && machine.awake == 0 && rn__parallel == 0);
}

#define ALONE_BREAKS                                                 \
    .breaks = {                                                      \
        {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},              \
        {"the window is left relaxed", MODEL_RELAX, "window", NULL}, \
    }

MODEL(alone_two_workers, .setup = setup_alone,
      .threads = {comes_and_goes, comes_for_one}, .check = check_alone,
      ALONE_BREAKS);
MODEL(alone_three_workers, .setup = setup_alone,
      .threads = {comes_for_one, comes_for_one, comes_for_one},
      .check = check_alone, .some = 200000, ALONE_BREAKS);
