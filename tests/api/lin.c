/* lin.c - tests of runnel/lin.h: histories recorded by tasks, checked, read. */
#include "world.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static rn_lin_history *
new_history(void)
{
    rn_lin_history *h = NULL;
    CHECK_EQ(rn_lin_history_new(&h), 0);
    return h;
}

static rn_lin_verdict
verdict_of(const rn_lin_history *h, const char *model)
{
    rn_lin_report r;
    CHECK_EQ(rn_lin_check(h, rn_lin_model_find(model), NULL, &r), 0);
    if (r.text)
        fprintf(stderr, "%s\n", r.text);
    rn_lin_verdict verdict = r.verdict;
    rn_lin_report_fini(&r);
    return verdict;
}

/* ---- objects under test, and their tasks -------------------------------- */

struct cell {
    rn_lin_history *history;
    rn_mutex lock;
    int64_t value;
    bool racy; /* the lock is given up between load and store */
};

/* Swap arg2 for arg: returns whether it was arg. */
static int64_t
swap(struct cell *c, int64_t from, int64_t to)
{
    CHECK_EQ(rn_mutex_lock(&c->lock, RN_NEVER), 0);
    int64_t done = c->value == from;
    if (c->racy) {
        rn_mutex_unlock(&c->lock);
        CHECK_EQ(rn_mutex_lock(&c->lock, RN_NEVER), 0);
    }
    if (done)
        c->value = to;
    rn_mutex_unlock(&c->lock);
    return done;
}

/* Count up once by trying, as a counter over compare-and-swap does. */
static int
count_up(void *arg)
{
    struct cell *c = arg;
    int64_t done = 0;
    for (int64_t value = 0; !done && value < 3; value++) {
        rn_lin_op op = {.f = RN_LIN_CAS, .arg = value, .arg2 = value + 1};
        int64_t id = rn_lin_call(c->history, &op);
        done = swap(c, value, value + 1);
        rn_lin_return(c->history, id, done);
    }
    return 0;
}

static rn_lin_verdict
count_by_three(bool racy)
{
    struct cell c = {new_history(), RN_MUTEX_INIT, 0, racy};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 3; i++)
        go(count_up, &c);
    CHECK_EQ(rn_scope_close(s), 0);
    rn_lin_options options = {.has_initial = 1, .initial = 0};
    rn_lin_report r;
    CHECK_EQ(rn_lin_check(c.history, rn_lin_model_find("cas-register"),
                          &options, &r),
             0);
    rn_lin_verdict verdict = r.verdict;
    if (verdict == RN_LIN_BAD)
        rn_sim_assert(!racy || !rn_sim_active(), r.text);
    rn_lin_report_fini(&r);
    rn_lin_history_free(c.history);
    return verdict;
}

API_TEST(lin_counter_with_its_lock_is_linearizable)
{
    CHECK_EQ(count_by_three(false), RN_LIN_OK);
}

SIM_FINDS_TEXT(lin_counter_that_gives_up_its_lock_is_found, RN_SIM_ASSERT,
               "not linearizable|cas 0 to 1 -> done|smallest window")
{
    count_by_three(true);
}

/* Many record at once: every operation is there, in an order that fits. */
struct crowd {
    rn_lin_history *history;
    atomic_int value;
};

static int
write_and_read(void *arg)
{
    struct crowd *c = arg;
    for (int i = 0; i < 50; i++) {
        int64_t id =
            rn_lin_call(c->history, &(rn_lin_op){.f = RN_LIN_WRITE, .arg = i});
        atomic_store(&c->value, i);
        rn_lin_return(c->history, id, RN_LIN_NIL);
        id = rn_lin_call(c->history, &(rn_lin_op){.f = RN_LIN_READ});
        rn_lin_return(c->history, id, atomic_load(&c->value));
    }
    return 0;
}

