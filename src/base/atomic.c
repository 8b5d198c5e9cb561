/* base/atomic.c - the flags of base/atomic.h. */
#include "base/atomic.h"

_Atomic uint32_t rn__parallel, rn__joined;
_Atomic bool rn__full_fences;

/* Initial-exec and not static, because the assembly in atomic.h names it. */
extern __thread struct rn__inside rn__inside;
__thread struct rn__inside rn__inside
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

__attribute__((noinline)) struct rn__inside *
rn__inside_self(void)
{
    return &rn__inside;
}
