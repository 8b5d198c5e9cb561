/* os/advise.h - advice to the kernel about many ranges of memory at once. */
#ifndef RN_OS_ADVISE_H
#define RN_OS_ADVISE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

/* Give advice (of madvise) on each range: in one call, or, where the kernel
 * refuses that, which *refused remembers, in a call each. Returns how many
 * took it, the first ones. Only for pages of the calling process. */
size_t rn__advise(const struct iovec *ranges, size_t count, int advice,
                  _Atomic bool *refused);

#endif