API_TEST_SCHEDULES(lin_records_of_many_tasks_are_all_there, 20)
{
    struct crowd c = {.history = new_history()};
    rn_scope *s = open_scope(RN_NEVER);
    for (int i = 0; i < 4; i++)
        go(write_and_read, &c);
    CHECK_EQ(rn_scope_close(s), 0);
    CHECK_EQ(rn_lin_history_count(c.history), 400);
    CHECK_EQ(verdict_of(c.history, "register"), RN_LIN_OK);
    rn_lin_history_clear(c.history);
    CHECK_EQ(rn_lin_history_count(c.history), 0);
    CHECK_EQ(verdict_of(c.history, "register"), RN_LIN_OK);
    rn_lin_history_free(c.history);
}

/* A history from outside of the simulator outlives its schedules. */
static int
write_once(void *arg)
{
    rn_lin_history *h = arg;
    for (int i = 0; i < 100; i++) {
        rn_lin_op op = {.f = RN_LIN_WRITE, .arg = i};
        op.arg = rn_lin_text(h, "a text", 6);
        int64_t id = rn_lin_call(h, &op);
        CHECK_GE(id, 0);
        rn_lin_return(h, id, RN_LIN_NIL);
    }
    return 0;
}

TEST(lin_history_outlives_schedules)
{
    rn_lin_history *h = new_history();
    rn_sim_options options = {.schedules = 20};
    rn_sim_report r;
    CHECK_EQ(rn_sim_explore(&options, write_once, h, &r), 0);
    CHECK_EQ(r.verdict, RN_SIM_PASS);
    rn_sim_report_fini(&r);
    CHECK_EQ(rn_lin_history_count(h), 2000);
    CHECK_EQ(verdict_of(h, "register"), RN_LIN_OK);
    rn_lin_history_free(h);
}

/* Each allocation of a schedule fails in turn: an error code, or all is well.
 */
static int
record_a_few(void *arg)
{
    rn_lin_history *h;
    rn_lin_report r;
    (void)arg;
    int e = rn_lin_history_new(&h);
    if (e < 0)
        CHECK_EQ(e, -ENOMEM);
    if (e < 0)
        return 0;
    int64_t id = rn_lin_call(h, &(rn_lin_op){.f = RN_LIN_READ});
    rn_lin_return(h, id, rn_lin_text(h, "abc", 3));
    e = rn_lin_check(h, rn_lin_model_find("register"), NULL, &r);
    CHECK(e == -ENOMEM || (e == 0 && r.verdict == RN_LIN_BAD && r.text));
    rn_lin_report_fini(&r);
    rn_lin_history_free(h);
    return e == 0;
}

TEST(lin_says_when_memory_is_short)
{
    int passed = 0;
    for (uint64_t n = 1; n < 12; n++) {
        rn_sim_options options = {.schedules = 1, .fail_alloc = n};
        rn_sim_report r;
        CHECK_EQ(rn_sim_explore(&options, record_a_few, NULL, &r), 0);
        /* FAILED: it was an allocation of the runtime, before main. */
        CHECK(r.verdict == RN_SIM_PASS || r.verdict == RN_SIM_FAILED);
        passed += r.verdict == RN_SIM_PASS;
        rn_sim_report_fini(&r);
    }
    CHECK_GT(passed, 5);
}

/* ---- outcomes ----------------------------------------------------------- */

static int64_t
call(rn_lin_history *h, int f, int64_t arg)
{
    int64_t id = rn_lin_call(h, &(rn_lin_op){.f = f, .arg = arg});
    CHECK_GE(id, 0);
    return id;
}

static void
operation(rn_lin_history *h, int f, int64_t arg, int64_t ret)
{
    rn_lin_return(h, call(h, f, arg), ret);
}

API_TEST(lin_lost_operation_may_happen_late_or_never)
{
    for (int happens = 0; happens < 2; happens++) {
        rn_lin_history *h = new_history();
        operation(h, RN_LIN_WRITE, 1, RN_LIN_NIL);
        rn_lin_lose(h, call(h, RN_LIN_WRITE, 2));
        operation(h, RN_LIN_READ, 0, 1);
        operation(h, RN_LIN_READ, 0, happens ? 2 : 1);
        CHECK_EQ(verdict_of(h, "register"), RN_LIN_OK);
        operation(h, RN_LIN_READ, 0, happens ? 1 : 3); /* not back, not 3 */
        CHECK_EQ(verdict_of(h, "register"), RN_LIN_BAD);
        rn_lin_history_free(h);
    }
}

