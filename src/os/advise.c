/* os/advise.c - advice to the kernel about many ranges of memory at once.
 *
 * process_madvise takes a vector, and where the kernel takes any advice about
 * the caller itself (Linux 6.13) that is several times cheaper than a call a
 * range.
 */
#include "os/advise.h"

#include "os/san.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One call for all. The descriptor of the own process is opened each time,
 * for in a forked child an old one would mean the parent. No failure is final,
 * single calls follow. */
static size_t
advise_at_once(const struct iovec *ranges, size_t count, int advice,
               _Atomic bool *refused)
{
    /* Valgrind complains of calls it does not know. */
    if (atomic_load_explicit(refused, memory_order_relaxed) ||
        rn__san_valgrind())
        return 0;
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd < 0)
        return 0;
    long bytes = syscall(SYS_process_madvise, fd, ranges, count, advice, 0);
    if (bytes < 0 && errno != EINTR && errno != EAGAIN)
        atomic_store_explicit(refused, true, memory_order_relaxed);
    close(fd);
    size_t done = 0;
    for (; done < count && bytes >= (long)ranges[done].iov_len; done++)
        bytes -= (long)ranges[done].iov_len;
    return done;
}

size_t
rn__advise(const struct iovec *ranges, size_t count, int advice,
           _Atomic bool *refused)
{
    size_t done = advise_at_once(ranges, count, advice, refused);
    while (done < count) {
        if (madvise(ranges[done].iov_base, ranges[done].iov_len, advice) == 0)
            done++;
        else if (errno != EINTR && errno != EAGAIN)
            break;
    }
    return done;
}
