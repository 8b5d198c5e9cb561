/* wait.c - the word of a wait: of peers, timers and cancels that come at once
 * one ends it, what that one wrote before it fired is seen, and the task goes
 * on once, after it has left its stack.
 */
#include "machine.h"

static struct rn__lock lock;
static struct rn__list queue;
static _Atomic int gift; /* of the claimer, written before it fires */
static _Atomic uint32_t ended;

static void
setup(void)
{
    machine_setup();
    lock.held = 0;
    rn__list_init(&queue);
    gift = 0;
    ended = 0;
    model_place("lock", -1, &lock.held, sizeof lock.held);
    model_place("cancelled", -1, &machine.root.cancelled,
                sizeof machine.root.cancelled);
    model_share(gift);
    model_share(ended);
}

static void
give(int what)
{
    atomic_store_explicit(&gift, what, memory_order_relaxed);
}

static int
taken(void)
{
    int got = atomic_load_explicit(&gift, memory_order_relaxed);
    atomic_store_explicit(&gift, 0, memory_order_relaxed);
    return got;
}

/* One wait; only a cancel and a peer may end it. */
static void
wait_once(void)
{
    struct rn__waitspec spec = {
        .kind = RN__RECV, .lock = &lock, .queue = &queue};
    rn__lock(&lock);
    int result = rn__wait_one(machine_self(), &spec, RN_NEVER);
    model_check(taken() == (result == 0 ? 1 : 2));
}

static void
waiter(void)
{
    wait_once();
    atomic_store(&ended, 1);
}

/* Whether there was one to claim. */
static bool
claim_by_queue(void)
{
    rn__lock(&lock);
    struct rn__waiter *first = rn__wait_claim_first(&queue, 0);
    rn__unlock(&lock);
    if (!first)
        return false;
    give(1);
    rn__fire(first->task);
    return true;
}

static void
peer(void)
{
    claim_by_queue();
}

/* Cancels whatever it finds, until the waiter is gone. */
static void
canceller(void)
{
    while (!atomic_load(&ended)) {
        if (rn__wait_claim(&machine_tasks[0], -ECANCELED, true)) {
            give(2);
            rn__fire(&machine_tasks[0]);
        } else {
            model_pause();
        }
    }
}

MODEL(wait_peer_and_cancel, .setup = setup, .check = machine_check,
      .threads = {waiter, peer, canceller},
      .breaks = {
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
      });

/* ---- one wait after the other ------------------------------------------- */

static void
waiter_twice(void)
{
    wait_once();
    waiter();
}

MODEL(wait_two_in_a_row, .setup = setup, .check = machine_check,
      .threads = {waiter_twice, peer, canceller}, .bound = 2,
      .breaks = {
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
      });
