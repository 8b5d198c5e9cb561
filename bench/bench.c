/* bench.c - the table of our benchmarks, and the runtime they run in. */
#include "grid.h"
#include "ours.h"

static const struct bench table[] = {
    {"spawn_one", bench_spawn_one, 0, 0},
    {"spawn_one_busy", bench_busy, 0, 0},
    {"spawn_batch", bench_spawn_batch, 0, 0},
    {"group10", bench_group10, 0, 0},
    {"group100", bench_group100, 0, 0},
    {"yield2", bench_yield2, 0, 0},
    {"yield1000", bench_yield1000, 0, 0},
    {"skynet", bench_skynet, 1000000, 0},
    {"pingpong", bench_pingpong, 0, 0},
    {"pingpong_busy", bench_busy, 0, 0},
    {"buffered_1p1c", bench_buffered_1p1c, 0, 0},
    {"buffered_1p1c_busy", bench_busy, 0, 0},
    {"buffered_4p4c", bench_buffered_4p4c, 0, 0},
    {"chan_4x4_0", bench_chan_4x4_0, 0, 0},
    {"chan_4x4_10", bench_chan_4x4_10, 0, 0},
    {"chan_4x4_100", bench_chan_4x4_100, 0, 0},
    {"handoff", bench_handoff, 0, 0},
    {"buffered_same", bench_buffered_same, 0, 0},
    {"go_recv", bench_go_recv, 0, 0},
    {"select2", bench_select2, 0, 0},
    {"select8", bench_select8, 0, 0},
    {"select8_busy", bench_busy, 0, 0},
    {"select2_send", bench_select2_send, 0, 0},
    {"select2_ready", bench_select2_ready, 0, 0},
    {"select8_ready", bench_select8_ready, 0, 0},
    {"select_default", bench_select_default, 0, 0},
    {"mutex", bench_mutex, 0, 0},
    {"mutex_busy", bench_busy, 0, 0},
    {"mutex_yield", bench_mutex_yield, 0, 0},
    {"rwmutex_read_busy", bench_busy, 0, 0},
    {"rwmutex_read", bench_rwmutex_read, 0, 0},
    {"rwmutex_write", bench_rwmutex_write, 0, 0},
    {"sema", bench_sema, 0, 0},
    {"waitgroup", bench_waitgroup, 0, 0},
    {"once_done", bench_once_done, 0, 0},
    {"future", bench_future, 0, 0},
    {"barrier", bench_barrier, 0, 0},
    {"workgroup_1", bench_workgroup_1, 0, 0},
    {"timer", bench_timer, 0, 0},
    {"timer_fire", bench_timer_fire, 0, 0},
    {"timer100k", bench_timer100k, 0, 0},
    {"context_cancel", bench_context_cancel, 0, 0},
    {"context_timeout", bench_context_timeout, 0, 0},
    {"blocking", bench_blocking, 0, 0},
    {"stm_read4", bench_stm_read4, 0, 0},
    {"stm_read4_busy", bench_busy, 0, 0},
    {"stm_update2", bench_stm_update2, 0, 0},
    {"stm_update2_busy", bench_busy, 0, 0},
    {"stm_bank", bench_stm_bank, 0, 0},
    {"stm_bank_mutex", bench_stm_bank_mutex, 0, 0},
    {"stm_counter", bench_stm_counter, 0, 0},
    {"stm_retry", bench_stm_retry, 0, 0},
    {"sleepers10k", bench_sleepers, 10000, 1},
    {"sleepers100k", bench_sleepers, 100000, 1},
    BENCH_GRID_ROWS(bench_par),
    {"par_n1", bench_par_n1, 0, 0},
    {"par_alloc", bench_par_alloc, 100000, 0},
    {"par_abort", bench_par_abort, 0, 0},
    {"par_mass_cancel", bench_par_mass_cancel, 100000, 1},
    {"wake_all", bench_wake_all, 1000000, 0},
    {"unstarted_bytes", bench_unstarted_bytes, 1000000, 0},
    /* Milliseconds to watch for. */
    {"idle_wakeups", bench_idle_wakeups, 2000, 0},
};

rn_scope *
bench_open(void)
{
    rn_scope *scope;
    bench_check(rn_scope_open(RN_NEVER, &scope) == 0, "rn_scope_open");
    return scope;
}

void
bench_close(rn_scope *scope)
{
    bench_check(rn_scope_close(scope) == 0, "rn_scope_close");
}

void
bench_go(rn_scope *scope, rn_task_fn *fn, void *arg)
{
    bench_check(rn_go(scope, fn, arg) == 0, "rn_go");
}

rn_chan *
bench_chan(size_t capacity)
{
    rn_chan *chan;
    bench_check(rn_chan_new(sizeof(int64_t), capacity, &chan) == 0,
                "rn_chan_new");
    return chan;
}

static int
measure(void *arg)
{
    bench_measure(arg);
    return 0;
}

int
main(int argc, char **argv)
{
    struct bench_args args;
    bench_parse(&args, argc, argv, table, sizeof table / sizeof *table);
    rn_options options = {.workers = args.workers};
    return rn_run(&options, measure, &args) < 0;
}
