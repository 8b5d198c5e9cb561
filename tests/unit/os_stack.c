/* Pools of stacks. */
#include "os/os.h"
#include "os/san.h"
#include "os/stack.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define KIB ((size_t)1024)

static struct rn__stackpool pool;

static void
open_pool(size_t bytes, rn_guard_kind guard)
{
    int err = rn__stackpool_init(&pool, bytes, guard);
    if (err == -EINVAL && guard == RN_GUARD_MADVISE)
        test_skip("this kernel has no guard pages by madvise");
    CHECK_EQ(err, 0);
}

static char *
get(size_t *usable)
{
    char *low = rn__stack_get(&pool, usable);
    CHECK(low);
    CHECK_EQ((uintptr_t)low % 4096, 0);
    CHECK_EQ(*usable % 16, 0);
    CHECK_LT(*usable, pool.stack_bytes);
    CHECK_GT(*usable, pool.stack_bytes - 8 * KIB);
    return low;
}

static void
newest_first(rn_guard_kind guard)
{
    size_t usable;
    open_pool(64 * KIB, guard);
    char *a = get(&usable), *b = get(&usable), *c = get(&usable);
    rn__stack_put(&pool, a);
    rn__stack_put(&pool, c);
    rn__stack_put(&pool, b);
    CHECK(get(&usable) == b);
    CHECK(get(&usable) == c);
    CHECK(get(&usable) == a);
    CHECK_EQ(pool.made, 3);
    CHECK(get(&usable) != a);
    CHECK_EQ(pool.made, 4);
    rn__stackpool_fini(&pool);
}

TEST(stack_newest_is_reused_first_madvise)
{
    newest_first(RN_GUARD_MADVISE);
}
TEST(stack_newest_is_reused_first_mprotect)
{
    newest_first(RN_GUARD_MPROTECT);
}
TEST(stack_newest_is_reused_first_canary)
{
    newest_first(RN_GUARD_CANARY);
}

