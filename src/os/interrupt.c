/* os/interrupt.c - let a function run on another OS thread, now.
 *
 * By a signal that nobody else uses: a real-time one without a handler, found
 * when the first asker comes. There is one question at a time in a process. It
 * is answered once, whoever gets the signal: state goes from ASKED to ANSWERING
 * by compare-and-swap, and the asker takes a question back the same way.
 */
#include "os/os.h"

#include "os/ctx_thread.h"
#include "os/frames.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>

#define FRAMES_MAX 64

/* How often the asker looks whether it is still to wait, and how often it
 * does. */
#define ROUND (10 * RN_MS)
#define ROUNDS 100

/* Emulators of a kernel take a handler for their highest signals, but do not
 * have them. */
#define MISSING 4

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Guards the installation. */
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static int installs;
static int chosen; /* the signal, 0: none was free */
static struct sigaction before;

/* The question. The asker writes it under ask_lock before ASKED (release);
 * the answering thread reads it after its compare-and-swap (acquire). */
static pthread_mutex_t ask_lock = PTHREAD_MUTEX_INITIALIZER;
enum { IDLE, ASKED, ANSWERING, ANSWERED };
static _Atomic uint32_t state;
static _Atomic(const void *) wanted; /* rn__os_self of the one who is asked */
static rn__interrupt_fn *question;
static void *question_arg;

static void
on_signal(int signal, siginfo_t *info, void *context)
{
    void *frames[FRAMES_MAX];
    int saved_errno = errno;
    uint32_t asked = ASKED;
    (void)signal;
    (void)info;
    if (atomic_load(&wanted) == rn__os_self() && !rn__ctx_thread_waits() &&
        atomic_compare_exchange_strong(&state, &asked, ANSWERING)) {
        int count = rn__frames_at(context, frames, FRAMES_MAX);
        question(question_arg, frames, count);
        atomic_store(&state, ANSWERED);
        rn__os_wake(&state, 1);
    }
    errno = saved_errno;
}

static bool
try_signal(int signal, const struct sigaction *action)
{
    return sigaction(signal, NULL, &before) == 0 &&
           !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL &&
           sigaction(signal, action, NULL) == 0;
}

/* Under install_lock. */
static void
install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags =
                                   SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigemptyset(&action.sa_mask);
    chosen = 0;
    for (int s = SIGRTMAX - MISSING; s >= SIGRTMIN && chosen == 0; s--)
        if (try_signal(s, &action))
            chosen = s;
}

/* In a forked child nobody is left who asks. */
static void
after_fork(void)
{
    pthread_mutex_init(&install_lock, NULL);
    pthread_mutex_init(&ask_lock, NULL);
    atomic_store(&state, IDLE);
}

static void
prepare(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

void
rn__os_interrupt_install(void)
{
    void *frame;
    /* The first backtrace of a process loads a library; no handler may. */
    backtrace(&frame, 1);
    pthread_once(&once, prepare);
    pthread_mutex_lock(&install_lock);
    if (installs++ == 0)
        install();
    pthread_mutex_unlock(&install_lock);
}

/* A signal that is still on its way would kill: ignoring it drops it. */
void
rn__os_interrupt_remove(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, now;
    pthread_mutex_lock(&install_lock);
    if (--installs == 0 && chosen != 0 && sigaction(chosen, NULL, &now) == 0 &&
        now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal) {
        sigaction(chosen, &ignore, NULL);
        sigaction(chosen, &before, NULL);
    }
    pthread_mutex_unlock(&install_lock);
}

static bool
send_signal(uintptr_t thread)
{
    if (rn__ctx_kind() != RN_BACKEND_THREAD)
        return pthread_kill((pthread_t)thread, chosen) == 0;
    rn__ctx_thread_signal(chosen);
    return true;
}

/* Until it is answered, or, unless an answer has begun, until it is time to
 * give up. */
static bool
wait_for_answer(const _Atomic bool *cancel)
{
    for (int round = 0;; round++) {
        uint32_t now = atomic_load(&state);
        if (now == ANSWERED)
            return true;
        if (now == ASKED && (round >= ROUNDS || atomic_load(cancel)) &&
            atomic_compare_exchange_strong(&state, &now, IDLE))
            return false;
        rn__os_wait(&state, now, rn__os_now() + ROUND);
    }
}

bool
rn__os_interrupt(uintptr_t thread, const void *self, rn__interrupt_fn *fn,
                 void *arg, const _Atomic bool *cancel)
{
    if (chosen == 0)
        return false;
    pthread_mutex_lock(&ask_lock);
    question = fn;
    question_arg = arg;
    atomic_store(&wanted, self);
    atomic_store(&state, ASKED);
    /* Not sent: an old signal may still be answering this question. */
    static const _Atomic bool gone = true;
    bool answered = wait_for_answer(send_signal(thread) ? cancel : &gone);
    atomic_store(&state, IDLE);
    pthread_mutex_unlock(&ask_lock);
    return answered;
}

uintptr_t
rn__os_thread(void)
{
    return (uintptr_t)pthread_self();
}

void
rn__os_shun_signals(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    sigset_t set;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&set, faults[i]);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}
