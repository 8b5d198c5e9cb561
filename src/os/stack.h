/* os/stack.h - what fault.c asks about stacks. */
#ifndef RN_OS_STACK_H
#define RN_OS_STACK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether address lies in the guard of a stack of a live pool; if so, that
 * stack's usable part. For signal handlers: takes no lock. */
bool rn__stack_guard(const void *address, void **low, size_t *bytes);

#endif
