/* world.h - tests of the public API, each run in three worlds.
 *
 *     API_TEST(chan_keeps_order)
 *     {
 *         ...runs as the main task...
 *     }
 *
 * makes three tests: chan_keeps_order/one (a worker), /many (four workers) and
 * /sim (the simulator, many schedules). In a body a failed CHECK ends the
 * schedule with a finding, so that its token is printed. Statics outlive a
 * schedule: a body sets them before it uses them.
 *
 * Environment: TEST_SEEDS (default 200) scales the schedules of a test.
 */
#ifndef WORLD_H
#define WORLD_H

#include "../test.h"

#include <runnel/runnel.h>
#include <signal.h>

void world_one(const struct test *test);
void world_many(const struct test *test);
void world_sim(const struct test *test);
void world_finds(const struct test *test);

#define WORLD_REGISTER(id, in, schedules)                      \
    TEST_REGISTER(TEST_CAT(in##_, id), .name = #id "/" #in,    \
                  .body = test_body_##id, .world = world_##in, \
                  .param = (schedules))

#define API_TEST(id) API_TEST_SCHEDULES(id, 200)

/* With the number of schedules, for bodies with many steps. */
#define API_TEST_SCHEDULES(id, schedules) \
    static void test_body_##id(void);     \
    WORLD_REGISTER(id, one, 0)            \
    WORLD_REGISTER(id, many, 0)           \
    WORLD_REGISTER(id, sim, schedules)    \
    static void test_body_##id(void)

/* For the numbered rules of scopes and operators. */
#define RULE_TEST(id) API_TEST_SCHEDULES(id, 1000)

/* Only in the simulator: bodies about virtual time. */
#define SIM_TEST(id)                  \
    static void test_body_##id(void); \
    WORLD_REGISTER(id, sim, 200)      \
    static void test_body_##id(void)

/* Only for real, with one and with four workers. */
#define REAL_TEST(id)                 \
    static void test_body_##id(void); \
    WORLD_REGISTER(id, one, 0)        \
    WORLD_REGISTER(id, many, 0)       \
    static void test_body_##id(void)

/* The body must die in both worlds: a panic for real, a verdict of
 * RN_SIM_PANIC in the simulator, with the same text. */
#define API_PANICS(id, wanted)                                  \
    static void test_body_##id(void);                           \
    TEST_REGISTER(TEST_CAT(real_, id), .name = #id "/real",     \
                  .body = test_body_##id, .world = world_one,   \
                  .dies = (wanted), .status = -SIGABRT)         \
    TEST_REGISTER(TEST_CAT(sim_, id), .name = #id "/sim",       \
                  .body = test_body_##id, .world = world_finds, \
                  .param = RN_SIM_PANIC, .text = (wanted))      \
    static void test_body_##id(void)

/* The simulator must find this verdict within 2,000 schedules, and find it
 * again from the token. text: parts of the report, as in TEST_DIES. */
#define SIM_FINDS_TEXT(id, verdict, wanted) \
    TEST_DEFINE(id, .world = world_finds, .param = (verdict), .text = (wanted))
#define SIM_FINDS(id, verdict) SIM_FINDS_TEXT(id, verdict, "")

/* ---- helpers for bodies -------------------------------------------------- */

/* Spawn into the innermost scope; must succeed. */
void go(rn_task_fn *fn, void *arg);
rn_task go_joinable(rn_task_fn *fn, void *arg);
rn_task go_named(const char *name, rn_task_fn *fn, void *arg);

/* Let every other task run until it waits: in the simulator by time, which
 * moves only then; for real by many yields, so use it only to make an
 * interleaving likely, never to rely on it. */
void settle(void);

rn_chan *new_chan(size_t elem_bytes, size_t capacity);
void send_int(rn_chan *chan, int value);
int recv_int(rn_chan *chan);

rn_scope *open_scope(rn_time deadline);

/* Close a scope that was cancelled: 0 if all its tasks chose to succeed,
 * -ECANCELED if one did not or was never entered. */
void close_cancelled(rn_scope *scope);

/* A task that waits until it is cancelled, and counts that in *arg, an
 * atomic_int, if there is one. */
int wait_for_cancel(void *arg);

/* Another that tells why it was: arg is one of these. */
struct why {
    rn_reason reason;
    int code;
    rn_chan *ready; /* NULL: nobody waits for it */
};
int ask_why(void *arg);
/* The same from a scope inside the one that is cancelled. */
int ask_why_in_a_scope(void *arg);

/* How many tasks a test about many may have: n for real, fewer in the
 * simulator and where each is an OS thread. */
int many_tasks(int n);

/* Memory of this process that is in use; 0 where that says nothing, because a
 * sanitizer keeps what was freed. */
long resident_bytes(void);

/* A page that is gone once freed: whoever touches it later, crashes. */
void *page_new(void);
void page_free(void *page);

#endif
