/* tools/cmd_doctor.c - runnel doctor: what this machine offers and lacks.
 *
 * Features are tried, not read off the kernel's version: containers and
 * security modules take away what the version promises. First all facts are
 * collected into one list, then the list is printed as text or JSON.
 */
#include "cli.h"
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Debian 12's headers do not have it yet. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

static const char help[] =
    "NAME\n"
    "  runnel doctor - show what this machine offers and lacks\n"
    "\n"
    "SYNOPSIS\n"
    "  runnel doctor [--json]\n"
    "\n"
    "DESCRIPTION\n"
    "  Tries the kernel's features that the library uses or will use, shows "
    "the\n"
    "  limits that bound the number of tasks, what the library chooses here,\n"
    "  and which helpful programs are missing, with the package that has "
    "them.\n"
    "\n"
    "EXIT STATUS\n"
    "  0\n";

/* ---- the list of facts --------------------------------------------------- */

enum { FACTS_MAX = 64, NOTES_MAX = 16, TEXT_MAX = 256 };

/* A fact; it is of the kind of the last heading before it. */
struct fact {
    const char *heading; /* not NULL: a heading, the rest is empty */
    const char *name;
    char text[TEXT_MAX];
    enum { FACT_TEXT, FACT_NUMBER, FACT_YES, FACT_NO, FACT_NONE } kind;
};

/* Something to do. */
struct note {
    const char *what;
    char why[TEXT_MAX];
    char get[TEXT_MAX];
};

struct findings {
    struct fact facts[FACTS_MAX];
    int count;
    struct note notes[NOTES_MAX];
    int note_count;
};

static struct fact *
add(struct findings *f, const char *name, int kind)
{
    if (f->count == FACTS_MAX)
        abort();
    struct fact *fact = &f->facts[f->count++];
    *fact = (struct fact){.name = name};
    fact->kind = kind;
    return fact;
}

static void
heading(struct findings *f, const char *text)
{
    add(f, NULL, FACT_NONE)->heading = text;
}

static void
fact_bool(struct findings *f, const char *name, bool value)
{
    add(f, name, value ? FACT_YES : FACT_NO);
}

/* An empty text says that it is unknown, or not there. */
static void
fact_text(struct findings *f, const char *name, const char *text)
{
    struct fact *fact = add(f, name, text[0] ? FACT_TEXT : FACT_NONE);
    snprintf(fact->text, sizeof fact->text, "%s", text);
}

static void
fact_number(struct findings *f, const char *name, uint64_t value)
{
    struct fact *fact = add(f, name, FACT_NUMBER);
    snprintf(fact->text, sizeof fact->text, "%" PRIu64, value);
}

static void
note(struct findings *f, const char *what, const char *why, const char *get)
{
    if (f->note_count == NOTES_MAX)
        abort();
    struct note *n = &f->notes[f->note_count++];
    n->what = what;
    snprintf(n->why, sizeof n->why, "%s", why);
    snprintf(n->get, sizeof n->get, "%s", get);
}

/* ---- looking ------------------------------------------------------------- */

/* The first line of a file; empty if it cannot be read. */
static void
read_line(const char *path, char text[TEXT_MAX])
{
    FILE *file = fopen(path, "re");
    text[0] = 0;
    if (file && !fgets(text, TEXT_MAX, file))
        text[0] = 0;
    if (file)
        fclose(file);
    text[strcspn(text, "\n")] = 0;
}

static bool
has_guard_install(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    bool has = madvise(p, page, MADV_GUARD_INSTALL) == 0;
    munmap(p, page);
    return has;
}

/* Whether a call with impossible arguments fails for them, and not because
 * there is no such call or it is not allowed. */
static bool
has_call(long number)
{
    long e = syscall(number, -1, -1L, -1L, -1L, -1L, -1L);
    return e >= 0 || (errno != ENOSYS && errno != EPERM && errno != EACCES);
}

static bool
has_epoll(void)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool
has_futex(void)
{
    uint32_t word = 0;
    return syscall(SYS_futex, &word, 1 /* FUTEX_WAKE */, 1, NULL, NULL, 0) == 0;
}

static bool
has_membarrier(void)
{
    enum { QUERY = 0, PRIVATE_EXPEDITED = 8 };
    long commands = syscall(SYS_membarrier, QUERY, 0, 0);
    return commands > 0 && (commands & PRIVATE_EXPEDITED);
}

static void
look_at_kernel(struct findings *f)
{
    struct utsname name;
    char text[TEXT_MAX];
    uname(&name);
    heading(f, "system");
    fact_text(f, "runnel", rn_version());
    snprintf(text, sizeof text, "%s %s", name.sysname, name.release);
    fact_text(f, "kernel", text);
    fact_text(f, "machine", name.machine);
    heading(f, "features");
    bool guard = has_guard_install();
    fact_bool(f, "madv_guard_install", guard);
    fact_bool(f, "futex", has_futex());
    fact_bool(f, "epoll", has_epoll());
    fact_bool(f, "io_uring", has_call(SYS_io_uring_setup));
    fact_bool(f, "membarrier", has_membarrier());
    fact_bool(f, "process_madvise", has_call(SYS_process_madvise));
    fact_bool(f, "pidfd_open", has_call(SYS_pidfd_open));
    if (!guard)
        note(f, "madv_guard_install",
             "stacks are guarded at a higher price: with mprotect each takes "
             "two of vm.max_map_count",
             "a kernel of 6.13 or later; or raise the limit: sysctl -w "
             "vm.max_map_count=1048576");
}

