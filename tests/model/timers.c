/* timers.c - a timer's stop against its expiry: once stop has returned, expiry
 * does not run and will not; of a wait's deadline and a peer one ends it.
 */
#include "machine.h"

#include "core/timers.c"

enum { DEADLINE = 5, LATER = 9 };

static void
setup(void)
{
    machine_setup();
    for (int i = 0; i < MODEL_THREADS; i++)
        model_check(rn__timer_reserve(&machine) == 0);
    model_place("timers.lock", -1, &machine.timers.lock.held,
                sizeof machine.timers.lock.held);
    model_place("timers.next", -1, &machine.timers.next,
                sizeof machine.timers.next);
}

/* ---- a plain timer ------------------------------------------------------ */

static struct rn__timer timer;
static _Atomic int owned; /* expiry touches it; gone after stop */

static void
expire(struct rn__timer *expired, struct rn__expired *out)
{
    (void)expired;
    (void)out;
    atomic_store_explicit(&owned, 1, memory_order_relaxed);
}

static void
setup_plain(void)
{
    setup();
    timer = (struct rn__timer){.expire = expire};
    owned = 0;
    model_share(owned);
}

static void
start_and_stop(void)
{
    rn__timer_start(&machine, &timer, DEADLINE);
    bool ran = !rn__timer_stop(&machine, &timer);
    model_check(atomic_load_explicit(&owned, memory_order_relaxed) == ran);
    model_free(&owned);
}

static void
start_twice(void)
{
    rn__timer_start(&machine, &timer, DEADLINE);
    rn__timer_restart(&machine, &timer, LATER, 0);
    rn__timer_stop(&machine, &timer);
    model_free(&owned);
}

static void
clock_ticks(void)
{
    rn__timers_run(&machine, LATER);
}

#define BREAKS                                                                \
    .breaks = {                                                               \
        {"the lock is a load and a store", MODEL_SPLIT, "timers.lock", NULL}, \
    }

MODEL(timer_stop, .setup = setup_plain,
      .threads = {start_and_stop, clock_ticks, clock_ticks}, .bound = 4,
      BREAKS);
MODEL(timer_restart, .setup = setup_plain,
      .threads = {start_twice, clock_ticks}, BREAKS);

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
    model_place("lock", -1, &lock.held, sizeof lock.held);
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
    model_check(!self->timer.node.place && rn__list_empty(&queue));
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
    while (!rn__timers_run(&machine, LATER) && !atomic_load(&ended))
        model_pause();
}

MODEL(timer_of_a_wait, .setup = setup_wait, .check = machine_check,
      .threads = {waiter, clock_runs, peer},
      .breaks = {
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
          {"the lock is a load and a store", MODEL_SPLIT, "timers.lock", NULL},
      });
