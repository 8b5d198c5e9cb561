/* sim/part_text.h - what writing and reading a part share. */
#ifndef RN_PART_TEXT_H
#define RN_PART_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define RN__PART_FIRST "runnel part 1"
#define RN__PART_LAST "end "
/* FNV-1a. */
#define RN__PART_SUM 0xcbf29ce484222325u

uint64_t rn__part_sum(const void *bytes, size_t count, uint64_t sum);

#endif