/* Cores that the control group pays for; empty: no limit. */
static void
look_at_quota(struct findings *f)
{
    char line[TEXT_MAX], text[TEXT_MAX] = "";
    long quota, period;
    read_line("/sys/fs/cgroup/cpu.max", line);
    if (sscanf(line, "%ld %ld", &quota, &period) == 2 && period > 0)
        snprintf(text, sizeof text, "%.2f cores",
                 (double)quota / (double)period);
    fact_text(f, "cpu_quota", text);
}

static void
limit(struct findings *f, const char *name, int resource)
{
    struct rlimit l;
    if (getrlimit((__rlimit_resource_t)resource, &l) != 0)
        fact_text(f, name, "");
    else if (l.rlim_cur == RLIM_INFINITY)
        fact_text(f, name, "unlimited");
    else
        fact_number(f, name, l.rlim_cur);
}

static void
file_number(struct findings *f, const char *name, const char *path)
{
    char text[TEXT_MAX];
    read_line(path, text);
    if (text[0])
        fact_number(f, name, strtoull(text, NULL, 10));
    else
        fact_text(f, name, "");
}

static void
look_at_limits(struct findings *f)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    heading(f, "limits");
    fact_number(f, "cores_online", (uint64_t)online);
    fact_number(f, "cores_usable",
                (uint64_t)(known ? CPU_COUNT(&set) : online));
    look_at_quota(f);
    limit(f, "nofile", RLIMIT_NOFILE);
    limit(f, "nproc", RLIMIT_NPROC);
    limit(f, "stack_bytes", RLIMIT_STACK);
    limit(f, "address_space_bytes", RLIMIT_AS);
    file_number(f, "max_map_count", "/proc/sys/vm/max_map_count");
    file_number(f, "overcommit_memory", "/proc/sys/vm/overcommit_memory");
    file_number(f, "threads_max", "/proc/sys/kernel/threads-max");
    char text[TEXT_MAX];
    read_line("/proc/sys/vm/overcommit_memory", text);
    if (!strcmp(text, "2"))
        note(f, "overcommit_memory",
             "stacks count as used when they are reserved, so there can be "
             "far fewer tasks",
             "sysctl -w vm.overcommit_memory=0");
}

static void
look_at_choices(struct findings *f)
{
    heading(f, "chosen");
    fact_text(f, "backend", rn_backend_name(rn_backend_best()));
    fact_text(f, "guard", rn_guard_name(rn_guard_best()));
    fact_text(f, "poller",
              "none: this version has no I/O; workers sleep on futexes");
}

static void
look_for(struct findings *f, const char *program, const char *why,
         const char *package)
{
    char get[TEXT_MAX];
    char *path = cli_find_in_path(program);
    fact_text(f, program, path ? path : "");
    snprintf(get, sizeof get, "apt-get install %s", package);
    if (!path)
        note(f, program, why, get);
    free(path);
}

static void
look_at_tools(struct findings *f)
{
    char text[TEXT_MAX];
    heading(f, "tools");
    look_for(f, "addr2line",
             "without it reports name functions, but no files and lines",
             "binutils");
    look_for(f, "gdb", "shows the stack of the running task, and core files",
             "gdb");
    look_for(f, "valgrind", "finds wrong uses of memory", "valgrind");
    read_line("/proc/sys/kernel/core_pattern", text);
    fact_text(f, "core_pattern", text);
}

/* ---- saying -------------------------------------------------------------- */

static void
print_text(const struct findings *f)
{
    static const char *const words[] = {
        [FACT_YES] = "yes", [FACT_NO] = "no", [FACT_NONE] = "none"};
    for (int i = 0; i < f->count; i++) {
        const struct fact *fact = &f->facts[i];
        if (fact->heading)
            printf("%s%s\n", i ? "\n" : "", fact->heading);
        else
            printf("  %-20s %s\n", fact->name,
                   fact->text[0] ? fact->text : words[fact->kind]);
    }
    printf("\nmissing\n");
    for (int i = 0; i < f->note_count; i++) {
        const struct note *n = &f->notes[i];
        printf("  %-20s %s\n  %-20s get it: %s\n", n->what, n->why, "", n->get);
    }
    if (f->note_count == 0)
        printf("  nothing\n");
}

static void
json_fact(struct json *json, const struct fact *fact)
{
    if (fact->kind == FACT_YES || fact->kind == FACT_NO)
        json_bool(json, fact->name, fact->kind == FACT_YES);
    else if (fact->kind == FACT_NUMBER)
        json_raw(json, fact->name, fact->text);
    else
        json_text(json, fact->name, fact->text[0] ? fact->text : NULL);
}

static void
print_json(const struct findings *f)
{
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    for (int i = 0; i < f->count; i++) {
        const struct fact *fact = &f->facts[i];
        if (fact->heading && i > 0)
            json_close(&json, '{');
        if (fact->heading)
            json_open(&json, fact->heading, '{');
        else
            json_fact(&json, fact);
    }
    json_close(&json, '{');
    json_open(&json, "missing", '[');
    for (int i = 0; i < f->note_count; i++) {
        json_open(&json, NULL, '{');
        json_text(&json, "what", f->notes[i].what);
        json_text(&json, "why", f->notes[i].why);
        json_text(&json, "get", f->notes[i].get);
        json_close(&json, '{');
    }
    json_close(&json, '[');
    json_close(&json, '{');
}

static int
doctor(struct cli *cli, char **argv)
{
    const struct option none[] = {{0}};
    int status = cli_parse(cli, argv, none, NULL);
    if (status)
        return status;
    static struct findings findings;
    look_at_kernel(&findings);
    look_at_limits(&findings);
    look_at_choices(&findings);
    look_at_tools(&findings);
    if (cli->json)
        print_json(&findings);
    else
        print_text(&findings);
    return CLI_FINE;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .summary = "show what this machine offers and lacks",
    .help = help,
    .run = doctor,
};
