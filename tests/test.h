/* test.h - the test harness: each test is a child process of its own.
 *
 *     TEST(ring_keeps_order)
 *     {
 *         CHECK_EQ(ring_pop(&r), 1);
 *     }
 *     TEST_DIES(ring_pop_of_empty_panics, "ring is empty")
 *     {
 *         ring_pop(&r);
 *     }
 *
 * Tests register themselves. A failed check prints and ends the child at once,
 * from any thread and on any stack: nothing is unwound and nothing is jumped
 * over. What a child prints is shown only if it fails.
 *
 * Environment: TEST_SLOW (a factor, default 1) stretches time limits and
 * shrinks counts that go through test_count, for emulators and sanitizers.
 */
#ifndef TEST_H
#define TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A registered test. */
struct test {
    const char *name;
    const char *file;
    int line;
    void (*body)(void);
    /* Calls the body in its world; NULL: plainly. */
    void (*world)(const struct test *test);
    long param;       /* for the world */
    const char *text; /* for the world */
    const char *dies; /* text it must die with; "a|b": both; NULL: must not */
    int status;       /* how it must die: exit status, -signal, 0: any way */
    bool chosen;      /* to be run or listed */
    struct test *next;
};

void test_add(struct test *test);

#define TEST_CAT_(a, b) a##b
#define TEST_CAT(a, b) TEST_CAT_(a, b)

/* Register one struct test; id, which may be made by macros, must be unique in
 * the file. */
#define TEST_REGISTER(id, ...) TEST_REGISTER_(id, __VA_ARGS__)
#define TEST_REGISTER_(id, ...)                                  \
    static struct test test_##id = {                             \
        .file = __FILE__, .line = __LINE__, __VA_ARGS__};        \
    __attribute__((constructor)) static void test_add_##id(void) \
    {                                                            \
        test_add(&test_##id);                                    \
    }

#define TEST_DEFINE(id, ...)                                            \
    static void test_body_##id(void);                                   \
    TEST_REGISTER(id, .name = #id, .body = test_body_##id, __VA_ARGS__) \
    static void test_body_##id(void)

/* A test: the body must return. */
#define TEST(id) TEST_DEFINE(id, .dies = NULL)

/* The child must die, by a signal or with a non-zero status, and print text;
 * "a|b" wants both. */
#define TEST_DIES(id, text) TEST_DEFINE(id, .dies = (text))

/* The same with the one exit status, or minus the signal, that is right. */
#define TEST_DIES_WITH(id, text, how) \
    TEST_DEFINE(id, .dies = (text), .status = (how))

/* End the test as failed; never returns. */
void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* End the test as skipped, for a reason the machine gives; never returns. */
void test_skip(const char *format, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

/* Called with the message before a failed check ends the child; may not
 * return. NULL: none. */
extern void (*test_on_fail)(const char *message);

/* Whether this build has a sanitizer: more stack, memory kept after free. */
enum { TEST_SANITIZE_NONE, TEST_SANITIZE_ADDRESS, TEST_SANITIZE_THREAD };
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED TEST_SANITIZE_THREAD
#elif defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TEST_SANITIZED TEST_SANITIZE_ADDRESS
#else
#define TEST_SANITIZED TEST_SANITIZE_NONE
#endif

/* The factor of TEST_SLOW. */
long test_slow(void);

/* n, fewer where the machine is slow, at least 1. */
long test_count(long n);

/* A number from the environment, or the value given. */
long test_env(const char *name, long otherwise);

/* Whether the text has every part of "a|b". */
bool test_has(const char *text, const char *parts);

/* How a child ended and what it printed. */
struct test_child {
    int status; /* exit status, or minus the signal */
    char *text; /* standard output and error; from malloc */
};

/* Run fn(arg) in a forked child, with a limit of seconds before TEST_SLOW. */
struct test_child test_fork(void (*fn)(void *arg), void *arg, long seconds);

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(condition)            \
    do {                            \
        if (!(condition))           \
            FAIL("%s", #condition); \
    } while (0)

#define CHECK_OP(a, op, b)                                               \
    do {                                                                 \
        long long check_a = (long long)(a);                              \
        long long check_b = (long long)(b);                              \
        if (!(check_a op check_b))                                       \
            FAIL("%s %s %s: %lld, %lld", #a, #op, #b, check_a, check_b); \
    } while (0)

#define CHECK_EQ(a, b) CHECK_OP(a, ==, b)
#define CHECK_NE(a, b) CHECK_OP(a, !=, b)
#define CHECK_LT(a, b) CHECK_OP(a, <, b)
#define CHECK_LE(a, b) CHECK_OP(a, <=, b)
#define CHECK_GT(a, b) CHECK_OP(a, >, b)
#define CHECK_GE(a, b) CHECK_OP(a, >=, b)

#define CHECK_MEM(a, b, bytes)                \
    do {                                      \
        if (memcmp((a), (b), (bytes)) != 0)   \
            FAIL("%s and %s differ", #a, #b); \
    } while (0)

#define CHECK_STR(a, b)                                                    \
    do {                                                                   \
        const char *check_a = (a), *check_b = (b);                         \
        if (!check_a || strcmp(check_a, check_b) != 0)                     \
            FAIL("%s: \"%s\", not \"%s\"", #a, check_a ? check_a : "NULL", \
                 check_b);                                                 \
    } while (0)

/* The text must contain the part. */
#define CHECK_HAS(text, part)                            \
    do {                                                 \
        const char *check_a = (text), *check_b = (part); \
        if (!check_a || !strstr(check_a, check_b))       \
            FAIL("no \"%s\" in %s:\n%s", check_b, #text, \
                 check_a ? check_a : "NULL");            \
    } while (0)

#endif
