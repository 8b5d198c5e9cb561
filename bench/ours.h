/* ours.h - the benchmarks of the library itself; bench/README.md says what
 * each does. They run inside the main task. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "bench.h"
#include <runnel/runnel.h>

uint64_t bench_spawn_one(uint64_t n);
uint64_t bench_spawn_batch(uint64_t n);
uint64_t bench_group10(uint64_t n);
uint64_t bench_group100(uint64_t n);
uint64_t bench_yield2(uint64_t n);
uint64_t bench_yield1000(uint64_t n);
uint64_t bench_skynet(uint64_t n);

uint64_t bench_pingpong(uint64_t n);
uint64_t bench_buffered_1p1c(uint64_t n);
uint64_t bench_buffered_4p4c(uint64_t n);
uint64_t bench_chan_4x4_0(uint64_t n);
uint64_t bench_chan_4x4_10(uint64_t n);
uint64_t bench_chan_4x4_100(uint64_t n);
uint64_t bench_handoff(uint64_t n);
uint64_t bench_buffered_same(uint64_t n);
uint64_t bench_go_recv(uint64_t n);

uint64_t bench_select2(uint64_t n);
uint64_t bench_select8(uint64_t n);
uint64_t bench_select2_ready(uint64_t n);
uint64_t bench_select8_ready(uint64_t n);
uint64_t bench_select_default(uint64_t n);
uint64_t bench_select2_send(uint64_t n);

uint64_t bench_mutex(uint64_t n);
uint64_t bench_mutex_yield(uint64_t n);
uint64_t bench_rwmutex_read(uint64_t n);
uint64_t bench_rwmutex_write(uint64_t n);
uint64_t bench_sema(uint64_t n);
uint64_t bench_waitgroup(uint64_t n);
uint64_t bench_once_done(uint64_t n);
uint64_t bench_future(uint64_t n);
uint64_t bench_barrier(uint64_t n);
uint64_t bench_workgroup_1(uint64_t n);
uint64_t bench_timer(uint64_t n);
uint64_t bench_timer_fire(uint64_t n);
uint64_t bench_timer100k(uint64_t n);
uint64_t bench_blocking(uint64_t n);
uint64_t bench_context_cancel(uint64_t n);
uint64_t bench_context_timeout(uint64_t n);

uint64_t bench_stm_read4(uint64_t n);
uint64_t bench_stm_update2(uint64_t n);
uint64_t bench_busy(uint64_t n);
uint64_t bench_stm_bank(uint64_t n);
uint64_t bench_stm_bank_mutex(uint64_t n);
uint64_t bench_stm_counter(uint64_t n);
uint64_t bench_stm_retry(uint64_t n);

uint64_t bench_par(uint64_t n);
uint64_t bench_par_n1(uint64_t n);
uint64_t bench_par_alloc(uint64_t n);
uint64_t bench_par_abort(uint64_t n);
uint64_t bench_par_mass_cancel(uint64_t n);

uint64_t bench_wake_all(uint64_t n);
uint64_t bench_unstarted_bytes(uint64_t n);
uint64_t bench_sleepers(uint64_t n);
uint64_t bench_idle_wakeups(uint64_t n);

/* The library's calls, ending the program where they fail. */
rn_scope *bench_open(void);
void bench_close(rn_scope *scope);
void bench_go(rn_scope *scope, rn_task_fn *fn, void *arg);
rn_chan *bench_chan(size_t capacity);

static inline void
bench_send(rn_chan *chan, int64_t value)
{
    bench_check(rn_chan_send(chan, &value, RN_NEVER) == 0, "rn_chan_send");
}

static inline int64_t
bench_recv(rn_chan *chan)
{
    int64_t value;
    bench_check(rn_chan_recv(chan, &value, RN_NEVER) == 0, "rn_chan_recv");
    return value;
}

#endif
