/* os/os.c - clock, CPUs, sleeping and waking, pages. */
#include "os/os.h"

#include "base/atomic.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* More CPUs than any kernel is built for. */
#define CPUS_MAX (1 << 16)

rn_time
rn__os_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (rn_time)ts.tv_sec * RN_SEC + ts.tv_nsec;
}

/* The kernel refuses a set smaller than its own, so grow until it fits. */
int
rn__os_cpus(void)
{
    for (int cpus = 1024; cpus <= CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL)
            return 1;
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        CPU_ZERO_S(bytes, set);
        int err = sched_getaffinity(0, bytes, set) == 0 ? 0 : errno;
        int count = CPU_COUNT_S(bytes, set);
        CPU_FREE(set);
        if (err == 0)
            return count > 0 ? count : 1;
        if (err != EINVAL)
            return 1;
    }
    return 1;
}

void
rn__os_wait(_Atomic uint32_t *word, uint32_t expected, rn_time deadline)
{
    struct timespec ts;
    struct timespec *timeout = NULL;
    if (deadline != RN_NEVER) {
        if (deadline <= 0)
            return;
        ts.tv_sec = (time_t)(deadline / RN_SEC);
        ts.tv_nsec = (long)(deadline % RN_SEC);
        timeout = &ts;
    }
    /* The bitset form takes an absolute time on the monotonic clock. */
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
            expected, timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

void
rn__os_wake(_Atomic uint32_t *word, int n)
{
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n,
            NULL, NULL, 0);
}

void
rn__os_relax(void)
{
    sched_yield();
}

void *
rn__os_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void
rn__os_unmap(void *memory, size_t bytes)
{
    if (memory != NULL)
        munmap(memory, bytes);
}

/* ---- fences ------------------------------------------------------------- */

/* <linux/membarrier.h> */
enum { EXPEDITED = 1 << 3, REGISTER_EXPEDITED = 1 << 4 };

bool
rn__os_fence_all_init(void)
{
    return syscall(SYS_membarrier, REGISTER_EXPEDITED, 0, 0) == 0;
}

void
rn__os_fence_all(void)
{
    /* Where there is no membarrier the other side passes full fences. */
    if (atomic_load_explicit(&rn__full_fences, memory_order_relaxed)) {
        __sync_synchronize();
        return;
    }
    /* A forked child has to register anew. */
    if (syscall(SYS_membarrier, EXPEDITED, 0, 0) == 0 ||
        (rn__os_fence_all_init() &&
         syscall(SYS_membarrier, EXPEDITED, 0, 0) == 0))
        return;
    fprintf(stderr, "runnel: membarrier worked at the start and is refused "
                    "now (a seccomp filter?)\n");
    abort();
}
