/* Contexts: the same tests on each backend. */
#include "os/os.h"
#include "os/san.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Room for sanitizers and for a handler's frame. */
#define STACK_BYTES ((size_t)256 << 10)

/* Run a function once on each backend, as three tests. */
#define ON_EACH(id)               \
    static void id(void);         \
    TEST(id##_asm)                \
    {                             \
        use(RN_BACKEND_ASM);      \
        id();                     \
    }                             \
    TEST(id##_ucontext)           \
    {                             \
        use(RN_BACKEND_UCONTEXT); \
        id();                     \
    }                             \
    TEST(id##_thread)             \
    {                             \
        use(RN_BACKEND_THREAD);   \
        id();                     \
    }                             \
    static void id(void)

static void
use(rn_backend_kind kind)
{
    int err = rn__ctx_select(kind);
    if (kind == RN_BACKEND_ASM && err == -EINVAL)
        test_skip("no assembly switch for this machine");
    CHECK_EQ(err, 0);
    CHECK_EQ(rn__ctx_kind(), kind);
}

/* A context with its stack, and who made it go on. */
struct coro {
    struct rn__ctx ctx;
    struct rn__ctx *back;
    void (*body)(struct coro *self);
    void *stack;
    unsigned watch; /* Valgrind's number of the stack */
    long value;
};

static void
coro_main(void *arg)
{
    struct coro *self = arg;
    self->body(self);
    self->body = NULL;
    rn__ctx_switch(&self->ctx, self->back);
    abort(); /* over is over */
}

static void
coro_open(struct coro *coro, void (*body)(struct coro *))
{
    memset(coro, 0, sizeof *coro);
    coro->body = body;
    coro->stack = rn__os_map(STACK_BYTES);
    CHECK(coro->stack);
    coro->watch = rn__san_stack_open(coro->stack, STACK_BYTES);
    CHECK_EQ(
        rn__ctx_make(&coro->ctx, coro->stack, STACK_BYTES, coro_main, coro), 0);
}

static void
coro_go(struct coro *coro, struct rn__ctx *from)
{
    coro->back = from;
    rn__ctx_switch(from, &coro->ctx);
}

static void
coro_pause(struct coro *coro)
{
    rn__ctx_switch(&coro->ctx, coro->back);
}

static void
coro_close(struct coro *coro)
{
    rn__ctx_fini(&coro->ctx);
    rn__san_stack_close(coro->watch);
    rn__os_unmap(coro->stack, STACK_BYTES);
}

/* ---- switching ---------------------------------------------------------- */

static struct coro ping, pong;
static long rounds;

static void
ping_body(struct coro *self)
{
    for (long i = 0; i < rounds; i++) {
        CHECK_EQ(self->value, i);
        CHECK_EQ(pong.value, i);
        self->value++;
        rn__ctx_switch(&ping.ctx, &pong.ctx);
    }
}

static void
pong_body(struct coro *self)
{
    for (long i = 0; i < rounds; i++) {
        CHECK_EQ(ping.value, i + 1);
        self->value++;
        rn__ctx_switch(&pong.ctx, &ping.ctx);
    }
}

ON_EACH(ctx_two_take_turns)
{
    struct rn__ctx mine;
    rounds = test_count(2000);
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    coro_open(&ping, ping_body);
    coro_open(&pong, pong_body);
    coro_go(&ping, &mine);
    CHECK_EQ(ping.value, rounds);
    CHECK_EQ(pong.value, rounds);
    CHECK(!ping.body);
    coro_close(&ping);
    coro_close(&pong);
    rn__ctx_fini(&mine);
}

static void
aligned_body(struct coro *self)
{
    volatile _Alignas(16) char block[48] = {0};
    self->value = (long)((uintptr_t)block % 16) + block[0];
}

ON_EACH(ctx_stack_is_aligned_and_its_own)
{
    struct rn__ctx mine;
    struct coro coro;
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    coro_open(&coro, aligned_body);
    coro_go(&coro, &mine);
    CHECK_EQ(coro.value, 0);
    coro_close(&coro);
    rn__ctx_fini(&mine);
}

ON_EACH(ctx_never_entered_is_freed)
{
    struct coro coro;
    for (int i = 0; i < 20; i++) {
        coro_open(&coro, aligned_body);
        coro_close(&coro);
    }
}

/* Calls deep and back, with a pause at the bottom. */
static __attribute__((noinline)) long
dive(struct coro *self, int depth)
{
    volatile long mark = depth;
    long below = 0;
    if (depth > 0)
        below = dive(self, depth - 1);
    else
        coro_pause(self);
    CHECK_EQ(mark, depth);
    return below + mark;
}

static void
dive_body(struct coro *self)
{
    self->value = dive(self, 50);
}

/* A stack that was left for ever is used again: what the old frames left
 * behind must not matter to anybody, sanitizers included. */
ON_EACH(ctx_stack_is_used_again)
{
    struct rn__ctx mine;
    void *stack = rn__os_map(STACK_BYTES);
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    for (int i = 0; i < 50; i++) {
        struct coro coro = {.body = dive_body};
        CHECK_EQ(rn__ctx_make(&coro.ctx, stack, STACK_BYTES, coro_main, &coro),
                 0);
        coro_go(&coro, &mine); /* stays 50 calls deep */
        if (i % 2) {
            coro_go(&coro, &mine);
            CHECK_EQ(coro.value, 1275);
        }
        rn__ctx_fini(&coro.ctx);
    }
    rn__os_unmap(stack, STACK_BYTES);
    rn__ctx_fini(&mine);
}

/* ---- registers ---------------------------------------------------------- */

/* Put seed + 1, 2, ... into all registers that a call preserves, switch, and
 * store what they hold then. */
#if defined(__x86_64__)
#define REGISTERS 6
__asm__(".text\n"
        ".type switch_and_look, @function\n"
        "switch_and_look:\n"
        "    pushq %rbx; pushq %rbp; pushq %r12\n"
        "    pushq %r13; pushq %r14; pushq %r15\n"
        "    pushq %rcx\n"
        "    leaq 1(%rdx), %rbx; leaq 2(%rdx), %rbp; leaq 3(%rdx), %r12\n"
        "    leaq 4(%rdx), %r13; leaq 5(%rdx), %r14; leaq 6(%rdx), %r15\n"
        "    call rn__ctx_switch\n"
        "    popq %rcx\n"
        "    movq %rbx, (%rcx); movq %rbp, 8(%rcx); movq %r12, 16(%rcx)\n"
        "    movq %r13, 24(%rcx); movq %r14, 32(%rcx); movq %r15, 40(%rcx)\n"
        "    popq %r15; popq %r14; popq %r13\n"
        "    popq %r12; popq %rbp; popq %rbx\n"
        "    ret\n"
        ".size switch_and_look, . - switch_and_look\n");
#elif defined(__aarch64__)
#define REGISTERS 19
__asm__(".text\n"
        ".type switch_and_look, %function\n"
        "switch_and_look:\n"
        "    stp x29, x30, [sp, #-192]!\n"
        "    stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]\n"
        "    stp x23, x24, [sp, #48]; stp x25, x26, [sp, #64]\n"
        "    stp x27, x28, [sp, #80]; stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]; str x3, [sp, #160]\n"
        "    add x19, x2, #1; add x20, x2, #2; add x21, x2, #3\n"
        "    add x22, x2, #4; add x23, x2, #5; add x24, x2, #6\n"
        "    add x25, x2, #7; add x26, x2, #8; add x27, x2, #9\n"
        "    add x28, x2, #10; add x29, x2, #11\n"
        "    add x9, x2, #12; fmov d8, x9; add x9, x2, #13; fmov d9, x9\n"
        "    add x9, x2, #14; fmov d10, x9; add x9, x2, #15; fmov d11, x9\n"
        "    add x9, x2, #16; fmov d12, x9; add x9, x2, #17; fmov d13, x9\n"
        "    add x9, x2, #18; fmov d14, x9; add x9, x2, #19; fmov d15, x9\n"
        "    bl rn__ctx_switch\n"
        "    ldr x9, [sp, #160]\n"
        "    stp x19, x20, [x9]; stp x21, x22, [x9, #16]\n"
        "    stp x23, x24, [x9, #32]; stp x25, x26, [x9, #48]\n"
        "    stp x27, x28, [x9, #64]; str x29, [x9, #80]\n"
        "    str d8, [x9, #88]; str d9, [x9, #96]; str d10, [x9, #104]\n"
        "    str d11, [x9, #112]; str d12, [x9, #120]; str d13, [x9, #128]\n"
        "    str d14, [x9, #136]; str d15, [x9, #144]\n"
        "    ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]\n"
        "    ldp x23, x24, [sp, #48]; ldp x25, x26, [sp, #64]\n"
        "    ldp x27, x28, [sp, #80]; ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldp x29, x30, [sp], #192\n"
        "    ret\n"
        ".size switch_and_look, . - switch_and_look\n");
#endif

#ifdef REGISTERS
void switch_and_look(struct rn__ctx *from, struct rn__ctx *to, uint64_t seed,
                     uint64_t *out);

static void
look_at_registers(struct rn__ctx *from, struct rn__ctx *to, uint64_t seed)
{
    uint64_t seen[REGISTERS] = {0};
    switch_and_look(from, to, seed, seen);
    for (int i = 0; i < REGISTERS; i++)
        CHECK_EQ(seen[i], seed + (uint64_t)i + 1);
}

static void
registers_body(struct coro *self)
{
    for (uint64_t i = 1; i <= 5; i++)
        look_at_registers(&self->ctx, self->back, i << 40);
}

ON_EACH(ctx_registers_survive)
{
    struct rn__ctx mine;
    struct coro coro;
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    coro_open(&coro, registers_body);
    coro.back = &mine;
    for (uint64_t i = 1; i <= 5; i++)
        look_at_registers(&mine, &coro.ctx, i << 20);
    coro_close(&coro);
    rn__ctx_fini(&mine);
}
#endif

/* ---- OS threads --------------------------------------------------------- */

static void
note_self_body(struct coro *self)
{
    for (;;) {
        *(long *)rn__os_self() += 1;
        self->value++;
        coro_pause(self);
    }
}

struct guest {
    struct rn__thread thread;
    struct coro *coro;
    _Atomic uint32_t turn;
    long marks;
    int times;
};

static void
guest_main(void *arg)
{
    struct guest *guest = arg;
    struct rn__ctx mine;
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    rn__os_set_self(&guest->marks);
    for (int i = 0; i < guest->times; i++) {
        while (atomic_load(&guest->turn) == 0)
            rn__os_wait(&guest->turn, 0, RN_NEVER);
        coro_go(guest->coro, &mine);
        CHECK(rn__os_self() == &guest->marks);
        atomic_store(&guest->turn, 0);
        rn__os_wake(&guest->turn, 1);
    }
    rn__ctx_fini(&mine);
}

/* One context, entered by two OS threads in turn, sees the pointer of the one
 * that it runs for. */
ON_EACH(ctx_moves_between_os_threads)
{
    struct rn__ctx mine;
    struct coro coro;
    long marks = 0;
    struct guest guest = {.coro = &coro, .times = 100};
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    rn__os_set_self(&marks);
    coro_open(&coro, note_self_body);
    CHECK_EQ(rn__thread_start(&guest.thread, guest_main, &guest), 0);
    for (int i = 0; i < guest.times; i++) {
        coro_go(&coro, &mine);
        CHECK(rn__os_self() == &marks);
        atomic_store(&guest.turn, 1);
        rn__os_wake(&guest.turn, 1);
        while (atomic_load(&guest.turn) != 0)
            rn__os_wait(&guest.turn, 1, RN_NEVER);
    }
    rn__thread_join(&guest.thread);
    CHECK_EQ(marks, guest.times);
    CHECK_EQ(guest.marks, guest.times);
    CHECK_EQ(coro.value, 2 * guest.times);
    coro_close(&coro);
    rn__ctx_fini(&mine);
}

static long
os_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    long count = 0;
    CHECK(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

TEST(ctx_thread_hosts_are_used_again)
{
    struct rn__ctx mine;
    struct coro coro;
    use(RN_BACKEND_THREAD);
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    for (long i = 0; i < test_count(2000); i++) {
        coro_open(&coro, dive_body);
        coro_go(&coro, &mine);
        coro_close(&coro);
    }
    CHECK_LT(os_threads(), 300);
    rn__ctx_fini(&mine);
}

static void *
do_nothing(void *arg)
{
    return arg;
}

/* Emulators may fail at this whatever we do. */
static bool
can_start_threads_after_fork(void)
{
    pthread_t thread;
    int status = 0;
    pid_t pid = fork();
    CHECK_GE(pid, 0);
    if (pid == 0) {
        if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
            _exit(1);
        pthread_join(thread, NULL);
        _exit(0);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    return status == 0;
}

/* A forked child has none of its parent's OS threads. */
ON_EACH(ctx_works_in_a_forked_child)
{
    struct rn__ctx mine;
    struct coro coro;
    int status = 0;
    if (RN__TSAN)
        test_skip("ThreadSanitizer allows no threads after fork");
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    coro_open(&coro, dive_body);
    coro_go(&coro, &mine);
    coro_close(&coro);
    if (!can_start_threads_after_fork())
        test_skip("no threads can be started after fork here");
    pid_t pid = fork();
    CHECK_GE(pid, 0);
    coro_open(&coro, dive_body);
    coro_go(&coro, &mine);
    coro_go(&coro, &mine);
    CHECK_EQ(coro.value, 1275);
    coro_close(&coro);
    rn__ctx_fini(&mine);
    if (pid == 0)
        _exit(0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

/* ---- signals ------------------------------------------------------------ */

static _Atomic long signals_seen;
static _Atomic bool enough_signals;

static void
count_signal(int signal)
{
    (void)signal;
    atomic_fetch_add(&signals_seen, 1);
}

static void *
send_signals(void *arg)
{
    const pthread_t *target = arg;
    for (long i = 0; !atomic_load(&enough_signals); i++) {
        if (i <= atomic_load(&signals_seen))
            pthread_kill(*target, SIGUSR1);
        else
            i--;
    }
    return NULL;
}

static void
endless_body(struct coro *self)
{
    for (;;) {
        self->value++;
        coro_pause(self);
    }
}

ON_EACH(ctx_signal_during_a_switch_is_harmless)
{
    struct rn__ctx mine;
    struct coro coro;
    pthread_t sender, target = pthread_self();
    long switches = 0, wanted = test_count(500);
    if (RN__TSAN)
        test_skip("ThreadSanitizer delays signals");
    signal(SIGUSR1, count_signal);
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    coro_open(&coro, endless_body);
    CHECK_EQ(pthread_create(&sender, NULL, send_signals, &target), 0);
    while (atomic_load(&signals_seen) < wanted) {
        coro_go(&coro, &mine);
        switches++;
    }
    atomic_store(&enough_signals, true);
    pthread_join(sender, NULL);
    CHECK_EQ(coro.value, switches);
    coro_close(&coro);
    rn__ctx_fini(&mine);
}

/* ---- backtraces --------------------------------------------------------- */

#define DEPTH 12

static __attribute__((noinline)) void
trace_here(struct coro *self, int depth)
{
    static void *frames[64];
    if (depth > 0)
        trace_here(self, depth - 1);
    else
        self->value = rn__os_backtrace(frames, 64);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static void
trace_body(struct coro *self)
{
    trace_here(self, DEPTH);
}

static __attribute__((noinline)) void
go_from_deep(struct coro *coro, struct rn__ctx *from, int depth)
{
    if (depth > 0)
        go_from_deep(coro, from, depth - 1);
    else
        coro_go(coro, from);
    __asm__ volatile("" ::: "memory");
}

/* The frames of the context, a few of its start, and none of its maker. */
ON_EACH(ctx_backtrace_ends_at_the_entry)
{
    struct rn__ctx mine;
    struct coro coro;
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    coro_open(&coro, trace_body);
    go_from_deep(&coro, &mine, 30);
    CHECK_GT(coro.value, DEPTH);
    CHECK_LE(coro.value, DEPTH + 9);
    coro_close(&coro);
    rn__ctx_fini(&mine);
}

/* ---- choice ------------------------------------------------------------- */

TEST(ctx_select_refuses_while_in_use)
{
    struct rn__ctx mine;
    CHECK_EQ(rn__ctx_select(RN_BACKEND_UCONTEXT), 0);
    CHECK_EQ(rn__ctx_adopt(&mine), 0);
    CHECK_EQ(rn__ctx_select(RN_BACKEND_THREAD), -EBUSY);
    CHECK_EQ(rn__ctx_select(RN_BACKEND_UCONTEXT), 0);
    CHECK_EQ(rn__ctx_kind(), RN_BACKEND_UCONTEXT);
    rn__ctx_fini(&mine);
    CHECK_EQ(rn__ctx_select(RN_BACKEND_THREAD), 0);
    CHECK_EQ(rn__ctx_select(RN_BACKEND_DEFAULT), 0);
    CHECK_EQ(rn__ctx_select((rn_backend_kind)99), -EINVAL);
    CHECK_STR(rn__ctx_name(RN_BACKEND_THREAD), "thread");
}

TEST(ctx_default_is_assembly_where_there_is_one)
{
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK_EQ(rn__ctx_kind(), RN_BACKEND_ASM);
    CHECK_STR(rn__ctx_name(rn__ctx_kind()), "asm");
#else
    CHECK_EQ(rn__ctx_kind(), RN_BACKEND_UCONTEXT);
#endif
}
