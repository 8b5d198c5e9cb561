/* par.h - what tests of parallel operators share. */
#ifndef PAR_H
#define PAR_H

#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static inline void
at_rest(void)
{
    CHECK_EQ(rn_task_count(), 1);
    CHECK_EQ(rn_cancel_requested(), 0);
}

/* Wait a little, more or less from item to item. */
static inline void
dawdle(size_t i)
{
    if (rn_sim_active())
        CHECK_EQ(rn_sleep((rn_time)(i * 7919 % 13)), 0);
    else
        for (size_t k = 0; k < i * 7919 % 13; k++)
            CHECK_EQ(rn_yield(), 0);
}

#endif
