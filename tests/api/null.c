/* null.c - tests of all headers: NULL where there must be something. */
#include "world.h"

static void
nothing(void *arg)
{
    (void)arg;
}

#define PANICS_ON_NULL(name, function, call)            \
    API_PANICS(name##_of_null_panics, function "|NULL") \
    {                                                   \
        call;                                           \
    }

PANICS_ON_NULL(mutex_lock, "rn_mutex_lock", (void)!rn_mutex_lock(NULL, RN_NOW))
PANICS_ON_NULL(mutex_unlock, "rn_mutex_unlock", rn_mutex_unlock(NULL))
PANICS_ON_NULL(cond_signal, "rn_cond_signal", rn_cond_signal(NULL))
PANICS_ON_NULL(cond_broadcast, "rn_cond_broadcast", rn_cond_broadcast(NULL))
PANICS_ON_NULL(waitgroup_add, "rn_waitgroup_add", rn_waitgroup_add(NULL, 1))
PANICS_ON_NULL(waitgroup_done, "rn_waitgroup_done", rn_waitgroup_done(NULL))
PANICS_ON_NULL(waitgroup_wait, "rn_waitgroup_wait",
               rn_waitgroup_wait(NULL, RN_NOW))
PANICS_ON_NULL(once_do, "rn_once_do", rn_once_do(NULL, nothing, NULL, RN_NOW))
PANICS_ON_NULL(timer_stop, "rn_timer_stop", rn_timer_stop(NULL))
PANICS_ON_NULL(timer_reset, "rn_timer_reset", rn_timer_reset(NULL, 0, 0))
PANICS_ON_NULL(scope_cancel, "rn_scope_cancel", rn_scope_cancel(NULL))
PANICS_ON_NULL(scope_close, "rn_scope_close", rn_scope_close(NULL))
PANICS_ON_NULL(scope_cancel_with, "rn_scope_cancel_with",
               rn_scope_cancel_with(NULL, 1))
PANICS_ON_NULL(scope_close_with, "rn_scope_close_with",
               rn_scope_close_with(NULL, 0))
PANICS_ON_NULL(scope_open_with, "rn_scope_open_with",
               (void)!rn_scope_open_with(NULL, NULL))
PANICS_ON_NULL(scope_hold, "rn_scope_hold", (void)!rn_scope_hold(NULL, NULL))
PANICS_ON_NULL(scope_handle_go, "rn_scope_handle_go",
               rn_scope_handle_go(NULL, NULL, NULL))
PANICS_ON_NULL(scope_context, "rn_scope_context",
               (void)!rn_scope_context(NULL, NULL))
PANICS_ON_NULL(context_new, "rn_context_new",
               (void)!rn_context_new(NULL, RN_NEVER, NULL))
PANICS_ON_NULL(context_with_value, "rn_context_with_value",
               (void)!rn_context_with_value(NULL, "", NULL, NULL, NULL))
PANICS_ON_NULL(context_without_cancel, "rn_context_without_cancel",
               (void)!rn_context_without_cancel(NULL, NULL))
PANICS_ON_NULL(context_merge, "rn_context_merge",
               (void)!rn_context_merge(NULL, 1, &(rn_context *){NULL}))
PANICS_ON_NULL(context_after, "rn_context_after",
               (void)!rn_context_after(NULL, NULL, NULL, NULL, NULL))
PANICS_ON_NULL(context_current, "rn_context_current",
               (void)!rn_context_current(NULL))
PANICS_ON_NULL(task_move, "rn_task_move", rn_task_move(NULL))
PANICS_ON_NULL(task_bracket, "rn_bracket", rn_bracket(NULL, NULL, NULL, NULL))
PANICS_ON_NULL(task_defer_on_error, "rn_defer_on_error",
               rn_defer_on_error(NULL, NULL))
PANICS_ON_NULL(task_defer_on_cancel, "rn_defer_on_cancel",
               rn_defer_on_cancel(NULL, NULL))
PANICS_ON_NULL(shield_unshield, "rn_unshield",
               rn_unshield(rn_shield_push(), NULL, NULL))
PANICS_ON_NULL(task_go, "rn_go", rn_go(NULL, NULL, NULL))
PANICS_ON_NULL(task_defer, "rn_defer", rn_defer(NULL, NULL))

API_PANICS(cond_wait_without_an_object_panics, "rn_cond_wait|NULL")
{
    rn_cond c = RN_COND_INIT;
    (void)!rn_cond_wait(&c, NULL, RN_NOW);
}

API_PANICS(once_do_of_no_function_panics, "rn_once_do|NULL")
{
    rn_once o = RN_ONCE_INIT;
    rn_once_do(&o, NULL, NULL, RN_NOW);
}

API_PANICS(chan_send_of_no_value_panics, "rn_chan_send|NULL")
{
    rn_chan *c;
    CHECK_EQ(rn_chan_new(4, 1, &c), 0);
    rn_chan_send(c, NULL, RN_NOW);
}

API_TEST(chan_send_of_no_value_of_size_zero_works)
{
    rn_chan *c;
    CHECK_EQ(rn_chan_new(0, 1, &c), 0);
    CHECK_EQ(rn_chan_send(c, NULL, RN_NOW), 0);
    CHECK_EQ(rn_chan_recv(c, NULL, RN_NOW), 0);
    rn_chan_unref(c);
}

TEST_DIES_WITH(run_of_no_function_panics, "rn_run|NULL", -SIGABRT)
{
    rn_run(NULL, NULL, NULL);
}