/* Every byte of every stack is there and belongs to one only. */
static void
no_overlap(size_t bytes, rn_guard_kind guard)
{
    enum { COUNT = 150 };
    static char *low[COUNT];
    static size_t usable[COUNT];
    open_pool(bytes, guard);
    for (int i = 0; i < COUNT; i++) {
        low[i] = get(&usable[i]);
        memset(low[i], i, usable[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(rn__stack_intact(&pool, low[i]));
        for (size_t at = 0; at < usable[i]; at++)
            if (low[i][at] != (char)i)
                FAIL("byte %zu of stack %d has changed", at, i);
    }
    rn__stackpool_fini(&pool);
}

TEST(stack_memory_is_not_shared)
{
    no_overlap(16 * KIB, RN_GUARD_DEFAULT);
    no_overlap(16 * KIB, RN_GUARD_MPROTECT);
    no_overlap(16 * KIB, RN_GUARD_CANARY);
    no_overlap(20 * KIB + 1, RN_GUARD_DEFAULT);
}

TEST(stack_tops_are_coloured)
{
    size_t seen[64] = {0}, usable;
    int colours = 0;
    open_pool(64 * KIB, RN_GUARD_DEFAULT);
    for (int i = 0; i < 64; i++) {
        char *low = get(&usable);
        size_t top = ((uintptr_t)low + usable) % 4096;
        colours += !seen[top / 64]++;
    }
    CHECK_GE(colours, 8);
    rn__stackpool_fini(&pool);
}

/* More than the kernel has memory maps, with guards that need none. */
TEST(stack_pool_holds_100000)
{
    long count = test_count(100000);
    size_t usable;
    char **low = malloc((size_t)count * sizeof *low);
    CHECK(low);
    open_pool(64 * KIB, RN_GUARD_DEFAULT);
    for (long i = 0; i < count; i++) {
        low[i] = get(&usable);
        low[i][usable - 1] = 1;
    }
    CHECK_EQ(pool.made, count);
    if (pool.guard == RN_GUARD_MADVISE)
        CHECK_EQ(atomic_load(&pool.unguarded), 0);
    for (long i = 0; i < count; i++) {
        void *found;
        size_t bytes;
        CHECK(rn__stack_guard(low[i] - 1, &found, &bytes));
        CHECK(found == low[i]);
        CHECK(!rn__stack_guard(low[i], &found, &bytes));
        rn__stack_put(&pool, low[i]);
        if (i >= 200)
            i += 977;
    }
    CHECK(!rn__stack_guard(&usable, &(void *){0}, &usable));
    rn__stackpool_fini(&pool);
    CHECK(!rn__stack_guard(low[0] - 1, &(void *){0}, &usable));
    free(low);
}

/* Guards by mprotect run out; the rest of the stacks have canaries, which is
 * counted, and the program can still map memory. */
TEST(stack_guards_that_run_out_become_canaries)
{
    long count = 40000;
    size_t usable;
    if (test_slow() > 4)
        test_skip("too slow here");
    char **low = malloc((size_t)count * sizeof *low);
    CHECK(low);
    open_pool(16 * KIB, RN_GUARD_MPROTECT);
    for (long i = 0; i < count; i++)
        low[i] = get(&usable);
    uint64_t unguarded = atomic_load(&pool.unguarded);
    CHECK_GT(unguarded, 0);
    CHECK_LT(unguarded, (uint64_t)count);
    void *more[200];
    for (int i = 0; i < 200; i++)
        CHECK(more[i] = rn__os_map((size_t)4096 * (size_t)(1 + i % 2)));
    for (int i = 0; i < 200; i++)
        rn__os_unmap(more[i], (size_t)4096 * (size_t)(1 + i % 2));
    for (long i = 0; i < count; i++)
        CHECK(rn__stack_intact(&pool, low[i]));
    low[count - 1][-1] ^= 1; /* an overflow of the last, which has none */
    CHECK(!rn__stack_intact(&pool, low[count - 1]));
    rn__stackpool_fini(&pool);
    free(low);
}

TEST(stack_canary_sees_an_overflow)
{
    size_t usable;
    open_pool(16 * KIB, RN_GUARD_CANARY);
    char *low = get(&usable), *other = get(&usable);
    memset(low, 0, usable);
    CHECK(rn__stack_intact(&pool, low));
    low[-3] = 1;
    CHECK(!rn__stack_intact(&pool, low));
    CHECK(rn__stack_intact(&pool, other));
    rn__stackpool_fini(&pool);
}

TEST(stack_pool_refuses_nonsense)
{
    struct rn__stackpool none;
    CHECK_EQ(rn__stackpool_init(&none, 0, RN_GUARD_DEFAULT), -EINVAL);
    CHECK_EQ(rn__stackpool_init(&none, 16 * KIB - 1, RN_GUARD_DEFAULT),
             -EINVAL);
    CHECK_EQ(rn__stackpool_init(&none, KIB * KIB * KIB + 1, RN_GUARD_DEFAULT),
             -EINVAL);
    CHECK_EQ(rn__stackpool_init(&none, SIZE_MAX, RN_GUARD_CANARY), -EINVAL);
    CHECK_EQ(rn__stackpool_init(&none, 64 * KIB, (rn_guard_kind)99), -EINVAL);
}

TEST(stack_of_a_gibibyte)
{
    size_t usable;
    open_pool(KIB * KIB * KIB, RN_GUARD_DEFAULT);
    char *low = get(&usable);
    low[0] = low[usable - 1] = 1;
    rn__stackpool_fini(&pool);
}

TEST(stack_guard_names)
{
    CHECK_STR(rn__guard_name(RN_GUARD_MADVISE), "madvise");
    CHECK_STR(rn__guard_name(RN_GUARD_MPROTECT), "mprotect");
    CHECK_STR(rn__guard_name(RN_GUARD_CANARY), "canary");
    CHECK_STR(rn__guard_name(RN_GUARD_DEFAULT), "default");
    open_pool(64 * KIB, RN_GUARD_DEFAULT);
    CHECK_EQ(pool.guard, rn__guard_best());
}

/* Without addresses left a pool says so, and goes on with what it has. */
TEST(stack_pool_out_of_addresses)
{
    if (RN__SAN)
        test_skip("sanitizers need the addresses");
    struct rlimit limit = {(size_t)256 << 20, (size_t)256 << 20};
    size_t usable;
    char *low, *last = NULL;
    open_pool(64 * KIB, RN_GUARD_DEFAULT);
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    while ((low = rn__stack_get(&pool, &usable))) {
        last = low;
        if (pool.made > 8192)
            test_skip("the limit on addresses is not kept here");
    }
    CHECK_GT(pool.made, 1000);
    rn__stack_put(&pool, last);
    CHECK(get(&usable) == last);
    rn__stackpool_fini(&pool);
    CHECK(rn__stack_get(&pool, &usable));
    rn__stackpool_fini(&pool);
}

TEST(stack_pool_with_unlimited_stacks)
{
    struct rlimit limit;
    size_t usable;
    CHECK_EQ(getrlimit(RLIMIT_STACK, &limit), 0);
    if (limit.rlim_max != RLIM_INFINITY)
        test_skip("the hard limit of stacks is not unlimited");
    limit.rlim_cur = RLIM_INFINITY;
    CHECK_EQ(setrlimit(RLIMIT_STACK, &limit), 0);
    open_pool(64 * KIB, RN_GUARD_DEFAULT);
    get(&usable);
    rn__stackpool_fini(&pool);
}

/* A stack is never with two threads at once: each marks what it has. */
static void
borrow(void *arg)
{
    long mine = (long)(uintptr_t)arg;
    for (long i = 0; i < test_count(20000); i++) {
        size_t usable[3];
        char *low[3];
        for (int k = 0; k < 3; k++) {
            low[k] = get(&usable[k]);
            memcpy(low[k] + usable[k] - sizeof mine, &mine, sizeof mine);
        }
        for (int k = 0; k < 3; k++) {
            CHECK_MEM(low[k] + usable[k] - sizeof mine, &mine, sizeof mine);
            rn__stack_put(&pool, low[k]);
        }
    }
}

TEST(stack_pool_serves_threads)
{
    struct rn__thread threads[3];
    open_pool(16 * KIB, RN_GUARD_DEFAULT);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(rn__thread_start(&threads[i], borrow, (void *)(uintptr_t)i),
                 0);
    for (int i = 0; i < 3; i++)
        rn__thread_join(&threads[i]);
    CHECK_LE(pool.made, 9);
    rn__stackpool_fini(&pool);
}
