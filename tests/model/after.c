/* after.c - a task that is to begin at a time: stop, a cancel and its timer
 * claim it while it is started, one of them makes it go on, and from when it
 * has begun or will not begin its timer is its own.
 */
#include "machine.h"

#include "core/after.c"

enum { DEADLINE = 5, LATER = 9, TASK = 3 };

static int begun, stopped;

static struct rn__task *
late(void)
{
    return &machine_tasks[TASK];
}

static void
setup(void)
{
    machine_setup();
    begun = stopped = 0;
    late()->at_home |= RN__HOME_LATE;
    model_place("task.lock", -1, &late()->lock.held, sizeof late()->lock.held);
    model_place("cancelled", -1, &machine.root.cancelled,
                sizeof machine.root.cancelled);
    model_place("timer.home", -1, &late()->timer.home,
                sizeof late()->timer.home);
    struct rn__timers *timers = &machine_workers[0].timers;
    model_place("timers.lock", -1, &timers->lock.held,
                sizeof timers->lock.held);
}

static void
start_and_stop(void)
{
    rn__lock(&late()->lock);
    wait_to_begin(late(), DEADLINE, NULL);
    rn__unlock(&late()->lock);
    rn__lock(&late()->lock);
    if (claim_unbegun(late())) {
        stopped++;
        rn__fire(late());
    }
    rn__unlock(&late()->lock);
}

static void
tick(void)
{
    rn__timers_run(rn__worker_self(), &machine_workers[0].timers, LATER);
}

static void
cancel(void)
{
    /* relaxed: the fence makes it seen */
    atomic_store_explicit(&machine.root.cancelled, RN__CANCEL_USER,
                          memory_order_relaxed);
    rn__os_fence_all();
    if (rn__wait_cancel(late(), RN__WAIT_BEGIN))
        rn__fire(late());
}

static void
begin(void)
{
    rn__sched_park(late());
    begun++;
    if (model_broken("it begins without a look at the lock"))
        rn__timer_stop(&late()->timer);
    else if (rn__cancel_near(late()))
        rn__after_unbegun(late());
    model_check(!rn__timer_stop(&late()->timer));
    model_free(&late()->timer.home);
}

static void
check(void)
{
    machine_check();
    model_check(begun == 1 && stopped <= 1);
    model_check(rn__timers_first(&machine_workers[0].timers) == RN_NEVER);
}

#define BREAKS                                                              \
    .breaks = {                                                             \
        {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},    \
        {"the lock is a load and a store", MODEL_SPLIT, "task.lock", NULL}, \
        {"it begins without a look at the lock", MODEL_OTHER, NULL, NULL},  \
    }

MODEL(after_stop_timer_cancel, .setup = setup,
      .threads = {start_and_stop, tick, cancel, begin}, .check = check,
      .bound = 2, BREAKS);
