/* core_run.h - what the tests that start a runtime share. */
#ifndef CORE_RUN_H
#define CORE_RUN_H

#include "base/prng.h"
#include "core/core.h"
#include "test.h"

#include <runnel/runnel.h>

enum { WORKERS = 4 };

/* Run fn as main on more workers than most machines for tests have cores. */
static inline void
run_many(rn_task_fn *fn)
{
    rn_options options = {.workers = WORKERS};
    CHECK_EQ(rn_run(&options, fn, NULL), 0);
}

/* A test whose body is the main task of four workers. */
#define RUN_TEST(id)                \
    static int run_##id(void *arg); \
    TEST(id)                        \
    {                               \
        run_many(run_##id);         \
    }                               \
    static int run_##id(void *arg __attribute__((unused)))

static inline void
go(rn_scope *scope, rn_task_fn *fn, void *arg)
{
    CHECK_EQ(rn_go(scope, fn, arg), 0);
}

static inline rn_chan *
new_chan(size_t elem_bytes, size_t capacity)
{
    rn_chan *chan;
    CHECK_EQ(rn_chan_new(elem_bytes, capacity, &chan), 0);
    return chan;
}

static inline rn_scope *
open_scope(void)
{
    rn_scope *scope;
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    return scope;
}

#endif
