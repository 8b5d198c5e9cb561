/* cancel.c - a cancel against a task that opens a wait: one sees the other, so
 * the wait ends. (Dekker's argument; the task passes only a light fence.) And
 * the count of a scope: a close ends once all tasks have left, sees what they
 * did, and nobody touches the scope any more.
 */
#include "machine.h"

#include "core/cancel.c"
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

/* ---- from a context ------------------------------------------------------ */

static struct rn_context context;

static void
setup_context(void)
{
    static const struct rn_context none;
    setup();
    memcpy(&context, &none, sizeof context);
    rn__scope_init(&context.node, NULL, NULL);
    rn__list_init(&context.followers);
    context.node.is_context = true;
    rn__list_append(&context.node.inner, &machine.root.in_parent);
}

static void
context_canceller(void)
{
    rn__scope_cancel(&machine, &context.node, RN__CANCEL_USER);
}

MODEL(cancel_by_a_context, .setup = setup_context, .check = machine_check,
      .threads = {waiter, context_canceller, waiter},
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
      });

MODEL(cancel_two_waiters, .setup = setup, .check = machine_check,
      .threads = {waiter, canceller, waiter},
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
      });

/* They are in no list yet. */
static void
setup_unlisted(void)
{
    setup();
    model_place("scope.lock", -1, &machine.root.lock.held,
                sizeof machine.root.lock.held);
    rn__list_init(&machine.root.tasks);
    for (int i = 0; i < MODEL_THREADS; i++)
        machine_tasks[i].at_home = 0;
}

static void
check_listed(void)
{
    int count = 0;
    machine_check();
    rn__list_each (node, &machine.root.tasks)
        count++;
    model_check(count == 1);
}

MODEL(cancel_first_wait, .setup = setup_unlisted, .check = check_listed,
      .threads = {waiter, canceller},
      .breaks = {
          {"who waits joins no list", MODEL_OTHER, NULL, NULL},
          {"who waits looks first", MODEL_OTHER, NULL, NULL},
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

/* ---- the count ----------------------------------------------------------- */

static _Atomic int done[MODEL_THREADS];
static struct rn__task late;
static bool closed, refused;

/* As if the first task had opened it, and the others were its tasks. */
static void
setup_scope(uint32_t tasks)
{
    struct rn_scope *scope = &machine.root;
    setup_unlisted();
    scope->live = 1 + tasks;
    model_place("scope.live", -1, &scope->live, sizeof scope->live);
    for (int i = 0; i < MODEL_THREADS; i++)
        done[i] = 0;
    model_share_array(done);
    closed = refused = false;
}

static void
setup_two(void)
{
    setup_scope(2);
}

static void
setup_one(void)
{
    setup_scope(1);
}

static void
leave(struct rn__task *task)
{
    /* relaxed: seen by who closes, because of the count */
    atomic_store_explicit(&done[model_self()], 1, memory_order_relaxed);
    struct rn__waiter *first = rn__scope_leave(task);
    if (first)
        rn__fire(first->task);
}

static bool
is_done(int i)
{
    return atomic_load_explicit(&done[i], memory_order_relaxed);
}

static void
closer(void)
{
    join_all(machine_self(), &machine.root, NULL);
    model_check(is_done(1));
    closed = true;
}

static void
closer_frees(void)
{
    struct rn_scope *scope = &machine.root;
    join_all(machine_self(), scope, NULL);
    model_check(is_done(1) && is_done(2));
    model_free(&scope->live);
    model_free(&scope->lock.held);
    model_free(&scope->cancelled);
}

static void
leaver(void)
{
    leave(machine_self());
}

/* From another scope: it may come too late. */
static void
spawner(void)
{
    late = (struct rn__task){.rt = &machine};
    if (rn__scope_enter(&machine.root, &late) == 0) {
        model_check(!closed);
        leave(&late);
    } else {
        refused = true;
    }
}

static void
check_spawned(void)
{
    machine_check();
    model_check(machine.root.live == 0 && is_done(1));
    model_check(is_done(2) == !refused);
}

#define COUNT_BREAKS                                                          \
    .breaks = {                                                               \
        {"the count is a load and a store", MODEL_SPLIT, "scope.live", NULL}, \
        {"the count is relaxed", MODEL_RELAX, "scope.live", NULL},            \
    }

MODEL(scope_close, .setup = setup_two, .check = machine_check,
      .threads = {closer_frees, leaver, leaver}, COUNT_BREAKS);
MODEL(scope_close_and_spawn, .setup = setup_one, .check = check_spawned,
      .threads = {closer, leaver, spawner}, COUNT_BREAKS);

/* ---- one task alone ------------------------------------------------------ */

static void
setup_tell(void)
{
    setup();
    model_place("told", -1, &machine_tasks[0].told,
                sizeof machine_tasks[0].told);
}

static void
told_waiter(void)
{
    struct rn__task *self = machine_self();
    int code = 7;
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    model_check(rn__wait_park(self, RN_NEVER) == -ECANCELED);
    model_check(rn__cancel_seen(self, &code) == RN__CANCEL_USER && code == 0);
}

static void
teller(void)
{
    rn__task_tell(&machine_tasks[0], RN__CANCEL_USER);
}

MODEL(cancel_of_one_task, .setup = setup_tell, .check = machine_check,
      .threads = {told_waiter, teller, teller},
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"claim is a load and a store", MODEL_SPLIT, "task.wait", NULL},
      });

