/* os/guard.h - make pages at the low ends of stacks fault when touched. */
#ifndef RN_OS_GUARD_H
#define RN_OS_GUARD_H

#include "os/os.h"

/* Most guards one call of rn__guard_install takes. */
#define RN__GUARD_GROUP 128

/* Whether that kind of guard works here. To be called before the others. */
bool rn__guard_works(rn_guard_kind kind);
/* The size of a page. */
size_t rn__guard_page(void);
/* Install count <= RN__GUARD_GROUP guards of a page each at first, first +
 * stride and so on. Returns how many are in place, the first ones. */
size_t rn__guard_install(rn_guard_kind kind, char *first, size_t stride,
                         size_t count);
/* The memory with count guards of that kind has been unmapped. */
void rn__guard_forget(rn_guard_kind kind, size_t count);

#endif
