/* sim/server.c - in a program that is searched: one fork a schedule, so that
 * neither a crash nor a static variable leaks into the next.
 */
#include "sim/sim.h"

#include "sim/shared.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct rn__shared *shared;
static int channel = -1; /* to the searcher */
static struct rn__world *child_world;
static pid_t child_pid;

/* ---- meeting the searcher ----------------------------------------------- */

static bool
attach(void)
{
    const char *text = getenv(RN__SHARED_ENV);
    int memory;
    struct stat status;
    if (!text || sscanf(text, "%d,%d", &memory, &channel) != 2)
        return false;
    if (fstat(memory, &status) < 0)
        return false;
    void *at = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
                    MAP_SHARED, memory, 0);
    if (at == MAP_FAILED)
        return false;
    shared = at;
    /* A program this one starts is not to be searched. */
    unsetenv(RN__SHARED_ENV);
    close(memory);
    fcntl(channel, F_SETFD, FD_CLOEXEC);
    if (shared->version == RN__SHARED_VERSION)
        return true;
    fprintf(stderr, "runnel: the command and the library this program uses "
                    "are of different versions\n");
    shared = NULL;
    return false;
}

/* Tells the searcher that the library is there, even if rn_run never is. */
__attribute__((constructor)) static void
loaded(void)
{
    if (attach())
        atomic_store(&shared->linked, 1);
}

static bool
say(char byte)
{
    return send(channel, &byte, 1, MSG_NOSIGNAL) == 1;
}

/* ---- the child ---------------------------------------------------------- */

