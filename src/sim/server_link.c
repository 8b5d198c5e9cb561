/* sim/server_link.c - start a program as a server and talk to it. */
#include "sim/server_link.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHOICES_MAX = 1 << 24 };

/* ---- starting ----------------------------------------------------------- */

/* A descriptor below 3 (the caller's were closed) would be taken for standard
 * input or output by the program. */
static int
above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
    int error = errno;
    close(fd);
    errno = error;
    return moved;
}

static int
make_shared(struct rn__link *link, const rn_sim_options *options)
{
    size_t room = 2 * options->max_steps + 1024;
    if (room > CHOICES_MAX)
        room = CHOICES_MAX;
    link->bytes = sizeof(struct rn__shared) +
                  room * (sizeof(uint32_t) + sizeof(struct rn__forked));
    link->memory = above_standard(memfd_create("runnel", 0));
    if (link->memory < 0 || ftruncate(link->memory, (off_t)link->bytes) < 0)
        return -errno;
    void *at = mmap(NULL, link->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                    link->memory, 0);
    if (at == MAP_FAILED)
        return -errno;
    link->shared = at;
    link->shared->version = RN__SHARED_VERSION;
    link->shared->choice_room = room;
    rn_sim_options *o = &link->shared->request.options;
    *o = *options;
    o->token = o->trace_path = o->strategy = NULL;
    o->out_path = o->checkpoint_path = o->resume_path = o->command = NULL;
    o->stop = NULL;
    o->progress = NULL;
    o->progress_arg = NULL;
    return 0;
}

/* In the child: become the program. The same addresses in every run make
 * traces and digests comparable. */
_Noreturn static void
become(struct rn__link *link, int theirs, char *const argv[])
{
    char text[32];
    int null = open("/dev/null", O_RDWR);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    /* Until rn_run; what it complains of before that is still to be seen. */
    if (link->shared->request.options.flags & RN_SIM_QUIET && null >= 0)
        dup2(null, STDOUT_FILENO);
    setpgid(0, 0); /* Ctrl-C is for the searcher, who ends it */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    personality(ADDR_NO_RANDOMIZE);
    snprintf(text, sizeof text, "%d,%d", link->memory, theirs);
    setenv(RN__SHARED_ENV, text, 1);
    execvp(argv[0], argv);
    link->shared->exec_error = (uint32_t)errno;
    _exit(127);
}

static int
explain_end(struct rn__link *link, const char *program, char **why)
{
    int status = 0;
    waitpid(link->pid, &status, 0);
    link->pid = 0;
    int error = (int)link->shared->exec_error;
    if (error) {
        *why = rn__format("cannot start %s: %s", program, strerror(error));
        return -error;
    }
    if (!atomic_load(&link->shared->linked)) {
        *why = rn__format("%s is not linked to runnel: it ended without the "
                          "library having been loaded",
                          program);
        return -ENOEXEC;
    }
    *why = rn__format("%s never calls rn_run: it ended (%s %d) before it did",
                      program, WIFSIGNALED(status) ? "signal" : "status",
                      WIFSIGNALED(status) ? WTERMSIG(status)
                                          : WEXITSTATUS(status));
    return -ENODATA;
}

static int
await_hello(struct rn__link *link, const rn_sim_options *o, const char *program,
            char **why)
{
    struct pollfd watch = {link->socket, POLLIN, 0};
    char byte = 0;
    int n = poll(&watch, 1, rn__poll_timeout(o->max_run_time));
    if (n == 0) {
        kill(link->pid, SIGKILL);
        explain_end(link, program, why);
        free(*why);
        *why = rn__format("%s did not call rn_run within %.1f s", program,
                          (double)o->max_run_time / 1e9);
        return -ENODATA;
    }
    if (recv(link->socket, &byte, 1, 0) == 1 && byte == RN__HELLO)
        return 0;
    kill(link->pid, byte ? SIGKILL : 0); /* if not ended, then out of step */
    return explain_end(link, program, why);
}