API_TEST(lin_failed_operation_has_not_happened)
{
    rn_lin_history *h = new_history();
    operation(h, RN_LIN_WRITE, 1, RN_LIN_NIL);
    rn_lin_fail(h, call(h, RN_LIN_WRITE, 2));
    CHECK_EQ(verdict_of(h, "register"), RN_LIN_OK);
    operation(h, RN_LIN_READ, 0, 2);
    CHECK_EQ(verdict_of(h, "register"), RN_LIN_BAD);
    rn_lin_history_free(h);
}

API_TEST(lin_texts_are_values)
{
    rn_lin_history *h = new_history();
    rn_lin_op op = {.f = RN_LIN_APPEND, .key = rn_lin_text(h, "k", 1)};
    op.arg = rn_lin_text(h, "ab", 2);
    rn_lin_return(h, rn_lin_call(h, &op), RN_LIN_NIL);
    op.arg = rn_lin_text(h, "c", 1);
    rn_lin_return(h, rn_lin_call(h, &op), RN_LIN_NIL);
    op = (rn_lin_op){.f = RN_LIN_READ, .key = rn_lin_text(h, "k", 1)};
    rn_lin_return(h, rn_lin_call(h, &op), rn_lin_text(h, "abc", 3));
    op.key = rn_lin_text(h, "other", 5);
    rn_lin_return(h, rn_lin_call(h, &op), rn_lin_text(h, "", 0));
    rn_lin_return(h, rn_lin_call(h, &op), RN_LIN_NIL);
    CHECK_EQ(verdict_of(h, "kv"), RN_LIN_OK);
    rn_lin_return(h, rn_lin_call(h, &op), rn_lin_text(h, "c", 1));
    CHECK_EQ(verdict_of(h, "kv"), RN_LIN_BAD);
    rn_lin_history_free(h);
}

API_PANICS(lin_second_return_panics, "has ended already")
{
    rn_lin_history *h = new_history();
    int64_t id = call(h, RN_LIN_READ, 0);
    rn_lin_return(h, id, 0);
    rn_lin_return(h, id, 0);
}

API_PANICS(lin_return_of_nothing_panics, "no operation 5")
{
    rn_lin_return(new_history(), 5, 0);
}

/* ---- limits and mistakes ------------------------------------------------ */

/* Nobody knows what became of n writes, and a read fits none of them. */
static rn_lin_history *
hard_history(int n)
{
    rn_lin_history *h = new_history();
    int64_t reader = call(h, RN_LIN_ENQUEUE, n);
    for (int i = 0; i < n; i++)
        call(h, RN_LIN_ENQUEUE, i);
    rn_lin_return(h, reader, RN_LIN_NIL);
    operation(h, RN_LIN_DEQUEUE, 0, n + 1);
    return h;
}

static void
must_give_up(rn_lin_options options, const char *why)
{
    rn_lin_history *h = hard_history(20);
    rn_lin_report r;
    CHECK_EQ(rn_lin_check(h, rn_lin_model_find("queue"), &options, &r), 0);
    CHECK_EQ(r.verdict, RN_LIN_UNKNOWN);
    CHECK_HAS(r.text, why);
    CHECK_STR(rn_lin_verdict_name(r.verdict), "unknown");
    rn_lin_report_fini(&r);
    rn_lin_history_free(h);
}

TEST(lin_limits_are_verdicts)
{
    must_give_up((rn_lin_options){.max_steps = 1000}, "limit of steps");
    must_give_up((rn_lin_options){.max_steps = 100000}, "limit of steps");
    must_give_up((rn_lin_options){.max_bytes = 1 << 20}, "limit of memory");
    must_give_up((rn_lin_options){.max_bytes = 100}, "limit of memory");
    must_give_up((rn_lin_options){.seconds = 1e-9}, "limit of seconds");
}

