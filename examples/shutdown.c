/* shutdown.c - on SIGTERM take nothing new, finish what has begun, end. */
#include <pthread.h>
#include <runnel/runnel.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static sigset_t signals;
static rn_scope *requests, *listening; /* the second is inside the first */
static rn_scope_handle *handle;        /* holds it open for the thread */
static _Atomic int begun, done;

static int
hang_up(void *arg, int outcome)
{
    done += outcome == 0;
    return arg != NULL;
}

static int
request(void *arg)
{
    begun++;
    return rn_defer(hang_up, arg) < 0 || rn_sleep(20 * RN_MS) < 0 ? -1 : 0;
}

static int
listener(void *arg)
{
    while (rn_sleep(5 * RN_MS) == 0 && rn_go(requests, request, arg) == 0)
        continue;
    return 0;
}

static int
stop(void *scope) /* a task */
{
    rn_scope_cancel(scope);
    return 0;
}

static void *
signalled(void *scope) /* a thread: may block */
{
    sigwaitinfo(&signals, NULL);
    rn_scope_handle_go(handle, stop, scope);
    rn_scope_handle_release(handle);
    return NULL;
}

static int
app(void *arg)
{
    pthread_t thread;
    int real = !rn_sim_active(), e = rn_scope_open(RN_NEVER, &requests);
    e = e ? e : rn_scope_open(RN_NEVER, &listening);
    e = e ? e : rn_go(listening, listener, arg);
    e = e ? e : rn_scope_hold(listening, &handle);
    e = e ? e : real ? -pthread_create(&thread, NULL, signalled, listening) : 0;
    if (e < 0 || rn_sleep(50 * RN_MS) < 0 || kill(getpid(), SIGTERM) < 0)
        rn_panic("cannot begin");
    if (!real)
        signalled(listening);  /* in the simulator we are the only thread */
    rn_scope_close(listening); /* waits for the signal */
    printf("SIGTERM while %d requests were under way\n", begun - done);
    rn_scope_set_deadline(requests, rn_after(60 * RN_SEC));
    e = rn_scope_close(requests); /* waits for these, but not for ever */
    printf("%d of %d were done\n", done, begun);
    rn_sim_assert(e == 0 && done == begun, "what has begun is finished");
    return real ? -pthread_join(thread, NULL) : e;
}

int
main(void)
{
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* in all threads to come */
    return rn_run(NULL, app, NULL) < 0;
}
