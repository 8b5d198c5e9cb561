/* scopes.c - benchmarks of scopes and cancellation. */
#include "ours.h"

#include <errno.h>

struct crowd {
    uint64_t begun, cancelled;
};

static int
wait_for_cancel(void *arg)
{
    struct crowd *crowd = arg;
    __atomic_fetch_add(&crowd->begun, 1, __ATOMIC_RELAXED);
    int e = rn_chan_recv(NULL, NULL, RN_NEVER);
    __atomic_fetch_add(&crowd->cancelled, e == -ECANCELED, __ATOMIC_RELAXED);
    return e;
}

/* From the cancel of a scope with n suspended tasks to the end of its close:
 * all have ended by then. */
uint64_t
bench_par_mass_cancel(uint64_t n)
{
    struct crowd crowd = {0, 0};
    rn_scope *scope = bench_open();
    for (uint64_t i = 0; i < n; i++)
        bench_go(scope, wait_for_cancel, &crowd);
    while (__atomic_load_n(&crowd.begun, __ATOMIC_RELAXED) < n)
        bench_check(rn_sleep(RN_MS) == 0, "rn_sleep");
    bench_check(rn_sleep(10 * RN_MS) == 0, "rn_sleep"); /* all wait */
    uint64_t begin = bench_now();
    bench_begin();
    rn_scope_cancel(scope);
    uint64_t told = bench_now();
    bench_check(rn_scope_close(scope) == -ECANCELED, "rn_scope_close");
    bench_end();
    uint64_t end = bench_now();
    bench_figure("cancel_ms", (double)(told - begin) / 1e6);
    bench_figure("all_ms", (double)(end - begin) / 1e6);
    bench_check(crowd.cancelled == n, "tasks that were cancelled");
    return n;
}