static void
note_progress(const rn_lin_progress *p, void *arg)
{
    CHECK_GT(p->steps, 0);
    CHECK_GT(p->bytes, 0);
    CHECK_LE(p->placed, p->ops);
    ++*(int *)arg;
}

TEST(lin_tells_its_progress)
{
    int calls = 0;
    rn_lin_options o = {.progress = note_progress, .progress_arg = &calls};
    rn_lin_history *h = hard_history(20);
    rn_lin_report r;
    /* until it takes long enough, however fast the machine is */
    o.max_bytes = (size_t)64 << 20;
    do {
        CHECK_EQ(rn_lin_check(h, rn_lin_model_find("queue"), &o, &r), 0);
        rn_lin_report_fini(&r);
        o.max_bytes *= 2;
    } while (calls == 0);
    rn_lin_history_free(h);
}

TEST(lin_operation_of_another_model_is_refused)
{
    rn_lin_history *h = new_history();
    rn_lin_report r;
    operation(h, RN_LIN_READ, 0, RN_LIN_NIL);
    operation(h, RN_LIN_PUSH, 0, RN_LIN_NIL);
    CHECK_EQ(rn_lin_check(h, rn_lin_model_find("register"), NULL, &r), -EINVAL);
    CHECK_HAS(r.text, "operation 1: a register has no push");
    rn_lin_report_fini(&r);
    rn_lin_options wrong = {.seconds = -1};
    CHECK_EQ(rn_lin_check(h, rn_lin_model_find("kv"), &wrong, &r), -EINVAL);
    CHECK_HAS(r.text, "seconds");
    rn_lin_report_fini(&r);
    rn_lin_history_free(h);
    CHECK(rn_lin_model_find("regster") == NULL);
}

/* ---- what a bad history is told of -------------------------------------- */

TEST(lin_story_of_a_stale_read)
{
    static const char text[] = "0 :invoke :write 1\n0 :ok :write 1\n"
                               "0 :invoke :write 2\n0 :ok :write 2\n"
                               "1 :invoke :read nil\n1 :ok :read 1\n";
    const rn_lin_model *m = rn_lin_model_find("register");
    rn_lin_history *h = new_history();
    rn_lin_report r;
    CHECK_EQ(rn_lin_read(h, m, text, sizeof text - 1, NULL), 0);
    CHECK_EQ(rn_lin_check(h, m, NULL, &r), 0);
    CHECK_STR(
        r.text,
        "not linearizable: no order of the operations explains their results\n"
        "The first to return that cannot be placed:\n"
        "  #1  read -> 1  (lines 5-6)\n"
        "When it returned the state could be: 2\n"
        "The longest order found has 2 of 3 operations:\n"
        "  #0  write 1  (lines 1-2)\n"
        "  #0  write 2  (lines 3-4)\n"
        "The smallest window that no order explains, whatever it began with:\n"
        "  #0   write 2                   |----|            lines 3-4\n"
        "  #1   read -> 1                           |----|  lines 5-6 <\n");
    CHECK_EQ(r.culprit, 2);
    CHECK_EQ(r.placed, 2);
    rn_lin_report_fini(&r);
    rn_lin_history_free(h);
}

/* ---- mistakes in texts -------------------------------------------------- */

static void
must_refuse(const char *model, const char *text, const char *wanted)
{
    char *message = NULL;
    size_t size = 0;
    FILE *err = open_memstream(&message, &size);
    rn_lin_history *h = new_history();
    CHECK_EQ(rn_lin_read(h, rn_lin_model_find(model), text, strlen(text), err),
             -EINVAL);
    fclose(err);
    CHECK_STR(message, wanted);
    free(message);
    rn_lin_history_free(h);
}

