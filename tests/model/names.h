/* names.h - other names for what models define or include of the library: the
 * simulator that explores them is linked from the same library, under the right
 * names. What is not here is the library's own.
 */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

/* base/ */
#define rn__inside_self modelled_inside_self
#define rn__joined modelled_joined
#define rn__parallel modelled_parallel
#define rn__full_fences modelled_full_fences
#define rn__lock_hard modelled_lock_hard
#define rn__lock_slow modelled_lock_slow

/* core/core.h: steps are those of the model */
#define rn__env_count modelled_env_count

/* core/after.c */
#define rn__after_unbegun modelled_after_unbegun
#define rn_after_func modelled_public_after_func
#define rn_after_reset modelled_public_after_reset
#define rn_after_stop modelled_public_after_stop

/* core/outside.c */
#define rn__outside_call_off modelled_outside_call_off
#define rn__outside_expect modelled_outside_expect
#define rn__outside_post modelled_outside_post
#define rn__outside_take modelled_outside_take

/* core/runq.c */
#define rn__ring_grow modelled_ring_grow
#define rn__runq_give_way modelled_runq_give_way
#define rn__runq_rob modelled_runq_rob

/* core/sched.c; machine.c has some of its own */
#define rn__sched_measure modelled_sched_measure
#define rn__sched_offer modelled_sched_offer
#define rn__sched_adopt modelled_sched_adopt
#define rn__sched_arrived modelled_sched_arrived
#define rn__sched_end modelled_sched_end
#define rn__sched_enter modelled_sched_enter
#define rn__sched_feed modelled_sched_feed
#define rn__sched_local modelled_sched_local
#define rn__sched_park modelled_sched_park
#define rn__sched_poke modelled_sched_poke
#define rn__sched_ready modelled_sched_ready
#define rn__sched_set_pace modelled_sched_set_pace
#define rn__sched_starved modelled_sched_starved
#define rn__sched_switch modelled_sched_switch
#define rn__sched_yield modelled_sched_yield
#define rn__stack_give modelled_stack_give
#define rn__stack_reset modelled_stack_reset
#define rn__stack_take modelled_stack_take

/* core/cancel.c */
#define rn__cancel_seen modelled_cancel_seen
#define rn__join_is_endless modelled_join_is_endless
#define rn__scope_cancel_by modelled_scope_cancel_by
#define rn__scope_inherit modelled_scope_inherit
#define rn__scope_inherit_from modelled_scope_inherit_from
#define rn__scope_cancel_from modelled_scope_cancel_from
#define rn__scope_expire modelled_scope_expire
#define rn__task_tell modelled_task_tell
#define rn__task_tell_home modelled_task_tell_home
#define rn_cancel_reason modelled_public_cancel_reason
#define rn_cancel_requested modelled_public_cancel_requested
#define rn_scope_cancel_with modelled_public_scope_cancel_with
#define rn_shutdown modelled_shutdown
#define rn_task_cancel modelled_public_task_cancel
#define rn_task_cancel_join modelled_public_task_cancel_join

/* core/hold.c */
#define rn__hold_end modelled_hold_end
#define rn_scope_handle_go modelled_public_scope_handle_go
#define rn_scope_handle_release modelled_public_scope_handle_release
#define rn_scope_hold modelled_public_scope_hold

/* core/scope.c */
#define rn__scope_admit modelled_scope_admit
#define rn__scope_delist modelled_scope_delist
#define rn__scope_enter_slow modelled_scope_enter_slow
#define rn__scope_note modelled_scope_note
#define rn__scope_note_task modelled_scope_note_task
#define rn__scope_index modelled_scope_index
#define rn__scope_reserve modelled_scope_reserve
#define rn_scope_close_with modelled_public_scope_close_with
#define rn_scope_open_with modelled_public_scope_open_with
#define rn__scope_list modelled_scope_list
#define rn__scope_unlist modelled_scope_unlist
#define rn__scope_begin modelled_scope_begin
#define rn__scope_cancel modelled_scope_cancel
#define rn__scope_emptied modelled_scope_emptied
#define rn__scope_end_report modelled_scope_end_report
#define rn__scope_failed modelled_scope_failed
#define rn__scope_finish modelled_scope_finish
#define rn__scope_init modelled_scope_init
#define rn__scope_pin modelled_scope_pin
#define rn__scope_unpin modelled_scope_unpin
#define rn__scope_close modelled_scope_close
#define rn__scope_open modelled_scope_open
#define rn__scopes_fini modelled_scopes_fini
#define rn_scope_cancel modelled_public_scope_cancel
#define rn_scope_close modelled_public_scope_close
#define rn_scope_open modelled_public_scope_open
#define rn_scope_set_deadline modelled_public_scope_set_deadline

