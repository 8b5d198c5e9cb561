/* order.c - a select that locks a task and a scope the task has opened, against
 * a cancel of that task, which locks the one and then the other: they never
 * lock each other, and the select ends. (sync/select.c; core/cancel.c.)
 */
#include "machine.h"

#include <string.h>

enum { SELECTOR, CANCELLER, TARGET };

static struct rn_scope scope;
static int taken; /* locks, by the select */

static struct rn__task *
target(void)
{
    return &machine_tasks[TARGET];
}

/* If broken, the first two the other way round. */
static void
lock_in_order(struct rn__lock *lock)
{
    if (model_broken("scopes come before tasks") && ++taken <= 2)
        lock = lock == &scope.watch_lock ? &target()->lock : &scope.watch_lock;
    rn__lock(lock);
}

#undef rn_select
#define rn_select modelled_ordered_select
#define rn__lock(lock) lock_in_order(lock)
#define rn__task_record(rt, id) ((void)(rt), (void)(id), target())
#define rn__task_is(task, id) ((void)(task), (void)(id), true)
#define rn__task_find(rt, id) ((void)(rt), (void)(id), (struct rn__task *)NULL)

#include "sync/select.c"

#undef rn__lock

static void
setup(void)
{
    struct rn__task *task = target();
    machine_setup();
    taken = 0;
    memset(&scope, 0, sizeof scope);
    rn__scope_init(&scope, &machine.root, task);
    rn__list_append(&machine.root.inner, &scope.in_parent);
    task->outer = &scope;
    task->scope = &scope;
    task->state = RN__TASK_LIVE | RN__TASK_OPENED;
    task->known = true;
    rn__list_init(&task->joiners);
    model_place("task.lock", -1, &task->lock.held, sizeof task->lock.held);
    model_place("watch_lock", -1, &scope.watch_lock.held,
                sizeof scope.watch_lock.held);
    model_place("cancel_lock", -1, &machine.cancel_lock.held,
                sizeof machine.cancel_lock.held);
    model_place("scope.cancelled", -1, &scope.cancelled,
                sizeof scope.cancelled);
}

static void
selector(void)
{
    rn_arm arms[] = {RN_ARM_JOIN(rn__task_handle(target()), NULL),
                     RN_ARM_SCOPE(&scope)};
    model_check(rn_select(arms, 2, 0, RN_NEVER) == 1 && arms[1].result == 0);
    model_check(rn__list_empty(&target()->joiners));
    model_check(rn__list_empty(&scope.watchers));
}

static void
canceller(void)
{
    rn__lock(&target()->lock);
    rn__task_tell(target(), RN__CANCEL_USER);
    rn__unlock(&target()->lock);
}

static void
check(void)
{
    machine_check();
    model_check(rn__scope_reason(&scope) == RN__CANCEL_PARENT);
}

MODEL(order_select_and_cancel, .setup = setup, .check = check,
      .threads = {selector, canceller},
      .breaks = {
          {"scopes come before tasks", MODEL_OTHER, NULL, NULL},
      });
