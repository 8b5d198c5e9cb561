/* dpor/rows_bugs.c - programs that fail in some of their traces. */
#include "rows.h"
static const struct row rows[] = {
    {0},
};

const struct rows bug_rows = {rows, 0};
