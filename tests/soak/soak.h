/* soak.h - what the kinds of work of the soak share with its driver.
 *
 * A kind of work is a task function: it opens its own scopes, does something
 * whose outcome is known, checks it with need(), and leaves nothing behind.
 */
#ifndef SOAK_H
#define SOAK_H

#include "base/prng.h"

#include <runnel/runnel.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Something has been done: the watcher wants to see this now and then. */
void tick(void);

/* End the program: what is wrong, and how to repeat the round. */
void soak_fail(const char *file, int line, const char *what)
    __attribute__((noreturn));
#define need(condition) \
    ((condition) ? (void)0 : soak_fail(__FILE__, __LINE__, #condition))

static inline int
below(uint64_t *prng, int n)
{
    return (int)rn__prng_below(prng, (uint32_t)n);
}

/* Cancels a scope at some moment; a task, spawned outside of it. */
struct canceller {
    rn_scope *scope;
    uint64_t seed;
};
int cancel_later(void *canceller);

/* Yields, sleeps or computes for a moment. Returns 0 or -ECANCELED. */
int dawdle(uint64_t *prng);

/* One kind of work; arg points to its seed, a uint64_t. */
struct work {
    const char *name;
    rn_task_fn *fn;
};
extern const struct work soak_works[];
extern const int soak_work_count;

/* The kinds, by file. */
int work_hog(void *seed);
int work_tree(void *seed), work_once(void *seed), work_deep(void *seed),
    work_sleep(void *seed), work_pingpong(void *seed),
    work_blocking(void *seed);
int work_chan(void *seed), work_select(void *seed), work_join(void *seed);
int work_buffer(void *seed), work_mutex(void *seed);
int work_timers(void *seed), work_cancel(void *seed), work_deadline(void *seed);
int work_par(void *seed), work_par_meet(void *seed), work_par_pull(void *seed);
int work_report(void *seed), work_shield(void *seed), work_defer(void *seed);
int work_after(void *seed), work_cancel_one(void *seed), work_move(void *seed);
int work_hold(void *seed), work_context(void *seed);
int work_rwmutex(void *seed), work_sema(void *seed), work_barrier(void *seed);
int work_future(void *seed), work_workgroup(void *seed);
int work_bank(void *seed), work_stm_line(void *seed), work_stm_long(void *seed);
int work_race(void *seed), work_reduce(void *seed), work_map(void *seed);

#endif
