/* Backtraces and names of code addresses. */
#include "os/os.h"
#include "test.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void *frames[200];
static char names[200][RN__SYMBOL_MAX];
static int count;

static __attribute__((noinline)) void
innermost(void)
{
    count = rn__os_backtrace(frames, 64);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

static __attribute__((noinline)) void
caller_of_innermost(void)
{
    innermost();
    __asm__ volatile("" ::: "memory");
}

static int
compare(const void *a, const void *b)
{
    (void)a;
    (void)b;
    if (count == 0)
        innermost();
    return 0;
}

static bool
command_works(void)
{
    return system("addr2line --version >/dev/null 2>&1") == 0;
}

TEST(symbol_static_function_has_name_and_file)
{
    caller_of_innermost();
    CHECK_GE(count, 3);
    if (!command_works())
        test_skip("addr2line is not installed");
    rn__os_symbols(frames, count, names);
    CHECK_HAS(names[0], "innermost os_symbol.c:");
    CHECK_HAS(names[1], "caller_of_innermost os_symbol.c:");
    CHECK(!strchr(names[0], '/'));
}

TEST(symbol_backtrace_is_cut_at_max)
{
    void *two[3] = {NULL, NULL, &two};
    caller_of_innermost();
    CHECK_EQ(rn__os_backtrace(two, 2), 2);
    CHECK(two[2] == &two);
    CHECK_EQ(rn__os_backtrace(two, 0), 0);
}

TEST(symbol_of_a_library)
{
    int numbers[4] = {4, 3, 2, 1};
    qsort(numbers, 4, sizeof numbers[0], compare);
    CHECK_GE(count, 3);
    rn__os_symbols(frames, count, names);
    bool found = false;
    for (int i = 0; i < count; i++)
        found |= strstr(names[i], "sort") || strstr(names[i], "(libc");
    if (!found)
        FAIL("no frame of qsort: %s, %s", names[1], names[2]);
}

TEST(symbol_of_nothing_is_its_number)
{
    void *odd[] = {NULL, (void *)0x10, &count};
    rn__os_symbols(odd, 3, names);
    CHECK_HAS(names[1], "0x10");
    CHECK(names[0][0] && names[2][0]);
}

static void *
after(void (*fn)(void))
{
    return (char *)(uintptr_t)fn + 1;
}

/* More than one run of the command takes, mixed with what it cannot name. */
TEST(symbol_many_at_once)
{
    if (!command_works())
        test_skip("addr2line is not installed");
    for (int i = 0; i < 200; i++)
        frames[i] = i % 3 == 0   ? after(innermost)
                    : i % 3 == 1 ? after(caller_of_innermost)
                                 : (void *)(uintptr_t)(i + 1);
    rn__os_symbols(frames, 200, names);
    for (int i = 0; i < 200; i++)
        CHECK_HAS(names[i], i % 3 == 0   ? "innermost os_symbol.c:"
                            : i % 3 == 1 ? "caller_of_innermost os_symbol.c:"
                                         : "0x");
}

/* Without the command, so these are answers it gave before. */
TEST(symbol_asked_again_is_known)
{
    caller_of_innermost();
    if (!command_works())
        test_skip("addr2line is not installed");
    rn__os_symbols(frames, 2, names);
    char before[2][RN__SYMBOL_MAX];
    memcpy(before, names, sizeof before);
    CHECK_EQ(setenv("PATH", "/nowhere", 1), 0);
    void *mixed[] = {frames[1], after(innermost), frames[0]};
    rn__os_symbols(mixed, 3, names);
    CHECK_STR(names[0], before[1]);
    CHECK(!strstr(names[1], "os_symbol.c"));
    CHECK_STR(names[2], before[0]);
    rn__os_symbols(mixed, 1, names);
    CHECK_STR(names[0], before[1]);
}

static int
open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int files = 0;
    CHECK(dir);
    while (readdir(dir))
        files++;
    closedir(dir);
    return files;
}

TEST(symbol_leaks_no_files)
{
    caller_of_innermost();
    int files = open_files();
    for (int i = 0; i < 3; i++) {
        void *next = (char *)after(innermost) + i; /* not known yet */
        rn__os_symbols(frames, count, names);
        rn__os_symbols(&next, 1, names);
    }
    CHECK_EQ(open_files(), files);
}

/* Texts there must be, if only with the place in the file. */
static void
check_plain(void)
{
    caller_of_innermost();
    rn__os_symbols(frames, count, names);
    CHECK(!strstr(names[0], "os_symbol.c"));
    CHECK_HAS(names[0], "0x");
    CHECK_HAS(names[0], "(");
}

TEST(symbol_without_files_left)
{
    struct rlimit limit, none;
    caller_of_innermost(); /* the first backtrace opens a library */
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    check_plain();
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(symbol_without_the_command)
{
    CHECK_EQ(setenv("PATH", "/nonexistent", 1), 0);
    check_plain();
}

TEST(symbol_code_offset_is_the_same_each_run)
{
    static const char here[] = "in the program";
    struct rn__code code = rn__os_code();
    void *heap = malloc(1);
    uintptr_t a = rn__code_offset(&code, after(innermost));
    uintptr_t b = rn__code_offset(&code, after(caller_of_innermost));
    CHECK_LT(a, (uintptr_t)1 << 30);
    CHECK_EQ(b - a, (uintptr_t)after(caller_of_innermost) -
                        (uintptr_t)after(innermost));
    CHECK_LT(rn__code_offset(&code, here), (uintptr_t)1 << 30);
    CHECK_EQ(rn__code_offset(&code, &heap), (uintptr_t)&heap);
    CHECK_EQ(rn__code_offset(&code, heap), (uintptr_t)heap);
    free(heap);
}
