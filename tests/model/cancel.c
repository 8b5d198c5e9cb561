/* cancel.c - a cancel against a task that opens a wait: one sees the other, so
 * the wait ends. (Dekker's argument; the task passes only a light fence.)
 */
#include "machine.h"

#include "core/scope.c"

static void
setup(void)
{
    machine_setup();
    model_place("cancelled", -1, &machine.root.cancelled,
                sizeof machine.root.cancelled);
    model_place("cancel_lock", -1, &machine.cancel_lock.held,
                sizeof machine.cancel_lock.held);
}

static void
setup_full_fences(void)
{
    setup();
    rn__full_fences = true;
}

static void
waiter(void)
{
    struct rn__task *self = machine_self();
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    model_check(rn__wait_park(self, RN_NEVER) == -ECANCELED);
}

static void
canceller(void)
{
    rn__scope_cancel(&machine, &machine.root, RN__CANCEL_USER);
}

MODEL(cancel_two_waiters, .setup = setup, .check = machine_check,
      .threads = {waiter, canceller, waiter},
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
      });

MODEL(cancel_twice, .setup = setup, .check = machine_check,
      .threads = {waiter, canceller, canceller},
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
      });

MODEL(cancel_with_full_fences, .setup = setup_full_fences,
      .check = machine_check, .threads = {waiter, canceller},
      .breaks = {
          {"no full fence", MODEL_NO_FULL, NULL, NULL},
      });
