/* Faults: overflows are found out, others are passed on. */
#include "os/os.h"
#include "os/san.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)64 << 10)

static struct rn__stackpool pool;
static void *stack_low;
static size_t stack_usable;
static struct rn__ctx mine, other;

static void
say(const char *text)
{
    if (write(2, text, strlen(text)) < 0)
        abort();
}

/* Names of the innermost frames, on standard error. */
static void
say_frames(const struct rn__fault *fault)
{
    static char names[8][RN__SYMBOL_MAX];
    int count = fault->frame_count < 8 ? fault->frame_count : 8;
    rn__os_symbols(fault->frames, count, names);
    for (int i = 0; i < count; i++) {
        say(names[i]);
        say("\n");
    }
}

static bool
report_overflow(const struct rn__fault *fault)
{
    const char *at = fault->address;
    if (!fault->overflow || fault->stack_low != stack_low)
        return false;
    if (fault->stack_bytes < stack_usable)
        return false;
    if (rn__ctx_kind() != RN_BACKEND_THREAD &&
        (at >= (char *)stack_low || at < (char *)stack_low - 65536))
        return false;
    say("overflow of the right stack\n");
    say_frames(fault);
    return true;
}

static __attribute__((noinline)) int
dive_without_end(volatile int *depth)
{
    volatile char block[200];
    block[0] = (char)++*depth;
    if (*depth == 0)
        return 0;
    return dive_without_end(depth) + block[0];
}

static void
overflow_main(void *arg)
{
    volatile int depth = 0;
    (void)arg;
    dive_without_end(&depth);
    rn__ctx_switch(&other, &mine);
}

static void
overflow(rn_guard_kind guard)
{
    int err = rn__stackpool_init(&pool, STACK_BYTES, guard);
    if (err == -EINVAL && guard == RN_GUARD_MADVISE)
        test_skip("this kernel has no guard pages by madvise");
    CHECK_EQ(err, 0);
    for (int i = 0; i < 5; i++) /* not the first of the slab */
        CHECK(rn__stack_get(&pool, &stack_usable));
    CHECK(stack_low = rn__stack_get(&pool, &stack_usable));
    CHECK_EQ(rn__fault_install(report_overflow), 0);
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    CHECK_EQ(rn__ctx_make(&other, stack_low, stack_usable, overflow_main, NULL),
             0);
    rn__ctx_switch(&mine, &other);
}

TEST_DIES_WITH(fault_overflow_into_madvise_guard,
               "overflow of the right stack|dive_without_end os_fault.c",
               -SIGABRT)
{
    overflow(RN_GUARD_MADVISE);
}

TEST_DIES_WITH(fault_overflow_into_mprotect_guard,
               "overflow of the right stack|dive_without_end os_fault.c",
               -SIGABRT)
{
    overflow(RN_GUARD_MPROTECT);
}

TEST_DIES_WITH(fault_overflow_with_ucontext,
               "overflow of the right stack|dive_without_end", -SIGABRT)
{
    CHECK_EQ(rn__ctx_select(RN_BACKEND_UCONTEXT), 0);
    overflow(RN_GUARD_MPROTECT);
}

TEST_DIES_WITH(fault_overflow_of_a_hosting_thread,
               "overflow of the right stack|dive_without_end", -SIGABRT)
{
    CHECK_EQ(rn__ctx_select(RN_BACKEND_THREAD), 0);
    overflow(RN_GUARD_DEFAULT);
}

static void
overflow_on_thread(void *arg)
{
    (void)arg;
    overflow(RN_GUARD_DEFAULT);
}

TEST_DIES_WITH(fault_overflow_on_another_os_thread,
               "overflow of the right stack", -SIGABRT)
{
    struct rn__thread thread;
    CHECK_EQ(rn__fault_install(report_overflow), 0);
    CHECK_EQ(rn__thread_start(&thread, overflow_on_thread, NULL), 0);
    rn__thread_join(&thread);
}

/* ---- faults that are no overflow ---------------------------------------- */

static volatile char *volatile nowhere;

static bool
report_plain(const struct rn__fault *fault)
{
    if (fault->overflow || fault->signal != SIGSEGV ||
        fault->address != (void *)nowhere)
        return true;
    say("plain fault\n");
    say_frames(fault);
    return false;
}

static __attribute__((noinline)) void
touch_nowhere(void)
{
    nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *nowhere = 1;
}

static void
touch_main(void *arg)
{
    (void)arg;
    touch_nowhere();
}

/* The signal itself kills, or the sanitizer's handler does. */
TEST_DIES(fault_elsewhere_is_passed_on, "plain fault|touch_nowhere os_fault.c")
{
    CHECK_EQ(rn__fault_install(report_plain), 0);
    touch_nowhere();
}

