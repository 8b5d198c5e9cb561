/* os/symbol.c - backtraces, and names for code addresses.
 *
 * Names come from the addr2line command, run once a module for all addresses
 * in it, because reading debug information is a library of its own; its
 * answers are kept, for it reads all of that each time. Without the command,
 * or if it cannot be run, the dynamic symbols must do.
 *
 * This runs in handlers for faults, also when the heap is broken and on small
 * stacks: no malloc (so no posix_spawn, whose file actions need it), no large
 * locals; all space is one map.
 */
#include "os/os.h"

#include "os/san.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Addresses for one run of the command. */
#define BATCH 64
#define FRAMES_MAX 128

/* The longest function name that leaves room for the file. */
#define NAME_MAX_SHOWN 100

/* A loaded object. */
struct module {
    uintptr_t bias; /* address minus the address in its file */
    const char *path;
    bool found;
    bool is_main;
};

/* All space that a call of rn__os_symbols needs. */
struct scratch {
    char main_path[4096];
    char texts[BATCH][2 + 2 * sizeof(uintptr_t) + 1];
    char *argv[5 + BATCH + 1];
    int index[BATCH]; /* which of the caller's addresses */
    int count;
    char function[512];
    char file[512];
    char buffer[1024]; /* what was read of the command's output */
    size_t at, end;    /* the unused part of it */
};

/* ---- modules ------------------------------------------------------------ */

struct lookup {
    uintptr_t address;
    struct module *module;
    int objects; /* seen so far; the main program comes first */
};

static int
visit(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    struct lookup *lookup = arg;
    bool is_main = lookup->objects++ == 0;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || lookup->address < low ||
            lookup->address - low >= part->p_memsz)
            continue;
        *lookup->module = (struct module){.bias = info->dlpi_addr,
                                          .path = info->dlpi_name,
                                          .found = true,
                                          .is_main = is_main};
        return 1;
    }
    return 0;
}

static struct module
find_module(uintptr_t address)
{
    struct module module = {.found = false};
    struct lookup lookup = {.address = address, .module = &module};
    dl_iterate_phdr(visit, &lookup);
    return module;
}

/* What a file name is called in a report. */
static const char *
short_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The main program has no name among the loaded objects. The file may be gone
 * or replaced; then the kernel still has it. */
static const char *
main_path(struct scratch *scratch)
{
    char *path = scratch->main_path;
    ssize_t n = readlink("/proc/self/exe", path, sizeof scratch->main_path - 1);
    path[n > 0 ? n : 0] = '\0';
    return path;
}

/* ---- the command -------------------------------------------------------- */

/* In the child: only system calls, none of them by a name that a sanitizer
 * replaces. Signals stay blocked, so no handler can run here. */
RN__NO_SAN static _Noreturn void
exec_command(char *const *argv, int output)
{
    if (output == STDOUT_FILENO)
        syscall(SYS_fcntl, output, F_SETFD, 0);
    else
        syscall(SYS_dup3, output, STDOUT_FILENO, 0);
    int sink = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    if (sink >= 0 && sink != STDERR_FILENO)
        syscall(SYS_dup3, sink, STDERR_FILENO, 0);
    execvp(argv[0], argv);
    _exit(127);
}

/* The bare system call, for fork takes the heap's locks, which whoever crashed
 * may hold, and the sanitizers' vfork and clone cannot be called here. */
RN__NO_SAN static pid_t
start_command(char *const *argv, int output)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        exec_command(argv, output);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return pid;
}

static int
next_char(struct scratch *scratch, int fd)
{
    if (scratch->at == scratch->end) {
        ssize_t n;
        do
            n = read(fd, scratch->buffer, sizeof scratch->buffer);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
            return -1;
        scratch->at = 0;
        scratch->end = (size_t)n;
    }
    return (unsigned char)scratch->buffer[scratch->at++];
}

/* A line without its end; what does not fit is dropped. */
static bool
read_line(struct scratch *scratch, int fd, char *line, size_t bytes)
{
    size_t used = 0;
    for (;;) {
        int c = next_char(scratch, fd);
        if (c < 0)
            return false;
        if (c == '\n')
            break;
        if (used + 1 < bytes)
            line[used++] = (char)c;
    }
    line[used] = '\0';
    return true;
}

