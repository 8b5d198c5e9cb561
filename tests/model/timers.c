/* timers.c - timers that several start, stop and run: once stop has returned,
 * expiry does not run and will not; a timer that moves from worker to worker is
 * in one wheel at most; of a wait's deadline and a peer one ends it.
 */
#include "machine.h"

#include "core/timers.c"

enum { DEADLINE = 5, LATER = 9 };

static struct rn__timer timer;
static _Atomic int owned; /* what expiry touches */
static int expired;

static struct rn__timers *
timers_of(int worker)
{
    return &machine_workers[worker].timers;
}

static void
on_expire(struct rn__timer *self, struct rn__expired *out)
{
    (void)self;
    (void)out;
    expired++;
    atomic_store_explicit(&owned, 1, memory_order_relaxed);
}

static void
setup(void)
{
    machine_setup();
    timer = (struct rn__timer){0};
    rn__timer_init(&timer, on_expire);
    owned = expired = 0;
    model_share(owned);
    model_share(timer.home);
    for (int i = 0; i < 2; i++) {
        model_place("lock", i, &timers_of(i)->lock.held,
                    sizeof timers_of(i)->lock.held);
        model_place("next", i, &timers_of(i)->next, sizeof timers_of(i)->next);
    }
}

/* Time goes on, once, for a worker's timers. */
static void
tick(int worker)
{
    rn__timers_run(rn__worker_self(), timers_of(worker), LATER);
}

static void
check(void)
{
    size_t left = 0, count;
    bool runs = rn__timer_stop(&timer);
    for (int i = 0; i < 2; i++) {
        model_check(rn__wheel_valid(&timers_of(i)->wheel, &count));
        left += count;
        model_check(rn__wheel_next(&timers_of(i)->wheel) == RN_NEVER);
    }
    model_check(left == 0 && expired + runs <= 2);
}

#define BREAKS                                                         \
    .breaks = {                                                        \
        {"the lock is a load and a store", MODEL_SPLIT, "lock", NULL}, \
    }

/* ---- stop against expiry ------------------------------------------------ */

static void
start_and_stop(void)
{
    rn__timer_start(timers_of(0), &timer, DEADLINE, 0);
    bool ran = !rn__timer_stop(&timer);
    model_check(atomic_load_explicit(&owned, memory_order_relaxed) == ran);
    model_free(&owned);
}

static void
tick_first(void)
{
    tick(0);
}

static void
check_stopped(void)
{
    model_check(expired <= 1);
}

MODEL(timer_stop, .setup = setup,
      .threads = {start_and_stop, tick_first, tick_first},
      .check = check_stopped, .bound = 4, BREAKS);

/* ---- restarts by two workers, and a stop -------------------------------- */

static void
restart_here(void)
{
    int self = model_self();
    rn__timer_restart(timers_of(self), &timer, DEADLINE, 0);
}

static void
restart_and_tick(void)
{
    restart_here();
    tick(model_self());
}

static void
stop(void)
{
    rn__timer_stop(&timer);
}

static void
tick_both(void)
{
    tick(0);
    tick(1);
}

MODEL(timer_first_restarts, .setup = setup,
      .threads = {restart_and_tick, restart_here}, .check = check, BREAKS);
MODEL(timer_moves_and_stops, .setup = setup,
      .threads = {restart_here, restart_here, stop}, .check = check, .bound = 3,
      BREAKS);
MODEL(timer_moves_and_expires, .setup = setup,
      .threads = {restart_here, restart_here, tick_both}, .check = check,
      .bound = 3, BREAKS);

/* ---- a wait's deadline -------------------------------------------------- */

static struct rn__lock lock;
static struct rn__list queue;
static _Atomic int ended;

static void
setup_wait(void)
{
    setup();
    lock.held = 0;
    rn__list_init(&queue);
    ended = 0;
    model_place("queue.lock", -1, &lock.held, sizeof lock.held);
    model_share(ended);
}

static void
waiter(void)
{
    struct rn__task *self = machine_self();
    struct rn__waitspec spec = {
        .kind = RN__RECV, .lock = &lock, .queue = &queue};
    rn__lock(&lock);
    int result = rn__wait_one(self, &spec, DEADLINE);
    model_check(result == 0 || result == -ETIMEDOUT);
    model_check(!rn__heap_has(&self->timer.node) && rn__list_empty(&queue));
    atomic_store(&ended, 1);
}

static void
peer(void)
{
    rn__lock(&lock);
    struct rn__waiter *first = rn__wait_claim_first(&queue, 0);
    rn__unlock(&lock);
    if (first)
        rn__fire(first->task);
}

/* Time goes on until the waiter is gone. */
static void
clock_runs(void)
{
    struct rn__worker *self = rn__worker_self();
    while (!rn__timers_run(self, timers_of(0), LATER) && !atomic_load(&ended))
        model_pause();
}

MODEL(timer_of_a_wait, .setup = setup_wait, .check = machine_check,
      .threads = {waiter, clock_runs, peer},
      .breaks = {
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
          {"the lock is a load and a store", MODEL_SPLIT, "lock", NULL},
      });