TEST(lin_read_says_what_is_wrong_and_where)
{
    must_refuse("register", "\nhello world\n",
                "2: neither an operation nor a line of a log\n");
    must_refuse("register", "{:type :invoke, :f :read}",
                "1: an operation without :process\n");
    must_refuse("register", "{:process 1 :type :invoke}",
                "1: an operation without :f\n");
    must_refuse("register", "{:process 1 :type :begin :f :read}",
                "1: :type is none of :invoke, :ok, :fail, :info\n");
    must_refuse("register", "{:process 1 :type :invoke :f :cas :value [1 2]}",
                "1: a register has no operation :cas\n");
    must_refuse("cas-register", "1 :invoke :cas 5",
                "1: :cas needs a :value [old new]\n");
    must_refuse("register", "1 :invoke :write nil",
                "1: :write needs a :value\n");
    must_refuse("register", "1 :invoke :read nil\n2 :ok :read 1",
                "2: process 2 ends what it has not called\n");
    must_refuse("register", "1 :invoke :read nil\n\n1 :invoke :read nil",
                "3: process 1 calls, but what it called in line 1 has not "
                "ended\n");
    must_refuse("register", "1 :invoke :read nil\n1 :ok :write 1",
                "2: process 1 ends :write, but in line 1 it called read\n");
    must_refuse("register", "{:process 1\n :type :invoke\n :f :read",
                "3: a bracket that is not closed\n");
    must_refuse("register", "{:process 99999999999999999999 :type :ok}",
                "1: a number that is too large\n");
    must_refuse("register", "1 :invoke :write -9223372036854775807",
                "1: a number that is too small\n");
    must_refuse("kv", "{:process 1, :type :invoke, :f :get}",
                "1: no :key, nor is :value [key value]\n");
    must_refuse("kv", "{:process 1 :type :invoke :f :append :key 1 :value 2}",
                "1: :append needs a string\n");
    must_refuse("set", "1 :invoke :contains 3\n1 :ok :contains 3",
                "2: :contains returns true or false\n");
    must_refuse("register", "{:process 1 :f \"read",
                "1: a string without an "
                "end\n");
}

static void
must_read(const char *model, const char *text, uint64_t ops,
          rn_lin_verdict verdict)
{
    rn_lin_history *h = new_history();
    CHECK_EQ(
        rn_lin_read(h, rn_lin_model_find(model), text, strlen(text), stderr),
        0);
    CHECK_EQ(rn_lin_history_count(h), ops);
    CHECK_EQ(verdict_of(h, model), verdict);
    rn_lin_history_free(h);
}

TEST(lin_read_takes_all_that_jepsen_writes)
{
    must_read("register", "", 0, RN_LIN_OK);
    must_read("register",
              "; a comment\n[{:process :nemesis, :type :info, :f :start}\n"
              " #jepsen.history.Op{:index 0, :time 12, :process 3, :type "
              ":invoke,\n :f :read, :value nil, :error [:a {:b #{1 2}}]}\n"
              " #_ {:process 3} {:process 3 :type :ok :f :read :value nil}]",
              1, RN_LIN_OK);
    must_read("register",
              "INFO  jepsen.core - Worker 1 starting\n"
              "INFO [2020-01-01] jepsen worker 1 - jepsen.util 1\t:invoke\t"
              ":read\tnil\r\n"
              "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n"
              "WARN  jepsen.util - 1 :fail :read :timed-out\n",
              1, RN_LIN_OK);
    must_read("kv",
              "{:process 0 :type :invoke :f :write :value [:k \"a\\nb\"]}"
              "{:process 0 :type :ok :f :write :value [:k \"a\\nb\"]}"
              "{:process 0 :type :invoke :f :read :value [:k nil]}"
              "{:process 0 :type :ok :f :read :value [:k \"a\nb\"]}",
              2, RN_LIN_OK);
    must_read("set",
              "0 :invoke :add 1\n0 :ok :add [1 true]\n"
              "0 :invoke :contains 1\n0 :ok :contains false\n",
              2, RN_LIN_BAD);
}
