/* names.h - other names for what models define or include of the library: the
 * simulator that explores them is linked from the same library, under the right
 * names. What is not here is the library's own.
 */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

/* base/ */
#define rn__parallel modelled_parallel
#define rn__full_fences modelled_full_fences
#define rn__lock_slow modelled_lock_slow

/* core/core.h: steps are those of the model */
#define rn__env_count modelled_env_count

/* core/runq.c */
#define rn__runq_put modelled_runq_put
#define rn__runq_take modelled_runq_take
#define rn__runq_steal modelled_runq_steal
#define rn__runq_empty modelled_runq_empty

/* core/wait.c */
#define rn__fire modelled_fire
#define rn__fire_all modelled_fire_all
#define rn__task_waits modelled_task_waits
#define rn__wait_add modelled_wait_add
#define rn__wait_any modelled_wait_any
#define rn__wait_claim modelled_wait_claim
#define rn__wait_claim_all modelled_wait_claim_all
#define rn__wait_claim_first modelled_wait_claim_first
#define rn__wait_fired modelled_wait_fired
#define rn__wait_forever modelled_wait_forever
#define rn__wait_one modelled_wait_one
#define rn__wait_open modelled_wait_open
#define rn__wait_park modelled_wait_park
#define rn__wait_parked modelled_wait_parked
#define rn__wait_through modelled_wait_through

/* core/scope.c */
#define rn__scope_cancel modelled_scope_do_cancel
#define rn__scope_enter modelled_scope_enter
#define rn__scope_failed modelled_scope_failed
#define rn__scope_init modelled_scope_init
#define rn__scope_leave modelled_scope_leave
#define rn__scope_pin modelled_scope_pin
#define rn__scope_unpin modelled_scope_unpin
#define rn_scope_cancel modelled_scope_cancel
#define rn_scope_close modelled_scope_close
#define rn_scope_open modelled_scope_open
#define rn_scope_set_deadline modelled_scope_set_deadline

/* core/timers.c */
#define rn__timer_again modelled_timer_again
#define rn__timer_expire modelled_timer_expire
#define rn__timer_reserve modelled_timer_reserve
#define rn__timer_restart modelled_timer_restart
#define rn__timer_start modelled_timer_start
#define rn__timer_stop modelled_timer_stop
#define rn__timer_unreserve modelled_timer_unreserve
#define rn__timers_fini modelled_timers_fini
#define rn__timers_run modelled_timers_run

/* core/sched.c, core/runtime.c: by machine.c */
#define rn__sched_park modelled_sched_park
#define rn__sched_ready modelled_sched_ready
#define rn__rt_now modelled_rt_now

/* sync/ */
#define rn__mutex_holds modelled_mutex_holds
#define rn__mutex_release modelled_mutex_release
#define rn__mutex_relock modelled_mutex_relock
#define rn_mutex_lock modelled_mutex_lock
#define rn_mutex_unlock modelled_mutex_unlock
#define rn_once_do modelled_once_do

#endif
