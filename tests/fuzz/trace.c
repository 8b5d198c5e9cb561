/* A trace file of any bytes: refused, or printed in both ways. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static FILE *out;
    if (!out)
        out = fopen("/dev/null", "w");
    unsigned char *copy = malloc(size + 1);
    if (!copy || !out)
        abort();
    if (size)
        memcpy(copy, bytes, size);
    struct rn__trace_file file;
    if (rn__trace_parse(&file, copy, size) == 0) {
        rn__trace_text(&file, size ? bytes[size - 1] : 0, out);
        rn__trace_json(&file, out);
    }
    rn__trace_file_fini(&file);
    return 0;
}
