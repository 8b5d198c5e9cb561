/* clock.c - preloaded: a clock that goes by calls, not by time.
 *
 * The scheduler looks at the clock after as many switches as it thinks fit
 * into a span of time, so how many instructions it takes depends on how fast
 * the machine is, which Callgrind makes fifty times slower and not evenly so.
 * Here a microsecond passes with each call, as if tasks were very short. The
 * clock is an hour ahead, so that whoever sleeps in the kernel sleeps on.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEP_NS 1000
#define AHEAD_S 3600

int clock_gettime(clockid_t id, struct timespec *now);

int
clock_gettime(clockid_t id, struct timespec *now)
{
    static _Atomic long begin_s, calls;
    /* relaxed: seconds of whoever was first; a count */
    long n = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    if (atomic_load_explicit(&begin_s, memory_order_relaxed) == 0) {
        syscall(SYS_clock_gettime, id, now);
        atomic_store_explicit(&begin_s, now->tv_sec + AHEAD_S,
                              memory_order_relaxed);
    }
    long ns = n * STEP_NS;
    now->tv_sec =
        atomic_load_explicit(&begin_s, memory_order_relaxed) + ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
}