/* ---- what was asked before ---------------------------------------------- */

/* Answers about the main program, whose addresses never change; a later one
 * takes the place of one with the same slot. The flag guards them: who finds
 * it set, a fault within or another thread, does without. */
#define KNOWN 1024
static struct {
    const void *address;
    char text[RN__SYMBOL_MAX];
} known[KNOWN];
static atomic_flag known_taken = ATOMIC_FLAG_INIT;

static size_t
known_slot(const void *address)
{
    return ((uintptr_t)address * 0x9E3779B97F4A7C15u >> 32) % KNOWN;
}

static bool
recall(const void *address, char *out)
{
    /* acquire: what the last one who held it wrote; pairs with the clears */
    if (atomic_flag_test_and_set_explicit(&known_taken, memory_order_acquire))
        return false;
    size_t slot = known_slot(address);
    bool found = address != NULL && known[slot].address == address;
    if (found)
        memcpy(out, known[slot].text, RN__SYMBOL_MAX);
    atomic_flag_clear_explicit(&known_taken, memory_order_release);
    return found;
}

static void
remember(const void *address, const char *text)
{
    if (atomic_flag_test_and_set_explicit(&known_taken, memory_order_acquire))
        return;
    size_t slot = known_slot(address);
    known[slot].address = address;
    memcpy(known[slot].text, text, RN__SYMBOL_MAX);
    atomic_flag_clear_explicit(&known_taken, memory_order_release);
}

/* ---- texts -------------------------------------------------------------- */

/* From what the program itself knows. */
static void
describe_plainly(const void *address, const struct module *module,
                 const char *file, char *out)
{
    Dl_info info;
    uintptr_t at = (uintptr_t)address;
    if (!module->found)
        snprintf(out, RN__SYMBOL_MAX, "%p", address);
    else if (dladdr((const char *)address - 1, &info) != 0 &&
             info.dli_sname != NULL)
        snprintf(out, RN__SYMBOL_MAX, "%.*s+0x%zx (%.40s)", NAME_MAX_SHOWN,
                 info.dli_sname, (size_t)(at - (uintptr_t)info.dli_saddr),
                 file);
    else
        snprintf(out, RN__SYMBOL_MAX, "0x%zx (%.40s)",
                 (size_t)(at - module->bias), file);
}

/* From a pair of lines: the function, and the file with the line. False: the
 * command does not know it. */
static bool
describe_fully(struct scratch *scratch, const char *module, char *out)
{
    const char *function = scratch->function;
    char *file = scratch->file;
    if (function[0] == '\0' || strcmp(function, "??") == 0)
        return false;
    char *remark = strstr(file, " (");
    if (remark != NULL)
        *remark = '\0';
    size_t length = strlen(function);
    if (strncmp(file, "??", 2) != 0)
        snprintf(out, RN__SYMBOL_MAX, "%.*s %.50s", NAME_MAX_SHOWN, function,
                 short_name(file));
    else if (strncmp(out, function, length) != 0 || out[length] != '+')
        snprintf(out, RN__SYMBOL_MAX, "%.*s (%.40s)", NAME_MAX_SHOWN, function,
                 short_name(module));
    return true;
}

