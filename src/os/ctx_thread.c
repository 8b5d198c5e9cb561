/* os/ctx_thread.c - contexts as OS threads that take turns.
 *
 * For tools that do not understand a change of stacks. Each context is hosted
 * by an OS thread of its own with a stack of its own; a switch wakes the
 * other's host and sleeps until somebody wakes this one. Only one of the two
 * runs at any time, so to the runtime it looks like any other backend.
 *
 * When a context is over, its host jumps back to the top of its stack and
 * waits for another context; a limited number wait, the others end. Threads
 * are not made on the pool's stacks: the C library and sanitizers take a part
 * of a thread's stack that may be larger than a task's.
 */
#include "os/ctx.h"

#include "base/list.h"
#include "os/altstack.h"
#include "os/ctx_thread.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

/* Hosts that wait for work; more than that end. */
#define IDLE_MAX 256

/* What a thread's own libraries need of its stack, added to what the context
 * asked for. */
#define HOST_ROOM ((size_t)256 << 10)

/* What a sleeping host is woken for. */
enum turn { SLEEP = 0, RUN, END };

struct host {
    _Atomic uint32_t turn; /* enum turn; the futex it sleeps on */
    bool adopted;          /* stands for a thread that is not ours */
    void *self;            /* rn__os_self for its next turn */
    struct rn__ctx *ctx;   /* what it hosts */
    struct host *next;     /* idle ones */
    struct rn__list link;  /* of all that are threads of ours */
    pthread_t thread;
    jmp_buf top; /* the top of its stack */
    char *stack_low;
    size_t stack_bytes; /* what a context may use */
    size_t guard_bytes;
};

/* Guards the lists of idle hosts and of all. */
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct host *idle;
static struct rn__list all;
static int idle_count;
static pthread_once_t idle_once = PTHREAD_ONCE_INIT;

/* The calling thread's host, if it is one. */
static __thread struct host *current __attribute__((tls_model("initial-exec")));
/* Whether it waits for its turn. */
static __thread bool waits __attribute__((tls_model("initial-exec")));

static void
after_fork(void)
{
    /* The threads are gone; what they left is lost. */
    pthread_mutex_init(&idle_lock, NULL);
    idle = NULL;
    idle_count = 0;
    rn__list_init(&all);
}

