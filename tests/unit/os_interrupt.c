/* Functions that run on another OS thread, in a signal handler. */
#include "os/os.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int me, nobody; /* what threads are known by */
static _Atomic uintptr_t spinner;
static atomic_bool done, never, always = true;
static atomic_int calls;
static void *frames[64];
static int frame_count;

__attribute__((noinline)) static void
spin_until_done(void)
{
    static atomic_int turns;
    atomic_store(&spinner, rn__os_thread()); /* from here on it is in here */
    while (!atomic_load(&done))
        atomic_fetch_add(&turns, 1);
}

static void
spin_main(void *arg)
{
    sigset_t all;
    sigfillset(&all);
    if (arg)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    rn__os_set_self(&me);
    spin_until_done();
}

static void
take_frames(void *arg, void *const *at, int count)
{
    CHECK(rn__os_self() == &me);
    frame_count = count;
    memcpy(frames, at, (size_t)count * sizeof *at);
    atomic_fetch_add((atomic_int *)arg, 1);
}

static bool
ask(const void *self, const atomic_bool *cancel)
{
    return rn__os_interrupt(atomic_load(&spinner), self, take_frames, &calls,
                            cancel);
}

static void
start(struct rn__thread *thread, bool blocks)
{
    CHECK_EQ(rn__thread_start(thread, spin_main, blocks ? &me : NULL), 0);
    while (!atomic_load(&spinner))
        rn__os_relax();
}

TEST(interrupt_runs_on_the_other_thread)
{
    static char names[64][RN__SYMBOL_MAX];
    struct rn__thread thread;
    bool found = false;
    rn__os_interrupt_install();
    start(&thread, false);
    for (int i = 1; i < 20; i++) {
        CHECK(ask(&me, &never));
        CHECK_EQ(calls, i);
    }
    rn__os_symbols(frames, frame_count, names);
    for (int i = 0; i < frame_count; i++)
        found |= strncmp(names[i], "spin_until_done", 15) == 0;
    CHECK(found);
    atomic_store(&done, true);
    rn__thread_join(&thread);
    rn__os_interrupt_remove();
}

TEST(interrupt_of_somebody_else_is_given_up)
{
    struct rn__thread thread;
    rn__os_interrupt_install();
    start(&thread, false);
    CHECK(!ask(&nobody, &always));
    CHECK_EQ(calls, 0);
    CHECK(ask(&me, &never)); /* the next one is answered */
    CHECK_EQ(calls, 1);
    atomic_store(&done, true);
    rn__thread_join(&thread);
    rn__os_interrupt_remove();
}

/* And the signal that still hangs there kills nobody later. */
TEST(interrupt_of_who_blocks_signals_is_given_up)
{
    struct rn__thread thread;
    rn__os_interrupt_install();
    start(&thread, true);
    CHECK(!ask(&me, &never));
    CHECK(!ask(&me, &always));
    rn__os_interrupt_remove();
    CHECK_EQ(calls, 0);
    atomic_store(&done, true);
    rn__thread_join(&thread);
}

static atomic_int child_status = -1;

/* The child is born while a question is being answered, and asks one. */
static void
fork_meanwhile(void *arg, void *const *at, int count)
{
    struct rn__thread thread;
    int status;
    (void)at;
    (void)count;
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t none; /* but the handler's own signal is blocked */
        sigemptyset(&none);
        pthread_sigmask(SIG_SETMASK, &none, NULL);
        atomic_store(&spinner, 0);
        start(&thread, false);
        _exit(ask(&me, arg) ? 0 : 1);
    }
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    atomic_store(&child_status, status);
}

TEST(interrupt_works_in_a_forked_child)
{
    struct rn__thread thread;
    if (TEST_SANITIZED == TEST_SANITIZE_THREAD)
        test_skip("ThreadSanitizer wants no threads after a fork");
    rn__os_interrupt_install();
    start(&thread, false);
    CHECK(rn__os_interrupt(atomic_load(&spinner), &me, fork_meanwhile, &never,
                           &never));
    CHECK_EQ(child_status, 0);
    atomic_store(&done, true);
    rn__thread_join(&thread);
    rn__os_interrupt_remove();
}

static struct sigaction actions[65];

static void
read_actions(struct sigaction *out)
{
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        CHECK_EQ(sigaction(s, NULL, &out[s]), 0);
}

static int
differing(void)
{
    static struct sigaction now[65];
    int count = 0;
    read_actions(now);
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        count += now[s].sa_handler != actions[s].sa_handler;
    return count;
}

TEST(interrupt_uses_one_free_signal_and_restores_it)
{
    for (int s = SIGRTMAX; s > SIGRTMAX - 8; s--)
        signal(s, SIG_IGN); /* not free */
    read_actions(actions);
    rn__os_interrupt_install();
    rn__os_interrupt_install();
    CHECK_EQ(differing(), 1);
    rn__os_interrupt_remove();
    CHECK_EQ(differing(), 1);
    rn__os_interrupt_remove();
    CHECK_EQ(differing(), 0);
}

TEST(interrupt_without_a_free_signal_says_so)
{
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        signal(s, SIG_IGN);
    rn__os_interrupt_install();
    CHECK(!ask(&me, &never));
    rn__os_interrupt_remove();
}
