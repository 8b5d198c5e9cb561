/* par.c - an operator's carriers: each item runs once, whoever takes it; what
 * is left of a block goes on when its carrier waits; a failure reaches all that
 * wait; a cancel that comes too late is no failure; and it ends.
 * (par/engine.c.)
 *
 * The first thread calls the operator; each other is a worker that runs one
 * carrier once there is one for it.
 */
#include "machine.h"

static struct rn__task *task_make(void);
static void task_free(struct rn__task *task);
#define rn__task_make(fn, arg, site) task_make()
#define rn__task_free(task) task_free(task)
#undef rn__sched_offer
#define rn__sched_offer(task) rn__sched_ready(task)
#define rn__finalize(self, result, site) ((void)(self), (void)(site), (result))

#include "par/engine.c"

enum { ITEMS = 4, HELPERS = MODEL_THREADS - 1 };

static struct rn__par op;
static _Atomic uint32_t used[HELPERS], over, ran[ITEMS];
static int ended[ITEMS];
static size_t block; /* items to take at once */
static size_t wakes; /* the item that wakes the first */
static bool calls;   /* others as soon as there is something for them */
static int helpers;
static int status_of_op;

/* What items wait with. */
static struct rn__lock lock;
static struct rn__list queue;
static bool sent; /* under lock */

/* ---- what the engine asks of others ------------------------------------- */

size_t
rn__pace_block(struct rn__carry *carry, size_t left)
{
    (void)carry;
    return left < block ? left : block;
}

bool
rn__pace_calls(const struct rn__carry *carry, size_t left)
{
    (void)carry;
    (void)left;
    return calls;
}

bool
rn__pace_shares(const struct rn__carry *carry, size_t left)
{
    (void)carry;
    return left > 1;
}

void
rn__pace_yield(struct rn__carry *carry)
{
    (void)carry;
}

void
rn__pace_learn(const struct rn__carry *carry)
{
    (void)carry;
}

/* A helper that has not been used; NULL: as if there were no memory. */
static struct rn__task *
task_make(void)
{
    for (int i = 0; i < helpers && !model_broken("no carrier for a rest"); i++)
        if (!atomic_exchange(&used[i], 1))
            return &machine_tasks[i + 1];
    return NULL;
}

static void
task_free(struct rn__task *task)
{
    atomic_store(&used[task - machine_tasks - 1], 0);
}

/* ---- threads ------------------------------------------------------------ */

static void
helper(void)
{
    struct rn__task *self = machine_self();
    rn__sched_park(self); /* until it is spawned, or all is over */
    if (atomic_load(&over))
        return;
    bool begins = self->at_home & RN__HOME_BEGINS;
    if (model_broken("a cancelled carrier does not begin"))
        begins = false;
    if (rn__scope_cancelled(self->home) && !begins) {
        rn__scope_failed(self, -ECANCELED);
        self->at_home &= (uint8_t)~RN__HOME_BEGINS;
    } else {
        rn__par_carry(&op);
    }
    struct rn__waiter *closer = rn__scope_leave(self);
    if (closer)
        rn__fire(closer->task);
}

static void
call_it(void)
{
    static const rn_par_options none;
    op.options = &none;
    status_of_op = rn__par_run(&op);
    atomic_store(&over, 1);
    for (int i = 0; i < helpers; i++)
        if (!atomic_exchange(&used[i], 1))
            rn__sched_ready(&machine_tasks[i + 1]);
}

static void
canceller(void)
{
    rn__scope_cancel(&machine, &machine.root, RN__CANCEL_USER);
}

/* ---- items -------------------------------------------------------------- */

static int
wait_for_it(void)
{
    struct rn__waitspec spec = {
        .kind = RN__RECV, .lock = &lock, .queue = &queue};
    rn__lock(&lock);
    if (!sent)
        return rn__wait_one(machine_self(), &spec, RN_NEVER);
    rn__unlock(&lock);
    return 0;
}

static int
send_it(void)
{
    rn__lock(&lock);
    sent = true;
    struct rn__waiter *first = rn__wait_claim_first(&queue, 0);
    rn__unlock(&lock);
    if (first)
        rn__fire(first->task);
    return 0;
}

/* The first waits for another. */
static int
meeting(const struct rn__work *work, size_t i)
{
    (void)work;
    model_check(!atomic_exchange(&ran[i], 1));
    ended[i] = i == 0 ? wait_for_it() : i == wakes ? send_it() : 0;
    return ended[i];
}

/* The first waits for ever, the last fails. */
static int
failing(const struct rn__work *work, size_t i)
{
    (void)work;
    model_check(!atomic_exchange(&ran[i], 1));
    ended[i] = i == 0 ? wait_for_it() : i == op.n - 1 ? -EIO : 0;
    return ended[i];
}

static int
quick(const struct rn__work *work, size_t i)
{
    (void)work;
    model_check(!atomic_exchange(&ran[i], 1));
    return 0;
}