/* It opens a scope meanwhile: that is cancelled, too, and its wait in there
 * ends. */
static struct rn_scope inner;

static void
setup_open(void)
{
    setup_tell();
    memset(&inner, 0, sizeof inner);
    model_place("inner.cancelled", -1, &inner.cancelled,
                sizeof inner.cancelled);
    model_place("home.lock", -1, &machine.root.lock.held,
                sizeof machine.root.lock.held);
}

static void
opener(void)
{
    struct rn__task *self = machine_self();
    rn__scope_init(&inner, self->scope, self);
    link_below(&inner, self->scope, self);
    self->scope = &inner;
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    model_check(rn__wait_park(self, RN_NEVER) == -ECANCELED);
    model_check(rn__scope_cancelled(&inner));
    unlink_from(&machine.root, &inner, self);
    self->scope = &machine.root;
    model_check(rn__cancel_check(self) == -ECANCELED);
}

MODEL(cancel_of_one_task_that_opens_a_scope, .setup = setup_open,
      .check = machine_check, .threads = {opener, teller},
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"the lock of home excludes nobody", MODEL_SPLIT, "home.lock", NULL},
      });

/* Two, one in the other, while all of home is cancelled as well: the innermost
 * sees it, and home keeps both marks. */
static struct rn_scope innermost;

static void
setup_nested(void)
{
    setup_open();
    memset(&innermost, 0, sizeof innermost);
    model_place("innermost.cancelled", -1, &innermost.cancelled,
                sizeof innermost.cancelled);
    model_place("inner.lock", -1, &inner.lock.held, sizeof inner.lock.held);
    model_place("innermost.lock", -1, &innermost.lock.held,
                sizeof innermost.lock.held);
}

static void
open_in(struct rn__task *self, struct rn_scope *scope)
{
    rn__scope_init(scope, self->scope, self);
    link_below(scope, self->scope, self);
    self->scope = scope;
}

static void
close_again(struct rn__task *self)
{
    struct rn_scope *scope = self->scope;
    unlink_from(scope->parent, scope, self);
    self->scope = scope->parent;
}

static void
nested_opener(void)
{
    struct rn__task *self = machine_self();
    open_in(self, &inner);
    open_in(self, &innermost);
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    model_check(rn__wait_park(self, RN_NEVER) == -ECANCELED);
    model_check(rn__scope_reason(&innermost) == RN__CANCEL_PARENT);
    close_again(self);
    model_check(rn__scope_reason(&inner) == RN__CANCEL_PARENT);
    close_again(self);
    model_check(rn__cancel_check(self) == -ECANCELED);
}

static void
check_nested(void)
{
    machine_check();
    model_check(machine.root.cancelled == (RN__CANCEL_USER | RN__CANCEL_SOME));
    model_check(machine_tasks[0].told == RN__CANCEL_USER);
}

MODEL(cancel_of_one_task_and_of_all, .setup = setup_nested,
      .check = check_nested, .threads = {nested_opener, teller, canceller},
      .bound = 2,
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"cancels exclude nobody", MODEL_SPLIT, "cancel_lock", NULL},
          {"the lock of home excludes nobody", MODEL_SPLIT, "home.lock", NULL},
          {"the lock of a scope excludes nobody", MODEL_SPLIT, "inner.lock",
           NULL},
      });

/* ---- inside a shield ------------------------------------------------------
 * A cancel outside ends no wait in a scope that was opened inside a shield; one
 * of that scope does. */
static void
setup_shield(void)
{
    setup();
    memset(&inner, 0, sizeof inner);
    struct rn__task *task = &machine_tasks[0];
    rn__scope_init(&inner, &machine.root, task);
    task->shields = RN__SHIELD;
    link_below(&inner, &machine.root, task);
    task->scope = &inner;
    model_place("inner.cancelled", -1, &inner.cancelled,
                sizeof inner.cancelled);
}

static void
shielded_waiter(void)
{
    struct rn__task *self = machine_self();
    uint32_t inside = model_broken("shields are not counted") ? 0 : RN__SHIELD;
    self->shields = inside;
    rn__wait_open(self, RN__SLEEP, NULL, NULL, true);
    self->shields = RN__SHIELD;
    model_check(rn__wait_park(self, RN_NEVER) == -ECANCELED);
    model_check(rn__scope_cancelled(&inner));
}

static void
canceller_inside(void)
{
    rn__scope_cancel(&machine, &inner, RN__CANCEL_USER);
}

MODEL(cancel_inside_a_shield, .setup = setup_shield, .check = machine_check,
      .threads = {shielded_waiter, canceller, canceller_inside},
      .breaks = {
          {"no heavy fence", MODEL_NO_HEAVY, NULL, NULL},
          {"shields are not counted", MODEL_OTHER, NULL, NULL},
      });