/* Run the command for the batch. False: it cannot be run, and never will. */
static bool
ask_command(struct scratch *scratch, const struct module *module,
            void *const *addresses, char (*out)[RN__SYMBOL_MAX])
{
    static const char *const fixed[] = {"addr2line", "-f", "-C", "-e"};
    int fds[2];
    int status = 0;
    int n = 0;
    for (; n < 4; n++)
        scratch->argv[n] = (char *)(uintptr_t)fixed[n];
    scratch->argv[n++] = (char *)(uintptr_t)module->path;
    for (int i = 0; i < scratch->count; i++)
        scratch->argv[n++] = scratch->texts[i];
    scratch->argv[n] = NULL;
    scratch->at = scratch->end = 0;
    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    pid_t pid = start_command(scratch->argv, fds[1]);
    close(fds[1]);
    for (int i = 0; pid > 0 && i < scratch->count; i++) {
        if (!read_line(scratch, fds[0], scratch->function,
                       sizeof scratch->function) ||
            !read_line(scratch, fds[0], scratch->file, sizeof scratch->file))
            break;
        int which = scratch->index[i];
        if (describe_fully(scratch, module->path, out[which]) &&
            module->is_main)
            remember(addresses[which], out[which]);
    }
    close(fds[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

/* Collect the addresses from i on that lie in the same module as address i and
 * are not done. */
static void
collect(struct scratch *scratch, void *const *addresses, int i, int count,
        uint8_t *done)
{
    struct module first = find_module((uintptr_t)addresses[i] - 1);
    scratch->count = 0;
    for (; i < count && scratch->count < BATCH; i++) {
        uintptr_t call = (uintptr_t)addresses[i] - 1;
        struct module module = find_module(call);
        if (done[i] || module.found != first.found ||
            module.bias != first.bias || module.is_main != first.is_main)
            continue;
        done[i] = 1;
        scratch->index[scratch->count] = i;
        snprintf(scratch->texts[scratch->count++], sizeof scratch->texts[0],
                 "0x%zx", (size_t)(call - module.bias));
    }
}

/* The module of a call, and of the main program the path as well. */
static struct module
module_of(const void *address, const char *main_file)
{
    struct module module = find_module((uintptr_t)address - 1);
    if (module.is_main)
        module.path = main_file;
    return module;
}

/* Of the addresses those that are not done. */
static void
describe_all(struct scratch *scratch, void *const *addresses, int count,
             char (*out)[RN__SYMBOL_MAX], uint8_t *done)
{
    bool ask = true;
    const char *main_file = main_path(scratch);
    for (int i = 0; i < count; i++) {
        struct module module = module_of(addresses[i], main_file);
        if (!done[i])
            describe_plainly(addresses[i], &module,
                             module.found ? short_name(module.path) : "",
                             out[i]);
    }
    for (int i = 0; i < count && ask; i++) {
        struct module module = module_of(addresses[i], main_file);
        if (done[i] || !module.found)
            continue;
        collect(scratch, addresses, i, count, done);
        ask = ask_command(scratch, &module, addresses, out);
    }
}

void
rn__os_symbols(void *const *addresses, int count, char (*out)[RN__SYMBOL_MAX])
{
    int first = 0; /* that is not known */
    while (first < count && recall(addresses[first], out[first]))
        first++;
    if (first == count)
        return;
    size_t bytes = sizeof(struct scratch) + (size_t)count;
    struct scratch *scratch = rn__os_map(bytes);
    if (scratch == NULL) {
        for (int i = first; i < count; i++)
            snprintf(out[i], RN__SYMBOL_MAX, "%p", addresses[i]);
        return;
    }
    uint8_t *done = (uint8_t *)(scratch + 1);
    for (int i = 0; i < count; i++)
        done[i] = i < first || recall(addresses[i], out[i]);
    describe_all(scratch, addresses, count, out, done);
    rn__os_unmap(scratch, bytes);
}

/* ---- backtraces --------------------------------------------------------- */

/* The walk starts in this function, or in a sanitizer's wrapper below it. */
__attribute__((noinline)) int
rn__os_backtrace(void **frames, int max)
{
    void *all[FRAMES_MAX];
    const void *caller = __builtin_return_address(0);
    int wanted = max < FRAMES_MAX - 2 ? max + 2 : FRAMES_MAX;
    int count = backtrace(all, wanted);
    int first = 0;
    while (first < count && all[first] != caller)
        first++;
    count -= first;
    if (count > max)
        count = max;
    if (count > 0)
        memcpy(frames, all + first, (size_t)count * sizeof *frames);
    return count;
}

/* The main program's addresses, which never change. */
static pthread_once_t main_once = PTHREAD_ONCE_INIT;
static uintptr_t main_bias, main_low, main_high;

static int
visit_main(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    (void)bytes;
    (void)arg;
    main_bias = info->dlpi_addr;
    main_low = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t low = main_bias + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        if (low < main_low)
            main_low = low;
        if (low + part->p_memsz > main_high)
            main_high = low + part->p_memsz;
    }
    return 1; /* the main program comes first: enough */
}

static void
learn_main(void)
{
    dl_iterate_phdr(visit_main, NULL);
}

struct rn__code
rn__os_code(void)
{
    pthread_once(&main_once, learn_main);
    return (struct rn__code){main_low, main_high - main_low, main_bias};
}
