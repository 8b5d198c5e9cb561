/* Pools of stacks. */
#include "os/os.h"
#include "os/san.h"
#include "os/stack.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

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

/* Small ones that nobody has touched, more than the kernel has memory maps:
 * each has its guard. */
TEST(stack_guards_of_untouched_stacks_need_no_maps)
{
    enum { COUNT = 70000 }; /* the kernel's default limit is 65,530 */
    size_t usable;
    open_pool(16 * KIB, RN_GUARD_MADVISE);
    for (long i = 0; i < COUNT; i++)
        get(&usable);
    CHECK_EQ(pool.made, COUNT);
    CHECK_EQ(atomic_load(&pool.unguarded), 0);
    rn__stackpool_fini(&pool);
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

/* ---- cold stacks --------------------------------------------------------- */

/* Pages of a place, its canary's included, that are in memory. */
static size_t
pages_resident(char *low)
{
    unsigned char in[64];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), count = 0;
    size_t pages = pool.stack_bytes / page - 1;
    if (pool.guard == RN_GUARD_CANARY) {
        low -= page;
        pages++;
    }
    CHECK_LE(pages, sizeof in);
    CHECK_EQ(mincore(low, pages * page, in), 0);
    for (size_t i = 0; i < pages; i++)
        count += in[i] & 1;
    return count;
}

enum { COLD = 150, IN_USE = 20 + RN__COLD_GROUP }; /* 1 of them in between */

static bool
is_cold(int i)
{
    return i >= 20 && i <= 20 + 2 * RN__COLD_GROUP && i != IN_USE;
}

static void
check_cold(char *const *low)
{
    for (int i = 0; i < COLD; i++) {
        if (is_cold(i))
            CHECK_EQ(pages_resident(low[i]), 0);
        else
            CHECK_GE(pages_resident(low[i]), 15);
    }
}

static void
put_cold_and_get(rn_guard_kind guard)
{
    static char *low[COLD];
    static size_t usable[COLD];
    size_t again;
    open_pool(64 * KIB, guard);
    for (int i = 0; i < COLD; i++) {
        low[i] = get(&usable[i]);
        memset(low[i], 1, usable[i]);
    }
    rn__stack_put(&pool, low[7]);
    for (int i = 20; i <= IN_USE + 1; i += RN__COLD_GROUP + 1)
        if (rn__stack_put_cold(&pool, (void *const *)low + i, RN__COLD_GROUP) !=
            RN__COLD_GROUP)
            test_skip("the kernel takes no memory back here");
    CHECK_EQ(pool.trimmed, 2 * RN__COLD_GROUP);
    check_cold(low);
    CHECK(get(&again) == low[7]); /* the hot one first */
    for (int i = 0; i < 2 * RN__COLD_GROUP; i++) {
        char *cold = get(&again);
        int was = 0;
        while (low[was] != cold)
            CHECK_LT(++was, COLD);
        CHECK(is_cold(was));
        CHECK_EQ(again, usable[was]);
        CHECK(rn__stack_intact(&pool, cold));
        CHECK_EQ(cold[0] | cold[again / 2], 0);
        low[was] = NULL; /* not twice */
    }
    CHECK_EQ(pool.made, COLD);
    get(&again);
    CHECK_EQ(pool.made, COLD + 1);
    rn__stackpool_fini(&pool);
}

TEST(stack_cold_gives_its_memory_back_madvise)
{
    put_cold_and_get(RN_GUARD_MADVISE);
}
TEST(stack_cold_gives_its_memory_back_mprotect)
{
    put_cold_and_get(RN_GUARD_MPROTECT);
}
TEST(stack_cold_gives_its_memory_back_canary)
{
    put_cold_and_get(RN_GUARD_CANARY);
}

/* Over several slabs, all of them cold at once, and all of them again. */
TEST(stack_cold_in_many_slabs)
{
    enum { COUNT = 3000 };
    static void *low[COUNT];
    size_t usable;
    open_pool(16 * KIB, RN_GUARD_DEFAULT);
    for (int i = 0; i < COUNT; i++)
        low[i] = get(&usable);
    for (int i = 0; i < COUNT; i += 50)
        rn__stack_put_cold(&pool, low + i, 50);
    for (int i = 0; i < COUNT; i++) {
        char *at = get(&usable);
        at[0] = at[usable - 1] = 1;
    }
    CHECK_EQ(pool.made, COUNT);
    CHECK_EQ(pool.cold, 0);
    rn__stackpool_fini(&pool);
}

static void
overflow_cold(rn_guard_kind guard)
{
    size_t usable, bytes;
    void *found;
    open_pool(64 * KIB, guard);
    char *low = get(&usable);
    low[0] = 1;
    rn__stack_put_cold(&pool, (void *[]){low}, 1);
    CHECK(get(&usable) == low);
    CHECK(rn__stack_guard(low - 1, &found, &bytes));
    CHECK(found == low);
    low[0] = 1;
    if (guard == RN_GUARD_CANARY) {
        CHECK(rn__stack_intact(&pool, low));
        low[-3] = 1;
        CHECK(!rn__stack_intact(&pool, low));
        abort();
    }
    *(volatile char *)(low - 1) = 1;
}

TEST_DIES_WITH(stack_cold_keeps_its_guard_madvise, "", -SIGSEGV)
{
    overflow_cold(RN_GUARD_MADVISE);
}
TEST_DIES_WITH(stack_cold_keeps_its_guard_mprotect, "", -SIGSEGV)
{
    overflow_cold(RN_GUARD_MPROTECT);
}
TEST_DIES_WITH(stack_cold_keeps_its_guard_canary, "", -SIGABRT)
{
    overflow_cold(RN_GUARD_CANARY);
}

/* ---- limits -------------------------------------------------------------- */

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