static void
silence(void)
{
    int null = open("/dev/null", O_WRONLY);
    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

/* After its rn_run the program may free what was made inside. */
static bool
free_outside(void *memory)
{
    return rn__arena_free(&child_world->arena, memory);
}

/* The program ends by itself, after its last rn_run or from inside a task. */
static void
at_exit(int status, void *arg)
{
    struct rn__world *world = child_world;
    (void)arg;
    if (getpid() != child_pid || shared->response.reported)
        return; /* a child of the child; or all has been said */
    if (status != 0)
        rn__world_exited(world, status);
    rn__server_report(world, false);
}

/* The prefix is overwritten by what is chosen, place by place, each with what
 * it says or, where it does not fit, after it has been read. */
static void
take_plan(struct rn__world *world)
{
    static struct rn__plan plan;
    const struct rn__request *request = &shared->request;
    size_t count = shared->choice_count, words = shared->word_count;
    plan = (struct rn__plan){
        .index = request->index,
        .strategy = rn__strategy_at(request->strategy),
        .param = request->param,
        .seed = request->seed,
        .prefix = {rn__shared_choices(shared), count, count},
        .words = {shared->words, words, words},
    };
    shared->choice_count = 0;
    world->mirror = (struct rn__mirror){
        rn__shared_choices(shared), shared->choice_room, &shared->choice_count};
    rn__world_plan(world, &plan);
}

static void
begin_child(struct rn__world *world)
{
    const struct rn__request *request = &shared->request;
    close(channel);
    child_pid = getpid();
    setpgid(0, 0);                    /* what it starts ends with it */
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* and it with the server */
    if (request->options.flags & RN_SIM_QUIET)
        silence();
    world->want_text = request->text;
    world->keep_events =
        request->keep || request->compare || request->trace_path[0];
    world->properties = &shared->properties;
    take_plan(world);
    child_world = world;
    rn__free_outside = free_outside;
    on_exit(at_exit, NULL);
}

static void
put_log(const struct rn__world *world)
{
    struct rn__log log;
    rn__world_log(world, &log);
    size_t count = log.choices.count;
    shared->forked = log.forked && count <= shared->choice_room;
    if (shared->forked && count > 0)
        memcpy(rn__shared_forked(shared), log.forked,
               count * sizeof *log.forked);
    count = log.words.count;
    if (count > RN__WORDS_MAX)
        count = RN__WORDS_MAX;
    if (count > 0)
        memcpy(shared->words, log.words.list, count * sizeof *shared->words);
    shared->word_count = count;
}

static void
respond(struct rn__world *world)
{
    struct rn__response *r = &shared->response;
    r->reported = true;
    r->verdict = world->verdict;
    r->steps = world->steps;
    r->digest = world->digest;
    r->waiting = world->waiting;
    r->diverged = world->diverged;
    r->time = world->now;
    r->faults = world->injector.total;
    r->finding = rn__finding(world);
    const char *text = world->text ? world->text : world->message;
    snprintf(r->text, sizeof r->text, "%s", text ? text : "");
    char *contrast = rn__contrast_text(world, &shared->request.contrast);
    snprintf(r->contrast, sizeof r->contrast, "%s", contrast ? contrast : "");
    free(contrast);
    put_log(world);
}

static void
keep_events(struct rn__world *world)
{
    size_t count = world->event_count;
    if (count > RN__SHARED_EVENTS)
        count = RN__SHARED_EVENTS;
    memcpy(shared->events, world->events, count * sizeof *world->events);
    shared->event_count = count;
    shared->event_digest = world->digest;
}

void
rn__server_report(struct rn__world *world, bool signal)
{
    const struct rn__request *request = &shared->request;
    if (request->keep)
        keep_events(world);
    if (request->compare && !signal)
        rn__verify(world, shared->events, shared->event_count,
                   shared->event_digest);
    if (request->trace_path[0])
        shared->response.trace_error =
            rn__world_trace(world, request->trace_path, request->trace_token);
    respond(world);
    if (world->verdict != RN_SIM_PASS && !signal)
        _exit(0);
}

void
rn__world_crashed(struct rn__world *world)
{
    if (world->want_text)
        rn__report_write(world);
    if (world == child_world) {
        rn__server_report(world, true);
        return;
    }
    char *token = rn__token_write(&world->choices);
    fprintf(stderr, "%srepeat it with token %s\n",
            world->text ? world->text : "", token ? token : "(no memory)");
    fflush(stderr);
}

/* ---- the server --------------------------------------------------------- */

/* Whether a child ends within the time limit. */
static bool
ends(pid_t child, int timeout_ms)
{
    int handle = (int)syscall(SYS_pidfd_open, child, 0);
    if (handle < 0) /* Linux before 5.3: no limit */
        return true;
    struct pollfd watch = {handle, POLLIN, 0};
    int n;
    do {
        n = poll(&watch, 1, timeout_ms);
    } while (n < 0 && errno == EINTR);
    close(handle);
    return n != 0;
}

/* Wait for a child, but not for ever: a hanging one is first made to say where
 * it hangs. */
static void
await(pid_t child)
{
    enum { LAST_WORDS_MS = 2000 };
    struct rn__response *r = &shared->response;
    if (!ends(child, rn__poll_timeout(shared->request.options.max_run_time))) {
        r->timed_out = true;
        kill(child, SIGABRT);
        if (!ends(child, LAST_WORDS_MS))
            kill(child, SIGKILL);
    }
    while (waitpid(child, &r->status, 0) < 0 && errno == EINTR)
        ;
    kill(-child, SIGKILL); /* what it has started and left */
}

static void
forget_response(void)
{
    struct rn__response *r = &shared->response;
    memset(r, 0, offsetof(struct rn__response, text));
    r->text[0] = 0;
    shared->forked = false;
}

/* Returns in a child, never in the server. */
static void
serve(struct rn__world *world)
{
    char byte;
    while (recv(channel, &byte, 1, 0) == 1) {
        forget_response();
        fflush(NULL); /* a child must not print what the server holds back */
        pid_t child = fork();
        if (child == 0) {
            begin_child(world);
            return;
        }
        if (child < 0)
            shared->response.fork_error = -errno;
        else
            await(child);
        if (!say(RN__DONE))
            break;
    }
    _exit(0);
}

struct rn__world *
rn__server_world(void)
{
    if (child_world || !shared)
        return child_world;
    char *why = NULL;
    struct rn__world *world;
    if (rn__world_open(&shared->request.options, &world, &why) < 0) {
        fprintf(stderr, "runnel: cannot make a simulated world: %s\n",
                why ? why : "out of memory");
        _exit(1);
    }
    if (!say(RN__HELLO))
        _exit(1);
    serve(world);
    return world;
}

bool
rn__server_timed_out(void)
{
    return child_world && shared->response.timed_out;
}
