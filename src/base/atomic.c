/* base/atomic.c - the flags of base/atomic.h. */
#include "base/atomic.h"

_Atomic uint32_t rn__parallel;
_Atomic bool rn__full_fences;