TEST_DIES(fault_on_a_context_is_passed_on,
          "plain fault|touch_nowhere os_fault.c")
{
    CHECK_EQ(rn__stackpool_init(&pool, STACK_BYTES, RN_GUARD_DEFAULT), 0);
    CHECK(stack_low = rn__stack_get(&pool, &stack_usable));
    CHECK_EQ(rn__fault_install(report_plain), 0);
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    CHECK_EQ(rn__ctx_make(&other, stack_low, stack_usable, touch_main, NULL),
             0);
    rn__ctx_switch(&mine, &other);
}

static void
earlier_handler(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal == SIGSEGV && info->si_addr == (void *)nowhere)
        say("earlier handler\n");
    _exit(7);
}

static void
set_earlier(void)
{
    struct sigaction action = {.sa_sigaction = earlier_handler,
                               .sa_flags = SA_SIGINFO};
    CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
}

TEST_DIES_WITH(fault_passes_to_the_earlier_handler,
               "plain fault|earlier handler", 7)
{
    set_earlier();
    CHECK_EQ(rn__fault_install(report_plain), 0);
    touch_nowhere();
}

TEST_DIES_WITH(fault_install_is_counted, "plain fault|earlier handler", 7)
{
    set_earlier();
    CHECK_EQ(rn__fault_install(report_plain), 0);
    CHECK_EQ(rn__fault_install(report_plain), 0);
    rn__fault_remove();
    touch_nowhere();
}

static bool
report_never(const struct rn__fault *fault)
{
    (void)fault;
    say("must not be called\n");
    _exit(1);
}

TEST_DIES_WITH(fault_remove_restores_the_earlier_handler, "earlier handler", 7)
{
    stack_t alt;
    set_earlier();
    CHECK_EQ(sigaltstack(NULL, &alt), 0);
    stack_t was = alt;
    CHECK_EQ(rn__fault_install(report_never), 0);
    CHECK_EQ(rn__fault_install(report_never), 0);
    CHECK_EQ(sigaltstack(NULL, &alt), 0);
    CHECK(alt.ss_sp && alt.ss_sp != was.ss_sp);
    rn__fault_remove();
    rn__fault_remove();
    CHECK_EQ(sigaltstack(NULL, &alt), 0);
    CHECK(alt.ss_sp == was.ss_sp);
    touch_nowhere();
}

static bool
report_and_fault(const struct rn__fault *fault)
{
    (void)fault;
    say("reporting\n");
    touch_nowhere();
    return true;
}

TEST_DIES_WITH(fault_in_the_report_ends_it, "reporting|earlier handler", 7)
{
    if (RN__TSAN)
        test_skip("ThreadSanitizer's handler blocks all signals");
    set_earlier();
    CHECK_EQ(rn__fault_install(report_and_fault), 0);
    touch_nowhere();
}

/* ---- two at once -------------------------------------------------------- */

static _Atomic int reporting;

static bool
report_alone(const struct rn__fault *fault)
{
    (void)fault;
    if (atomic_fetch_add(&reporting, 1) != 0)
        say("two at once\n");
    for (int i = 0; i < 100; i++)
        rn__os_relax();
    atomic_fetch_sub(&reporting, 1);
    return false;
}

static void
survive(int signal)
{
    (void)signal;
}

static void
fault_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        raise(SIGFPE);
}

TEST(fault_reports_one_thread_at_a_time)
{
    struct rn__thread threads[2];
    signal(SIGFPE, survive);
    CHECK_EQ(rn__fault_install(report_alone), 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(rn__thread_start(&threads[i], fault_often, NULL), 0);
    for (int i = 0; i < 2; i++)
        rn__thread_join(&threads[i]);
    CHECK_EQ(atomic_load(&reporting), 0);
    rn__fault_remove();
}

/* ---- abort -------------------------------------------------------------- */

static bool
report_abort(const struct rn__fault *fault)
{
    if (fault->signal == SIGABRT)
        say("abort seen\n");
    return false;
}

TEST_DIES_WITH(fault_abort_still_aborts, "", -SIGABRT)
{
    CHECK_EQ(rn__fault_install(report_abort), 0);
    abort();
}

static bool
report_by_abort(const struct rn__fault *fault)
{
    (void)fault;
    say("once\n");
    abort();
}

TEST_DIES_WITH(fault_abort_in_the_report_aborts, "once", -SIGABRT)
{
    CHECK_EQ(rn__fault_install(report_by_abort), 0);
    touch_nowhere();
}
