/* A history of any bytes: refused, or judged within limits, by every model. */
#include "lin/lin.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const names[] = {"register", "cas-register", "queue",
                                        "stack",    "set",          "kv"};
    static FILE *err;
    rn_lin_options options = {.max_steps = 2000, .max_bytes = 1 << 22};
    rn_lin_history *h;
    rn_lin_report report;
    if (!err)
        err = fopen("/dev/null", "w");
    if (!err || rn_lin_history_new(&h) < 0)
        abort();
    /* A copy of just that size: what is read beyond it is noticed. */
    char *text = malloc(size ? size : 1);
    const rn_lin_model *model = rn_lin_model_find(names[size % 6]);
    if (!text || !model)
        abort();
    if (size)
        memcpy(text, bytes, size);
    rn_lin_read(h, model, text, size, err);
    free(text);
    if (rn_lin_check(h, model, &options, &report) == 0) {
        if (report.placed > report.ops)
            abort();
        if (report.verdict != RN_LIN_OK && !report.text)
            abort();
    }
    rn_lin_report_fini(&report);
    rn_lin_history_free(h);
    return 0;
}
