/* os/fault.c - tell the runtime of a fault before the program dies of it.
 *
 * One thread reports at a time, others that fault wait. Earlier handlers are
 * kept and called if the runtime does not want the fault, so that a sanitizer
 * or a language runtime in the same process still sees its own.
 */
#include "os/os.h"

#include "os/altstack.h"
#include "os/ctx_thread.h"
#include "os/frames.h"
#include "os/san.h"
#include "os/stack.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES_MAX 128

/* Sanitizers abort after a report of their own, so there SIGABRT is theirs. */
static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE,
#if !RN__SAN
                              SIGABRT
#endif
};
#define SIGNALS ((int)(sizeof signals / sizeof signals[0]))

/* Guards the four below against installers. Handlers read them only while
 * they are installed. */
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static int installs;
static struct sigaction before[SIGNALS];
static _Atomic(rn__fault_fn *) report;

void
rn__fault_forget(void)
{
    pthread_mutex_init(&install_lock, NULL);
}

/* The thread that reports, 0: none. */
static _Atomic long reporter;

/* The calling thread's alternate stack, if rn__fault_install gave it one. */
static __thread struct rn__altstack alt_stack
    __attribute__((tls_model("initial-exec")));
static __thread int alt_users __attribute__((tls_model("initial-exec")));

/* As if our handler were not there. */
static void
pass_on(int signal, siginfo_t *info, void *context)
{
    int i = 0;
    while (signals[i] != signal)
        i++;
    struct sigaction old = before[i];
    bool sent = info->si_code <= 0; /* by a process, not by a fault */
    if (old.sa_flags & SA_SIGINFO) {
        old.sa_sigaction(signal, info, context);
        return;
    }
    if (old.sa_handler == SIG_IGN && sent)
        return;
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
        old.sa_handler(signal);
        return;
    }
    /* The default is death. A fault happens again after the return. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(signal, &plain, NULL);
    if (sent)
        raise(signal);
}

static _Noreturn void
die(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(SIGABRT, &plain, NULL);
    abort();
}

/* False: the calling thread reports already and has faulted in doing so. */
static bool
become_reporter(void)
{
    long me = syscall(SYS_gettid);
    for (;;) {
        long owner = 0;
        if (atomic_compare_exchange_strong(&reporter, &owner, me))
            return true;
        if (owner == me)
            return false;
        sched_yield();
    }
}

static void
on_fault(int signal, siginfo_t *info, void *context)
{
    void *frames[FRAMES_MAX];
    struct rn__fault fault = {.signal = signal, .frames = frames};
    int saved_errno = errno;
    rn__frames_failed();
    if (!become_reporter()) {
        pass_on(signal, info, context);
        return;
    }
    if (info->si_code > 0)
        fault.address = info->si_addr;
    if (info->si_code > 0 && (signal == SIGSEGV || signal == SIGBUS))
        fault.overflow = rn__stack_guard(fault.address, &fault.stack_low,
                                         &fault.stack_bytes) ||
                         rn__ctx_thread_guard(fault.address, &fault.stack_low,
                                              &fault.stack_bytes);
    fault.frame_count = rn__frames_at(context, frames, FRAMES_MAX);
    rn__fault_fn *fn = atomic_load(&report);
    if (fn != NULL && fn(&fault))
        die();
    atomic_store(&reporter, 0);
    pass_on(signal, info, context);
    errno = saved_errno;
}

/* The handler may itself fault (SA_NODEFER): to be told so is better than to
 * be killed without a word. */
static void
install_handlers(void)
{
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags =
                                   SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &before[i]);
}

int
rn__fault_install(rn__fault_fn *fn)
{
    void *frame;
    /* The first backtrace of a process loads a library. */
    backtrace(&frame, 1);
    if (alt_users++ == 0)
        rn__altstack_open(&alt_stack);
    pthread_mutex_lock(&install_lock);
    atomic_store(&report, fn);
    if (installs++ == 0)
        install_handlers();
    pthread_mutex_unlock(&install_lock);
    return 0;
}

void
rn__fault_remove(void)
{
    pthread_mutex_lock(&install_lock);
    if (--installs == 0) {
        for (int i = 0; i < SIGNALS; i++) {
            struct sigaction now;
            sigaction(signals[i], NULL, &now);
            if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
                sigaction(signals[i], &before[i], NULL);
        }
    }
    pthread_mutex_unlock(&install_lock);
    if (alt_users > 0 && --alt_users == 0)
        rn__altstack_close(&alt_stack);
}
