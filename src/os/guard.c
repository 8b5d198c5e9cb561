/* os/guard.c - make pages at the low ends of stacks fault when touched.
 *
 * MADV_GUARD_INSTALL (Linux 6.13) marks a page in the page table, so a slab
 * stays one memory map however many guards it has, and process_madvise marks
 * many with one call. mprotect splits the map in two each time, and a process
 * has about 65,000 maps; a part of these is left to the rest of the program,
 * whose malloc would fail without.
 */
#include "os/guard.h"

#include "os/advise.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Kernel headers older than the running kernel lack it. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* The kernel's default, and what is left to others. */
#define MAPS_DEFAULT 65530
#define MAPS_OTHERS 16384

static pthread_once_t once = PTHREAD_ONCE_INIT;
static size_t page;                  /* bytes; set once */
static bool madvise_works;           /* set once */
static _Atomic long mprotect_budget; /* guards that may still be made */
static _Atomic bool no_vectors;      /* guards one by one; os/advise.h */

/* A kernel, or an emulator of one, may accept advice it does not know. So
 * let the kernel write to the page, which must fail. */
static bool
probe_madvise(void)
{
    void *memory = rn__os_map(page);
    bool works = false;
    if (memory == NULL)
        return false;
    if (madvise(memory, page, MADV_GUARD_INSTALL) == 0)
        works = syscall(SYS_clock_getres, CLOCK_MONOTONIC, memory) == -1 &&
                errno == EFAULT;
    rn__os_unmap(memory, page);
    return works;
}

static long
read_map_limit(void)
{
    char text[32];
    int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return MAPS_DEFAULT;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return MAPS_DEFAULT;
    text[n] = '\0';
    long limit = strtol(text, NULL, 10);
    return limit > 0 ? limit : MAPS_DEFAULT;
}

static void
learn(void)
{
    long maps = read_map_limit() - MAPS_OTHERS;
    page = (size_t)sysconf(_SC_PAGESIZE);
    madvise_works = probe_madvise();
    atomic_store_explicit(&mprotect_budget, maps > 0 ? maps / 2 : 0,
                          memory_order_relaxed);
}

size_t
rn__guard_page(void)
{
    return page;
}

bool
rn__guard_works(rn_guard_kind kind)
{
    pthread_once(&once, learn);
    switch (kind) {
    case RN_GUARD_MADVISE:
        return madvise_works;
    case RN_GUARD_MPROTECT:
    case RN_GUARD_CANARY:
        return true;
    default:
        return false;
    }
}

rn_guard_kind
rn__guard_best(void)
{
    return rn__guard_works(RN_GUARD_MADVISE) ? RN_GUARD_MADVISE
                                             : RN_GUARD_MPROTECT;
}

const char *
rn__guard_name(rn_guard_kind kind)
{
    switch (kind) {
    case RN_GUARD_MADVISE:
        return "madvise";
    case RN_GUARD_MPROTECT:
        return "mprotect";
    case RN_GUARD_CANARY:
        return "canary";
    default:
        return "default";
    }
}

static size_t
install_madvise(char *first, size_t stride, size_t count)
{
    struct iovec pages[RN__GUARD_GROUP];
    for (size_t i = 0; i < count; i++)
        pages[i] = (struct iovec){first + i * stride, page};
    return rn__advise(pages, count, MADV_GUARD_INSTALL, &no_vectors);
}

static size_t
install_mprotect(char *first, size_t stride, size_t count)
{
    size_t done = 0;
    while (done < count) {
        long left = atomic_fetch_sub_explicit(&mprotect_budget, 1,
                                              memory_order_relaxed);
        if (left > 0 && mprotect(first + done * stride, page, PROT_NONE) == 0) {
            done++;
            continue;
        }
        rn__guard_forget(RN_GUARD_MPROTECT, 1);
        break;
    }
    return done;
}

size_t
rn__guard_install(rn_guard_kind kind, char *first, size_t stride, size_t count)
{
    if (kind == RN_GUARD_MADVISE)
        return install_madvise(first, stride, count);
    if (kind == RN_GUARD_MPROTECT)
        return install_mprotect(first, stride, count);
    return 0;
}

void
rn__guard_forget(rn_guard_kind kind, size_t count)
{
    if (kind == RN_GUARD_MPROTECT)
        atomic_fetch_add_explicit(&mprotect_budget, (long)count,
                                  memory_order_relaxed);
}
