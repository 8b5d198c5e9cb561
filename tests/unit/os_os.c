/* Clock, CPUs, sleeping and waking, pages, threads. */
#include "os/os.h"
#include "test.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

TEST(os_clock_does_not_go_back)
{
    rn_time last = rn__os_now();
    CHECK_GT(last, 0);
    for (int i = 0; i < 1000; i++) {
        rn_time now = rn__os_now();
        CHECK_GE(now, last);
        last = now;
    }
}

TEST(os_cpus_are_those_we_may_use)
{
    cpu_set_t set, one;
    CHECK_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    CHECK_EQ(rn__os_cpus(), CPU_COUNT(&set));
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            CPU_SET(cpu, &one);
            break;
        }
    }
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    CHECK_EQ(rn__os_cpus(), 1);
}

TEST(os_wait_returns_if_the_word_differs)
{
    _Atomic uint32_t word = 5;
    rn__os_wait(&word, 4, RN_NEVER);
    rn__os_wait(&word, 5, RN_NOW);
    rn__os_wait(&word, 5, 0);
    rn__os_wait(&word, 5, rn__os_now() - 1);
}

TEST(os_wait_ends_at_the_deadline)
{
    _Atomic uint32_t word = 0;
    rn_time deadline = rn__os_now() + 20 * RN_MS;
    int waits = 0;
    while (rn__os_now() < deadline) {
        rn__os_wait(&word, 0, deadline);
        waits++;
    }
    /* it slept: a wait that returned at once would have made many */
    CHECK_LE(waits, 100);
}

static _Atomic uint32_t turn;

static void
answer(void *arg)
{
    int rounds = *(int *)arg;
    for (int i = 0; i < rounds; i++) {
        while (atomic_load(&turn) != 1)
            rn__os_wait(&turn, 0, RN_NEVER);
        atomic_store(&turn, 0);
        rn__os_wake(&turn, 1);
    }
}

TEST(os_wake_ends_a_wait)
{
    struct rn__thread thread;
    int rounds = (int)test_count(1000);
    CHECK_EQ(rn__thread_start(&thread, answer, &rounds), 0);
    for (int i = 0; i < rounds; i++) {
        atomic_store(&turn, 1);
        rn__os_wake(&turn, 1);
        while (atomic_load(&turn) != 0)
            rn__os_wait(&turn, 1, i % 2 ? RN_NEVER : rn__os_now() + RN_SEC);
    }
    rn__thread_join(&thread);
}

TEST(os_map_is_zeroed)
{
    size_t bytes = (size_t)1 << 20;
    char *memory = rn__os_map(bytes);
    CHECK(memory);
    for (size_t i = 0; i < bytes; i += 512)
        CHECK_EQ(memory[i], 0);
    memory[0] = memory[bytes - 1] = 1;
    rn__os_unmap(memory, bytes);
    rn__os_unmap(NULL, bytes);
    CHECK(!rn__os_map(SIZE_MAX / 2));
}

static void
note_self(void *arg)
{
    CHECK(!rn__os_self());
    rn__os_set_self(arg);
    CHECK(rn__os_self() == arg);
}

TEST(os_self_belongs_to_the_thread)
{
    struct rn__thread thread;
    int a, b;
    rn__os_set_self(&a);
    CHECK_EQ(rn__thread_start(&thread, note_self, &b), 0);
    rn__thread_join(&thread);
    CHECK(rn__os_self() == &a);
}

TEST(os_thread_start_says_when_it_cannot)
{
    struct rn__thread thread;
    struct rlimit limit = {0, 0};
    if (getuid() == 0)
        test_skip("the number of threads of root is not limited");
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
    CHECK_EQ(rn__thread_start(&thread, note_self, NULL), -EAGAIN);
}