static int
start(struct rn__link *link, char *const argv[])
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return -errno;
    pair[0] = above_standard(pair[0]);
    pair[1] = above_standard(pair[1]);
    if (pair[0] < 0 || pair[1] < 0)
        return -errno;
    fcntl(pair[0], F_SETFD, FD_CLOEXEC);
    fflush(NULL);
    link->pid = fork();
    if (link->pid == 0)
        become(link, pair[1], argv);
    int error = link->pid < 0 ? -errno : 0;
    close(pair[1]);
    /* Later programs must not inherit this one's memory. */
    fcntl(link->memory, F_SETFD, FD_CLOEXEC);
    link->socket = pair[0];
    return error;
}

int
rn__link_open(struct rn__link *link, const rn_sim_options *options,
              char *const argv[], char **why)
{
    memset(link, 0, sizeof *link);
    link->memory = link->socket = -1;
    int error = make_shared(link, options);
    if (!error)
        error = start(link, argv);
    if (error)
        *why = rn__format("cannot start %s: %s", argv[0], strerror(-error));
    else
        error = await_hello(link, options, argv[0], why);
    if (error)
        rn__link_close(link);
    return error;
}

void
rn__link_close(struct rn__link *link)
{
    if (link->socket >= 0)
        close(link->socket); /* the server ends when it sees that */
    if (link->pid > 0)
        waitpid(link->pid, NULL, 0);
    if (link->memory >= 0)
        close(link->memory);
    if (link->shared)
        munmap(link->shared, link->bytes);
}

/* ---- talking ------------------------------------------------------------ */

int
rn__link_go(struct rn__link *link)
{
    char byte = RN__GO;
    link->busy = true;
    return send(link->socket, &byte, 1, MSG_NOSIGNAL) == 1 ? 0 : -EPIPE;
}

int
rn__link_wait(struct rn__link *link)
{
    char byte = 0;
    ssize_t n;
    while ((n = recv(link->socket, &byte, 1, 0)) < 0 && errno == EINTR)
        ;
    link->busy = false;
    if (n != 1 || byte != RN__DONE)
        return -EPIPE;
    return link->shared->response.fork_error;
}

static void
put_prefix(struct rn__shared *shared, const struct rn__choices *choices)
{
    size_t count = choices->count;
    if (count > shared->choice_room)
        count = shared->choice_room;
    if (count > 0)
        memcpy(rn__shared_choices(shared), choices->list,
               count * sizeof *choices->list);
    shared->choice_count = count;
}

void
rn__link_put(struct rn__link *link, const struct rn__plan *plan)
{
    struct rn__shared *shared = link->shared;
    struct rn__request *request = &shared->request;
    request->index = plan->index;
    request->seed = plan->seed;
    request->strategy = rn__strategy_number(plan->strategy);
    request->param = plan->param;
    put_prefix(shared, &plan->prefix);
    size_t count = plan->words.count;
    if (count > RN__WORDS_MAX)
        count = RN__WORDS_MAX;
    if (count > 0)
        memcpy(shared->words, plan->words.list, count * sizeof *shared->words);
    shared->word_count = count;
}

void
rn__link_log(struct rn__link *link, struct rn__log *log)
{
    struct rn__shared *shared = link->shared;
    const struct rn__response *r = &shared->response;
    size_t count = shared->choice_count, words = shared->word_count;
    if (count == SIZE_MAX)
        count = 0;
    *log = (struct rn__log){
        .choices = {rn__shared_choices(shared), count, count},
        .forked = shared->forked ? rn__shared_forked(shared) : NULL,
        .digest = r->digest,
        .steps = r->steps,
        .verdict = r->verdict,
        .told = r->reported && shared->choice_count != SIZE_MAX,
    };
    if (log->told)
        log->words = (struct rn__words){shared->words, words, words};
}
