/* What a carrier is told while its item runs an operator of its own: that
 * another has nothing to do. (par/engine.c)
 */
#include "core_run.h"

static void
call(void)
{
    atomic_fetch_or_explicit(&rn__self()->touched, RN__CALLED,
                             memory_order_relaxed);
}

static bool
is_called(void)
{
    return RN__CALLED &
           atomic_load_explicit(&rn__self()->touched, memory_order_relaxed);
}

static int
call_there(size_t i, void *ctx)
{
    if (ctx && i == 0)
        call();
    return 0;
}

static int
nest(size_t i, void *ctx)
{
    bool inside = i % 2;
    (void)ctx;
    CHECK(!is_called());
    if (!inside)
        call();
    CHECK_EQ(rn_par_for(3, call_there, inside ? &inside : NULL, NULL), 0);
    CHECK(is_called());
    return 0;
}

static int
touch(size_t i, void *ctx)
{
    rn_scope *scope;
    (void)i;
    (void)ctx;
    call();
    CHECK_EQ(rn_scope_open(RN_NEVER, &scope), 0);
    CHECK(is_called());
    CHECK_EQ(rn_scope_close(scope), 0);
    return 0;
}

static int
run(void *arg)
{
    (void)arg;
    CHECK_EQ(rn_par_for(4, nest, NULL, NULL), 0);
    CHECK_EQ(rn_par_for(4, touch, NULL, NULL), 0);
    return 0;
}

TEST(par_engine_a_call_outlives_what_an_item_does)
{
    rn_options options = {.workers = 1};
    CHECK_EQ(rn_run(&options, run, NULL), 0);
}