static void
run_meeting(struct rn__carry *carry)
{
    rn__par_loop(carry, meeting);
}

static void
run_failing(struct rn__carry *carry)
{
    rn__par_loop(carry, failing);
}

static void
run_quick(struct rn__carry *carry)
{
    rn__par_loop(carry, quick);
}

/* ---- models ------------------------------------------------------------- */

static void
setup(void (*run)(struct rn__carry *carry), size_t n, size_t at_once)
{
    static struct rn__par_kind kind;
    machine_setup();
    machine.worker_count = 2;
    rn__list_init(&machine.root.tasks);
    rn__list_append(&machine.root.tasks, &machine_tasks[0].sibling);
    for (int i = 1; i < MODEL_THREADS; i++)
        machine_tasks[i].at_home = 0;
    memset(&op, 0, sizeof op);
    kind.run = run;
    op.kind = &kind;
    op.n = n;
    block = at_once;
    calls = false;
    lock.held = 0;
    rn__list_init(&queue);
    sent = false;
    over = 0;
    status_of_op = 1;
    memset(ended, 0, sizeof ended);
    for (int i = 0; i < ITEMS; i++)
        ran[i] = 0;
    for (int i = 0; i < HELPERS; i++)
        used[i] = 0;
    model_share(op.lock.held);
    model_share(op.scope.cancelled);
    model_share(op.scope.live);
    model_share(op.scope.pins);
    model_share(op.scope.lock.held);
    model_place("root.lock", -1, &machine.root.lock.held,
                sizeof machine.root.lock.held);
    model_place("lock", -1, &lock.held, sizeof lock.held);
    model_share_array(used);
}

static void
setup_meeting(void)
{
    setup(run_meeting, 3, 3);
    helpers = 2;
    wakes = 2;
}

static void
setup_share(void)
{
    setup(run_meeting, 4, 4);
    helpers = 2;
    wakes = 1;
    model_place("touched", 1, &machine_tasks[1].touched,
                sizeof machine_tasks[1].touched);
}

static void
setup_failing(void)
{
    setup(run_failing, 2, 2);
    helpers = 2;
}

static void
setup_late(void)
{
    setup(run_quick, 2, 1);
    helpers = 1;
    calls = true;
    /* the canceller is a thread of its own, of another scope */
    model_place("cancel_lock", -1, &machine.cancel_lock.held,
                sizeof machine.cancel_lock.held);
}

static void
setup_quick(void)
{
    setup(run_quick, 3, 1);
    helpers = 2;
    calls = true;
}

static void
check_rest(void)
{
    machine_check();
    model_check(op.active == 0 && op.able == 0);
    model_check(rn__list_empty(&op.spares));
    model_check(rn__list_empty(&machine.root.inner));
}

static void
check_all_ran(void)
{
    check_rest();
    model_check(status_of_op == 0 && op.ok == op.n);
    for (size_t i = 0; i < op.n; i++)
        model_check(ran[i]);
}

static void
check_failed(void)
{
    check_rest();
    model_check(status_of_op == -EIO && ended[0] == -ECANCELED);
}

/* Cancelled or not, before or after. */
static void
check_late(void)
{
    check_rest();
    model_check(status_of_op == (ran[0] && ran[1] ? 0 : -ECANCELED));
    model_check(op.ok == ran[0] + ran[1]);
}

#define LOCK_SPLIT                                                          \
    {                                                                       \
        "the lock is a load and a store", MODEL_SPLIT, "op.lock.held", NULL \
    }

MODEL(par_items_meet, .setup = setup_meeting, .check = check_all_ran,
      .threads = {call_it, helper, helper}, .bound = 3,
      .breaks = {
          {"no carrier for a rest", MODEL_OTHER, NULL, NULL},
          LOCK_SPLIT,
      });
/* Who was waiting asks for half of what the other has. */
MODEL(par_items_shared, .setup = setup_share, .check = check_all_ran,
      .threads = {call_it, helper, helper}, .bound = 3,
      .breaks = {
          LOCK_SPLIT,
      });
MODEL(par_item_fails, .setup = setup_failing, .check = check_failed,
      .threads = {call_it, helper, helper}, .bound = 3,
      .breaks = {
          LOCK_SPLIT,
          {"no carrier for a rest", MODEL_OTHER, NULL, NULL},
      });
MODEL(par_items_once, .setup = setup_quick, .check = check_all_ran,
      .threads = {call_it, helper, helper}, .bound = 3,
      .breaks = {
          LOCK_SPLIT,
          {"a count is a load and a store", MODEL_SPLIT, "op.scope.live", NULL},
      });
MODEL(par_late_cancel, .setup = setup_late, .check = check_late,
      .threads = {call_it, helper, canceller}, .bound = 2,
      .breaks = {
          {"a cancelled carrier does not begin", MODEL_OTHER, NULL, NULL},
          LOCK_SPLIT,
      });