static void
before_first(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

/* Pairs with wait_turn: what was written before is seen there. The host may
 * be gone by the time it is woken; the address is all that is used then. */
static void
give_turn(struct host *host, enum turn turn)
{
    atomic_store_explicit(&host->turn, turn, memory_order_release);
    rn__os_wake(&host->turn, 1);
}

static enum turn
wait_turn(struct host *host)
{
    uint32_t turn;
    waits = true;
    for (;;) {
        turn = atomic_load_explicit(&host->turn, memory_order_acquire);
        if (turn != SLEEP)
            break;
        rn__os_wait(&host->turn, SLEEP, RN_NEVER);
    }
    waits = false;
    atomic_store_explicit(&host->turn, SLEEP, memory_order_relaxed);
    return (enum turn)turn;
}

/* Queue for another context. False: there are enough idle hosts. */
static bool
retire(struct host *host)
{
    bool kept = false;
    pthread_mutex_lock(&idle_lock);
    if (idle_count < IDLE_MAX) {
        host->next = idle;
        idle = host;
        idle_count++;
        kept = true;
    }
    pthread_mutex_unlock(&idle_lock);
    return kept;
}

static void
learn_stack(struct host *host)
{
    pthread_attr_t attr;
    void *low;
    size_t bytes;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    pthread_attr_getstack(&attr, &low, &bytes);
    pthread_attr_getguardsize(&attr, &host->guard_bytes);
    pthread_attr_destroy(&attr);
    host->stack_low = low;
}

/* Apart, so that nothing of the caller lives in a register across setjmp. */
static __attribute__((noinline)) void
run_context(struct host *host)
{
    if (_setjmp(host->top) == 0) {
        rn__os_set_self(host->self);
        host->ctx->entry(host->ctx->arg);
        abort(); /* an entry never returns */
    }
}

static void *
host_main(void *arg)
{
    struct host *host = arg;
    struct rn__altstack alt;
    rn__altstack_open(&alt);
    learn_stack(host);
    current = host;
    pthread_mutex_lock(&idle_lock);
    host->thread = pthread_self();
    rn__list_append(&all, &host->link);
    pthread_mutex_unlock(&idle_lock);
    do {
        if (wait_turn(host) == RUN)
            run_context(host);
        rn__os_set_self(NULL);
    } while (retire(host));
    current = NULL;
    pthread_mutex_lock(&idle_lock);
    rn__list_remove(&host->link);
    pthread_mutex_unlock(&idle_lock);
    rn__altstack_close(&alt);
    free(host);
    return NULL;
}

static struct host *
take_idle(size_t stack_bytes)
{
    struct host *host = NULL;
    pthread_mutex_lock(&idle_lock);
    for (struct host **at = &idle; *at != NULL; at = &(*at)->next) {
        if ((*at)->stack_bytes < stack_bytes)
            continue;
        host = *at;
        *at = host->next;
        idle_count--;
        break;
    }
    pthread_mutex_unlock(&idle_lock);
    return host;
}

static int
start_host(struct host *host)
{
    pthread_attr_t attr;
    pthread_t thread;
    if (pthread_attr_init(&attr) != 0)
        return -ENOMEM;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int err = pthread_attr_setstacksize(&attr, host->stack_bytes + HOST_ROOM);
    if (err == 0)
        err = pthread_create(&thread, &attr, host_main, host);
    pthread_attr_destroy(&attr);
    return -err;
}

static int
adopt(struct rn__ctx *ctx)
{
    struct host *host = calloc(1, sizeof *host);
    if (host == NULL)
        return -ENOMEM;
    host->adopted = true;
    host->ctx = ctx;
    ctx->backend = host;
    return 0;
}

static int
make(struct rn__ctx *ctx)
{
    pthread_once(&idle_once, before_first);
    struct host *host = take_idle(ctx->stack_bytes);
    if (host != NULL) {
        host->ctx = ctx;
        ctx->backend = host;
        return 0;
    }
    host = calloc(1, sizeof *host);
    if (host == NULL)
        return -ENOMEM;
    host->ctx = ctx;
    host->stack_bytes = (ctx->stack_bytes + 4095) & ~(size_t)4095;
    int err = start_host(host);
    if (err < 0) {
        free(host);
        return err;
    }
    ctx->backend = host;
    return 0;
}

/* Once the other has its turn, from may be gone already: only the host, which
 * is this very thread's, is safe to touch. */
static void
enter(struct rn__ctx *from, struct rn__ctx *to)
{
    struct host *mine = from->backend;
    struct host *other = to->backend;
    other->self = rn__os_self();
    give_turn(other, RUN);
    if (wait_turn(mine) == END)
        longjmp(mine->top, 1);
    rn__os_set_self(mine->self);
}

static void
fini(struct rn__ctx *ctx)
{
    struct host *host = ctx->backend;
    if (host->adopted)
        free(host);
    else
        give_turn(host, END);
}

bool
rn__ctx_thread_waits(void)
{
    return waits;
}

void
rn__ctx_thread_signal(int signal)
{
    pthread_mutex_lock(&idle_lock);
    if (!rn__list_empty(&all))
        rn__list_each (node, &all)
            pthread_kill(rn__container_of(node, struct host, link)->thread,
                         signal);
    pthread_mutex_unlock(&idle_lock);
}

/* Whether the C library counts its guard as a part of the stack has changed
 * over time, so the page on either side of the low end is taken for it. */
bool
rn__ctx_thread_guard(const void *address, void **low, size_t *bytes)
{
    const char *at = address;
    const struct host *host = current;
    if (host == NULL || host->stack_low == NULL)
        return false;
    if (at < host->stack_low - host->guard_bytes ||
        at >= host->stack_low + host->guard_bytes)
        return false;
    *low = host->ctx->stack_low;
    *bytes = host->stack_bytes;
    return true;
}

const struct rn__ctx_ops rn__ctx_thread_ops = {.kind = RN_BACKEND_THREAD,
                                               .adopt = adopt,
                                               .make = make,
                                               .enter = enter,
                                               .fini = fini};