/* core/timers.c */
#define rn__timer_again modelled_timer_again
#define rn__timer_expire modelled_timer_expire
#define rn__timer_restart modelled_timer_restart
#define rn__timer_start modelled_timer_start
#define rn__timer_stop modelled_timer_stop
#define rn__timers_due modelled_timers_due
#define rn__timers_first modelled_timers_first
#define rn__timers_init modelled_timers_init
#define rn__timers_look modelled_timers_look
#define rn__timers_look_everywhere modelled_timers_look_everywhere
#define rn__timers_next modelled_timers_next
#define rn__timers_run modelled_timers_run

/* core/wait.c */
#define rn__carriers_suspend modelled_carriers_suspend
#define rn__fire_all modelled_fire_all
#define rn__wait_any modelled_wait_any
#define rn__wait_claim_all modelled_wait_claim_all
#define rn__wait_claim_some modelled_wait_claim_some
#define rn__wait_expire modelled_wait_expire
#define rn__wait_forever modelled_wait_forever
#define rn__wait_one modelled_wait_one
#define rn__wait_park modelled_wait_park

/* core/worker.c */
#define rn__worker_begin modelled_worker_begin
#define rn__worker_end modelled_worker_end
#define rn__worker_find modelled_worker_find
#define rn__worker_slack modelled_worker_slack
#define rn__worker_stop_all modelled_worker_stop_all
#define rn__worker_wake_from_outside modelled_worker_wake_from_outside
#define rn__worker_wake_one modelled_worker_wake_one

/* core/monitor.c, core/spare.c: by machine.c */
#define rn__monitor_ring modelled_monitor_ring
#define rn__spare_give modelled_spare_give
#define rn__spare_take modelled_spare_take
#define rn__spare_trim modelled_spare_trim
#define rn__spare_trim_idle modelled_spare_trim_idle

/* os/ and core/runtime.c: by machine.c and sched.c */
#define rn__alloc modelled_alloc
#define rn__ctx_switch modelled_ctx_switch
#define rn__free modelled_free
#define rn__os_now modelled_os_now
#define rn__os_set_self modelled_os_set_self
#define rn__rt_now modelled_rt_now

/* par/ */
#define rn__pace_block modelled_pace_block
#define rn__pace_calls modelled_pace_calls
#define rn__pace_learn modelled_pace_learn
#define rn__pace_shares modelled_pace_shares
#define rn__pace_yield modelled_pace_yield
#define rn__par_carry modelled_par_carry
#define rn__par_close modelled_par_close
#define rn__par_ended modelled_par_ended
#define rn__par_failed modelled_par_failed
#define rn__par_open modelled_par_open
#define rn__par_run modelled_par_run
#define rn__par_run_values modelled_par_run_values

/* sync/ */
#define rn_future_new modelled_public_future_new
#define rn_future_ref modelled_public_future_ref
#define rn_future_unref modelled_public_future_unref
#define rn_future_wait modelled_public_future_wait
#define rn_promise_fail modelled_public_promise_fail
#define rn_promise_free modelled_public_promise_free
#define rn_promise_set modelled_public_promise_set
#define rn__mutex_holds modelled_mutex_holds
#define rn__mutex_release modelled_mutex_release
#define rn__mutex_relock modelled_mutex_relock
#define rn__stm_clock modelled_stm_clock
#define rn__tvar_check_idle modelled_tvar_check_idle
#define rn__tvar_differs modelled_tvar_differs
#define rn__tvar_store modelled_tvar_store
#define rn__tx_begin modelled_tx_begin
#define rn__tx_commit modelled_tx_commit
#define rn__tx_enter modelled_tx_enter
#define rn__tx_give modelled_tx_give
#define rn__tx_grow modelled_tx_grow
#define rn__tx_index modelled_tx_index
#define rn__tx_leave modelled_tx_leave
#define rn__tx_reserve modelled_tx_reserve
#define rn__tx_reserve_waiters modelled_tx_reserve_waiters
#define rn__tx_search modelled_tx_search
#define rn__tx_slot modelled_tx_slot
#define rn__tx_take modelled_tx_take
#define rn__tx_valid modelled_tx_valid
#define rn__tx_wait modelled_tx_wait
#define rn_atomically modelled_public_atomically
#define rn_tvar_free modelled_public_tvar_free
#define rn_tvar_new modelled_public_tvar_new
#define rn_tvar_read modelled_public_tvar_read
#define rn_tvar_write modelled_public_tvar_write
#define rn_tx_check modelled_public_tx_check
#define rn_tx_or_else modelled_public_tx_or_else
#define rn_tx_retry modelled_public_tx_retry
#define rn_mutex_lock modelled_public_mutex_lock
#define rn_mutex_unlock modelled_public_mutex_unlock
#define rn_once_do modelled_public_once_do
#define rn_rwmutex_downgrade modelled_public_rwmutex_downgrade
#define rn_rwmutex_lock modelled_public_rwmutex_lock
#define rn_rwmutex_read_lock modelled_public_rwmutex_read_lock
#define rn_rwmutex_read_unlock modelled_public_rwmutex_read_unlock
#define rn_rwmutex_unlock modelled_public_rwmutex_unlock
#define rn_select modelled_public_select

#endif
